package python

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"pdlt.dev/pdlt/confine/internal/cell"
)

// interpreter is one CPython that the tests run against.
type interpreter struct {
	name, exe, home, stdlib string
	pack                    bool
}

func (i interpreter) minor() int {
	var n int
	_, _ = fmt.Sscanf(filepath.Base(i.stdlib), "python3.%d", &n)
	return n
}

// interpreters finds the pack ($PDLT_PACK, else what `make pack` left) and every CPython 3.10 to 3.14 of the PATH and of pyenv.
func interpreters(t testing.TB) []interpreter {
	var out []interpreter
	seen := map[string]bool{}
	add := func(exe string, pack bool) {
		b, err := exec.Command(exe, "-I", "-S", "-X", "utf8", "-c", "import sys, os; v = sys.version_info; print(v[0], v[1], sys.abiflags or '-', "+
			"sys.implementation.name, os.path.realpath(sys._base_executable), sys.base_prefix, os.path.dirname(os.__file__), sep='\\n')").Output()
		if err != nil {
			return
		}
		f := strings.Split(strings.TrimSpace(string(b)), "\n")
		if len(f) != 7 || f[0] != "3" || len(f[1]) != 2 || f[1] < "10" || f[1] > "14" || f[2] != "-" || f[3] != "cpython" || seen[f[4]] {
			return
		}
		seen[f[4]] = true
		name := "3." + f[1]
		if pack {
			name = "pack"
		}
		out = append(out, interpreter{name, f[4], f[5], f[6], pack})
	}
	folder := os.Getenv("PDLT_PACK")
	if folder == "" {
		base, _ := filepath.Abs("../../../../bin/pack")
		current, _ := os.ReadFile(filepath.Join(base, "current"))
		folder = filepath.Join(base, strings.TrimSpace(string(current)))
	}
	found, _ := filepath.Glob(filepath.Join(folder, "bin", "python3.??"))
	for _, exe := range found {
		add(exe, true)
	}
	if !testing.Short() {
		home, _ := os.UserHomeDir()
		found, _ = filepath.Glob(filepath.Join(home, ".pyenv/versions/3.1?.*/bin/python3.??"))
		system, _ := filepath.Glob("/usr/bin/python3.??")
		found = append(found, system...)
		for minor := 10; minor <= 14; minor++ {
			if exe, err := exec.LookPath(fmt.Sprintf("python3.%d", minor)); err == nil {
				found = append(found, exe)
			}
		}
		for _, exe := range found {
			add(exe, false)
		}
	}
	if len(out) == 0 {
		t.Skip("no interpreter: make pack, or set PDLT_PACK")
	}
	return out
}

// eachInterpreter runs f once per interpreter.
func eachInterpreter(t *testing.T, f func(t *testing.T, i interpreter)) {
	for _, i := range interpreters(t) {
		t.Run(i.name, func(t *testing.T) { f(t, i) })
	}
}

// helper is the shared object with the stand-in for the launcher, and the folder that it takes for the program's.
var helper struct {
	sync.Once
	path, work string
	err        error
}

// sharedObject compiles the helper with the stand-in for the launcher.
func sharedObject(t testing.TB) string {
	helper.Do(func() {
		gcc, err := exec.LookPath("gcc")
		if err != nil {
			helper.err = err
			return
		}
		dir, err := os.MkdirTemp("", "cell")
		if err != nil {
			helper.err = err
			return
		}
		sources, _ := filepath.Glob("*.c")
		helper.path, helper.work = filepath.Join(dir, "cell.so"), filepath.Join(dir, "work")
		args := append([]string{"-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", "-Wl,-z,now", "-DCELL_WORK=\"" + helper.work + "\"", "-o", helper.path, "testdata/stub.c"}, sources...)
		if b, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
			helper.err = fmt.Errorf("gcc: %w\n%s", err, b)
		}
	})
	if os.IsNotExist(helper.err) || helper.err == exec.ErrNotFound {
		t.Skip("no gcc")
	}
	if helper.err != nil {
		t.Fatal(helper.err)
	}
	return helper.path
}

func TestMain(m *testing.M) {
	code := m.Run()
	if helper.path != "" {
		os.RemoveAll(filepath.Dir(helper.path))
	}
	os.Exit(code)
}

// page mirrors struct cell_page.
type page struct {
	Steps, Limit                               uint64
	Counted, Stopped, Tamper, Denied, Uncaught uint32
	NoSpace, NoSpaceErrno, _                   uint32
	RefusedAlloc                               uint64
}

type result struct {
	status   syscall.WaitStatus
	out, err []byte
	page     page
	took     time.Duration
}

// code is the exit status as a shell-less caller sees it: negative for a signal.
func (r result) code() int {
	if r.status.Signaled() {
		return -int(r.status.Signal())
	}
	return r.status.ExitStatus()
}

func (r result) String() string {
	return fmt.Sprintf("exit %d, page %+v\nstdout: %q\nstderr: %q", r.code(), r.page, tail(r.out), tail(r.err))
}

func tail(b []byte) []byte { return b[max(0, len(b)-1500):] }

type run struct {
	source []byte
	flags  uint32 // cell.Hints and so on
	req    cell.Request
	limit  time.Duration
}

func (r run) request() cell.Request {
	q := r.req
	q.Files = append([]cell.RequestFile{{Name: "program.py", Mode: 0o644, Data: r.source}}, q.Files...)
	if q.Args == nil {
		q.Args = []string{"program.py"}
	}
	return q
}

func config(i interpreter, flags uint32) []byte {
	c := cell.Config{Flags: flags, Interpreter: i.exe, PythonHome: i.home, Stdlib: i.stdlib, Tier: "tier MINIMAL", HashSeed: "0", Env: []string{"LANG=C.UTF-8"}}
	if i.pack && flags&cell.Processes == 0 {
		c.Inner = cell.Filter{0} // the stand-in has a filter of its own and only looks whether one is wanted
	} else if !i.pack {
		c.Flags |= cell.HostPython
	}
	return c.Encode()
}

func memfd(t testing.TB, b []byte) *os.File {
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "memfd")
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// ends are what a cell is given and what the test keeps of it.
type ends struct {
	request, page, out, err *os.File // the cell's
	talk, outRead, errRead  *os.File
	gather                  sync.WaitGroup
	outBytes, errBytes      []byte
}

func newEnds(t testing.TB) *ends {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	e := &ends{request: os.NewFile(uintptr(pair[0]), "request"), talk: os.NewFile(uintptr(pair[1]), "talk"), page: memfd(t, make([]byte, 4096))}
	if e.outRead, e.out, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	if e.errRead, e.err, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	return e
}

// begin closes the cell's ends, sends the request and gathers output until finish.
func (e *ends) begin(q cell.Request) {
	e.request.Close()
	e.out.Close()
	e.err.Close()
	e.gather.Add(2)
	go func() { defer e.gather.Done(); e.outBytes, _ = io.ReadAll(e.outRead) }()
	go func() { defer e.gather.Done(); e.errBytes, _ = io.ReadAll(e.errRead) }()
	go func() {
		for _, b := range q.Encode() {
			if _, err := e.talk.Write(b); err != nil {
				return
			}
		}
	}()
}

func (e *ends) finish(t testing.TB, status syscall.WaitStatus, took time.Duration) result {
	e.gather.Wait()
	e.talk.Close()
	e.outRead.Close()
	e.errRead.Close()
	r := result{status: status, out: e.outBytes, err: e.errBytes, took: took}
	b := make([]byte, unsafe.Sizeof(r.page))
	if _, err := e.page.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := binary.Read(bytes.NewReader(b), binary.NativeEndian, &r.page); err != nil {
		t.Fatal(err)
	}
	return r
}

func command(i interpreter, so, mode string, limit time.Duration) (*exec.Cmd, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	cmd := exec.CommandContext(ctx, i.exe)
	cmd.Args = []string{"python3"}
	cmd.Env = []string{"LD_PRELOAD=" + so, "LD_BIND_NOW=1", "PDLT_CELL=" + mode}
	cmd.Stderr = os.Stderr
	return cmd, cancel
}

// work empties the program's folder.
func work(t testing.TB) string {
	sharedObject(t)
	_ = os.RemoveAll(helper.work)
	if err := os.Mkdir(helper.work, 0o755); err != nil {
		t.Fatal(err)
	}
	return helper.work
}

// runCell runs one program in an interpreter of its own.
func runCell(t testing.TB, i interpreter, r run) result {
	t.Helper()
	if r.limit == 0 {
		r.limit = time.Minute
	}
	cmd, cancel := command(i, sharedObject(t), "cell", r.limit)
	defer cancel()
	e := newEnds(t)
	cfg := memfd(t, config(i, r.flags))
	cmd.Dir = work(t)
	cmd.ExtraFiles = []*os.File{nil, cfg, e.request, e.page, e.out, e.err}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e.begin(r.request())
	_ = cmd.Wait()
	return e.finish(t, cmd.ProcessState.Sys().(syscall.WaitStatus), time.Since(start))
}

// zygote is an interpreter whose forks run programs, one at a time.
type zygote struct {
	control *os.File
}

func newZygote(t testing.TB, i interpreter, flags uint32) *zygote {
	t.Helper()
	cmd, cancel := command(i, sharedObject(t), "zygote", 10*time.Minute)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	cmd.ExtraFiles = []*os.File{theirs, memfd(t, config(i, flags))}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	t.Cleanup(func() {
		ours.Close()
		_ = cmd.Wait()
		cancel()
	})
	up := make([]byte, 8)
	if n, err := ours.Read(up); err != nil || string(up[:n]) != "up" {
		t.Fatalf("zygote did not come up: %v", err)
	}
	return &zygote{ours}
}

func (z *zygote) run(t testing.TB, r run) result {
	t.Helper()
	e := newEnds(t)
	dir := work(t)
	rights := unix.UnixRights(int(e.request.Fd()), int(e.page.Fd()), int(e.out.Fd()), int(e.err.Fd()))
	start := time.Now()
	if err := unix.Sendmsg(int(z.control.Fd()), []byte(dir), rights, nil, 0); err != nil {
		t.Fatal(err)
	}
	e.begin(r.request())
	var status int32
	b := make([]byte, 4)
	if n, err := z.control.Read(b); err != nil || n != 4 {
		t.Fatalf("zygote is gone: %v", err)
	}
	if _, err := binary.Decode(b, binary.NativeEndian, &status); err != nil {
		t.Fatal(err)
	}
	return e.finish(t, syscall.WaitStatus(status), time.Since(start))
}

// programs are the files of a folder of testdata, by name without the ending.
func programs(t testing.TB, folder string) map[string][]byte {
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.py"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs in testdata/%s: %v", folder, err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(f), ".py")] = b
	}
	return out
}
