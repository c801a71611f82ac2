//go:build cgo && seccomp

package seccomp

import (
	"cmp"
	"runtime"
	"slices"
	"strings"

	lib "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// setUp are the calls that build a cell and that its program may not make, or only with some arguments.
const setUp = "capset clone clone3 ioctl mount prctl seccomp setdomainname setgroups sethostname setresgid setresuid setsid unshare"

// Split gives what [Build] gives as two filters that say the same together. The first is large and allows besides what building a cell takes, so
// that who builds many can load it once and hand it down. The second is small, takes that away again, and is loaded in each cell: to load a large
// one costs a fifth of a millisecond.
func Split(o Options) (first, second []unix.SockFilter, err error) {
	return SplitFor(runtime.GOARCH, o)
}

// SplitFor is [Split] for another architecture, as [BuildFor].
func SplitFor(goarch string, o Options) (first, second []unix.SockFilter, err error) {
	if first, err = cached(buildKey{goarch, o, true}); err != nil {
		return nil, nil, err
	}
	return first, narrow(archs[goarch], table(o)), nil
}

// narrow answers the set-up's calls as the table does and allows all others. It leaves the architecture to the filter before it.
func narrow(arch lib.ScmpArch, calls map[string]call) []unix.SockFilter {
	type row struct {
		nr uint32
		call
	}
	var rows []row
	for _, name := range strings.Fields(setUp) {
		if nr, err := lib.GetSyscallFromNameByArch(name, arch); err == nil && nr >= 0 {
			rows = append(rows, row{uint32(nr), calls[name]})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.nr, b.nr) })
	prog := []unix.SockFilter{load(0)} // offsetof(struct seccomp_data, nr)
	for _, r := range rows {
		body := r.program()
		prog = append(prog, jumpIfEqual(r.nr, 1, 0), unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(len(body))})
		prog = append(prog, body...)
	}
	return append(prog, answer(unix.SECCOMP_RET_ALLOW))
}

// program answers one call. Every way through it ends in an answer.
func (c call) program() []unix.SockFilter {
	refusal := answer(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	switch {
	case c.verdict == refuse:
		return []unix.SockFilter{refusal}
	case c.verdict != allow:
		return []unix.SockFilter{answer(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))}
	case len(c.rules) == 0:
		return []unix.SockFilter{answer(unix.SECCOMP_RET_ALLOW)}
	}
	var prog []unix.SockFilter
	for _, rule := range c.rules {
		var test []unix.SockFilter
		for _, k := range rule {
			for half := range uint(2) { // little-endian on both architectures
				mask, value := uint32(k.mask>>(32*half)), uint32(k.value>>(32*half))
				if mask == 0 {
					continue
				}
				test = append(test, load(16+8*uint32(k.arg)+4*uint32(half))) // offsetof(struct seccomp_data, args)
				if mask != 1<<32-1 {
					test = append(test, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: mask})
				}
				test = append(test, jumpIfEqual(value, 0, 0))
			}
		}
		for i := range test {
			if test[i].Code&7 == unix.BPF_JMP {
				test[i].Jf = uint8(len(test) - i) // past the rest of this rule and its answer
			}
		}
		prog = append(append(prog, test...), answer(unix.SECCOMP_RET_ALLOW))
	}
	return append(prog, refusal)
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func jumpIfEqual(k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

func answer(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k}
}
