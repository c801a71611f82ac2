//go:build linux && cgo

package native

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pdlt.dev/pdlt/confine"
)

// probe puts every facet to the test: a program tries what the facet forbids in a throw-away cell, and then, unconfined, the same. run must leave
// sentences off, so that the kernel answers; baseline runs a program without any confinement and gives its standard output. The
// error is a fault or ctx's end: a facet that does not hold is a proof like any other.
func probe(ctx context.Context, run func(context.Context, confine.Spec) (confine.Result, error), baseline func(ctx context.Context, source []byte) (string, error)) ([]confine.Proof, error) {
	c, err := setCanaries()
	if err != nil {
		return nil, fmt.Errorf("set canaries: %w", err)
	}
	defer c.close()
	trials := append(limitTrials(), c.trials()...)
	proofs := make([]confine.Proof, len(trials))
	// Two at a time: most of a trial is waiting, and two is what every machine has slots for.
	slots := make(chan struct{}, 2)
	var all sync.WaitGroup
	for i := range trials {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t := &trials[i]
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			source := []byte(trialPrelude + c.names() + t.source + trialEnd)
			limits := t.limits
			if limits == (confine.Limits{}) {
				limits = trialLimits
			}
			var o observation
			// Nothing is required: a cell is to start on any rung, so that its other facets can be tried.
			o.result, o.err = run(ctx, confine.Spec{Program: confine.Python(source), Limits: limits,
				Policy: confine.Policy{Name: "the doctor's policy", NativeCode: t.native, Waive: confine.AllFacets}})
			if t.arrived != nil {
				o.arrived = t.arrived()
			}
			if o.err == nil {
				o.baseline, o.baselineErr = baseline(ctx, source)
				if t.arrived != nil {
					o.baselineArrived = t.arrived()
				}
			}
			proofs[i] = t.judge(o)
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("try the facets: %w", err)
	}
	inOrder(proofs)
	return proofs, nil
}

// unconfined runs a program with the same interpreter and nothing else: with this process's environment, ids and descriptors.
func (in *interpreter) unconfined(ctx context.Context, source []byte) (string, error) {
	cmd := exec.CommandContext(ctx, in.raw, "-I", "-S", "-c", string(source))
	cmd.Dir = os.TempDir()
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		err = nil // what it printed until then is the answer
	}
	return string(out), err
}

// canaries are things of the host that a cell must not reach. What could not be set is left out of the attempts.
type canaries struct {
	dir      string // everybody may read and write here
	token    string // in names and contents: nothing else matches it
	tcp      []*net.TCPListener
	udp      *net.UDPConn
	abstract *net.UnixListener
	path     *net.UnixListener
	shm      string // a file in /dev/shm
	key      int    // of a System V segment
	segment  int
	keyring  int // serial of a key of the user
	leaked   int // a descriptor without close-on-exec
}

const (
	canaryRead  = "read"
	canaryWrite = "write"
)

func setCanaries() (c *canaries, err error) {
	c = &canaries{token: "pdlt-doctor-" + rand.Text(), segment: -1, keyring: -1, leaked: -1}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.dir, err = os.MkdirTemp("", "pdlt-doctor-"); err != nil {
		return c, err
	}
	// Permissions must not be what stops the program.
	if err = os.Chmod(c.dir, 0o777); err != nil {
		return c, err
	}
	for _, name := range []string{canaryRead, canaryWrite} {
		file := filepath.Join(c.dir, name)
		if err = errors.Join(os.WriteFile(file, []byte(c.token), 0o600), os.Chmod(file, 0o666)); err != nil {
			return c, err
		}
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		if l, err := net.Listen("tcp", address); err == nil {
			c.tcp = append(c.tcp, l.(*net.TCPListener))
		}
	}
	if l, err := net.ListenPacket("udp", "127.0.0.1:0"); err == nil {
		c.udp = l.(*net.UDPConn)
	}
	if l, err := net.Listen("unix", "@"+c.token); err == nil {
		c.abstract = l.(*net.UnixListener)
	}
	if l, err := net.Listen("unix", filepath.Join(c.dir, "socket")); err == nil {
		c.path = l.(*net.UnixListener)
		_ = os.Chmod(filepath.Join(c.dir, "socket"), 0o777)
	}
	if os.WriteFile("/dev/shm/"+c.token, nil, 0o666) == nil {
		c.shm = "/dev/shm/" + c.token
	}
	for range 10 { // a key that is free
		var b [4]byte
		_, _ = rand.Read(b[:])
		c.key = int(b[0]) | int(b[1])<<8 | int(b[2])<<16 | 1<<30
		if c.segment, err = unix.SysvShmGet(c.key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o666); err == nil {
			break
		}
		c.segment = -1
	}
	if c.keyring, err = unix.AddKey("user", c.token, []byte("x"), unix.KEY_SPEC_USER_KEYRING); err != nil {
		c.keyring = -1
	}
	// Go closes its own descriptors on exec; this one is left open as a careless server would leave one.
	if c.leaked, err = unix.Open(filepath.Join(c.dir, canaryRead), unix.O_RDONLY, 0); err != nil {
		c.leaked = -1
	}
	return c, nil
}

func (c *canaries) close() {
	for _, l := range c.tcp {
		l.Close()
	}
	if c.udp != nil {
		c.udp.Close()
	}
	for _, l := range []*net.UnixListener{c.abstract, c.path} {
		if l != nil {
			l.Close()
		}
	}
	if c.shm != "" {
		_ = os.Remove(c.shm)
	}
	if c.segment >= 0 {
		_, _ = unix.SysvShmCtl(c.segment, unix.IPC_RMID, nil)
	}
	if c.keyring >= 0 {
		_, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, c.keyring, unix.KEY_SPEC_USER_KEYRING, 0, 0)
	}
	if c.leaked >= 0 {
		unix.Close(c.leaked)
	}
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}

// names tells a program where the canaries are, and numbers that only the host knows.
func (c *canaries) names() string {
	var b strings.Builder
	fmt.Fprintf(&b, "DIR, TOKEN, SHM, PID = %q, %q, %q, %d\n", c.dir, c.token, c.shm, os.Getpid())
	ports := []string{}
	for _, l := range c.tcp {
		a := l.Addr().(*net.TCPAddr)
		ports = append(ports, fmt.Sprintf("(%q, %d)", a.IP.String(), a.Port))
	}
	fmt.Fprintf(&b, "TCP = [%s]\n", strings.Join(ports, ", "))
	udp := 0
	if c.udp != nil {
		udp = c.udp.LocalAddr().(*net.UDPAddr).Port
	}
	fmt.Fprintf(&b, "UDP, ABSTRACT, PATH, KEYRING = %d, %s, %s, %s\n", udp, pythonBool(c.abstract != nil), pythonBool(c.path != nil), pythonBool(c.keyring >= 0))
	key := c.key
	if c.segment < 0 {
		key = 0
	}
	var root unix.Stat_t
	_ = unix.Stat("/", &root)
	ns, _ := os.Readlink("/proc/self/ns/pid")
	fmt.Fprintf(&b, "KEY, ROOT, PIDNS, REQUEST_KEY, PIDFD_OPEN = %d, (%d, %d), %q, %d, %d\n", key, root.Dev, root.Ino, ns, unix.SYS_REQUEST_KEY, unix.SYS_PIDFD_OPEN)
	fixed := []string{"LD_PRELOAD", "PDLT_CELL"} // with which the launcher starts an interpreter
	for _, kv := range fixedEnv {
		name, _, _ := strings.Cut(kv, "=")
		fixed = append(fixed, name)
	}
	fmt.Fprintf(&b, "FIXED = %q.split()\n", strings.Join(fixed, " "))
	return b.String()
}

func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// patience is how long a canary waits for what is under way. On one machine everything that was sent has arrived when the sender is dead.
const patience = 20 * time.Millisecond

// connections counts what waits at a listener.
func connections(l interface {
	net.Listener
	SetDeadline(time.Time) error
}) (n int) {
	for {
		_ = l.SetDeadline(time.Now().Add(patience))
		conn, err := l.Accept()
		if err != nil {
			return n
		}
		conn.Close()
		n++
	}
}

func (c *canaries) network() string {
	n := 0
	for _, l := range c.tcp {
		n += connections(l)
	}
	if c.udp != nil {
		for buf := make([]byte, 64); ; n++ {
			_ = c.udp.SetReadDeadline(time.Now().Add(patience))
			if _, _, err := c.udp.ReadFrom(buf); err != nil {
				break
			}
		}
	}
	return counted(n, "connections or datagrams arrived")
}

func (c *canaries) sockets() string {
	n := 0
	for _, l := range []*net.UnixListener{c.abstract, c.path} {
		if l != nil {
			n += connections(l)
		}
	}
	return counted(n, "connections arrived")
}

func (c *canaries) written() string {
	var found []string
	if b, err := os.ReadFile(filepath.Join(c.dir, canaryWrite)); err != nil || string(b) != c.token {
		found = append(found, "the file is changed")
	}
	if _, err := os.Lstat(filepath.Join(c.dir, "made")); err == nil {
		found = append(found, "a file was made")
	}
	return strings.Join(found, ", ")
}

func counted(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n, " ", what)
}

// libc gives a program the C library, where native code is allowed. A call that answers -1 raises its errno.
const libc = `
def call(name, *args):
    import ctypes
    lib = ctypes.CDLL(None, use_errno=True)
    if getattr(lib, name)(*args) == -1:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))
`

// trials are those that reach for something of the host. The names are those of the functions in names.
func (c *canaries) trials() []trial {
	return []trial{
		{facet: confine.FSRead, tried: "read files and folders of the host", source: `
def root():
    s = os.stat("/")
    return None if (s.st_dev, s.st_ino) == ROOT else "own"
attempt("a file that everybody may read", lambda: use(open(DIR + "/read").read()))
attempt("its folder", lambda: use(os.listdir(DIR)))
attempt("/etc/shadow", lambda: open("/etc/shadow").close())
attempt("/root", lambda: use(os.listdir("/root")))
attempt("the host's root", root)
`},
		{facet: confine.FSWrite, tried: "write outside the private folders", arrived: c.written, source: `
def write(path):
    with open(path, "w") as f: f.write("changed")
def unnamed(folder):
    os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600))
attempt("a file that everybody may write", lambda: write(DIR + "/write"))
attempt("a new file beside it", lambda: write(DIR + "/made"))
attempt("its mode", lambda: os.chmod(DIR + "/write", 0o666))
for folder in "/", "/etc", "/dev": attempt(folder, lambda: unnamed(folder))
attempt("the standard library", lambda: unnamed(os.path.dirname(os.__file__)))
attempt("/proc/self", lambda: os.close(os.open("/proc/self/oom_score_adj", os.O_WRONLY)))
`},
		{facet: confine.Exec, tried: "run other code than the interpreter's", source: `
import mmap, tempfile
def mapped():
    with tempfile.TemporaryFile() as f:
        f.write(bytes(4096)); f.flush()
        mmap.mmap(f.fileno(), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
def foreign():
    import ctypes
    ctypes.CDLL(None).getpid()
def started(path, *args):
    if os.waitpid(os.posix_spawn(path, [path, *args], {}), 0)[1]: raise OSError("it failed")
attempt("executable memory", lambda: mmap.mmap(-1, 4096, prot=7).close())
attempt("an executable mapping of a written file", mapped)
attempt("C through ctypes", foreign)
attempt("/bin/sh", lambda: started("/bin/sh", "-c", ":"))
attempt("the interpreter again", lambda: os.execv("/proc/self/exe", ["python3", "-I", "-S", "-c", "print('the interpreter again\\tdone')"]))
`},
		{facet: confine.Net, tried: "reach listeners of the host", arrived: c.network, source: `
import socket
def connect(address):
    with socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET) as s:
        s.settimeout(2)
        s.connect(address)
def send():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s: s.sendto(b"x", ("127.0.0.1", UDP))
for address in TCP: attempt("TCP to " + address[0], lambda: connect(address))
if UDP: attempt("UDP to 127.0.0.1", send)
attempt("a netlink socket", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close())
attempt("a raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close())
`},
		{facet: confine.IPC, tried: "reach sockets, shared memory and keys of the host", native: true, arrived: c.sockets, source: libc + `
import socket
def connect(address):
    with socket.socket(socket.AF_UNIX) as s: s.connect(address)
if ABSTRACT: attempt("an abstract socket", lambda: connect("\0" + TOKEN))
if PATH: attempt("a socket in a folder", lambda: connect(DIR + "/socket"))
if SHM: attempt("POSIX shared memory", lambda: open(SHM).close())
if KEY: attempt("System V shared memory", lambda: call("shmget", KEY, 0, 0))
if KEYRING: attempt("a key of the user", lambda: call("syscall", REQUEST_KEY, b"user", TOKEN.encode(), None, 0))
`},
		{facet: confine.Proc, tried: "see, signal and trace other processes", native: true, source: libc + `
def others():
    return None if [p for p in os.listdir("/proc") if p.isdigit() and p not in ("1", str(os.getpid()))] else "none"
def namespace():
    return None if os.readlink("/proc/self/ns/pid") == PIDNS else "own"
attempt("other processes in /proc", others)
attempt("the host's PID namespace", namespace)
if PID > 99: # inside, small numbers are the cell's own
    attempt("a signal to the server", lambda: os.kill(PID, 0))
    attempt("the server's environment", lambda: use(open("/proc/%d/environ" % PID, "rb").read()))
    attempt("a handle of the server", lambda: call("syscall", PIDFD_OPEN, PID, 0))
attempt("the environment of PID 1", lambda: use(open("/proc/1/environ", "rb").read()))
attempt("ptrace", lambda: call("ptrace", 0, 0, None, None)) # PTRACE_TRACEME
`},
		{facet: confine.Privilege, tried: "hold or gain a privilege", native: true, source: libc + `
status = dict(l.split(":\t", 1) for l in open("/proc/self/status") if ":\t" in l)
attempt("a capability", lambda: "none" if not any(int(status[k], 16) for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")) else None)
attempt("gains by exec", lambda: "no_new_privs" if int(status["NoNewPrivs"]) else None)
attempt("unfiltered calls", lambda: "seccomp" if int(status["Seccomp"]) == 2 else None)
attempt("uid 0", lambda: os.setuid(0))
attempt("groups", lambda: os.setgroups([]))
attempt("chroot", lambda: os.chroot("/"))
attempt("mount", lambda: call("mount", None, None, None, 0, None), errno.EFAULT)
attempt("setns", lambda: call("setns", -1, 0), errno.EBADF)
attempt("a user namespace", lambda: call("unshare", 0x10000000))
`},
		{facet: confine.Env, tried: "find variables and descriptors of the server", source: `
def beyond(names): return None if set(names) - set(FIXED) else "none"
def descriptor():
    for fd in range(3, 1024):
        try: os.fstat(fd)
        except OSError: continue
        return None
    return "none"
attempt("a variable beyond the fixed ones", lambda: beyond(os.environ))
attempt("one in /proc/self/environ", lambda: beyond(v.split("=")[0] for v in open("/proc/self/environ").read().split("\0") if v))
attempt("an open descriptor", descriptor)
`},
	}
}
