package confinetest

import (
	"strings"
	"testing"
	"time"

	"pdlt.dev/pdlt/confine"
)

// trees: when the answer is there, every process of the program is dead, whatever it did.
func (s *suite) trees(t *testing.T) {
	const grandchild = `
import os, sys, time, signal
def leave():
    if os.fork(): return
    os.setsid()
    if os.fork(): os._exit(0)
    for n in range(1, 65):
        try: signal.signal(n, signal.SIG_IGN)
        except (OSError, ValueError): pass
    time.sleep(60)
    os.write(1, b"LATE")
    os._exit(0)
`
	rows := []row{
		{name: "a program may fork and wait", stdout: "child 7\n", source: "import os\np = os.fork()\nif not p: os._exit(7)\nprint('child', os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))"},
		{name: "a grandchild that holds standard output does not delay the answer", within: time.Second, stdout: "parent\n", source: grandchild + "leave(); print('parent')"},
		{name: "a grandchild in another session whose parents are dead does not outlive a failure", within: time.Second, code: 3, source: grandchild + "leave(); leave(); leave(); os._exit(3)"},
		{name: "a child that closed all descriptors does not outlive the answer", within: time.Second, stdout: "parent\n", source: grandchild + "print('parent', flush=True)\nif not os.fork():\n    os.closerange(0, 256); leave(); time.sleep(60)\n"},
		{name: "60 kB and a last line arrive while a child holds the pipe", within: 2 * time.Second, source: grandchild + "leave()\nprint('x' * 60000); print('END')", check: func(t *testing.T, r confine.Result) {
			if !strings.HasSuffix(r.Outcome.Stdout.Text, "xEND\n") && !strings.HasSuffix(r.Outcome.Stdout.Text, "x\nEND\n") || r.Outcome.Stdout.Bytes != 60005 {
				t.Errorf("%d bytes, the end is %q; want 60005 and END", r.Outcome.Stdout.Bytes, r.Outcome.Stdout.Text[max(0, len(r.Outcome.Stdout.Text)-10):])
			}
		}},
		{name: "the wall clock ends a family", stopped: confine.StoppedWall, signal: -1, limits: confine.Limits{Wall: 500 * time.Millisecond}, source: grandchild + "leave(); time.sleep(60)"},
		{name: "the CPU limit counts a family together", stopped: confine.StoppedCPU, signal: -1, limits: confine.Limits{Wall: 20 * time.Second, CPU: 800 * time.Millisecond}, source: "import os\nos.fork()\nwhile True: pass", check: observedIn(800, 2300)},
		{name: "the memory limit counts a family together", cgroup: true, stopped: confine.StoppedMemory, signal: -1, limits: confine.Limits{MemoryBytes: 64 << 20}, source: `
import os, time
for _ in range(6):
    if not os.fork():
        b = bytearray(20 << 20); time.sleep(10); os._exit(0)
time.sleep(10)
`},
		{name: "processes are refused at the limit, which is exact", cgroup: true, limits: confine.Limits{Processes: 12}, check: between(11, 11), source: `
import os, time
n = 0
try:
    for _ in range(100):
        if not os.fork(): time.sleep(30); os._exit(0)
        n += 1
except OSError: pass
print(n)
`},
		{name: "a fork bomb is ended", stopped: confine.StoppedWall, signal: -1, limits: confine.Limits{Processes: 32, Wall: time.Second, CPU: 30 * time.Second}, source: `
import os
while True:
    try: os.fork()
    except OSError: pass
`},
		{name: "a fork bomb whose first process ends is ended", code: 0, within: 3 * time.Second, limits: confine.Limits{Processes: 32, Wall: 5 * time.Second}, source: `
import os, time
if not os.fork():
    os.setsid()
    while True:
        try:
            if os.fork(): os._exit(0)
        except OSError: pass
time.sleep(0.3)
`},
		{name: "steps are counted for the first process and not trusted", source: "import os\nos.fork()", limits: confine.Limits{Steps: 10_000}, check: func(t *testing.T, r confine.Result) {
			if r.Report.StepsTrusted {
				t.Error("steps are called trusted although further processes compute uncounted")
			}
		}},
		{name: "multiprocessing works", stdout: "[1, 4, 9]\n", limits: confine.Limits{Wall: 20 * time.Second}, source: `
import multiprocessing
def square(x): return x * x
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as p: print(p.map(square, [1, 2, 3]))
`},
		{name: "a pool of processes works", stdout: "[3, 4]\n", limits: confine.Limits{Wall: 20 * time.Second}, source: `
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as p: print(list(p.map(abs, [-3, -4])))
`},
	}
	for i := range rows {
		rows[i].policy = families
	}
	t.Run("with processes allowed", func(t *testing.T) {
		c := s.open(t, func(*confine.Options) {})
		s.run(t, c, confine.Spec{Program: confine.Python(nil), Policy: families})
		for _, r := range rows {
			t.Run(r.name, func(t *testing.T) {
				s.run(t, c, confine.Spec{Program: confine.Python(nil), Policy: families}) // a slot may have been given up by the row before
				if before, after, left := leaves(func() { s.one(t, c, r) }); left {
					t.Errorf("processes before %v, after %v; want no more", before, after)
				}
			})
		}
	})
	t.Run("with processes refused", func(t *testing.T) {
		s.table(t, []row{
			{name: "nothing can be forked", both: true, stdout: "7\n", source: `
import os
n = 0
for f in (os.fork, os.forkpty, lambda: os.posix_spawn("/python/bin/python3.14", ["x"], {}), lambda: os.execv("/python/bin/python3.14", ["x"]), lambda: os.system("true") != 0 and 1 / 0,
          lambda: os.popen("true").close() and 1 / 0, lambda: os.spawnv(os.P_WAIT, "/bin/true", ["true"])):
    try: f()
    except (OSError, ZeroDivisionError): n += 1
print(n)
`},
		})
	})
	t.Run("closing ends what runs and leaves nothing", func(t *testing.T) {
		o := s.Options
		o.Start = s.mode
		before, after, left := leaves(func() {
			c, err := s.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			started := make(chan struct{}, 16)
			done := make(chan confine.Result, 1)
			spec := confine.Spec{Program: confine.Python([]byte(grandchild + "leave(); print('go', flush=True); time.sleep(60)")), Policy: families, Stdout: tap(func() { started <- struct{}{} })}
			go func() {
				res, err := c.Run(t.Context(), spec)
				if err != nil {
					t.Errorf("run: %v", err)
				}
				done <- res
			}()
			<-started
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			row{stopped: confine.StoppedCancelled, signal: -1}.judge(t, <-done)
		})
		if left {
			t.Errorf("processes before %v, after closing %v", before, after)
		}
	})
}
