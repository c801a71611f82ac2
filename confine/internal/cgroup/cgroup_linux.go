package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/cgroups/v3/cgroup1"
	"github.com/containerd/cgroups/v3/cgroup2"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

const prefix = "pdlt-"

// Probe finds what can be used by making a group, looking for its controllers and removing it.
func Probe() Mode {
	own, err1 := os.ReadFile("/proc/self/cgroup")
	mounts, err2 := os.ReadFile("/proc/self/mountinfo")
	if err := errors.Join(err1, err2); err != nil {
		return Mode{Reason: err.Error()}
	}
	dirs := hierarchies(string(own), string(mounts))
	var reasons []string
	if dir, ok := dirs[""]; ok {
		// Below this process where that is possible, else beside it (a delegated folder with the server in a leaf of its own), else, for
		// root, at the top.
		for _, parent := range []string{dir, filepath.Dir(dir), mountOf(string(mounts))} {
			err := tryV2(parent)
			if err == nil {
				return Mode{Kind: V2, Dirs: map[string]string{"": parent}}
			}
			reasons = append(reasons, err.Error())
		}
	}
	m := Mode{Kind: V1, Dirs: map[string]string{}}
	for _, c := range controllers {
		dir, ok := dirs[c]
		if !ok {
			reasons = append(reasons, "no v1 hierarchy for "+c)
			m.Kind = None
			break
		}
		if err := tryFolder(dir); err != nil {
			reasons = append(reasons, err.Error())
			m.Kind = None
			break
		}
		m.Dirs[c] = dir
	}
	if m.Kind == None {
		m.Reason = strings.Join(slices.Compact(reasons), "; ")
	}
	return m
}

// mountOf is where v2 is mounted.
func mountOf(mountinfo string) string {
	for _, line := range strings.Split(mountinfo, "\n") {
		before, after, ok := strings.Cut(line, " - ")
		if f := strings.Fields(before); ok && len(f) > 4 && strings.HasPrefix(after, "cgroup2 ") {
			return unescape(f[4])
		}
	}
	return "/sys/fs/cgroup"
}

func tryFolder(parent string) error {
	dir := filepath.Join(parent, ownName()+"-probe")
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Remove(dir)
}

func tryV2(parent string) error {
	have, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, c := range []string{"memory", "pids"} {
		if !slices.Contains(strings.Fields(string(have)), c) {
			return fmt.Errorf("%s: no %s controller", parent, c)
		}
	}
	if err := delegate(parent); err != nil {
		return err
	}
	dir := filepath.Join(parent, ownName()+"-probe")
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	defer os.Remove(dir)
	if _, err := os.Stat(filepath.Join(dir, "memory.max")); err != nil {
		return err
	}
	// A process is born in a leaf below; for that this process must be allowed to move one out of its own group.
	return unix.Access(filepath.Join(parent, "cgroup.procs"), unix.W_OK)
}

// delegate switches on, for the groups below dir, the controllers that runs need.
func delegate(dir string) error {
	// The library switches them on above a group, and reports the last write only: that of dir, when asked for a child of it.
	m, err := cgroup2.Load(strings.TrimPrefix(filepath.Join(dir, "child"), "/sys/fs/cgroup"))
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if on, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control")); err == nil {
		f := strings.Fields(string(on))
		if slices.Contains(f, "memory") && slices.Contains(f, "pids") {
			return nil
		}
	}
	if err := m.ToggleControllers([]string{"memory", "pids"}, cgroup2.Enable); err != nil {
		return fmt.Errorf("%s: delegate controllers: %w", dir, err)
	}
	return nil
}

func ownName() string { return prefix + strconv.Itoa(os.Getpid()) + "-" + startTime(os.Getpid()) }

// startTime is field 22 of /proc/PID/stat, in clock ticks since boot; empty when there is no such process.
func startTime(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	i := bytes.LastIndexByte(b, ')')
	if err != nil || i < 0 {
		return ""
	}
	f := strings.Fields(string(b[i+1:]))
	if len(f) < 20 {
		return ""
	}
	return f[19]
}

// Server is the folder of this process in every hierarchy that is used.
type Server struct {
	mode Mode
	name string
	lock []*os.File
}

var serial int

// Open makes this process's folders and locks them.
func Open(mode Mode) (*Server, error) {
	serial++
	s := &Server{mode: mode, name: fmt.Sprintf("%s-%d", ownName(), serial)}
	for c, parent := range mode.Dirs {
		dir := filepath.Join(parent, s.name)
		err := os.Mkdir(dir, 0o755)
		if err == nil && mode.Kind == V2 {
			err = delegate(dir)
		}
		var f *os.File
		if err == nil {
			f, err = os.Open(dir)
		}
		if err == nil {
			s.lock = append(s.lock, f)
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		}
		if err != nil {
			_ = s.Close()
			return nil, fmt.Errorf("make cgroup %s for %q: %w", dir, c, err)
		}
	}
	return s, nil
}

// Close removes the folders. Slots must be closed before.
func (s *Server) Close() error {
	var errs []error
	for _, f := range s.lock {
		f.Close()
	}
	s.lock = nil
	for _, parent := range s.mode.Dirs {
		errs = append(errs, remove(filepath.Join(parent, s.name)))
	}
	return errors.Join(errs...)
}

// remove removes an empty folder. A process that was killed may be in it for a moment longer.
func remove(dir string) error {
	var err error
	for wait := time.Millisecond; wait < 2*time.Second; wait *= 2 {
		if err = os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) {
			return err
		}
		time.Sleep(wait)
	}
	return err
}

// Sweep removes folders that a server which is gone left behind: their lock is free and no process of the name's pid and start time lives. It gives
// the number of folders removed. What still runs inside is killed first: only our own launchers and cells ever were in there. It looks beside this
// process's own group too: the server before may have been started from another one, such as an earlier session of the same user.
func Sweep(mode Mode) (int, error) {
	n := 0
	for _, parent := range mode.Dirs {
		entries, err := os.ReadDir(parent)
		if err != nil {
			return n, fmt.Errorf("list cgroups: %w", err)
		}
		n += sweep(parent, entries)
		above := filepath.Dir(parent)
		if !isGroup(above) {
			continue
		}
		beside, _ := os.ReadDir(above)
		for _, e := range beside {
			if dir := filepath.Join(above, e.Name()); e.IsDir() && dir != parent {
				entries, _ := os.ReadDir(dir) // somebody else's may be closed to us
				n += sweep(dir, entries)
			}
		}
	}
	return n, nil
}

func isGroup(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.procs"))
	return err == nil
}

func sweep(parent string, entries []fs.DirEntry) int {
	n := 0
	for _, e := range entries {
		if e.IsDir() && stale(parent, e.Name()) && clear(filepath.Join(parent, e.Name()), 3) {
			n++
		}
	}
	return n
}

func stale(parent, name string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	f := strings.Split(rest, "-")
	if !ok || len(f) < 2 {
		return false
	}
	pid, err := strconv.Atoi(f[0])
	if err != nil || pid <= 0 || f[1] == "" || startTime(pid) == f[1] {
		return false
	}
	d, err := os.Open(filepath.Join(parent, name))
	if err != nil {
		return false
	}
	defer d.Close()
	return unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// clear kills what is in dir and below it, at most depth folders deep, and removes them.
func clear(dir string, depth int) bool {
	if depth == 0 {
		return false
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			clear(filepath.Join(dir, e.Name()), depth-1)
		}
	}
	if os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) != nil {
		b, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for _, line := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(line); err == nil && pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	return remove(dir) == nil
}

// Slot is the group of one launcher. On v1 its cells are in it too; on v2 each has a leaf of its own.
type Slot struct {
	mode Mode
	path string // below each of mode.Dirs
	v1   cgroup1.Cgroup
	View // v1
	next int
}

// Slot makes a slot's group.
func (s *Server) Slot(name string) (*Slot, error) {
	t := &Slot{mode: s.mode, path: filepath.Join(s.name, name)}
	if s.mode.Kind == V1 {
		v1, err := cgroup1.New(cgroup1.NestedPath("/"+t.path), &specs.LinuxResources{}, cgroup1.WithHierarchy(used))
		if err != nil {
			return nil, fmt.Errorf("make cgroup %s: %w", t.path, err)
		}
		t.v1 = v1
		dirs := map[string]string{}
		for c, parent := range s.mode.Dirs {
			dirs[c] = filepath.Join(parent, t.path)
		}
		if t.View, err = openV1(dirs); err != nil {
			_ = t.Close()
			return nil, err
		}
		return t, nil
	}
	dir := filepath.Join(s.mode.Dirs[""], t.path)
	for _, d := range []string{dir, filepath.Join(dir, "launcher")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, fmt.Errorf("make cgroup: %w", err)
		}
	}
	if err := delegate(dir); err != nil {
		_ = t.Close()
		return nil, err
	}
	return t, nil
}

func used() ([]cgroup1.Subsystem, error) {
	all, err := cgroup1.Default()
	var out []cgroup1.Subsystem
	for _, s := range all {
		if slices.Contains(controllers, string(s.Name())) {
			out = append(out, s)
		}
	}
	return out, err
}

// Join moves the launcher into the group. It costs milliseconds after an idle spell, once for a launcher and never for a run.
func (t *Slot) Join(pid int) error {
	if t.v1 != nil {
		if err := t.v1.AddProc(uint64(pid)); err != nil {
			return fmt.Errorf("join cgroup: %w", err)
		}
		return nil
	}
	if err := os.WriteFile(filepath.Join(t.mode.Dirs[""], t.path, "launcher", "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		return fmt.Errorf("join cgroup: %w", err)
	}
	return nil
}

// Close removes the group. Its processes must be dead.
func (t *Slot) Close() error {
	if t.View != nil {
		t.View.close()
	}
	if t.mode.Kind == V1 {
		var errs []error
		for _, parent := range t.mode.Dirs {
			errs = append(errs, remove(filepath.Join(parent, t.path)))
		}
		return errors.Join(errs...)
	}
	dir := filepath.Join(t.mode.Dirs[""], t.path)
	return errors.Join(remove(filepath.Join(dir, "launcher")), remove(dir))
}

// PerCell reports whether each cell is born in a leaf of its own.
func (t *Slot) PerCell() bool { return t.mode.Kind == V2 }

// Cell makes the leaf in which the next cell is born. It is for v2 only.
func (t *Slot) Cell() (*Cell, error) {
	t.next++
	dir := filepath.Join(t.mode.Dirs[""], t.path, "cell-"+strconv.Itoa(t.next))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make cgroup: %w", err)
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = os.Remove(dir)
		return nil, fmt.Errorf("open cgroup: %w", err)
	}
	c := &Cell{dir: dir, fd: fd}
	if c.View, err = openV2(dir); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Cell is the leaf of one cell.
type Cell struct {
	View
	dir string
	fd  int
}

// FD is the folder, for CLONE_INTO_CGROUP.
func (c *Cell) FD() int { return c.fd }

// Close removes the leaf.
func (c *Cell) Close() error {
	if c.View != nil {
		c.View.close()
	}
	unix.Close(c.fd)
	return remove(c.dir)
}
