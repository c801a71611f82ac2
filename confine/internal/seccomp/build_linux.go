//go:build cgo && seccomp

package seccomp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	lib "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// maxInstructions is BPF_MAXINSNS, the longest program the kernel loads.
const maxInstructions = 4096

type buildKey struct {
	goarch string
	o      Options
	wide   bool // the first of the two that Split gives
}

type built struct {
	once sync.Once
	prog []unix.SockFilter
	err  error
}

var cache sync.Map // buildKey -> *built

// Build returns the filter for the running architecture. The first call for each Options compiles (about half a
// millisecond); later ones return a copy of the result. It is safe for concurrent use.
//
// The program is for SECCOMP_SET_MODE_FILTER, loaded by a thread with no_new_privs.
func Build(o Options) ([]unix.SockFilter, error) { return BuildFor(runtime.GOARCH, o) }

// BuildFor is [Build] for another architecture, named as in GOARCH: amd64 or arm64. Any other answers an error that
// satisfies errors.Is(err, errors.ErrUnsupported): the table's argument positions and numbers hold for these two.
func BuildFor(goarch string, o Options) ([]unix.SockFilter, error) {
	return cached(buildKey{goarch, o, false})
}

func cached(key buildKey) ([]unix.SockFilter, error) {
	v, _ := cache.LoadOrStore(key, &built{})
	b := v.(*built)
	b.once.Do(func() {
		calls := table(key.o)
		if key.wide {
			for _, name := range strings.Fields(setUp) {
				calls[name] = call{verdict: allow}
			}
		}
		b.prog, b.err = build(key.goarch, calls)
	})
	if b.err != nil {
		return nil, fmt.Errorf("build seccomp filter for %s: %w", key.goarch, b.err)
	}
	return slices.Clone(b.prog), nil
}

// Library returns the name and version of the library that compiles filters, such as "libseccomp 2.5.4".
func Library() string {
	major, minor, micro := lib.GetLibraryVersion()
	return fmt.Sprintf("libseccomp %d.%d.%d", major, minor, micro)
}

var archs = map[string]lib.ScmpArch{"amd64": lib.ArchAMD64, "arm64": lib.ArchARM64}

func build(goarch string, calls map[string]call) ([]unix.SockFilter, error) {
	arch, ok := archs[goarch]
	if !ok {
		return nil, fmt.Errorf("the table holds for amd64 and arm64 only: %w", errors.ErrUnsupported)
	}
	nosys := lib.ActErrno.SetReturnCode(int16(unix.ENOSYS))

	// The default is EPERM because it is also what a call gets whose arguments fit no rule: libseccomp has no "else".
	// Calls outside the table get their ENOSYS from the instructions put in front.
	f, err := lib.NewFilter(lib.ActErrno.SetReturnCode(int16(unix.EPERM)))
	if err != nil {
		return nil, fmt.Errorf("make filter: %w", err)
	}
	defer f.Release()
	if err := f.SetBadArchAction(nosys); err != nil {
		return nil, fmt.Errorf("set answer to other architectures: %w", err)
	}
	if native, err := lib.GetNativeArch(); err != nil {
		return nil, fmt.Errorf("ask for the native architecture: %w", err)
	} else if native != arch {
		if err := f.AddArch(arch); err != nil {
			return nil, fmt.Errorf("add architecture: %w", err)
		}
		if err := f.RemoveArch(native); err != nil {
			return nil, fmt.Errorf("remove native architecture: %w", err)
		}
	}
	// A binary tree over the call numbers instead of a list; libseccomp 2.5 and later. Only speed is lost without.
	var old lib.VersionError
	if err := f.SetOptimize(2); err != nil && !errors.As(err, &old) {
		return nil, fmt.Errorf("ask for a binary tree: %w", err)
	}

	var known []int                                        // numbers the table knows on this architecture
	for _, name := range slices.Sorted(maps.Keys(calls)) { // in one order, so that the program is always the same
		c := calls[name]
		nr, err := lib.GetSyscallFromNameByArch(name, arch)
		if err != nil || nr < 0 {
			continue // not on this architecture, or newer than the library: the number is outside the table, ENOSYS
		}
		if c.verdict != missing {
			known = append(known, int(nr))
		}
		if c.verdict != allow {
			continue // EPERM by default, ENOSYS from the front
		}
		// Rules name a call by its native number, also in a filter for another architecture.
		native, err := lib.GetSyscallFromName(name)
		if err != nil {
			return nil, fmt.Errorf("resolve %s: %w", name, err)
		}
		if len(c.rules) == 0 {
			if err := f.AddRule(native, lib.ActAllow); err != nil {
				return nil, fmt.Errorf("allow %s: %w", name, err)
			}
		}
		for _, rule := range c.rules {
			var conds []lib.ScmpCondition
			for _, k := range rule {
				cond, err := lib.MakeCondition(k.arg, lib.CompareMaskedEqual, k.mask, k.value)
				if err != nil {
					return nil, fmt.Errorf("condition on %s: %w", name, err)
				}
				conds = append(conds, cond)
			}
			if err := f.AddRuleConditional(native, lib.ActAllow, conds); err != nil {
				return nil, fmt.Errorf("allow %s with arguments: %w", name, err)
			}
		}
	}
	prog, err := export(f)
	if err != nil {
		return nil, err
	}
	head, err := front(known)
	if err != nil {
		return nil, err
	}
	prog = append(head, prog...)
	if len(prog) > maxInstructions {
		return nil, fmt.Errorf("program of %d instructions, the kernel takes %d", len(prog), maxInstructions)
	}
	return prog, nil
}

// front returns instructions that answer ENOSYS to every number that is not in known, and pass on all others. They run
// before the architecture is checked, and may: another architecture's numbers get the same ENOSYS from the check.
func front(known []int) ([]unix.SockFilter, error) {
	slices.Sort(known)
	known = slices.Compact(known)
	type span struct{ lo, hi uint32 }
	var gaps []span
	next := 0
	for _, nr := range known {
		if nr > next {
			gaps = append(gaps, span{uint32(next), uint32(nr - 1)})
		}
		next = nr + 1
	}
	last := 2*len(gaps) + 1 // jump from the second instruction to the answer
	if last > math.MaxUint8 {
		return nil, fmt.Errorf("%d gaps between the known numbers are too many for one jump", len(gaps))
	}
	// Numbers above the last known one, x32's (bit 30 set) among them, first; then gap by gap. A number below a gap is
	// in none of the later ones either and goes straight on.
	prog := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // offsetof(struct seccomp_data, nr)
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: uint32(next), Jt: uint8(last)},
	}
	for i, g := range gaps {
		left := 2 * (len(gaps) - i - 1)
		prog = append(prog,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: g.lo, Jf: uint8(left + 3)},
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: g.hi, Jf: uint8(left + 1)})
	}
	return append(prog,
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: 1},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}), nil
}

// export reads the compiled program through a pipe: libseccomp before 2.6 cannot write it to memory.
func export(f *lib.ScmpFilter) ([]unix.SockFilter, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe for the program: %w", err)
	}
	defer r.Close()
	type read struct {
		b   []byte
		err error
	}
	done := make(chan read, 1)
	go func() { // beside the export: a pipe may hold as little as one page
		b, err := io.ReadAll(r)
		done <- read{b, err}
	}()
	err = f.ExportBPF(w)
	w.Close()
	got := <-done
	switch {
	case err != nil:
		return nil, fmt.Errorf("export program: %w", err)
	case got.err != nil:
		return nil, fmt.Errorf("read program: %w", got.err)
	case len(got.b) == 0 || len(got.b)%8 != 0:
		return nil, fmt.Errorf("read program: %d bytes are no whole number of instructions", len(got.b))
	}
	prog := make([]unix.SockFilter, 0, len(got.b)/8)
	for b := got.b; len(b) > 0; b = b[8:] { // struct sock_filter, in the byte order of this machine
		prog = append(prog, unix.SockFilter{Code: binary.NativeEndian.Uint16(b), Jt: b[2], Jf: b[3], K: binary.NativeEndian.Uint32(b[4:])})
	}
	return prog, nil
}
