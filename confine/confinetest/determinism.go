package confinetest

import (
	"context"
	"testing"
	"time"

	"pdlt.dev/pdlt/confine"
)

// repeatable are programs that ask for neither time nor randomness. Several print what differs between two interpreters that were not
// started alike.
var repeatable = []struct{ name, source string }{
	{"the order of a set of strings", "print({str(i) for i in range(100)}, {b'x%d' % i for i in range(50)}, hash('a'), hash(('a', b'b', 1.5)))"},
	{"the names in modules and on paths", "import sys\nprint(sorted(sys.modules), sys.path, sys.flags, sys.executable, sys.argv, sys.orig_argv, sys.prefix, sys.meta_path, sys.builtin_module_names, sys.warnoptions, sys._xoptions)"},
	{"its own surroundings", "import os, sys\nprint(sorted(os.environ.items()), os.getcwd(), sorted(os.listdir('/etc') + os.listdir('/dev')), os.listdir('.'), os.getuid(), os.getpid(), os.getppid(), os.uname().nodename, os.umask(0), os.getpgrp(), os.getsid(0), os.ttyname if 0 else '')"},
	{"the depth of recursion", "import sys\nn = 0\ndef f():\n    global n\n    n += 1\n    f()\ntry: f()\nexcept RecursionError as e: print(n, e, sys.getrecursionlimit())"},
	{"a seeded generator and sorting", "import random\nr = random.Random(7)\nx = [r.random() for _ in range(2000)]\nprint(sum(sorted(x, key=lambda v: -v)[:10]), r.sample(range(100), 10))"},
	{"json, regular expressions and text", "import json, re, collections\nt = ' '.join(sorted({str(i * i) for i in range(300)}))\nprint(json.dumps(collections.Counter(re.findall(r'\\d', t)), sort_keys=True), json.loads('{\"a\": [1, 2]}'))"},
	{"classes, generators and exceptions", "class A(Exception):\n    def __str__(self): return 'a' * 3\ndef g():\n    for i in range(50):\n        try:\n            if i % 7 == 0: raise A\n            yield i\n        except A as e: yield str(e)\nprint(list(g()))"},
	{"an uncaught exception", "import sys\ndef f(n): return 1 // n if n == 0 else f(n - 1)\nprint('out'); print('err', file=sys.stderr)\nf(3)"},
	{"threads that take turns", "import threading\nl = threading.Lock(); x = []\ndef f(i):\n    with l: x.append(i)\nfor i in range(20):\n    t = threading.Thread(target=f, args=(i,)); t.start(); t.join()\nprint(x, threading.main_thread().name, threading.active_count())"},
	{"an event loop", "import asyncio\nasync def f(i):\n    for _ in range(5): await asyncio.sleep(0)\n    return i\nasync def main(): print(await asyncio.gather(*(f(i) for i in range(10))))\nasyncio.run(main())"},
	{"files and temporary files", "import os, tempfile, sqlite3\nopen('x', 'w').write('1'); d = tempfile.mkdtemp(dir='.', prefix='t')\nprint(sorted(n[:1] for n in os.listdir()), os.stat('x').st_size, sqlite3.sqlite_version, oct(os.stat(d).st_mode), os.stat('program.py').st_uid)"},
	{"exit handlers, finalisers and weak references", "import atexit, weakref, gc\nclass A:\n    def __del__(self): print('del')\na = A(); w = weakref.finalize(a, print, 'final'); atexit.register(print, 'exit')\nb = A(); b.me = b; del b; gc.collect(); print(w.alive)"},
	{"signals, descriptors and limits", "import signal, os, resource\nprint([(int(s), repr(signal.getsignal(s))) for s in sorted(signal.valid_signals()) if signal.getsignal(s) not in (signal.SIG_DFL, None)][:20] and 1, sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), [n for n in range(64) if os.path.exists(f'/proc/self/fd/{n}')], resource.getrlimit(resource.RLIMIT_STACK), os.open('/dev/null', 0))"},
	{"decimal, fractions and dates", "from decimal import *; from fractions import Fraction; from datetime import *; import time, locale\nprint(Decimal(2).sqrt(), Fraction(3, 9), datetime(2024, 2, 29) + timedelta(366), time.tzname, time.localtime(0), locale.localeconv()['decimal_point'], locale.setlocale(0))"},
	{"garbage collector settings and interned state", "import gc, sys, warnings, codecs\nprint(gc.get_threshold(), gc.isenabled(), gc.get_freeze_count() >= 0, sys.getswitchinterval(), sys.getswitchinterval(), warnings.filters, sys.get_int_max_str_digits(), sys.gettrace(), sys.getprofile(), sys.stdout.line_buffering, sys.stdout.mode, sys.stdin.encoding)"},
}

// determinism: the same program on the same interpreter gives the same bytes and the same steps in every start mode, every time.
func determinism(t *testing.T, b Backend) {
	type answer struct {
		stdout, stderr string
		steps          uint64
		code           string
	}
	ask := func(t *testing.T, c confine.Confiner, source string) (answer, confine.Report) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		res, err := c.Run(ctx, confine.Spec{Program: confine.Python([]byte(source)), Policy: minimal, Limits: confine.Limits{Steps: 50_000_000}})
		if err != nil {
			t.Fatal(err)
		}
		o := res.Outcome
		if o.Stopped != confine.StoppedNone || o.Steps == nil {
			t.Fatalf("stopped %s, steps %s, stderr %.500s", o.Stopped, show(o.Steps), o.Stderr.Text)
		}
		return answer{o.Stdout.Text, o.Stderr.Text, *o.Steps, show(o.ExitCode)}, res.Report
	}
	open := func(t *testing.T, mode confine.StartMode, seed string) confine.Confiner {
		t.Helper()
		o := b.Options
		o.Start, o.HashSeed = mode, seed
		c, err := b.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	var first confine.Confiner
	all := map[confine.StartMode]confine.Confiner{}
	for _, mode := range b.Modes {
		all[mode] = open(t, mode, "")
		if first == nil {
			first = all[mode]
		}
	}
	for _, p := range repeatable {
		t.Run(p.name, func(t *testing.T) {
			want, _ := ask(t, first, p.source)
			for _, mode := range b.Modes {
				for i := range 3 {
					if have, _ := ask(t, all[mode], p.source); have != want {
						t.Fatalf("start %s, run %d:\n%+v\nstart %s, first run:\n%+v\nprogram:\n%s", mode, i+1, have, b.Modes[0], want, p.source)
					}
				}
			}
		})
	}
	for _, mode := range b.Modes {
		t.Run("a hash seed changes the order and is reported, start "+string(mode), func(t *testing.T) {
			const source = "print({str(i) for i in range(100)}, hash('a'))"
			zero, report := ask(t, all[mode], source)
			if report.HashSeed != "0" {
				t.Errorf("the report says hash seed %q; want 0", report.HashSeed)
			}
			seeded := open(t, mode, "7")
			seven, report := ask(t, seeded, source)
			if report.HashSeed != "7" || seven.stdout == zero.stdout {
				t.Errorf("seed 7 is reported as %q and prints the same: %v", report.HashSeed, seven.stdout == zero.stdout)
			}
			if again, _ := ask(t, seeded, source); again != seven {
				t.Error("seed 7 gives two answers")
			}
			if other, _ := ask(t, open(t, mode, "random"), source); other.stdout == zero.stdout {
				t.Error("a random seed gives the order of seed 0")
			}
		})
	}
	for _, seed := range []string{"x", "-1", "4294967296"} {
		t.Run("refused: hash seed "+seed, func(t *testing.T) {
			o := b.Options
			o.HashSeed = seed
			_, err := b.Open(o)
			refusal(t, err, confine.CodePolicyInvalid)
		})
	}
}
