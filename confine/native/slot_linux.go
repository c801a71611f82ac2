//go:build linux && cgo

package native

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/internal/cell"
	"pdlt.dev/pdlt/confine/internal/cgroup"
	"pdlt.dev/pdlt/confine/internal/landlock"
	"pdlt.dev/pdlt/confine/internal/seccomp"
)

const (
	// setupTimeout bounds every step in which no program runs: a launcher, a template or a cell that is not ready by then is given up.
	setupTimeout = 20 * time.Second
	// zygoteRuns is how many programs one zygote serves: all of them share its address layout and hash seed.
	zygoteRuns = 1000
)

// slotKey is what a launcher is made for: runs that differ in it cannot share one.
type slotKey struct {
	start   confine.StartMode
	policy  confine.Policy
	command bool
	roots   string // of a host command, NUL-separated
}

// slot is one launcher, its cgroup and at most one cell that waits or runs. It is used by one goroutine at a time.
type slot struct {
	key      slotKey
	index    int
	in       *interpreter // nil for a host command
	text     *largeText   // nil: the launcher has the text in its file's pages
	launcher *cell.Launcher
	cg       *cgroup.Slot // nil without cgroups
	leaf     *cgroup.Cell // v2: where the asked-for cell is born
	abi      int
	uid      uint32
	asked    bool // a cell was asked for and not taken
	disk     [2]int64
	runs     int
	base     int64 // memory charged to the slot before any cell
	buf      []byte
	wake     int       // eventfd: a cancelled run
	groups   bool      // groups of the server may show
	own      [7]uint64 // the server's namespaces when the slot was made
}

// config builds what the launcher of a slot is told.
func (c *confiner) config(key slotKey, uid uint32) (cell.Config, error) {
	p := key.policy
	cfg := cell.Config{HostUID: uid, HostGID: uid, LandlockABI: uint32(c.abi), HashSeed: c.options.HashSeed, Tier: p.Name, Env: fixedEnv}
	if cfg.Tier == "" {
		cfg.Tier = "this policy"
	}
	handled := landlock.Handled(c.abi)
	cfg.LandlockFS, cfg.LandlockNet, cfg.LandlockScope = handled.FS, handled.Net, handled.Scope
	cfg.Mounts = []cell.Mount{
		{Kind: cell.MountFile, Source: "sandbox:x:1000:1000::" + workDir + ":/bin/false\n", Target: "/etc/passwd"},
		{Kind: cell.MountFile, Source: "sandbox:x:1000:\n", Target: "/etc/group"},
		{Kind: cell.MountLink, Source: "/proc/self/fd", Target: "/dev/fd"},
		{Kind: cell.MountLink, Source: "/proc/self/fd/0", Target: "/dev/stdin"},
		{Kind: cell.MountLink, Source: "/proc/self/fd/1", Target: "/dev/stdout"},
		{Kind: cell.MountLink, Source: "/proc/self/fd/2", Target: "/dev/stderr"},
	}
	readOnlyDir := landlock.ReadOnly(c.abi, true)
	rule := func(access uint64, paths ...string) {
		for _, path := range paths {
			cfg.Rules = append(cfg.Rules, cell.Rule{Access: access, Path: path})
		}
	}
	rule(landlock.ReadWrite(c.abi, true), workDir, tmpDir, "/dev/shm")
	rule(readOnlyDir, "/proc", "/etc", "/dev")
	for _, dev := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} {
		cfg.Mounts = append(cfg.Mounts, cell.Mount{Kind: cell.MountBind, Flags: unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NOEXEC, Source: dev, Target: dev})
		if dev != "/dev/random" && dev != "/dev/urandom" {
			rule(landlock.AccessFSReadFile|landlock.AccessFSWriteFile, dev)
		}
	}
	if key.command {
		for _, root := range strings.Split(key.roots, "\x00") {
			if root == "" {
				continue
			}
			fi, err := os.Lstat(root)
			if err != nil || !filepath.IsAbs(root) || root == "/" {
				return cfg, &confine.Refusal{Code: confine.CodeProgramInvalid, Path: "$.program.roots", Found: fmt.Sprintf("%q", root), Required: "existing absolute paths other than /"}
			}
			// A link stays one, so that a merged /usr looks as it does outside; what it leads to is a root of its own or absent.
			if fi.Mode()&os.ModeSymlink != 0 {
				target, err := os.Readlink(root)
				if err != nil {
					return cfg, fmt.Errorf("read root %s: %w", root, err)
				}
				cfg.Mounts = append(cfg.Mounts, cell.Mount{Kind: cell.MountLink, Source: target, Target: root})
				continue
			}
			cfg.Mounts = append(cfg.Mounts, cell.Mount{Kind: cell.MountBind, Flags: readOnly, Source: root, Target: root})
			rule(landlock.ReadExec(c.abi, fi.IsDir()), root)
		}
	} else {
		cfg.Flags |= cell.Python
		inner := seccomp.Options{Exec: p.Processes, Processes: p.Processes, NativeCode: p.NativeCode, FileExec: c.in.host}
		var err error
		if key.start == confine.StartZygote {
			cfg.Flags |= cell.Zygote
			cfg.Outer, cfg.Inner, err = splitFilter(inner)
		} else {
			cfg.Inner, err = buildFilter(inner)
		}
		if err != nil {
			return cfg, err
		}
		if c.in.host {
			cfg.Flags |= cell.HostPython
		}
		if !c.options.NoHints {
			cfg.Flags |= cell.Hints
		}
		cfg.Interpreter, cfg.PythonHome, cfg.Stdlib = c.in.exe, pythonHome, c.in.stdlib
		cfg.Mounts = append(cfg.Mounts, c.in.mounts...)
		libs := map[string]bool{}
		for _, m := range c.in.mounts {
			if m.Kind != cell.MountBind || strings.HasPrefix(m.Target, pythonHome) || strings.HasPrefix(m.Target, "/etc") {
				continue
			}
			libs["/"+strings.SplitN(strings.TrimPrefix(m.Target, "/"), "/", 2)[0]] = true
		}
		for dir := range libs {
			rule(readOnlyDir, dir)
		}
		rule(readOnlyDir, pythonHome)
		rule(landlock.ReadExec(c.abi, false), c.in.exe, c.in.loader)
		if !p.NativeCode {
			for _, path := range c.in.native {
				cfg.Mounts = append(cfg.Mounts, cell.Mount{Kind: cell.MountBind, Flags: readOnly | unix.MS_NOEXEC, Source: "/dev/null", Target: path})
			}
		}
	}
	if p.NativeCode {
		cfg.Flags |= cell.Native
	}
	if p.Processes {
		cfg.Flags |= cell.Processes
	}
	if key.start != confine.StartZygote {
		var err error
		if cfg.Outer, err = buildFilter(seccomp.Options{Exec: true, Processes: p.Processes, NativeCode: true, MoreFilters: !key.command}); err != nil {
			return cfg, err
		}
	}
	sort.SliceStable(cfg.Rules, func(i, j int) bool { return cfg.Rules[i].Path < cfg.Rules[j].Path })
	return cfg, nil
}

func buildFilter(o seccomp.Options) (cell.Filter, error) {
	prog, err := seccomp.Build(o)
	if err != nil {
		return nil, fmt.Errorf("build seccomp filter: %w", err)
	}
	return raw(prog), nil
}

func splitFilter(o seccomp.Options) (first, second cell.Filter, err error) {
	a, b, err := seccomp.Split(o)
	if err != nil {
		return nil, nil, fmt.Errorf("build seccomp filters: %w", err)
	}
	return raw(a), raw(b), nil
}

// raw lays a program out as struct sock_filter: code, jt, jf, k.
func raw(prog []unix.SockFilter) cell.Filter {
	f := make(cell.Filter, len(prog))
	for i, in := range prog {
		f[i] = uint64(in.Code) | uint64(in.Jt)<<16 | uint64(in.Jf)<<24 | uint64(in.K)<<32
	}
	return f
}

// open starts a launcher for key.
func (c *confiner) openSlot(key slotKey, index int) (*slot, error) {
	s := &slot{key: key, index: index, abi: c.abi, wake: -1, groups: c.groups, own: ownNamespaces(), buf: make([]byte, 64<<10)}
	if !key.command {
		s.in = c.in
	}
	s.uid = c.hostID(index)
	cfg, err := c.config(key, s.uid)
	if err != nil {
		return nil, err
	}
	if s.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("make eventfd: %w", err)
	}
	if c.cg != nil {
		if s.cg, err = c.cg.Slot(fmt.Sprintf("slot-%d", index)); err != nil {
			s.close()
			return nil, fmt.Errorf("make slot cgroup: %w", err)
		}
	}
	var text *os.File
	if key.start == confine.StartZygote {
		c.mu.Lock()
		s.text = c.text
		c.mu.Unlock()
		if s.text != nil {
			text, cfg.Blocks = s.text.file, s.text.blocks
		}
	}
	s.launcher, err = cell.Launch(cfg, text, c.userns, func(pid int) error {
		if s.cg == nil {
			return nil
		}
		return s.cg.Join(pid)
	}, setupTimeout)
	if err != nil {
		s.close()
		return nil, stepRefusal(err)
	}
	if s.cg != nil && !s.cg.PerCell() {
		s.base = s.cg.MemoryCurrent()
	}
	return s, nil
}

// stepRefusal turns a step that the kernel refused into what the caller can act on.
func stepRefusal(err error) error {
	var step *cell.StepError
	if errors.As(err, &step) {
		return &confine.Refusal{Code: confine.CodeFacetUnavailable, Path: "$.policy", Found: "set-up step \"" + step.Step + "\" answered: " + unix.Errno(step.Errno).Error(),
			Required: "a system on which every step of the confinement succeeds", Hint: cmp.Or(FixFor(step.Step, unix.ErrnoName(unix.Errno(step.Errno))), "run `pdlt doctor`"), Unsupported: true}
	}
	return fmt.Errorf("build cell: %w", err)
}

// ask asks the launcher for the next cell, so that it is built while nobody waits.
func (s *slot) ask(l confine.Limits) error {
	fd := -1
	if s.cg != nil && s.cg.PerCell() {
		leaf, err := s.cg.Cell()
		if err != nil {
			return fmt.Errorf("make cell cgroup: %w", err)
		}
		s.leaf, fd = leaf, leaf.FD()
	}
	if err := s.launcher.Ask(l.DiskBytes, l.Inodes, fd); err != nil {
		return err
	}
	s.asked, s.disk = true, [2]int64{l.DiskBytes, l.Inodes}
	return nil
}

// take gives the cell that was asked for, or a new one when the waiting one has another file system.
func (s *slot) take(l confine.Limits) (*cell.Cell, error) {
	if s.asked && s.disk != [2]int64{l.DiskBytes, l.Inodes} {
		if err := s.discard(); err != nil {
			return nil, err
		}
	}
	if !s.asked {
		if err := s.ask(l); err != nil {
			return nil, err
		}
	}
	s.asked = false
	return s.launcher.Take(setupTimeout)
}

// discard kills the waiting cell.
func (s *slot) discard() error {
	c, err := s.launcher.Take(setupTimeout)
	s.asked = false
	if err != nil {
		return err
	}
	c.Kill()
	c.Close()
	if _, err := s.launcher.Death(setupTimeout); err != nil {
		return err
	}
	s.dropLeaf()
	return nil
}

func (s *slot) dropLeaf() {
	if s.leaf != nil {
		_ = s.leaf.Close()
		s.leaf = nil
	}
}

// close ends the launcher, every cell of it and its cgroup.
func (s *slot) close() {
	if s.launcher != nil {
		s.launcher.Close()
	}
	s.dropLeaf()
	if s.cg != nil {
		_ = s.cg.Close()
	}
	if s.wake >= 0 {
		unix.Close(s.wake)
		s.wake = -1
	}
}
