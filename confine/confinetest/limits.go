package confinetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"pdlt.dev/pdlt/confine"
)

// observedIn checks Outcome.Observed.
func observedIn(from, to int64) func(*testing.T, confine.Result) {
	return func(t *testing.T, r confine.Result) {
		t.Helper()
		if o := r.Outcome.Observed; o == nil || *o < from || *o > to {
			t.Errorf("observed %s; want %d … %d", show(o), from, to)
		}
	}
}

// printed gives the number that a program printed.
func printed(t *testing.T, r confine.Result) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(r.Outcome.Stdout.Text, &n); err != nil {
		t.Fatalf("stdout %.200q; want a number", r.Outcome.Stdout.Text)
	}
	return n
}

func between(from, to int) func(*testing.T, confine.Result) {
	return func(t *testing.T, r confine.Result) {
		t.Helper()
		if n := printed(t, r); n < from || n > to {
			t.Errorf("the program got %d; want %d … %d", n, from, to)
		}
	}
}

// stops: how a program ended is told from facts, and different ends give different answers.
func (s *suite) stops(t *testing.T) {
	mb := int64(1 << 20)
	s.table(t, []row{
		{name: "exit 137 is an exit", both: true, code: 137, source: "import os; os._exit(137)"},
		{name: "a program that kills itself ended by a signal", both: true, stopped: confine.StoppedSignal, signal: 9, source: "import os; os.kill(os.getpid(), 9)"},
		{name: "the wall clock kills with its own reason", both: true, stopped: confine.StoppedWall, signal: 9, limit: 300, limits: confine.Limits{Wall: 300 * time.Millisecond}, source: "import time; time.sleep(60)", check: observedIn(300, 1300)},
		{name: "the kernel's kill for memory has its own reason", cgroup: true, both: true, stopped: confine.StoppedMemory, signal: 9, limit: 48 * mb, limits: confine.Limits{MemoryBytes: 48 * mb}, source: `
b = []
while True: b.append(bytearray(1 << 20))
`},
		{name: "exit 124 and exit 125 are exits", code: 124, source: "import sys; print('step budget exceeded', file=sys.stderr); sys.exit(124)"},
		{name: "a sentence about memory is no fact", code: 1, source: "import sys; print('MemoryError: out of memory, cannot allocate memory', file=sys.stderr); sys.exit(1)"},
		{name: "a MemoryError that the program raised itself is no fact", code: 1, source: "raise MemoryError"},
		{name: "a refusal that the program forged is no fact", code: 1, source: "raise PermissionError(1, 'new processes are off in tier MINIMAL (inside ExecutionSandbox): os.fork')"},
		{name: "an OSError for room that the program raised itself is no fact", code: 1, source: "raise OSError(28, 'No space left on device')"},
		{name: "a segmentation fault is a signal", both: true, stopped: confine.StoppedSignal, signal: 11, source: "import faulthandler; faulthandler._sigsegv()"},
		{name: "a segmentation fault by kill is a signal", stopped: confine.StoppedSignal, signal: 11, source: "import os; os.kill(os.getpid(), 11)"},
		{name: "an abort is a signal", both: true, stopped: confine.StoppedSignal, signal: 6, source: "import os; os.abort()"},
		{name: "SIGTERM to itself is a signal", stopped: confine.StoppedSignal, signal: 15, source: "import os; os.kill(os.getpid(), 15)"},
		{name: "SIGXFSZ to itself without a large file is no disk limit", stopped: confine.StoppedSignal, signal: 25, source: "import os, signal; signal.signal(25, signal.SIG_DFL); os.kill(os.getpid(), 25)"},
		{name: "SIGXCPU to itself without use is no CPU limit", stopped: confine.StoppedSignal, signal: 24, source: "import os; os.kill(os.getpid(), 24)"},
		{name: "SIGSYS to itself is no refusal", stopped: confine.StoppedSignal, signal: 31, source: "import os; os.kill(os.getpid(), 31)"},
		{name: "the program cannot kill, stop or inspect the init", both: true, stdout: "[1, 1, 1, 1]\n", code: 0, source: `
import os
bad = []
for n in (9, 19, 15, 0):
    try: os.kill(1, n); bad.append(0)
    except OSError as e: bad.append(1)
print(bad)
`},
		{name: "no core file is written", both: true, stopped: confine.StoppedSignal, signal: 6, stdout: "(0, 0)\n", source: "import resource, os; print(resource.getrlimit(resource.RLIMIT_CORE), flush=True); os.abort()",
			check: func(t *testing.T, _ confine.Result) {
				for _, pattern := range []string{"core", "core.*", "/core*", "/tmp/core*"} {
					if found, _ := filepath.Glob(pattern); len(found) > 0 {
						t.Errorf("core files: %v", found)
					}
				}
			}},
	})

	for _, at := range []string{"while it sleeps", "while it computes", "while it prints"} {
		t.Run("a cancelled program is dead within a second, "+at, func(t *testing.T) {
			body := map[string]string{"while it sleeps": "import time; time.sleep(60)", "while it computes": "sum(range(10**12))", "while it prints": "while True: print('x' * 1000)"}[at]
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var once sync.Once
			var when time.Time
			watch := tap(func() { once.Do(func() { when = time.Now(); cancel() }) })
			spec := confine.Spec{Program: confine.Python([]byte("print('go', flush=True)\n" + body)), Policy: minimal, Stdout: watch, Limits: confine.Limits{FloodBytes: 1 << 40}}
			res, err := s.hints.Run(ctx, spec)
			took := time.Since(when)
			if err != nil {
				t.Fatalf("run: %v; want an outcome, since the program had begun", err)
			}
			s.sane(t, spec, res)
			row{stopped: confine.StoppedCancelled, signal: 9, has: []string{"go"}}.judge(t, res)
			if took > time.Second {
				t.Errorf("answered %v after the cancellation", took)
			}
			row{stdout: "next\n"}.judge(t, s.python(t, s.hints, "print('next')", confine.Limits{}))
		})
	}
	t.Run("a context that is done before the start is an error", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := s.hints.Run(ctx, confine.Spec{Program: confine.Python([]byte("print(1)")), Policy: minimal}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v; want one that wraps context.Canceled", err)
		}
	})
	t.Run("a deadline of the caller is a cancellation, not a wall limit", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		res, err := s.hints.Run(ctx, confine.Spec{Program: confine.Python([]byte("import time; time.sleep(60)")), Policy: minimal})
		if err != nil {
			t.Fatal(err)
		}
		row{stopped: confine.StoppedCancelled, signal: 9}.judge(t, res)
	})
}

type tap func()

func (w tap) Write(p []byte) (int, error) { w(); return len(p), nil }

// limits: each is enforced, and named with what was observed.
func (s *suite) limits(t *testing.T) {
	const mb = 1 << 20
	s.table(t, []row{
		{name: "wall: a busy loop is ended", both: true, stopped: confine.StoppedWall, signal: 9, limit: 300, limits: confine.Limits{Wall: 300 * time.Millisecond}, source: "while True: pass", check: observedIn(300, 1300)},
		{name: "wall: what was printed is kept, and neither handlers nor finally run", stopped: confine.StoppedWall, signal: 9, stdout: "before\n", limits: confine.Limits{Wall: 400 * time.Millisecond}, source: `
import signal, time, atexit
for n in range(1, 32):
    if n not in (9, 19): signal.signal(n, signal.SIG_IGN)
atexit.register(print, "handler")
print("before", flush=True)
try: time.sleep(60)
finally: print("finally", flush=True)
`},
		{name: "wall: a program that stops itself is ended", both: true, stopped: confine.StoppedWall, signal: 9, limits: confine.Limits{Wall: 400 * time.Millisecond}, source: "import os; os.kill(os.getpid(), 19)"},
		{name: "CPU: a spin in C is ended", stopped: confine.StoppedCPU, signal: -1, limit: 500, limits: confine.Limits{Wall: 20 * time.Second, CPU: 500 * time.Millisecond}, source: "sum(range(10**12))", check: observedIn(500, 1700)},
		{name: "CPU: threads of one program add up", stopped: confine.StoppedCPU, signal: -1, limit: 600, limits: confine.Limits{Wall: 20 * time.Second, CPU: 600 * time.Millisecond}, source: `
import threading, zlib
data = bytes(8 << 20)
def spin():
    while True: zlib.crc32(data)
[threading.Thread(target=spin).start() for _ in range(3)]
`, check: observedIn(600, 2000)},
		{name: "CPU: ignoring the kernel's signal changes nothing", stopped: confine.StoppedCPU, signal: -1, limits: confine.Limits{Wall: 20 * time.Second, CPU: 500 * time.Millisecond}, source: `
import signal
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while True: pass
`},
		{name: "CPU: sleeping costs nothing", limits: confine.Limits{CPU: 300 * time.Millisecond}, source: "import time; time.sleep(0.5)"},
		{name: "memory: an absurd request that is caught ends nothing", both: true, stdout: "caught\n", limits: confine.Limits{MemoryBytes: 64 * mb}, source: `
try: bytearray(1 << 48)
except MemoryError: print("caught")
`},
		{name: "memory: an absurd request that is not caught is memory", both: true, stopped: confine.StoppedMemory, code: 1, limit: 64 * mb, limits: confine.Limits{MemoryBytes: 64 * mb}, errHas: []string{"MemoryError"}, source: "bytearray(1 << 48)"},
		{name: "memory: a request of twice the limit is memory", stopped: confine.StoppedMemory, signal: -1, limit: 64 * mb, limits: confine.Limits{MemoryBytes: 64 * mb}, source: "x = bytearray(128 << 20)"},
		{name: "memory: many small objects are memory", stopped: confine.StoppedMemory, signal: -1, limits: confine.Limits{MemoryBytes: 48 * mb}, source: `
x = []
while True: x.append({len(x): str(len(x))})
`},
		{name: "memory: files in the private folders count", cgroup: true, stopped: confine.StoppedMemory, signal: -1, limits: confine.Limits{MemoryBytes: 48 * mb, DiskBytes: 512 * mb, FileBytes: 512 * mb}, source: `
with open("/dev/shm/f", "wb") as f:
    while True: f.write(bytes(1 << 20))
`},
		{name: "memory: what fits is allowed, and the peak is told", limits: confine.Limits{MemoryBytes: 96 * mb}, source: "x = bytearray(32 << 20)", check: func(t *testing.T, r confine.Result) {
			if p := r.Outcome.Usage.MemoryPeakBytes; p < 32*mb || p > 64*mb {
				t.Errorf("peak %d bytes; want 32 to 64 MiB", p)
			}
		}},
		{name: "memory: a bare program needs little", cgroup: true, limits: confine.Limits{MemoryBytes: 32 * mb}, stdout: "1\n", source: "print(1)", check: func(t *testing.T, r confine.Result) {
			if p := r.Outcome.Usage.MemoryPeakBytes; p <= 0 || p > 24*mb {
				t.Errorf("peak %d bytes; want more than 0 and at most 24 MiB", p)
			}
		}},
		{name: "memory: many threads with stacks fit", cgroup: true, stdout: "30\n", limits: confine.Limits{MemoryBytes: 64 * mb, Processes: 64}, source: `
import threading
b = threading.Barrier(31)
[threading.Thread(target=b.wait, daemon=True).start() for _ in range(30)]
n = threading.active_count() - 1; b.wait(); print(n)
`},
		{name: "pids: threads are refused at the limit, which is exact", cgroup: true, both: true, limits: confine.Limits{Processes: 16, Wall: 10 * time.Second}, source: `
import threading, os
go = threading.Event(); n = 0
try:
    for _ in range(100): threading.Thread(target=go.wait, daemon=True).start(); n += 1
except RuntimeError: pass
print(n, flush=True); os._exit(0)
`, check: between(15, 15)},
		{name: "pids: a refused thread that ends the program is named", cgroup: true, stopped: confine.StoppedPids, signal: -1, limit: 16, limits: confine.Limits{Processes: 16}, errHas: []string{"can't start new thread"}, source: `
import threading, os, sys, traceback
go = threading.Event()
try:
    while True: threading.Thread(target=go.wait, daemon=True).start()
except RuntimeError: traceback.print_exc(); os._exit(1)
`},
		{name: "pids: the peak is told", source: `
import threading
b = threading.Barrier(6)
ts = [threading.Thread(target=b.wait) for _ in range(5)]
[x.start() for x in ts]; b.wait(); [x.join() for x in ts]
`, check: func(t *testing.T, r confine.Result) {
			if p := r.Outcome.Usage.ProcessesPeak; p != nil && *p != 6 {
				t.Errorf("peak %d processes; want 6, or null where the kernel does not keep it", *p)
			}
		}},
		{name: "files: opening is refused at the limit and the program goes on", both: true, limits: confine.Limits{OpenFiles: 32}, source: `
import errno
fs = []
try:
    while True: fs.append(open("/dev/null"))
except OSError as e: assert e.errno == errno.EMFILE, e
n = len(fs); fs.clear(); print(n)
`, check: between(28, 29)},
		{name: "files: the limit cannot be raised", both: true, has: []string{"ValueError 64"}, limits: confine.Limits{OpenFiles: 64}, source: `
import resource
try: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)); e = None
except Exception as x: e = x
print(type(e).__name__, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
`},
		{name: "disk: bytes in all folders together are bounded", both: true, limits: confine.Limits{DiskBytes: 4 * mb, FileBytes: 16 * mb}, source: `
n = 0
for name in ("/work/f", "/tmp/f", "/dev/shm/f"):
    try:
        with open(name, "wb", 0) as f:
            while True: n += f.write(bytes(64 << 10))
    except OSError as e: assert e.errno == 28, e
print(n)
`, check: between(3*mb, 4*mb)},
		{name: "disk: a refusal for bytes that ends the program is named", both: true, stopped: confine.StoppedDisk, code: 1, limit: 4 * mb, limits: confine.Limits{DiskBytes: 4 * mb, FileBytes: 16 * mb}, errHas: []string{"No space left"}, source: `
with open("f", "wb", 0) as f:
    while True: f.write(bytes(64 << 10))
`},
		{name: "disk: a refusal for bytes that is caught ends nothing", limits: confine.Limits{DiskBytes: 4 * mb, FileBytes: 16 * mb}, stdout: "caught\n", source: `
try: open("f", "wb", 0).write(bytes(1 << 23)) == 1 << 23 or open("g", "wb", 0).write(b"x")
except OSError: print("caught")
`},
		{name: "disk: files are bounded in number", both: true, limits: confine.Limits{Inodes: 64}, source: `
import os
n = 0
try:
    for i in range(1000): open("/tmp/" + str(i), "w").close(); n += 1
except OSError as e: assert e.errno == 28, e
print(n)
`, check: between(50, 64)},
		{name: "disk: a refusal for inodes that ends the program is named", stopped: confine.StoppedDisk, code: 1, limit: 64, limits: confine.Limits{Inodes: 64}, source: `
for i in range(1000): open(str(i), "w").close()
`},
		{name: "disk: one file is bounded, and the refusal that ends the program is named", both: true, stopped: confine.StoppedDisk, code: 1, limit: 1 * mb, limits: confine.Limits{FileBytes: 1 * mb}, errHas: []string{"File too large"}, source: `
with open("f", "wb", 0) as f:
    while True: f.write(bytes(64 << 10))
`},
		{name: "disk: one file is bounded, and the program may go on", stdout: "1048576\n", limits: confine.Limits{FileBytes: 1 * mb}, source: `
import os
try:
    with open("f", "wb", 0) as f:
        while True: f.write(bytes(64 << 10))
except OSError as e: assert e.errno == 27, e
print(os.stat("f").st_size)
`},
	})
	for _, c := range []struct {
		name   string
		limits confine.Limits
	}{
		{"a wall limit below zero", confine.Limits{Wall: -1}}, {"too little memory", confine.Limits{MemoryBytes: 1}}, {"negative processes", confine.Limits{Processes: -1}},
		{"three open files", confine.Limits{OpenFiles: 3}}, {"a flood limit below what is kept", confine.Limits{OutputBytes: 100, FloodBytes: 10}},
	} {
		t.Run("refused: "+c.name, func(t *testing.T) {
			_, err := s.hints.Run(context.Background(), confine.Spec{Program: confine.Python(nil), Policy: minimal, Limits: c.limits})
			refusal(t, err, confine.CodeLimitInvalid)
		})
	}
	t.Run("a program that does not fit into its own disk limit is refused", func(t *testing.T) {
		_, err := s.hints.Run(context.Background(), confine.Spec{Program: confine.Python([]byte("#" + strings.Repeat("x", 1<<20))), Policy: minimal, Limits: confine.Limits{DiskBytes: 64 << 10}})
		refusal(t, err, confine.CodeProgramInvalid)
		row{stdout: "next\n"}.judge(t, s.python(t, s.hints, "print('next')", confine.Limits{}))
	})
	for name, p := range map[string]confine.Program{
		"no entry and no command": {}, "an entry that is no file": {Entry: "x.py"}, "a name that climbs": {Entry: "../x.py", Files: []confine.File{{Name: "../x.py"}}},
		"an absolute name": {Entry: "/x.py", Files: []confine.File{{Name: "/x.py"}}}, "two files of one name": {Entry: "x.py", Files: []confine.File{{Name: "x.py"}, {Name: "x.py"}}},
		"a variable without a name": {Entry: "x.py", Files: []confine.File{{Name: "x.py"}}, Env: []string{"=x"}}, "roots for Python": {Entry: "x.py", Files: []confine.File{{Name: "x.py"}}, Roots: []string{"/usr"}},
		"a relative command": {Argv: []string{"echo"}}, "an argument with NUL": {Entry: "x.py", Files: []confine.File{{Name: "x.py"}}, Argv: []string{"\x00"}},
		"a file below a file": {Entry: "x", Files: []confine.File{{Name: "x"}, {Name: "x/y"}}},
	} {
		t.Run("refused: "+name, func(t *testing.T) {
			_, err := s.hints.Run(context.Background(), confine.Spec{Program: p, Policy: minimal})
			refusal(t, err, confine.CodeProgramInvalid)
		})
	}
}

// output: head and tail are kept, everything is counted, and the supervisor's memory is bounded.
func (s *suite) output(t *testing.T) {
	const mb = 1 << 20
	s.table(t, []row{
		{name: "10 MB on both streams alternately: head and tail kept, every byte counted", limits: confine.Limits{OutputBytes: 64 << 10}, source: `
import sys
for i in range(10): # 1 MiB and 1 MiB
    sys.stdout.write("o" * (1 << 20)); sys.stderr.write("e" * (1 << 20))
`, check: func(t *testing.T, r confine.Result) {
			for i, st := range []confine.Stream{r.Outcome.Stdout, r.Outcome.Stderr} {
				if st.Bytes != 10*mb || st.Dropped != 10*mb-64<<10 || len(st.Text) != 64<<10 || strings.Trim(st.Text, "oe"[i:i+1]) != "" {
					t.Errorf("stream %d: %d bytes, %d dropped, %d kept; want %d, %d, %d", i+1, st.Bytes, st.Dropped, len(st.Text), 10*mb, 10*mb-64<<10, 64<<10)
				}
			}
		}},
		{name: "small writes on both streams alternately are all counted", limits: confine.Limits{OutputBytes: 10000}, source: `
import os
for i in range(20000): os.write(1, b"12345"); os.write(2, b"123")
`, check: func(t *testing.T, r confine.Result) {
			if r.Outcome.Stdout.Bytes != 100000 || r.Outcome.Stderr.Bytes != 60000 {
				t.Errorf("%d and %d bytes; want 100000 and 60000", r.Outcome.Stdout.Bytes, r.Outcome.Stderr.Bytes)
			}
		}},
		{name: "the head and the tail are the program's own", limits: confine.Limits{OutputBytes: 4000}, source: "for i in range(100000): print(f'{i:07}')", check: func(t *testing.T, r confine.Result) {
			o := r.Outcome.Stdout
			if o.Cut <= 0 || o.Cut >= len(o.Text) {
				t.Fatalf("cut %d of %d; want it inside", o.Cut, len(o.Text))
			}
			head, tail := o.Text[:o.Cut], o.Text[o.Cut:]
			if !strings.HasPrefix(head, "0000000\n0000001\n") || !strings.HasSuffix(tail, "0099998\n0099999\n") || o.Bytes != 800000 || int64(len(o.Text))+o.Dropped != o.Bytes || len(o.Text) > 4000 {
				t.Errorf("head %.20q, tail %.20q…, %d bytes, %d dropped, %d kept", head, tail, o.Bytes, o.Dropped, len(o.Text))
			}
		}},
		{name: "a result after 1 MB of noise is visible", limits: confine.Limits{OutputBytes: 16 << 10}, has: []string{"RESULT=42\n"}, source: "print('noise\\n' * 200000); print('RESULT=42')"},
		{name: "exactly what is kept is not cut", limits: confine.Limits{OutputBytes: 1000}, stdout: strings.Repeat("x", 1000), source: "print('x' * 1000, end='')", check: func(t *testing.T, r confine.Result) {
			if o := r.Outcome.Stdout; o.Dropped != 0 || o.Cut != 0 {
				t.Errorf("dropped %d, cut %d; want 0, 0", o.Dropped, o.Cut)
			}
		}},
		{name: "no output is empty text", source: "pass", check: func(t *testing.T, r confine.Result) {
			if r.Outcome.Stdout != (confine.Stream{}) || r.Outcome.Stderr != (confine.Stream{}) {
				t.Errorf("streams %+v, %+v; want none", r.Outcome.Stdout, r.Outcome.Stderr)
			}
		}},
	})
	for shift := range 4 {
		t.Run(fmt.Sprintf("a character that the cut meets after %d bytes is dropped whole", shift), func(t *testing.T) {
			res := s.python(t, s.hints, fmt.Sprintf("print('a' * %d + '😀' * 1000 + 'z' * %d, end='')", shift, shift), confine.Limits{OutputBytes: 1001})
			o := res.Outcome.Stdout
			want := int64(4000 + 2*shift)
			if strings.ContainsRune(o.Text, '\ufffd') || o.Bytes != want || int64(len(o.Text))+o.Dropped != want || strings.Trim(o.Text, "az😀") != "" {
				t.Errorf("text %.40q…, %d bytes, %d dropped, %d kept; want %d, no replacement character", o.Text, o.Bytes, o.Dropped, len(o.Text), want)
			}
		})
	}
	t.Run("a flood is ended and the supervisor's memory does not grow", func(t *testing.T) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		rss := resident()
		res := s.python(t, s.hints, "import os\nb = b'f' * 65536\nwhile True: os.write(1, b)", confine.Limits{OutputBytes: 64 << 10, FloodBytes: 200 * mb, Wall: 20 * time.Second})
		runtime.ReadMemStats(&after)
		row{stopped: confine.StoppedOutput, signal: 9, limit: 200 * mb, check: observedIn(200*mb, 300*mb)}.judge(t, res)
		if grown := int64(after.Sys) - int64(before.Sys); grown > 64*mb {
			t.Errorf("Go's memory grew by %d bytes; want less than 64 MiB", grown)
		}
		if grown := resident() - rss; grown > 64*mb {
			t.Errorf("resident memory grew by %d bytes; want less than 64 MiB", grown)
		}
	})
	t.Run("a flood on standard error is ended by processes too", func(t *testing.T) {
		res := s.run(t, s.hints, confine.Spec{Policy: families, Limits: confine.Limits{OutputBytes: 1000, FloodBytes: 10 * mb, Wall: 20 * time.Second},
			Program: confine.Python([]byte("import os\nos.fork(); os.fork()\nb = b'f' * 65536\nwhile True: os.write(2, b)"))})
		row{stopped: confine.StoppedOutput, signal: 9, limit: 10 * mb}.judge(t, res)
	})
}

// resident is this process's resident memory, or 0 where /proc does not tell.
func resident() int64 {
	var size, pages int64
	b, _ := os.ReadFile("/proc/self/statm")
	_, _ = fmt.Sscan(string(b), &size, &pages)
	return pages * int64(os.Getpagesize())
}

// steps: the count is exact, the stop cannot be caught, and evasions cost.
func (s *suite) steps(t *testing.T) {
	const loop = "while True: pass"
	over := func(t *testing.T, r confine.Result) {
		t.Helper()
		if o := r.Outcome; o.Steps == nil || *o.Steps != 10_001 || o.Observed == nil || *o.Observed != 10_001 {
			t.Errorf("steps %s, observed %s; want 10001", show(o.Steps), show(o.Observed))
		}
	}
	var rows []row
	for _, c := range []struct{ name, source string }{
		{"a loop", loop},
		{"a loop that catches everything", "while True:\n    try:\n        while True: pass\n    except BaseException: print('caught')\n    finally: print('finally')"},
		{"a loop in a thread", "import threading\nt = threading.Thread(target=lambda: [0 for _ in iter(int, 1)]); t.start(); t.join(); print('joined')"},
		{"a loop in a raw thread", "import _thread, time\n_thread.start_new_thread(lambda: [0 for _ in iter(int, 1)], ())\ntime.sleep(30); print('slept')"},
		{"loops in four threads", "import threading\ndef f():\n    while True: pass\n[threading.Thread(target=f).start() for _ in range(4)]"},
		{"a loop in a finaliser", "class A:\n    def __del__(self):\n        while True: pass\nA(); print('deleted')"},
		{"a loop at exit", "import atexit\n@atexit.register\ndef f():\n    while True: pass\n"},
		{"a loop in a generator that is closed", "def g():\n    try: yield 1\n    finally:\n        while True: pass\nnext(g()); print('closed')"},
		{"a loop in exec under the library's file name", "import json\nexec(compile('while True: pass', json.__file__, 'exec')); print('done')"},
		{"a loop under a frozen name", "exec(compile('while True: pass', '<frozen importlib._bootstrap>', 'exec')); print('done')"},
		{"a key function that a built-in calls for ever", "import itertools\nmax(itertools.count(), key=lambda x: x); print('done')"},
		{"an endless coroutine", "import asyncio\nasync def f():\n    while True: await asyncio.sleep(0)\nasyncio.run(f()); print('done')"},
		{"a trace function that is removed", "import sys\nfor f in (sys.settrace, sys.setprofile):\n    try: f(None)\n    except PermissionError: pass\nwhile True: pass"},
		{"a signal handler that loops", "import signal, os\ndef f(*a):\n    while True: pass\nsignal.signal(10, f); os.kill(os.getpid(), 10); print('done')"},
		{"a frame whose events are switched off", "import sys\nf = sys._getframe()\nfor n, v in ('f_trace_opcodes', False), ('f_trace', None), ('f_trace_lines', False):\n    try: setattr(f, n, v)\n    except BaseException: pass\nwhile True: pass"},
	} {
		rows = append(rows, row{name: c.name + " is stopped at the limit and one", both: true, stopped: confine.StoppedSteps, signal: -1, limit: 10_000, limits: confine.Limits{Steps: 10_000, Wall: 15 * time.Second}, source: c.source,
			hasNot: []string{"caught", "finally", "joined", "slept", "deleted", "closed", "done"}, check: over})
	}
	rows = append(rows,
		row{name: "what was printed before the stop is kept", stopped: confine.StoppedSteps, signal: -1, limits: confine.Limits{Steps: 10_000}, stdout: "before\n", source: "print('before', flush=True)\n" + loop},
		row{name: "a program that ends by itself says how many it took", limits: confine.Limits{Steps: 10_000}, source: "for i in range(100): pass", check: func(t *testing.T, r confine.Result) {
			if n := r.Outcome.Steps; n == nil || *n < 200 || *n > 1000 {
				t.Errorf("steps %s; want 200 to 1000", show(n))
			}
		}},
		row{name: "a forged report changes nothing", code: 125, limits: confine.Limits{Steps: 10_000}, source: "import os, sys\nprint('step budget exceeded', file=sys.stderr, flush=True); os._exit(125)", check: func(t *testing.T, r confine.Result) {
			if n := r.Outcome.Steps; n == nil || *n == 0 || *n > 1000 {
				t.Errorf("steps %s; want the true few", show(n))
			}
		}},
		row{name: "without a limit none is told", source: "for i in range(100): pass"},
	)
	s.table(t, rows)
	t.Run("a limit of exactly the need is enough, and one less is not", func(t *testing.T) {
		const source = "t = 0\nfor i in range(1000): t += i\nprint(t)"
		need := *s.python(t, s.hints, source, confine.Limits{Steps: 1_000_000}).Outcome.Steps
		row{stdout: "499500\n"}.judge(t, s.python(t, s.hints, source, confine.Limits{Steps: need}))
		res := s.python(t, s.hints, source, confine.Limits{Steps: need - 1})
		row{stopped: confine.StoppedSteps, signal: -1, limit: int64(need - 1)}.judge(t, res)
		if o := res.Outcome; o.Steps == nil || *o.Steps != need {
			t.Errorf("steps %s; want %d", show(o.Steps), need)
		}
	})
	t.Run("steps of a host command are refused", func(t *testing.T) {
		_, err := s.hints.Run(context.Background(), confine.Spec{Program: confine.Program{Argv: []string{"/bin/echo"}, Roots: []string{"/bin"}}, Policy: minimal, Limits: confine.Limits{Steps: 1}})
		refusal(t, err, confine.CodeStepsUnavailable)
	})
}
