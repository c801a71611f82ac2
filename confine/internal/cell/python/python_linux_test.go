package python

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pdlt.dev/pdlt/confine/internal/cell"
)

// generatedBy gives the digests of what an interpreter's library generates for itself, and the file that holds them.
func generatedBy(t testing.TB, i interpreter) (string, []string) {
	t.Helper()
	b, err := exec.Command(i.exe, "-I", "-S", "-X", "utf8", "-B", "testdata/generated.py").Output()
	if err != nil {
		t.Fatalf("generated.py: %v", err)
	}
	name := filepath.Join(t.TempDir(), "generated")
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return name, strings.Fields(string(b))
}

func TestTableOfGeneratedTextsIsComplete(t *testing.T) {
	b, err := os.ReadFile("generated.h")
	if err != nil {
		t.Fatal(err)
	}
	var table []string
	for _, m := range regexp.MustCompile(`"((?:\\x[0-9a-f]{2}){16})"`).FindAllStringSubmatch(string(b), -1) {
		table = append(table, strings.ReplaceAll(m[1], `\x`, ""))
	}
	if !slices.IsSorted(table) || len(table) == 0 {
		t.Fatal("generated.h is not sorted")
	}
	eachInterpreter(t, func(t *testing.T, i interpreter) {
		_, texts := generatedBy(t, i)
		for _, d := range texts {
			if _, err := hex.DecodeString(d); err != nil || len(d) != 32 {
				t.Fatalf("generated.py printed %q", d)
			}
			if _, ok := slices.BinarySearch(table, d); !ok && i.pack {
				t.Errorf("generated.h lacks %s", d)
			}
		}
	})
}

// The counter in C and one in pure Python agree to the unit, in a zygote's fork, again in another, and in an interpreter of its own.
func TestStepsAgreeWithTheOracle(t *testing.T) {
	corpus := programs(t, "corpus")
	oracle, err := filepath.Abs("testdata/oracle.py")
	if err != nil {
		t.Fatal(err)
	}
	eachInterpreter(t, func(t *testing.T, i interpreter) {
		texts, _ := generatedBy(t, i)
		z := newZygote(t, i, cell.Hints)
		for name, source := range corpus {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "program.py"), source, 0o644); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(i.exe, "-I", "-S", "-X", "utf8", "-B", oracle, "program.py", "count", texts)
				cmd.Dir = dir
				said, err := cmd.Output()
				if err != nil {
					t.Fatalf("oracle: %v", err)
				}
				b, err := os.ReadFile(filepath.Join(dir, "count"))
				if err != nil {
					t.Fatal(err)
				}
				want, _ := strconv.ParseUint(string(b), 10, 64)
				r := run{source: source, flags: cell.Hints, req: cell.Request{Count: true}}
				for mode, got := range map[string]result{"zygote": z.run(t, r), "zygote again": z.run(t, r), "cell": runCell(t, i, r)} {
					if got.page.Steps != want || got.page.Counted != 1 || got.page.Tamper != 0 {
						t.Errorf("%s: %d steps, oracle %d; %v", mode, got.page.Steps, want, got)
					}
					if !bytes.Equal(got.out, said) {
						t.Errorf("%s: stdout %q, oracle's %q", mode, tail(got.out), tail(said))
					}
				}
			})
		}
	})
}

func TestSmallProgramsAreCheap(t *testing.T) {
	eachInterpreter(t, func(t *testing.T, i interpreter) {
		z := newZygote(t, i, cell.Hints)
		for _, c := range []struct {
			source string
			most   uint64
		}{{"", 10}, {"print(6*7)", 19}, {"import json, re, dataclasses, asyncio, logging, traceback, unittest, typing", 60}} {
			if r := z.run(t, run{source: []byte(c.source), req: cell.Request{Count: true}}); r.page.Steps > c.most || r.code() != 0 {
				t.Errorf("%q: more than %d steps: %v", c.source, c.most, r)
			}
		}
	})
}

func TestAnUncountedRunCountsNothing(t *testing.T) {
	eachInterpreter(t, func(t *testing.T, i interpreter) {
		r := newZygote(t, i, cell.Hints).run(t, run{source: []byte("import sys\nsys.settrace(lambda *a: None)\nsys.settrace(None)\n" +
			"m = getattr(sys, 'monitoring', None)\nif m:\n    m.use_tool_id(4, 'mine')\n    m.free_tool_id(4)\nimport marshal\nexec(marshal.loads(marshal.dumps(compile('print(5)', 'x', 'exec'))))")})
		if r.page.Steps != 0 || r.page.Counted != 0 || r.code() != 0 || string(r.out) != "5\n" {
			t.Error(r)
		}
	})
}

func TestTheLimitIsExact(t *testing.T) {
	eachInterpreter(t, func(t *testing.T, i interpreter) {
		z := newZygote(t, i, 0)
		source := []byte("for i in range(1000):\n    pass\nprint('done')\n")
		all := z.run(t, run{source: source, req: cell.Request{Count: true}}).page.Steps
		if all < 1000 || all > 20000 {
			t.Fatalf("%d steps", all)
		}
		if r := z.run(t, run{source: source, req: cell.Request{Count: true, Steps: all}}); r.code() != 0 || r.page.Stopped != 0 || r.page.Steps != all {
			t.Errorf("limit %d: %v", all, r)
		}
		if r := z.run(t, run{source: source, req: cell.Request{Count: true, Steps: all - 1}}); r.code() != 125 || r.page.Stopped != 1 || r.page.Steps != all {
			t.Errorf("limit %d: %v", all-1, r)
		}
	})
}

// However a run ends, the count is what was counted.
func TestTheCountSurvivesEveryEnding(t *testing.T) {
	eachInterpreter(t, func(t *testing.T, i interpreter) {
		z := newZygote(t, i, 0)
		for end, code := range map[string]int{"os._exit(3)": 3, "os.abort()": -6, "os.kill(os.getpid(), 9)": -9, "raise SystemExit(4)": 4, "1 / 0": 1} {
			r := z.run(t, run{source: []byte("import os\nfor i in range(1000):\n    pass\n" + end), req: cell.Request{Count: true}})
			if r.code() != code || r.page.Steps < 1000 || r.page.Steps > 8000 || r.page.Tamper != 0 {
				t.Errorf("%s: %v", end, r)
			}
		}
	})
}

// Each of these programs tries to run a million instructions for less, and prints EVADED if it gets there. It must be
// stopped at its limit, end with a tamper fact, or be told no.
func TestEvasionsCostTheirSteps(t *testing.T) {
	const limit = 100_000
	evasions := programs(t, "evasion")
	eachInterpreter(t, func(t *testing.T, i interpreter) {
		for name, source := range evasions {
			t.Run(name, func(t *testing.T) {
				for _, flags := range []uint32{0, cell.Hints} {
					r := runCell(t, i, run{source: source, flags: flags, req: cell.Request{Count: true, Steps: limit}, limit: 30 * time.Second})
					stopped := r.page.Stopped == 1 && r.code() == 125 && r.page.Steps == limit+1
					if bytes.Contains(r.out, []byte("EVADED")) || !(stopped || r.page.Tamper != 0 || bytes.Contains(r.out, []byte("REFUSED"))) {
						t.Errorf("flags %d: %v", flags, r)
					}
					if r.page.Stopped == 0 && r.page.Steps > limit {
						t.Errorf("flags %d: over the limit and not stopped: %v", flags, r)
					}
				}
			})
		}
	})
}

// different are exits that are known to differ from a stock interpreter's: program, minor version, why.
var different = []struct {
	program string
	minor   int
	reason  string
}{
	{"atexit_thread", 12, "3.12 refuses new threads while it ends; here they may start until the modules go"},
	{"threads_spawn_at_end", 12, "the same"},
}

var (
	address = regexp.MustCompile(`0x[0-9a-f]{6,}`)
	where   = regexp.MustCompile(`/[^"' ]*/program\.py`)
)

// A program's end looks as it does under `python -I -S -X utf8 -u program.py`: output, errors and status, byte for byte, but for
// addresses and the folder, which a traceback here does not name.
func TestExitsAreTheStockInterpreters(t *testing.T) {
	exits := programs(t, "exit")
	eachInterpreter(t, func(t *testing.T, i interpreter) {
		z := newZygote(t, i, cell.Hints)
		for name, source := range exits {
			if slices.ContainsFunc(different, func(d struct {
				program string
				minor   int
				reason  string
			}) bool {
				return d.program == name && d.minor == i.minor()
			}) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				dir, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "program.py"), source, 0o644); err != nil {
					t.Fatal(err)
				}
				plain := func(b []byte) string {
					b = where.ReplaceAll(b, []byte("program.py"))
					return address.ReplaceAllString(string(b), "0xX")
				}
				var out, errs bytes.Buffer
				cmd := exec.Command(i.exe, "-I", "-S", "-X", "utf8", "-B", "-u", "program.py")
				cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, &out, &errs, []string{}
				_ = cmd.Run()
				stock := result{status: cmd.ProcessState.Sys().(syscall.WaitStatus)}
				want := fmt.Sprintf("exit %d\n%s\n%s", stock.code(), plain(out.Bytes()), plain(errs.Bytes()))
				r := run{source: source, flags: cell.Hints}
				counted := r
				counted.req.Count = true
				for mode, got := range map[string]result{"zygote": z.run(t, r), "counted": z.run(t, counted), "cell": runCell(t, i, r)} {
					if s := fmt.Sprintf("exit %d\n%s\n%s", got.code(), plain(got.out), plain(got.err)); s != want {
						t.Errorf("%s:\n got %q\nwant %q", mode, s, want)
					}
				}
			})
		}
	})
}

func TestFactsOfAnEnd(t *testing.T) {
	eachInterpreter(t, func(t *testing.T, i interpreter) {
		z := newZygote(t, i, cell.Hints)
		for _, c := range []struct {
			name, source string
			req          cell.Request
			code         int
			want         func(p page) bool
		}{
			{"memory at once", "bytearray(1 << 40)", cell.Request{}, 1, func(p page) bool { return p.Uncaught == cell.UncaughtMemory && p.RefusedAlloc>>40 == 1 }},
			{"memory by repetition", "[0] * (1 << 37)", cell.Request{}, 1, func(p page) bool { return p.Uncaught == cell.UncaughtMemory && p.RefusedAlloc == 1<<40 }},
			{"memory caught", "try:\n    bytearray(1 << 50)\nexcept MemoryError:\n    pass", cell.Request{}, 0,
				func(p page) bool { return p.Uncaught == cell.UncaughtNone && p.RefusedAlloc>>50 == 1 }},
			{"memory by and by", "x = []\nwhile True:\n    x.append(bytearray(1 << 20))", cell.Request{AS: 256 << 20}, 1,
				func(p page) bool { return p.Uncaught == cell.UncaughtMemory && p.RefusedAlloc > 0 }},
			{"device full", "import os\nos.write(os.open('/dev/full', os.O_WRONLY), b'x')", cell.Request{}, 1,
				func(p page) bool {
					return p.Uncaught == cell.UncaughtNoSpace && p.NoSpace == 1 && syscall.Errno(p.NoSpaceErrno) == syscall.ENOSPC
				}},
			{"file too large", "f = open('x', 'wb')\nf.write(b'x' * (2 << 20))", cell.Request{FSize: 1 << 20}, 1,
				func(p page) bool {
					return p.Uncaught == cell.UncaughtNoSpace && p.NoSpace >= 1 && syscall.Errno(p.NoSpaceErrno) == syscall.EFBIG
				}},
			{"file too large, caught", "try:\n    f = open('x', 'wb')\n    f.truncate(2 << 20)\nexcept OSError:\n    pass", cell.Request{FSize: 1 << 20}, 0,
				func(p page) bool { return p.Uncaught == cell.UncaughtNone && p.NoSpace >= 1 }},
			{"network", "import socket\nsocket.socket()", cell.Request{}, 1, func(p page) bool { return p.Uncaught == cell.UncaughtDenied && p.Denied == 1 }},
			{"process", "import subprocess\nsubprocess.run(['true'])", cell.Request{}, 1, func(p page) bool { return p.Uncaught == cell.UncaughtDenied && p.Denied == 2 }},
			{"native code", "import ctypes", cell.Request{}, 1, func(p page) bool { return p.Uncaught == cell.UncaughtDenied && p.Denied == 3 }},
			{"a denial of the program's own words", "raise PermissionError(1, 'the network is off in tier MINIMAL (inside ExecutionSandbox): socket.socket')", cell.Request{}, 1,
				func(p page) bool { return p.Uncaught == cell.UncaughtOther && p.Denied == 0 }},
			{"another exception", "1 / 0", cell.Request{}, 1, func(p page) bool { return p.Uncaught == cell.UncaughtOther }},
			{"exit", "raise SystemExit(3)", cell.Request{}, 3, func(p page) bool { return p.Uncaught == cell.UncaughtNone }},
		} {
			if r := z.run(t, run{source: []byte(c.source), req: c.req}); r.code() != c.code || !c.want(r.page) {
				t.Errorf("%s: %v", c.name, r)
			}
		}
	})
}

func TestHintsNameTheTier(t *testing.T) {
	eachInterpreter(t, func(t *testing.T, i interpreter) {
		z := newZygote(t, i, cell.Hints)
		for _, c := range []string{
			"import socket; socket.create_connection(('127.0.0.1', 1))", "import socket; socket.getaddrinfo('x', 1)", "import _socket; _socket.socket(2)",
			"import socket; socket.gethostbyname('x')", "import os; os.system('true')", "import os; os.fork()", "import os; os.posix_spawn('/bin/true', ['true'], {})",
			"import os; os.execv('/bin/true', ['true'])", "import pty; pty.spawn('true')", "import os; os.kill(os.getppid(), 0)", "import os; os.killpg(1, 0)",
			"import ctypes.util", "import _ctypes", "import cffi", "import _cffi_backend",
		} {
			r := z.run(t, run{source: []byte(c)})
			if !bytes.Contains(r.err, []byte("PermissionError")) || !bytes.Contains(r.err, []byte("in tier MINIMAL (inside ExecutionSandbox): ")) || r.page.Denied == 0 {
				t.Errorf("%s: %v", c, r)
			}
		}
		for _, c := range []string{
			"import socket; a, b = socket.socketpair(); a.sendmsg([b'x']); print(b.recv(1))", "import asyncio; asyncio.run(asyncio.sleep(0))",
			"import os, signal; signal.signal(10, lambda *a: print('got')); os.kill(os.getpid(), 10)", "import multiprocessing, subprocess, uuid, platform",
			"import concurrent.futures as f; f.ThreadPoolExecutor().submit(print, 1).result()",
		} {
			if r := z.run(t, run{source: []byte(c)}); r.code() != 0 || r.page.Denied != 0 {
				t.Errorf("%s: %v", c, r)
			}
		}
	})
}

// Nothing of how the process was started is there to read, and the program's environment is the request's.
func TestTheStartLeavesNoTrace(t *testing.T) {
	source := []byte(`import os, sys
print(open("/proc/self/cmdline", "rb").read().rstrip(b"\0"), open("/proc/self/environ", "rb").read().strip(b"\0"))
print(dict(os.environ), [n for n in (3, 4, 5, 6, 7, 8) if os.path.exists(f"/proc/self/fd/{n}") and not os.readlink(f"/proc/self/fd/{n}").endswith("/fd")])
print(sys.argv, sys.path[:2] == [os.path.dirname(os.__file__), os.path.dirname(os.__file__) + "/lib-dynload"], sys.path[2:] == [os.getcwd()])
`)
	want := "b'python3' b''\n{'A': 'b=c', 'TZ': 'UTC'} []\n['program.py', 'x y'] True True\n"
	eachInterpreter(t, func(t *testing.T, i interpreter) {
		r := run{source: source, flags: cell.Hints, req: cell.Request{Env: []string{"A=b=c", "TZ=UTC"}, Args: []string{"program.py", "x y"}}}
		for mode, got := range map[string]result{"zygote": newZygote(t, i, cell.Hints).run(t, r), "cell": runCell(t, i, r)} {
			if string(got.out) != want || len(got.err) != 0 {
				t.Errorf("%s: %v", mode, got)
			}
		}
	})
}

func TestHelperModulesImportAndShadowNothing(t *testing.T) {
	eachInterpreter(t, func(t *testing.T, i interpreter) {
		r := run{source: []byte("import json, helper, pkg.part\nprint(json.dumps(1), helper.x, pkg.part.y)"), req: cell.Request{Count: true, Files: []cell.RequestFile{
			{Name: "json.py", Mode: 0o644, Data: []byte("raise SystemExit('shadowed')")}, {Name: "helper.py", Mode: 0o644, Data: []byte("x = 5\n")}, {Name: "pkg.py", Mode: 0o644, Data: []byte("import sys, types\npart = types.ModuleType('pkg.part')\npart.y = 6\nsys.modules['pkg.part'] = part\n__path__ = []\n")}}}}
		if got := newZygote(t, i, 0).run(t, r); string(got.out) != "1 5 6\n" || got.code() != 0 {
			t.Error(got)
		}
	})
}

// A million frames deep a program ends by itself, one way or the other.
func TestDeepRecursionEnds(t *testing.T) {
	eachInterpreter(t, func(t *testing.T, i interpreter) {
		z := newZygote(t, i, 0)
		for _, source := range []string{
			"import sys\nsys.setrecursionlimit(10**6)\nclass A:\n    def __getattr__(self, n):\n        return getattr(self, n + 'x')\nA().x",
			"import sys\nsys.setrecursionlimit(10**6)\ndef f(n):\n    return sorted([1], key=lambda x: f(n + 1))\nf(0)",
		} {
			for _, count := range []bool{false, true} {
				r := z.run(t, run{source: []byte(source), req: cell.Request{Count: count, AS: 1 << 30, Stack: 8 << 20}})
				if c := r.code(); c != -int(syscall.SIGSEGV) && (c != 1 || !bytes.Contains(r.err, []byte("Error"))) {
					t.Errorf("%q: %v", source, r)
				}
			}
		}
	})
}

func BenchmarkCounting(b *testing.B) {
	sources := map[string]string{
		"loop":  "for i in range(10_000_000):\n    pass\n",
		"fib":   "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(27)\n",
		"print": "print(6*7)",
	}
	for _, i := range interpreters(b) {
		z := newZygote(b, i, cell.Hints)
		for name, source := range sources {
			b.Run(i.name+"/"+name, func(b *testing.B) {
				var ratios []float64
				for b.Loop() {
					plain := z.run(b, run{source: []byte(source)}).took
					counted := z.run(b, run{source: []byte(source), req: cell.Request{Count: true}}).took
					ratios = append(ratios, float64(counted)/float64(plain))
				}
				slices.Sort(ratios)
				b.ReportMetric(ratios[len(ratios)/2], "counted/plain")
			})
		}
	}
}

// A module that a fork takes from the shelf brings what a stock interpreter's import brings, under the same names and with the
// same contents; and a program that changed something gets a module of its own.
func TestTheShelfIsNotSeen(t *testing.T) {
	imports := []string{"abc", "collections", "collections.abc", "typing", "dataclasses", "re", "json", "os", "os.path", "datetime", "decimal", "fractions", "importlib",
		"importlib.util", "inspect", "traceback", "enum", "contextlib", "pathlib", "csv", "argparse", "urllib.parse", "shutil", "hashlib", "timeit", "array", "random",
		"statistics", "threading", "logging", "tempfile", "unittest", "json, re", "typing, dataclasses, os", "os, sys, re, json, math, collections, itertools, functools, datetime"}
	eachInterpreter(t, func(t *testing.T, i interpreter) {
		z := newZygote(t, i, cell.Hints)
		for _, names := range imports {
			source := fmt.Sprintf("import sys\nimport %s\nprint(sorted(sys.modules))\nfor n in %q.split(', '):\n    m = sys.modules[n]\n"+
				"    print(n, m.__name__, m.__spec__.name, type(m.__loader__).__name__, sorted(vars(m)))\n", names, names)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "program.py"), []byte(source), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(i.exe, "-I", "-S", "-X", "utf8", "-B", "program.py")
			cmd.Dir = dir
			want, err := cmd.Output()
			if err != nil {
				t.Fatalf("import %s: %v", names, err)
			}
			if got := z.run(t, run{source: []byte(source)}); !bytes.Equal(got.out, want) {
				t.Errorf("import %s:\n got %s\nwant %s\n%s", names, got.out, want, got.err)
			}
		}
		for name, c := range map[string]struct{ source, want string }{
			"taken again":                  {"import sys, json\nsys.modules.pop('json').mine = 1\nimport json\nprint(hasattr(json, 'mine'), json.dumps([1]))", "False [1]\n"},
			"reloaded":                     {"import json, importlib\njson.dumps = None\nimportlib.reload(json)\nprint(json.dumps([1]))", "[1]\n"},
			"another in its place":         {"import sys, types\nsys.modules['keyword'] = m = types.ModuleType('keyword')\nm.iskeyword = 5\nimport collections\nprint(collections._iskeyword)", "5\n"},
			"a path before":                {"import sys\nopen('enum.py', 'w').write('print(7)\\nraise SystemExit')\nsys.path.insert(0, '.')\nimport re", "7\n"},
			"an import of its own":         {"import builtins\nstock = builtins.__import__\ndef f(name, *a):\n    print(name) if name == 'enum' else 0\n    return stock(name, *a)\nbuiltins.__import__ = f\nimport re", "enum\n"},
			"made by hand":                 {"import importlib.util as u\ns = u.find_spec('json')\na, b = u.module_from_spec(s), u.module_from_spec(s)\ns.loader.exec_module(a)\ns.loader.exec_module(b)\nprint(a is b, a.dumps([1]), b.dumps([2]))", "False [1] [2]\n"},
			"monkeypatched, then set free": {"import string\nclass A:\n    def __del__(self):\n        print('gone')\nstring.digits = A()", "gone\n"},
			"environment":                  {"import os\nos.environ['X'] = '1'\nprint(os.environ['A'], os.getenv('X'))", "b 1\n"},
		} {
			if got := z.run(t, run{source: []byte(c.source), req: cell.Request{Env: []string{"A=b"}}}); string(got.out) != c.want {
				t.Errorf("%s: %v", name, got)
			}
		}
	})
}
