package confine

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/confinetest"
)

func TestFailures(t *testing.T) { confinetest.Failures(t, nativeBackend(t)) }

var modes = []confine.StartMode{confine.StartCold, confine.StartWarm, confine.StartZygote}

// opened opens the native backend for a test.
func opened(t *testing.T, o confine.Options) confine.Confiner {
	t.Helper()
	b := nativeBackend(t)
	confinetest.Offer(b)
	confinetest.Need(t, confine.FSRead)
	if o.Pack == "" {
		o.Pack = b.Options.Pack
	}
	c, err := b.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// answers runs a source that must end by itself and print exactly that.
func answers(t *testing.T, c confine.Confiner, source, want string) confine.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	res, err := c.Run(ctx, confine.Spec{Program: confine.Python([]byte(source))})
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	if !res.Outcome.Clean() || res.Outcome.Stdout.Text != want {
		t.Errorf("%+v; want %q", res.Outcome, want)
	}
	return res
}

// call is a writer that calls a function for what is written.
type call func(p []byte)

func (c call) Write(p []byte) (int, error) { c(p); return len(p), nil }

// inits lists the processes below this one that are PID 1 of a namespace, by how many namespaces they are in: 2 is a launcher, 3 the init of a cell.
func inits(t *testing.T, depth int) (found []int) {
	t.Helper()
	for pid := range confinetest.Descendants() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue // it is gone
		}
		for line := range strings.Lines(string(text)) {
			// The outermost number is of the namespace in which /proc was mounted.
			if f := strings.Fields(line); f[0] == "NSpid:" && len(f)-1 == depth && f[len(f)-1] == "1" {
				found = append(found, pid)
			}
		}
	}
	return found
}

// Report 10: nobody who is not ours can be stopped for good. The init of a cell, stopped from outside, cannot say that its program ended; the wall clock ends both.
func TestAStoppedInitHoldsTheAnswerNoLongerThanTheWallClock(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			c := opened(t, confine.Options{Start: mode, Slots: 1})
			answers(t, c, "print(1)", "1\n")
			stopped := 0
			var once sync.Once
			res, err := c.Run(context.Background(), confine.Spec{Program: confine.Python([]byte("import time\nprint('on', flush=True)\ntime.sleep(0.3)")), Limits: confine.Limits{Wall: time.Second},
				Stdout: call(func([]byte) {
					once.Do(func() {
						for _, pid := range inits(t, 3) {
							if unix.Kill(pid, unix.SIGSTOP) == nil {
								stopped++
							}
						}
					})
				})})
			if err != nil {
				t.Fatal(err)
			}
			if stopped == 0 {
				t.Fatal("no init was found: nothing was tested")
			}
			if o := res.Outcome; o.Stopped != confine.StoppedWall || o.Stdout.Text != "on\n" {
				t.Errorf("%+v; want the wall limit, and what was printed", o)
			}
			answers(t, c, "print(2)", "2\n")
		})
	}
}

// Reports 15 and 16: a child that dies with its parent's thread dies at random in a Go program, whose threads come and go. Here the thread on which
// everything was started ends for certain, before the program does.
func TestNoRunEndsWithTheThreadThatStartedIt(t *testing.T) {
	onAThreadThatEnds := func(f func()) {
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			defer close(done)
			f()
		}()
		<-done
	}
	for _, processors := range []int{runtime.GOMAXPROCS(0), 1} {
		for _, mode := range modes {
			t.Run(fmt.Sprintf("%s, GOMAXPROCS %d", mode, processors), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
				var c confine.Confiner
				onAThreadThatEnds(func() { c = opened(t, confine.Options{Start: mode}) })
				onAThreadThatEnds(func() { answers(t, c, "print('first')", "first\n") })
				for i := range 20 {
					var wg sync.WaitGroup
					wg.Go(func() { answers(t, c, fmt.Sprintf("import time; time.sleep(0.02); print(%d)", i), fmt.Sprintln(i)) })
					for range 4 {
						onAThreadThatEnds(func() {})
					}
					wg.Wait()
				}
			})
		}
	}
}

// Report 119: a server that has no descriptor left for its supervisor says so. It neither runs a program unwatched nor stays broken.
func TestAServerWithoutDescriptorsRunsNothingUnwatched(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			c := opened(t, confine.Options{Start: mode, Slots: 1})
			answers(t, c, "print(1)", "1\n")
			var before unix.Rlimit
			if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &before); err != nil {
				t.Fatal(err)
			}
			if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 512, Max: before.Max}, nil); err != nil { // some machines allow a million
				t.Fatal(err)
			}
			var held []int
			for {
				fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
				if err != nil {
					break
				}
				held = append(held, fd)
			}
			heard := false
			// A policy of its own, so that a launcher has to be made.
			spec := confine.Spec{Program: confine.Python([]byte("import time\nprint('unwatched', flush=True)\ntime.sleep(60)")), Policy: confine.Policy{Name: "a new policy"},
				Limits: confine.Limits{Wall: time.Second}, Stdout: call(func([]byte) { heard = true })}
			res, err := c.Run(context.Background(), spec)
			for _, fd := range held {
				unix.Close(fd)
			}
			if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &before, nil); err != nil {
				t.Fatal(err)
			}
			if err == nil && res.Outcome.Stopped != confine.StoppedWall {
				t.Errorf("%+v; want an error, or a run with its limits", res.Outcome)
			}
			if err != nil && heard {
				t.Errorf("the program ran, and the answer is %v", err)
			}
			answers(t, c, "print(2)", "2\n")
		})
	}
}

// Report 116: a connection that the server holds open, and that a careless library left open across exec, is no way out.
func TestAnOpenConnectionOfTheServerIsOutOfReach(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	raw, err := near.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	leaked := -1
	if err := raw.Control(func(fd uintptr) { leaked, err = unix.Dup(int(fd)) }); err != nil || leaked < 0 {
		t.Fatalf("leave a descriptor open: %v", err)
	}
	defer unix.Close(leaked)
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			answers(t, opened(t, confine.Options{Start: mode}), `
import os
for fd in range(3, 1024):
    try: os.write(fd, b"out")
    except OSError: pass
print("tried")
`, "tried\n")
		})
	}
	// Everything that was written before the programs died is here now.
	if _, err := unix.Write(leaked, []byte("end")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3)
	if _, err := far.Read(got); err != nil || string(got) != "end" {
		t.Errorf("the peer read %q, %v; want only what the server sent", got, err)
	}
}

// Report 121: nothing listens. A server speaks through its pipes, and no process of it has a socket that anybody could reach.
func TestAServerListensNowhere(t *testing.T) {
	pdlt, err := filepath.Abs("../../bin/pdlt")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(pdlt, "serve", "--log", filepath.Join(t.TempDir(), "log"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); _ = cmd.Wait() }()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_python","arguments":{"code":"print(6*7)"}}}`,
	} {
		fmt.Fprintln(in, line)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !bytes.Contains(lines.Bytes(), []byte(`"id":2`)) {
	}
	sockets := map[string]bool{}
	for pid := range confinetest.Descendants() {
		list, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, fd := range list {
			if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:[") {
				sockets[strings.Trim(to, "socket:[]")] = true
			}
		}
	}
	if len(sockets) == 0 {
		t.Fatal("no socket was found, not even those between the server and its launchers: nothing was tested")
	}
	for _, table := range []struct {
		name  string
		inode int
	}{{"tcp", 9}, {"tcp6", 9}, {"udp", 9}, {"udp6", 9}, {"raw", 9}, {"raw6", 9}, {"unix", 6}} {
		text, _ := os.ReadFile(filepath.Join("/proc", fmt.Sprint(cmd.Process.Pid), "net", table.name))
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			// On a UNIX socket the flag 10000 (__SO_ACCEPTCON of linux/net.h) says that it listens.
			if len(f) > table.inode && sockets[f[table.inode]] && (table.name != "unix" || f[3] == "00010000" || len(f) > 7) {
				t.Errorf("%s: %s", table.name, line)
			}
		}
	}
}

// Report 84: a host's Python is the one at the end of every link, shim and virtual environment that leads to it.
func TestAHostsPythonIsFoundBehindLinksAndShims(t *testing.T) {
	const host = "/usr/bin/python3"
	if _, err := os.Stat(host); err != nil {
		t.Skipf("no Python on this host: %v", err)
	}
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	link := func(name, to string) string {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write("venv/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\n", 0o644)
	want := answers(t, opened(t, confine.Options{Start: confine.StartCold, Python: host}), "print(1)", "1\n").Report.Interpreter
	for name, path := range map[string]string{
		"a link":                          link("links/python", host),
		"a link to a link":                link("links/again", filepath.Join(dir, "links", "python")),
		"a virtual environment":           link("venv/bin/python", host),
		"a shim that executes it":         write("shims/python", "#!/bin/sh\nexec "+host+" \"$@\"\n", 0o755),
		"a folder with an odd name":       link("a b'\"\n/python", host),
		"a shim that says something more": write("shims/loud", "#!/bin/sh\necho shim >&2\nexec "+host+" \"$@\"\n", 0o755),
	} {
		t.Run(name, func(t *testing.T) {
			if got := answers(t, opened(t, confine.Options{Start: confine.StartCold, Python: path}), "print(1)", "1\n").Report.Interpreter; got != want {
				t.Errorf("interpreter %+v; want %+v", got, want)
			}
		})
	}
}

// Report 85: a set-up path is a path, whatever its name.
func TestAPackMayLieBehindAnyName(t *testing.T) {
	real := nativeBackend(t).Options.Pack
	for _, name := range []string{"with a space", "with\na newline", "with 'quotes' and \"more\"", "with\tetc\\040", strings.Repeat("long/", 300) + "pack", "é漢😀"} {
		t.Run(fmt.Sprintf("%.40q", name), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(real, path); err != nil {
				t.Fatal(err)
			}
			answers(t, opened(t, confine.Options{Start: confine.StartCold, Pack: path}), "print(1)", "1\n")
		})
	}
}

// Reports 86 and 87: an interpreter that is deleted or moved while a server uses it. Runs go on with what was verified, or are refused with words;
// an answer without a word is what made agents try again for ever.
func TestAnInterpreterThatGoesAwayIsNoEmptyAnswer(t *testing.T) {
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			b := nativeBackend(t)
			current, err := os.ReadFile(filepath.Join(b.Options.Pack, "current"))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			root := filepath.Join(dir, string(bytes.TrimSpace(current)))
			if out, err := exec.Command("cp", "-a", filepath.Join(b.Options.Pack, filepath.Base(root)), root).CombinedOutput(); err != nil {
				t.Fatalf("copy the pack: %v %s", err, out)
			}
			t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", dir).Run() })
			c := opened(t, confine.Options{Start: mode, Slots: 2, Pack: root})
			want := answers(t, c, "print(1)", "1\n").Report.Interpreter
			for _, step := range []struct {
				what   string
				change func() error
			}{
				{"moved away", func() error { return os.Rename(root, root+".old") }},
				{"another in its place", func() error { return os.Mkdir(root, 0o755) }},
				{"deleted", func() error {
					return exec.Command("sh", "-c", `chmod -R u+w "$1" && rm -r "$1"`, "sh", root+".old").Run()
				}},
			} {
				if err := step.change(); err != nil {
					t.Fatal(err)
				}
				for i, policy := range []confine.Policy{{}, {Name: "a new policy " + step.what}} { // the second needs a launcher of its own
					res, err := c.Run(context.Background(), confine.Spec{Program: confine.Python([]byte("import calendar; print(calendar.isleap(2024))")), Policy: policy})
					switch {
					case err != nil:
						t.Logf("%s, policy %d: %v", step.what, i, err)
					case res.Outcome.Stdout.Text == "True\n" && res.Report.Interpreter == want:
					case !res.Outcome.Clean() && res.Outcome.Stderr.Bytes > 0:
						t.Logf("%s, policy %d: %.200s", step.what, i, res.Outcome.Stderr.Text)
					default:
						t.Errorf("%s, policy %d: %+v; want the answer, an error, or a failure with words", step.what, i, res.Outcome)
					}
				}
			}
		})
	}
}

// A standing case: what the server's environment says, or lacks, changes nothing for a program.
func TestTheServersEnvironmentChangesNothing(t *testing.T) {
	pdlt, err := filepath.Abs("../../bin/pdlt")
	if err != nil {
		t.Fatal(err)
	}
	confinetest.Offer(nativeBackend(t))
	confinetest.Need(t, confine.Env)
	program := filepath.Join(t.TempDir(), "look.py")
	const source = `
import locale, os, sys, tempfile, time
print(sorted(os.environ.items()), hash("a"), time.tzname, locale.setlocale(locale.LC_ALL, ""), tempfile.gettempdir(), os.path.expanduser("~"), sys.path, sys.flags, sys.stdout.encoding, "é")
`
	if err := os.WriteFile(program, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	ask := func(t *testing.T, environ ...string) string {
		t.Helper()
		cmd := exec.Command(pdlt, "run", "--start", "cold", program)
		cmd.Env = environ
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, slices.Concat(out, err.(*exec.ExitError).Stderr))
		}
		return string(out)
	}
	want := ask(t, os.Environ()...)
	for name, environ := range map[string][]string{
		"an empty environment": {},
		"hostile values": {"TZ=../../etc/passwd", "LANG=xx_XX.none", "LC_ALL=\xff", "HOME=/nonexistent", "PATH=", "USER=root", "LOGNAME=root", "TMPDIR=/nonexistent", "PYTHONHASHSEED=hostile", "PYTHONHOME=/nonexistent",
			"PYTHONPATH=/nonexistent", "PYTHONMALLOC=debug", "PYTHONINSPECT=1", "PYTHONWARNINGS=error", "LD_LIBRARY_PATH=/nonexistent", "LD_PRELOAD=/nonexistent.so", "GCONV_PATH=/nonexistent", "GLIBC_TUNABLES=glibc.malloc.check=3", "MALLOC_PERTURB_=85"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ask(t, environ...); got != want {
				t.Errorf("the program prints\n%s\nwant\n%s", got, want)
			}
		})
	}
}
