package confinetest

import (
	"testing"
	"time"

	"pdlt.dev/pdlt/confine"
)

// Failures runs what users of comparable software reported as failing and no other row of the suite provokes. It is apart from [Run]
// because its rows follow reports, not the specification; a backend must pass both.
func Failures(t *testing.T, b Backend) {
	Offer(b)
	Need(t, confine.FSRead, confine.Wall)
	b = filled(b)
	inEachMode(t, b, func(t *testing.T, s *suite) {
		t.Run("hangs", s.hangs)
		t.Run("honest programs that others broke", s.broken)
		t.Run("processes that others lost", s.lost)
	})
}

// hangs: what never ends by itself, each in a way that some limit could miss.
func (s *suite) hangs(t *testing.T) {
	wall := confine.Limits{Wall: 300 * time.Millisecond}
	cpu := confine.Limits{Wall: 20 * time.Second, CPU: 400 * time.Millisecond}
	s.table(t, []row{
		{name: "a wait for a signal is ended by the wall clock", stopped: confine.StoppedWall, signal: 9, limits: wall, source: "import signal; signal.pause()", check: observedIn(300, 1300)},
		{name: "a sleep of a lifetime is ended by the wall clock", stopped: confine.StoppedWall, signal: 9, limits: wall, source: "import time; time.sleep(1e9)", check: observedIn(300, 1300)},
		{name: "a lock that nobody gives back is ended by the wall clock", stopped: confine.StoppedWall, signal: 9, limits: wall, source: "import threading; l = threading.Lock(); l.acquire(); l.acquire()"},
		{name: "an exit handler that hangs is ended by the wall clock", stopped: confine.StoppedWall, signal: 9, limits: wall, stdout: "body\n", source: "import atexit, time; atexit.register(time.sleep, 60); print('body', flush=True)"},
		{name: "a thread that hangs after the program's last line is ended by the wall clock", stopped: confine.StoppedWall, signal: 9, limits: wall, stdout: "body\n", source: "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); print('body', flush=True)"},
		{name: "a number that never comes out is ended by its CPU time", stopped: confine.StoppedCPU, signal: -1, limits: cpu, source: "9 ** 9 ** 9"},
		{name: "an expression that backtracks for ever is ended by its CPU time", stopped: confine.StoppedCPU, signal: -1, limits: cpu, source: "import re; re.match('(a+)+$', 'a' * 64 + 'b')"},
		{name: "eight threads that spin are ended by their CPU time together", stopped: confine.StoppedCPU, signal: -1, limits: cpu, source: "import threading\ndef f():\n    while True: pass\n[threading.Thread(target=f).start() for _ in range(8)]"},
	})
}

// broken: honest programs that another sandbox's filter, home or environment broke.
func (s *suite) broken(t *testing.T) {
	s.table(t, []row{
		{name: "refused calls answer an errno from eight threads at once, and no signal", both: true, stdout: "2400\n", source: `
import os, socket, threading
refused, lock = 0, threading.Lock()
def ask():
    global refused
    for _ in range(100):
        for call in (socket.socket, os.fork, lambda: os.execv("/bin/true", ["true"])):
            try: call()
            except OSError:
                with lock: refused += 1
threads = [threading.Thread(target=ask) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(refused)
`},
		{name: "a library keeps its cache in the home folder, and nothing is said about it", both: true, stdout: "/work /work True kept\n", source: `
import os, pathlib
cache = pathlib.Path.home() / ".cache" / "library"
cache.mkdir(parents=True); (cache / "fonts.json").write_text("kept")
beside = pathlib.Path(__file__).resolve().with_name("beside.txt"); beside.write_text("x")
print(pathlib.Path.home(), os.path.expanduser("~"), beside.exists(), (cache / "fonts.json").read_text())
`, check: func(t *testing.T, r confine.Result) {
			if r.Outcome.Stderr.Bytes != 0 {
				t.Errorf("stderr %q; want nothing", r.Outcome.Stderr.Text)
			}
		}},
		{name: "who and where it is can be asked, and the host is not told", both: true, stdout: "sandbox sandbox no login True sandbox True\n", source: `
import getpass, os, pwd, socket, time, uuid
try: login = os.getlogin()
except OSError: login = "no login"
print(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_name, login, 0 <= uuid.getnode() < 1 << 48, socket.gethostname(), time.localtime().tm_gmtoff == 0)
`},
		{name: "comments alone, tabs and form feeds are a program", stdout: "1\n", source: "# nothing\n\f\nif True:\n\tprint(1)\n\f# end"},
		{name: "address space that is not used costs nothing where memory is counted", cgroup: true, stdout: "8589934592\n", limits: confine.Limits{MemoryBytes: 64 << 20}, source: "import mmap; print(len(mmap.mmap(-1, 8 << 30, prot=mmap.PROT_READ)))"},
	})
}

// lost: children that a supervisor which looks at the first process only would lose, and families that another sandbox refused.
func (s *suite) lost(t *testing.T) {
	// A loader maps code from files, and that is native code to the filter.
	loading := confine.Policy{Name: "a policy with processes and native code", Processes: true, NativeCode: true}
	rows := []row{
		{name: "a daemon that an imported module starts is dead with the answer", stdout: "parent\n", within: 2 * time.Second, program: several(
			"program.py", "import helper\nprint('parent')\n",
			"helper.py", "import os, time\nif not os.fork():\n    os.setsid()\n    if os.fork(): os._exit(0)\n    time.sleep(60); os._exit(0)\n")},
		{name: "an event loop starts a process and reads what it prints", policy: loading, stdout: "b'child\\n' 0\n", limits: confine.Limits{Wall: 20 * time.Second}, source: `
import asyncio, sys
async def main():
    p = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", "-c", "print('child')", stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate()
    print(out, p.returncode)
asyncio.run(main())
`},
		{name: "a queue, a lock and a semaphore are shared with a forked process", stdout: "[0, 1, 2] False\n", limits: confine.Limits{Wall: 20 * time.Second}, source: `
import multiprocessing
m = multiprocessing.get_context("fork")
queue, lock, full = m.Queue(), m.Lock(), m.Semaphore(3)
def work(i):
    with lock: full.acquire()
    queue.put(i)
family = [m.Process(target=work, args=(i,)) for i in range(3)]
[p.start() for p in family]
got = sorted(queue.get() for _ in family)
[p.join() for p in family]
print(got, full.acquire(False))
`},
	}
	c := s.open(t, func(*confine.Options) {})
	for _, r := range rows {
		if r.policy == (confine.Policy{}) {
			r.policy = families
		}
		t.Run(r.name, func(t *testing.T) {
			s.run(t, c, confine.Spec{Program: confine.Python(nil), Policy: r.policy}) // its slots are there now, and are not counted below
			if before, after, left := leaves(func() { s.one(t, c, r) }); left {
				t.Errorf("processes before %v, after %v; want no more", before, after)
			}
		})
	}
}
