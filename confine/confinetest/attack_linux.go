package confinetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pdlt.dev/pdlt/confine"
)

func jsonText(t testing.TB, res confine.Result) string {
	t.Helper()
	b, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const canaryGroup = 54321

// canaries are things outside that hold a token each, and listeners that must hear nothing.
type canaries struct {
	dir, decoyDir string
	copies        string // for copies that a root of a host command can be
	file600       string
	file644       string
	decoy         string
	decoyBase     string
	shm           string
	mq            string
	keyName       string
	key           int
	sysv          int
	sysvID        int
	tcp4, tcp6    int
	udp           int
	unixPath      string
	abstract      string
	tokens        map[string]string // file -> content
	leaked        int               // a descriptor without close-on-exec

	mu    sync.Mutex
	heard []string
	quiet bool // the baseline is over: from here on hearing is a fault
}

func (c *canaries) places() map[string]any {
	return map[string]any{"server": os.Getpid(), "dir": c.dir, "file600": c.file600, "file644": c.file644, "decoy": c.decoy, "decoy_base": c.decoyBase, "shm": filepath.Base(c.shm), "mq": c.mq, "key": c.key, "key_name": c.keyName, "sysv": c.sysv,
		"tcp4": c.tcp4, "tcp6": c.tcp6, "udp": c.udp, "unix": c.unixPath, "abstract": c.abstract, "abstract_datagram": c.abstract + "-d"}
}

// setCanaries makes the canaries and has t check and remove them at its end.
func setCanaries(t *testing.T, dir string) *canaries {
	t.Helper()
	// Not below /tmp, which is the cell's own inside: a root there would be covered.
	copies, err := os.MkdirTemp("/var/tmp", "pdlt-attacks-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(copies) })
	decoys := filepath.Join(copies, "decoy")
	c := &canaries{dir: dir, copies: copies, decoyDir: decoys, tokens: map[string]string{}, leaked: -1, sysvID: -1}
	file := func(name string, mode os.FileMode, text string) string {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, name)
		}
		writeFile(t, path, []byte(text))
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		c.tokens[path] = text
		return path
	}
	c.file600 = file("secret", 0o600, token(t))
	c.file644 = file("public", 0o644, token(t))
	c.decoy = file(filepath.Join(decoys, "decoy"), 0o644, "decoy "+strings.Repeat("x", 9000))
	c.decoyBase = filepath.Join(dir, "copy", "decoy")
	for _, suffix := range []string{"", ".2", ".3"} {
		writeFile(t, c.decoyBase+suffix, []byte("decoy "+strings.Repeat("x", 9000)))
	}
	unique := strconv.Itoa(os.Getpid())
	c.shm = file("/dev/shm/pdlt-canary-"+unique, 0o644, token(t))
	t.Setenv("PDLT_CANARY", token(t))
	fd, err := unix.Open(c.file600, unix.O_RDONLY, 0) // inherited by every child that does not close it
	if err != nil {
		t.Fatal(err)
	}
	c.leaked = fd

	if os.Geteuid() == 0 { // a supplementary group, that nothing inside may have
		was, err := os.Getgroups()
		if err == nil && syscall.Setgroups([]int{canaryGroup}) == nil {
			t.Cleanup(func() { _ = syscall.Setgroups(was) })
		}
	}

	listen := func(network, address string) (net.Listener, int) {
		l, err := net.Listen(network, address)
		if err != nil {
			return nil, 0
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				c.hear(network + " " + address)
				conn.Close()
			}
		}()
		t.Cleanup(func() { l.Close() })
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			return l, a.Port
		}
		return l, 0
	}
	_, c.tcp4 = listen("tcp4", "127.0.0.1:0")
	_, c.tcp6 = listen("tcp6", "[::1]:0")
	c.unixPath = filepath.Join("/tmp", "pdlt-canary-"+unique) // a short path
	c.abstract = "pdlt-canary-" + unique
	if l, _ := listen("unix", c.unixPath); l == nil {
		t.Fatal("listen on a UNIX path")
	}
	listen("unix", "@"+c.abstract)
	packets := func(network, address string) net.PacketConn {
		p, err := net.ListenPacket(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		go func() {
			b := make([]byte, 100)
			for {
				if _, _, err := p.ReadFrom(b); err != nil {
					return
				}
				c.hear(network + " " + address)
			}
		}()
		return p
	}
	c.udp = packets("udp4", "127.0.0.1:0").LocalAddr().(*net.UDPAddr).Port
	packets("unixgram", "@"+c.abstract+"-d")

	c.sysv = 0x70000000 | os.Getpid()
	if id, err := unix.SysvShmGet(c.sysv, 4096, unix.IPC_CREAT|0o666); err == nil {
		c.sysvID = id
		if b, err := unix.SysvShmAttach(id, 0, 0); err == nil {
			copy(b, token(t))
			_ = unix.SysvShmDetach(b)
		}
	}
	c.mq = "pdlt-canary-" + unique
	c.openQueue(t)
	c.keyName = "pdlt-canary-" + unique
	if id, err := unix.AddKey("user", c.keyName, []byte(token(t)), unix.KEY_SPEC_USER_KEYRING); err == nil {
		c.key = id
		_ = unix.KeyctlSetperm(id, 0x3f3f0000) // for every process of the user, whatever its session
	}
	t.Cleanup(func() { c.check(t) })
	return c
}

func (c *canaries) hear(who string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.quiet {
		c.heard = append(c.heard, who)
	}
}

// hush marks the end of the baseline, whose own connections are heard.
func (c *canaries) hush() {
	time.Sleep(50 * time.Millisecond)
	c.mu.Lock()
	c.quiet = true
	c.mu.Unlock()
}

func (c *canaries) openQueue(t *testing.T) {
	name, err := unix.BytePtrFromString(c.mq)
	if err != nil {
		t.Fatal(err)
	}
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_CREAT|unix.O_RDWR, 0o666, 0, 0, 0)
	if errno != 0 {
		t.Logf("no canary in a message queue: %v", errno)
		return
	}
	unix.Close(int(fd))
	t.Cleanup(func() { _, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0) })
}

// check looks whether anybody was heard or changed anything, and takes the canaries away.
func (c *canaries) check(t *testing.T) {
	c.mu.Lock()
	heard := slices.Clone(c.heard)
	c.mu.Unlock()
	if len(heard) > 0 {
		t.Errorf("canaries: listeners heard %v; required: nothing", heard)
	}
	for path, want := range c.tokens {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("canaries: %s was changed (%v)", filepath.Base(path), err)
		}
	}
	if entries, err := os.ReadDir(c.decoyDir); err != nil || len(entries) != 1 {
		t.Errorf("canaries: the decoy's folder holds %v (%v); required: the decoy only", entries, err)
	}
	if fi, err := os.Stat(c.decoy); err != nil || fi.Mode().Perm() != 0o644 || time.Since(fi.ModTime()) > time.Hour {
		t.Errorf("canaries: the decoy's mode or time was changed (%v)", err)
	}
	if c.sysvID >= 0 {
		if b, err := unix.SysvShmAttach(c.sysvID, 0, unix.SHM_RDONLY); err != nil {
			t.Errorf("canaries: the SysV segment is gone: %v", err)
		} else {
			if !bytes.HasPrefix(b, []byte("CANARY-")) {
				t.Errorf("canaries: the SysV segment was changed")
			}
			_ = unix.SysvShmDetach(b)
		}
		_, _ = unix.SysvShmCtl(c.sysvID, unix.IPC_RMID, nil)
	}
	if c.key != 0 {
		_, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, c.key, unix.KEY_SPEC_USER_KEYRING, 0, 0)
	}
	unix.Close(c.leaked)
	_ = os.Remove(c.shm)
	_ = os.Remove(c.unixPath)
}

// process is what /proc says of one.
type process struct {
	pid, ppid int
	nspid     []string
	status    map[string]string
}

// descendants are the processes below this one.
func descendants(t testing.TB) []process {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	all := map[int]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		p := process{pid: pid, status: map[string]string{}}
		for _, line := range strings.Split(string(b), "\n") {
			k, v, _ := strings.Cut(line, ":")
			p.status[k] = strings.Join(strings.Fields(v), " ")
		}
		p.ppid, _ = strconv.Atoi(p.status["PPid"])
		p.nspid = strings.Fields(p.status["NSpid"])
		all[pid] = p
	}
	var below []process
	for _, p := range all {
		for q, ok := all[p.ppid], true; ok && q.pid > 0; q, ok = all[q.ppid] {
			if q.pid == os.Getpid() {
				below = append(below, p)
				break
			}
		}
	}
	slices.SortFunc(below, func(a, b process) int { return a.pid - b.pid })
	return below
}

// sleeper says that it is there, by a file that the host can recognise it by, and sleeps.
const sleeper = "import os, time\nopen('/work/sleeper', 'w').close()\nos.write(1, b'READY\\n')\ntime.sleep(20)\n"

// outside compares what the host sees of a running cell with what the policy asks and the report claims.
func (a *attack) outside() {
	a.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	limits := confine.Limits{Wall: 20 * time.Second, MemoryBytes: 96 << 20, Processes: 11, OpenFiles: 77, FileBytes: 3 << 20}
	spec := a.spec(strict, []byte(sleeper), nil, limits)
	w := newWatchWriter("READY")
	spec.Stdout = w
	type finished struct {
		res confine.Result
		err error
	}
	done := make(chan finished, 1)
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	go func() {
		res, err := a.run(ctx, spec)
		done <- finished{res, err}
	}()
	select {
	case <-w.seen:
	case <-time.After(10 * time.Second):
	}
	check := func(id, what, got, want string) {
		a.record(probe{id: "0/outside: " + id, what: what, way: outside, want: want}, got)
	}
	var prog, init, launcher *process
	tree := descendants(a.t)
	for i, p := range tree {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/root/work/sleeper", p.pid)); err == nil && len(p.nspid) > 0 && p.nspid[len(p.nspid)-1] != "1" {
			prog = &tree[i]
		}
	}
	for i := range tree {
		if prog != nil && tree[i].pid == prog.ppid {
			init = &tree[i]
		}
	}
	for i := range tree {
		if init != nil && tree[i].pid == init.ppid {
			launcher = &tree[i]
		}
	}
	if prog == nil || init == nil || launcher == nil {
		check("found", "the program, its init and its launcher are below this process", fmt.Sprintf("program %v, init %v, launcher %v", prog != nil, init != nil, launcher != nil), "found")
		cancel()
		f := <-done
		a.t.Logf("%s: the sleeper: %v %s %s", a.mode, f.err, ended(f.res.Outcome), f.res.Outcome.Stderr.Text)
		return
	}
	check("found", "the program, its init and its launcher are below this process", "found", "found")
	own := func(name string) string { s, _ := os.Readlink("/proc/self/ns/" + name); return s }
	for _, c := range []struct {
		name string
		p    *process
	}{{"program", prog}, {"init", init}} {
		s := c.p.status
		check(c.name+": seccomp", "a filter is loaded", s["Seccomp"], "2")
		check(c.name+": no_new_privs", "set", s["NoNewPrivs"], "1")
		caps := map[string]bool{}
		for _, k := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
			caps[s[k]] = true
		}
		check(c.name+": capabilities", "all five sets are empty", strings.Join(sortedKeys(caps), " "), "0000000000000000")
		ids := strings.Fields(s["Uid"])
		answer := "one unprivileged id"
		if len(slices.Compact(slices.Clone(ids))) != 1 || os.Geteuid() == 0 && (ids[0] == "0" || ids[0] == strconv.Itoa(os.Getuid())) {
			answer = s["Uid"]
		}
		check(c.name+": user", "not the server's, when the server is root", answer, "one unprivileged id")
		gids := strings.Fields(s["Gid"])
		answer = "one unprivileged id"
		if len(slices.Compact(slices.Clone(gids))) != 1 || os.Geteuid() == 0 && gids[0] == "0" {
			answer = s["Gid"]
		}
		check(c.name+": group", "not the server's, when the server is root", answer, "one unprivileged id")
		groups := s["Groups"]
		if os.Geteuid() != 0 {
			groups = "" // an ordinary user cannot drop its own
		}
		check(c.name+": supplementary groups", "none", groups, "")
		var shared []string
		for _, ns := range []string{"user", "mnt", "pid_for_children", "net", "ipc", "uts", "cgroup"} {
			if c.name == "init" && ns == "user" && os.Geteuid() == 0 {
				continue // the program's user namespace is made after the mounts, by itself
			}
			theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", c.p.pid, ns))
			if err == nil && theirs == own(ns) || err != nil && !errors.Is(err, os.ErrPermission) && !errors.Is(err, os.ErrNotExist) {
				shared = append(shared, ns)
			}
		}
		check(c.name+": namespaces", "none is the server's", orNone(shared), "none")
		var fds []string
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.p.pid))
		if err == nil {
			for _, e := range entries {
				to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", c.p.pid, e.Name()))
				kind, _, _ := strings.Cut(to, ":")
				fds = append(fds, e.Name()+" "+kind)
			}
			slices.Sort(fds)
			want := "none"
			if c.name == "program" {
				want = "0 /dev/null, 1 pipe, 2 pipe"
			}
			check(c.name+": descriptors", "the standard streams of the program; nothing of the init", orNone(fds), want)
		}
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.p.pid))
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", c.p.pid))
		text := string(environ) + string(cmdline)
		leak := "nothing of the server"
		if tokenPattern.MatchString(text) || strings.Contains(text, a.baseline.dir) || strings.Contains(text, filepath.Dir(filepath.Dir(a.baseline.python))) {
			leak = strconv.Quote(text)
		}
		check(c.name+": environment and command line", "nothing of the server", leak, "nothing of the server")
	}
	if entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", launcher.pid)); err == nil {
		found := "no"
		for _, e := range entries {
			if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", launcher.pid, e.Name())); to == a.baseline.canaries.file600 {
				found = "descriptor " + e.Name() + " of the server's"
			}
		}
		check("launcher: inherited descriptors", "a file that the server opened without close-on-exec", found, "no")
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", launcher.pid))
		leak := "no"
		if tokenPattern.Match(environ) {
			leak = "yes"
		}
		check("launcher: environment", "the server's", leak, "no")
	}

	var set, propagated []string
	top := map[string]bool{} // whether the uppermost mount of a place can be written
	mi, _ := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", prog.pid))
	for _, line := range strings.Split(strings.TrimSpace(string(mi)), "\n") {
		f := strings.Fields(line)
		if len(f) < 7 {
			continue
		}
		options := strings.Split(f[5], ",")
		top[f[4]] = !slices.Contains(options, "ro") && !slices.Contains([]string{"/work", "/tmp", "/dev/shm", "/box"}, f[4])
		if !slices.Contains(options, "nosuid") {
			set = append(set, f[4])
		}
		if strings.Contains(line, "shared:") || strings.Contains(line, "master:") {
			propagated = append(propagated, f[4])
		}
	}
	for place, can := range top {
		if !can {
			delete(top, place)
		}
	}
	check("mounts: writable", "beside the three private folders and the closed one that they lie in", orNone(sortedKeys(top)), "none")
	check("mounts: set-user-id", "every mount is nosuid", orNone(set), "none")
	check("mounts: propagation", "none is shared or a slave", orNone(propagated), "none")
	now, _ := os.ReadFile("/proc/self/mountinfo")
	same := "the same"
	if string(now) != string(mounts) {
		same = "changed"
	}
	check("mounts: of the host", "before and during a run", same, "the same")
	var names []string
	if entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/root", prog.pid)); err == nil {
		for _, e := range entries {
			if !slices.Contains([]string{"box", "dev", "etc", "lib", "lib64", "proc", "python", "tmp", "usr", "work"}, e.Name()) {
				names = append(names, e.Name())
			}
		}
	}
	check("root", "names that are not the cell's", orNone(names), "none")

	rlimits := map[string]string{}
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/limits", prog.pid))
	for _, line := range strings.Split(string(b), "\n") {
		if len(line) > 66 {
			rlimits[strings.TrimSpace(line[:26])] = strings.Join(strings.Fields(line[26:66]), " ")
		}
	}
	for name, want := range map[string]string{"Max open files": "77 77", "Max core file size": "0 0", "Max locked memory": "0 0", "Max msgqueue size": "0 0", "Max file size": "3145728 3145728"} {
		check("limits: "+name, "as asked, soft and hard", rlimits[name], want)
	}
	a.mu.Lock()
	claimed := a.cgroup
	a.mu.Unlock()
	if claimed { // without one the report says so, and rlimits are compared above
		a.outsideCgroup(prog, limits, check)
	}
	module := "as the server's, or none"
	if m := attr(prog.pid); m != attr(os.Getpid()) && m != "none" && m != "unconfined" {
		module = m
	}
	check("security module", "what attr/current says", module, "as the server's, or none")

	cancel()
	f := <-done
	if f.err != nil {
		a.t.Errorf("%s: the sleeper: %v", a.mode, f.err)
	}
	missing := confine.AllFacets &^ f.res.Report.Enforced()
	check("report: facets", "what the report does not claim", orNone(strings.FieldsFunc(missing.String(), func(r rune) bool { return r == ',' })), "none")
	check("report: outcome", "cancelled", string(f.res.Outcome.Stopped), string(confine.StoppedCancelled))
	gone := "gone"
	for _, p := range []*process{prog, init} {
		if err := unix.Kill(p.pid, 0); err == nil {
			gone = "process " + strings.Join(p.nspid, "/") + " is still there"
		}
	}
	check("after the answer", "program and init", gone, "gone")
}

// outsideCgroup compares the limits of the program's cgroup with what was asked.
func (a *attack) outsideCgroup(prog *process, l confine.Limits, check func(id, what, got, want string)) {
	read := func(pid int) map[string]string {
		groups := map[string]string{}
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
			if f := strings.SplitN(line, ":", 3); len(f) == 3 {
				for _, c := range strings.Split(f[1], ",") {
					groups[c] = f[2]
				}
			}
		}
		return groups
	}
	theirs, ours := read(prog.pid), read(os.Getpid())
	value := func(controller, v1, v2 string) (string, string) {
		for _, try := range []string{filepath.Join("/sys/fs/cgroup", controller, theirs[controller], v1), filepath.Join("/sys/fs/cgroup", theirs[""], v2), filepath.Join("/sys/fs/cgroup/unified", theirs[""], v2)} {
			if b, err := os.ReadFile(try); err == nil {
				return strings.TrimSpace(string(b)), try
			}
		}
		return "", ""
	}
	for _, c := range []struct {
		name, v1, v2, controller string
		min, max                 int64
	}{
		// The init is a process too; where the launcher lives in the same group, it and its memory count with it.
		{"memory", "memory.limit_in_bytes", "memory.max", "memory", l.MemoryBytes, l.MemoryBytes + 64<<20},
		{"pids", "pids.max", "pids.max", "pids", int64(l.Processes), int64(l.Processes) + 2},
	} {
		if theirs[c.controller] == "" && theirs[""] == "" {
			continue
		}
		text, _ := value(c.controller, c.v1, c.v2)
		n, err := strconv.ParseInt(text, 10, 64)
		answer := "as asked"
		if err != nil || n < c.min || n > c.max {
			answer = fmt.Sprintf("%q, for %d", text, c.min)
		}
		check("cgroup: "+c.name, "the limit of the program's cgroup", answer, "as asked")
		same := "its own"
		if theirs[c.controller] == ours[c.controller] && theirs[""] == ours[""] {
			same = "the server's"
		}
		check("cgroup: "+c.name+", membership", "not the server's", same, "its own")
	}
}

func attr(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/attr/current", pid))
	if s := strings.TrimRight(strings.TrimSpace(string(b)), "\x00"); err == nil && s != "" {
		return s
	}
	return "none"
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

func sortedKeys(m map[string]bool) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
