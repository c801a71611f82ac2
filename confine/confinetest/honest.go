package confinetest

import (
	"fmt"
	"strings"
	"testing"

	"pdlt.dev/pdlt/confine"
)

// several is a program of several files, of which the first is the entry.
func several(files ...string) *confine.Program {
	p := confine.Program{Entry: files[0]}
	for i := 0; i+1 < len(files); i += 2 {
		p.Files = append(p.Files, confine.File{Name: files[i], Data: []byte(files[i+1])})
	}
	return &p
}

// bytesOf is a program of one source that is not text.
func bytesOf(source string) *confine.Program {
	p := confine.Python([]byte(source))
	return &p
}

// honest: what ordinary programs do must work, and look as it does elsewhere.
func (s *suite) honest(t *testing.T) {
	s.table(t, []row{
		{name: "threads run and are joined", both: true, stdout: "[0, 1, 4, 9, 16, 25, 36, 49]\n", source: `
import threading, queue
q = queue.Queue()
ts = [threading.Thread(target=lambda i=i: q.put(i * i)) for i in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
print(sorted(q.queue))
`},
		{name: "a pool of threads maps in order", stdout: "[1, 2, 3, 4]\n", source: `
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool:
    print(list(pool.map(lambda x: x + 1, range(4))))
`},
		{name: "asyncio is woken by call_soon_threadsafe and to_thread", both: true, stdout: "42 7 0 1 2\n", source: `
import asyncio, threading
async def main():
    loop = asyncio.get_running_loop()
    f = loop.create_future()
    threading.Thread(target=lambda: loop.call_soon_threadsafe(f.set_result, 41)).start()
    print(await f + 1, await asyncio.to_thread(lambda: 7), *await asyncio.gather(*(asyncio.sleep(0.01, i) for i in range(3))))
asyncio.run(main())
`},
		{name: "a socketpair sends and receives", both: true, stdout: "b'ping' b'pong' b'ab' 5\n", source: `
import socket
a, b = socket.socketpair()
a.send(b"ping"); x = b.recv(10)
b.sendall(b"pong"); y = a.recv(10)
a.sendmsg([b"a", b"b"]); z = b.recvmsg(10)[0]
c, d = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
c.send(b"hello")
print(x, y, z, len(d.recv(100)))
`},
		{name: "a pipe and select work", stdout: "[True, False] b'x'\n", source: `
import os, select
r, w = os.pipe()
a = bool(select.select([], [w], [], 0)[1]); b = bool(select.select([r], [], [], 0)[0])
os.write(w, b"x")
e = select.epoll(); e.register(r, select.EPOLLIN); e.poll(1)
print([a, b], os.read(r, 1))
`},
		{name: "tempfile uses the private /tmp", both: true, stdout: "/tmp True True b'data' True 9\n", source: `
import tempfile, os
with tempfile.NamedTemporaryFile() as f:
    f.write(b"data"); f.flush()
    inside = f.name.startswith("/tmp/")
    data = open(f.name, "rb").read()
with tempfile.TemporaryDirectory() as d:
    open(os.path.join(d, "x"), "w").write("x")
    folder = os.path.isdir(d) and d.startswith("/tmp/")
fd, name = tempfile.mkstemp(); os.close(fd)
with tempfile.TemporaryFile() as f:
    f.write(b"123456789"); size = f.tell()
print(tempfile.gettempdir(), inside, folder, data, name.startswith("/tmp/"), size)
`},
		{name: "sqlite3 works in memory and in a file", both: true, stdout: "[(1, 'a'), (2, 'b')] 45 wal\n", source: `
import sqlite3
m = sqlite3.connect(":memory:")
m.execute("create table t(i, s)"); m.executemany("insert into t values(?, ?)", [(1, "a"), (2, "b")])
f = sqlite3.connect("data.db")
mode = f.execute("pragma journal_mode=wal").fetchone()[0]
f.execute("create table n(i)"); f.executemany("insert into n values(?)", [(i,) for i in range(10)]); f.commit(); f.close()
print(m.execute("select * from t order by i").fetchall(), sqlite3.connect("data.db").execute("select sum(i) from n").fetchone()[0], mode)
`},
		{name: "decimal and fractions are exact", stdout: "0.3333333333333333333333333333 1/2 0.30\n", source: `
from decimal import Decimal; from fractions import Fraction
print(Decimal(1) / 3, Fraction(1, 3) + Fraction(1, 6), Decimal("0.10") + Decimal("0.20"))
`},
		{name: "zoneinfo knows Europe/Berlin", both: true, stdout: "2:00:00 CET 2024-03-31T03:30:00+02:00 True\n", source: `
from zoneinfo import ZoneInfo, available_timezones
from datetime import datetime, timezone
z = ZoneInfo("Europe/Berlin")
print(datetime(2024, 7, 1, tzinfo=z).utcoffset(), datetime(2024, 1, 1, tzinfo=z).tzname(),
      datetime(2024, 3, 31, 1, 30, tzinfo=timezone.utc).astimezone(z).isoformat(), len(available_timezones()) > 400)
`},
		{name: "ssl, hashlib, zlib, lzma, bz2 and xml import and work", both: true, has: []string{"OpenSSL", "ba7816bf8f01cfea", "True True True r"}, source: `
import ssl, hashlib, zlib, lzma, bz2, uuid, secrets, random, csv, unicodedata, xml.etree.ElementTree as E
ssl.create_default_context()
print(ssl.OPENSSL_VERSION, hashlib.sha256(b"abc").hexdigest(), *(m.decompress(m.compress(b"x" * 1000)) == b"x" * 1000 for m in (zlib, lzma, bz2)), E.fromstring("<r/>").tag)
`},
		{name: "the usual libraries import without a word", source: `
import abc, argparse, array, ast, base64, bisect, calendar, cmath, collections, contextlib, copy, csv, dataclasses, datetime, difflib, dis, email, enum, functools, glob, graphlib, gzip
import hashlib, heapq, html, http.client, importlib.metadata, importlib.resources, inspect, io, itertools, json, keyword, linecache, locale, logging, math, mimetypes, numbers, operator, os, pathlib, pickle
import platform, pprint, queue, random, re, reprlib, secrets, select, shelve, shlex, shutil, signal, socket, sqlite3, statistics, string, struct, subprocess, tarfile, tempfile, textwrap, threading, time
import timeit, tokenize, traceback, types, typing, unicodedata, unittest, urllib.parse, urllib.request, uuid, warnings, weakref, xml.dom.minidom, xmlrpc.client, zipfile, zlib, zoneinfo, multiprocessing, asyncio, concurrent.futures
`, check: func(t *testing.T, r confine.Result) {
			if r.Outcome.Stderr.Bytes != 0 {
				t.Errorf("stderr %q; want nothing", r.Outcome.Stderr.Text)
			}
		}},
		{name: "too deep recursion is an exception that can be caught", both: true, stdout: "caught 900 20000\n", source: `
import sys
def down(n): return 0 if n == 0 else 1 + down(n - 1)
try: down(10**6)
except RecursionError: print("caught", end=" ")
print(down(900), end=" ")
sys.setrecursionlimit(30000)
print(down(20000))
`},
		{name: "a thread recurses as deeply", stdout: "5000\n", source: `
import sys, threading
sys.setrecursionlimit(30000)
def down(n): return 0 if n == 0 else 1 + down(n - 1)
t = threading.Thread(target=lambda: print(down(5000))); t.start(); t.join()
`},
		{name: "a source of 5 MB runs", stdout: "50000 100\n",
			program: bytesOf("v = []\n" + strings.Repeat("v.append('"+strings.Repeat("x", 100)+"')\n", 50000) + "print(len(v), len(v[0]))\n")},
		{name: "an empty source runs", program: bytesOf("")},
		{name: "a byte order mark is no character", stdout: "é\n", program: bytesOf("\xef\xbb\xbfprint('é')\n")},
		{name: "CRLF ends lines", stdout: "1\n2\n", program: bytesOf("if True:\r\n    print(1)\r\nprint('''2''')\r\n")},
		{name: "a coding cookie is obeyed", stdout: "café é\n", program: bytesOf("# -*- coding: latin-1 -*-\nprint('caf\xe9', 'é'[0:0] + '\xe9')\n")},
		{name: "a source that is not UTF-8 is a syntax error with the line", code: 1, errHas: []string{"SyntaxError", "program.py"}, program: bytesOf("x = 1\nprint('caf\xe9')\n")},
		{name: "a syntax error shows file, line and place", code: 1, errHas: []string{"program.py\", line 2", "SyntaxError", "^"}, source: "x = 1\ny = = 2\n"},
		{name: "bytes that are not UTF-8 become replacement characters one by one", stdout: "a\ufffd\ufffdb", source: `import sys; sys.stdout.buffer.write(b"a\xff\xfeb")`,
			check: func(t *testing.T, r confine.Result) {
				if o := r.Outcome.Stdout; o.Bytes != 4 || o.Dropped != 0 || o.Cut != 0 {
					t.Errorf("bytes %d, dropped %d, cut %d; want 4, 0, 0", o.Bytes, o.Dropped, o.Cut)
				}
			}},
		{name: "input is at its end at once", both: true, stdout: "eof ''\n", within: 2e9, source: `
import sys
try: input("")
except EOFError: print("eof", repr(sys.stdin.read()))
`},
		{name: "__file__ can be read and is in the current folder", both: true, stdout: "program.py /work True __main__ True\n", source: `
import os, sys
print(os.path.basename(__file__), os.getcwd(), "MARK" in open(__file__).read(), __name__, sys.modules["__main__"].__dict__ is globals())  # MARK
`},
		{name: "inspect finds the source", stdout: "def f(x):\n    return x + 1  # here\n\nTrue\n", source: `import inspect, json
def f(x):
    return x + 1  # here
print(inspect.getsource(f))
print("def dumps" in inspect.getsource(json))
`},
		{name: "a traceback has the program's own lines and only its frames", both: true, code: 1, errHas: []string{"line 4, in <module>", "    f()", "line 3, in f", "raise ValueError(\"boom\")", "\nValueError: boom\n"},
			hasNot: []string{"<string>", "runpy", "launch", "importlib"}, source: `
def f():
    raise ValueError("boom")
f()
`, check: func(t *testing.T, r confine.Result) {
				e := r.Outcome.Stderr.Text
				if n := strings.Count(e, "File \""); n != 2 || strings.Count(e, "program.py\"") != 2 || !strings.HasPrefix(e, "Traceback (most recent call last):\n") {
					t.Errorf("%d frames; want the 2 of program.py, and nothing before them", n)
				}
			}},
		{name: "no frame lies below the program's own", both: true, stdout: "None 1\n", source: `
import sys, traceback
print(sys._getframe().f_back, len(traceback.extract_stack()))
`},
		{name: "a __future__ import after a docstring works", both: true, stdout: "doc int\n", source: `"""doc"""
from __future__ import annotations
def f(x: int): pass
print(__doc__, f.__annotations__["x"])
`},
		{name: "the environment is fixed and holds nothing else", both: true, source: `
import os
for k, v in sorted(os.environ.items()): print(f"{k}={v}")
`, stdout: "HOME=/work\nLANG=C.UTF-8\nLC_ALL=C.UTF-8\nPATH=/usr/bin:/bin\nTMPDIR=/tmp\nTZ=UTC\n"},
		{name: "locale, encodings, time zone and identity are sane", both: true, stdout: "utf-8 utf-8 utf-8 UTF-8 ('UTC', 'UTC') /work 1000 1000 /work sandbox\n", source: `
import sys, time, os, locale, pwd, socket
locale.setlocale(locale.LC_ALL, "")
print(sys.getfilesystemencoding(), sys.stdout.encoding, sys.stderr.encoding, locale.nl_langinfo(locale.CODESET), time.tzname, os.path.expanduser("~"), os.getuid(), os.getgid(), pwd.getpwuid(os.getuid()).pw_dir, socket.gethostname())
`},
		{name: "the interpreter is isolated", both: true, stdout: "True 1 1 1 False []\n", source: `
import sys
print(sys.flags.safe_path, sys.flags.no_user_site, sys.flags.no_site, sys.flags.utf8_mode, "site" in sys.modules, [p for p in sys.path if "site-packages" in p or "dist-packages" in p])
`},
		{name: "variables for Python that the program adds change nothing", both: true, stdout: "True True 3\n",
			program: &confine.Program{Entry: "program.py", Env: []string{"PYTHONHASHSEED=5", "PYTHONPATH=/tmp/evil", "PYTHONSTARTUP=/work/program.py", "PYTHONINSPECT=1", "PYTHONHOME=/tmp", "PYTHONIOENCODING=latin-1", "PYTHONOPTIMIZE=2", "PYTHONUTF8=0"},
				Files: []confine.File{{Name: "program.py", Data: []byte("import sys; print('/tmp/evil' not in sys.path, __debug__ and sys.stdout.encoding == 'utf-8', len(sys.path))")}}}},
		{name: "multiprocessing is refused with a sentence that names the tier", stopped: confine.StoppedDenied, code: 1, errHas: []string{"PermissionError", "new processes are off in tier MINIMAL"}, source: `
import multiprocessing
if __name__ == "__main__":
    p = multiprocessing.get_context("fork").Process(target=print, args=("child",)); p.start(); p.join()
`, hasNot: []string{"child\n"}},
		{name: "a pool of processes is refused with a sentence that names the tier", stopped: confine.StoppedDenied, code: 1, errHas: []string{"PermissionError", "new processes are off in tier MINIMAL"}, source: `
import multiprocessing
if __name__ == "__main__":
    with multiprocessing.Pool(2) as p: print(p.map(abs, [-1]))
`},
		{name: "subprocess is refused with a sentence that names the tier", stopped: confine.StoppedDenied, code: 1, errHas: []string{"new processes are off in tier MINIMAL"}, source: `
import subprocess; subprocess.run(["/bin/echo", "hello"])
`},
		{name: "the network is refused with a sentence that names the tier", stopped: confine.StoppedDenied, code: 1, errHas: []string{"PermissionError", "the network is off in tier MINIMAL"}, source: `
import socket; socket.create_connection(("127.0.0.1", 1))
`},
		{name: "a library that wraps the refusal shows the sentence", code: 1, errHas: []string{"URLError", "the network is off in tier MINIMAL"}, source: `
import urllib.request; urllib.request.urlopen("http://127.0.0.1:1/")
`},
		{name: "native code is refused with a sentence that names the tier", stopped: confine.StoppedDenied, code: 1, errHas: []string{"native code is off in tier MINIMAL"}, source: "import ctypes\n"},
		{name: "a refusal that the program catches ends nothing", stdout: "went on\n", source: `
import subprocess
try: subprocess.run(["/bin/echo", "hello"])
except OSError: print("went on")
`},
		{name: "arguments arrive as they are", stdout: "['program.py', '-x', '', 'a b', 'é😀', '--help']\n",
			program: &confine.Program{Entry: "program.py", Argv: []string{"-x", "", "a b", "é😀", "--help"}, Files: []confine.File{{Name: "program.py", Data: []byte("import sys; print([sys.argv[0].rsplit('/')[-1]] + sys.argv[1:])")}}}},
		{name: "added variables are there and may replace fixed ones", stdout: "b=c é America/New_York /work\n",
			program: &confine.Program{Entry: "program.py", Env: []string{"A=b=c", "E=é", "TZ=America/New_York"}, Files: []confine.File{{Name: "program.py", Data: []byte("import os; print(os.environ['A'], os.environ['E'], os.environ['TZ'], os.environ['HOME'])")}}}},
		{name: "a file of the program is imported and cannot shadow the standard library", both: true, stdout: "[1] 7 11 data\n", program: several(
			"program.py", "import json, helper, package.part\nprint(json.dumps([1]), helper.x, package.part.y, open('folder/data.txt').read())\n",
			"json.py", "raise SystemExit('shadowed')\n", "random.py", "raise SystemExit('shadowed')\n",
			"helper.py", "import random\nx = 7\n", "package/__init__.py", "", "package/part.py", "y = 11\n", "folder/data.txt", "data")},
		{name: "an entry in a folder runs in the work folder", stdout: "/work True\n", program: several(
			"sub/main.py", "import os; print(os.getcwd(), os.path.abspath(__file__) == '/work/sub/main.py')\n")},
		{name: "a file's mode is kept", stdout: "0o644 0o755 0o400\n", program: &confine.Program{Entry: "p.py", Files: []confine.File{
			{Name: "p.py", Data: []byte("import os; print(*(oct(os.stat(n).st_mode & 0o777) for n in ('p.py', 'x', 'r')))")}, {Name: "x", Mode: 0o755}, {Name: "r", Mode: 0o400}}}},
		{name: "the work folder holds the program's files and nothing else", both: true, stdout: "['a', 'program.py'] ['b.txt'] [] []\n", program: several(
			"program.py", "import os; print(sorted(os.listdir()), os.listdir('a'), os.listdir('/tmp'), os.listdir('/dev/shm'))\n", "a/b.txt", "x")},
		{name: "emoji and CJK are exact on both streams", both: true, stdout: "😀 漢字 ñ \U0001F468\u200D\U0001F469\n", errHas: []string{"終わり 🎉\n"}, source: `
import sys
print("😀 漢字 ñ \U0001F468\u200D\U0001F469"); print("終わり 🎉", file=sys.stderr)
`},
		{name: "lines end with LF", stdout: "a\nb\r\nc\n", source: `
print("a"); print("b\r"); print("c")
`},
		{name: "output without a newline at its end arrives", stdout: "no newline", source: `print("no newline", end="")`},
		{name: "exit statuses arrive: 3", code: 3, source: "import sys; sys.exit(3)"},
		{name: "exit statuses arrive: 256 is 0", source: "import sys; sys.exit(256)"},
		{name: "exit statuses arrive: a sentence is 1 and printed", code: 1, errHas: []string{"sorry\n"}, source: "import sys; sys.exit('sorry')"},
		{name: "exit handlers run and their output arrives", stdout: "body\nhandler\n", source: "import atexit; atexit.register(print, 'handler'); print('body')"},
		{name: "closing every descriptor keeps the verdict", both: true, code: 3, source: "import os; os.closerange(0, 256); os._exit(3)"},
		{name: "exchanging the streams keeps them apart from nothing else", code: 4, stdout: "two\n", errHas: []string{"one\n"}, source: `
import os, sys
a = os.dup(1); os.dup2(2, 1); os.dup2(a, 2); os.close(a)
print("one", flush=True); print("two", file=sys.stderr, flush=True); os._exit(4)
`},
		{name: "closing standard output and exiting keeps what was printed", code: 5, stdout: "before\n", source: `
import sys
print("before", flush=True); sys.stdout.close(); sys.exit(5)
`},
		{name: "a program that closed both streams is waited for", both: true, code: 6, source: `
import os, time
os.close(1); os.close(2); time.sleep(0.3); os._exit(6)
`, check: func(t *testing.T, r confine.Result) {
			if r.Outcome.Usage.WallMS < 300 {
				t.Errorf("answered after %v ms; the program sleeps for 300", r.Outcome.Usage.WallMS)
			}
		}},
		{name: "a filled descriptor table keeps the verdict", code: 7, source: `
import os
try:
    while True: os.dup(1)
except OSError: pass
os._exit(7)
`},
		{name: "address space is not memory", cgroup: true, stdout: "ok\n", limits: confine.Limits{MemoryBytes: 128 << 20}, source: `
import mmap
m = mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000), prot=mmap.PROT_READ)
print("ok")
`},
		{name: "clocks, randomness and user signals work", both: true, stdout: "True True [10, 14] True\n", source: `
import time, os, signal, random
got = []
signal.signal(signal.SIGUSR1, lambda n, f: got.append(n)); signal.signal(signal.SIGALRM, lambda n, f: got.append(n))
os.kill(os.getpid(), signal.SIGUSR1); signal.setitimer(signal.ITIMER_REAL, 0.02); time.sleep(0.1)
print(time.time() > 1.6e9, time.perf_counter() > 0, got, len(os.urandom(8)) == 8 and os.urandom(8) != os.urandom(8))
`},
		{name: "links, renames and permissions work in the work folder", both: true, stdout: "x x ['h', 'l', 'program.py'] 0o600\n", source: `
import os
open("f", "w").write("x"); os.symlink("f", "l"); os.link("f", "h"); a = open("l").read(); os.rename("f", "g"); os.unlink("g"); os.chmod("h", 0o600)
print(a, open("h").read(), sorted(os.listdir()), oct(os.stat("h").st_mode & 0o777))
`},
	})
	t.Run("a module of the standard library warns of nothing", func(t *testing.T) {
		res := s.python(t, s.hints, "print(1)", confine.Limits{Steps: 1_000_000})
		if res.Outcome.Stderr.Bytes != 0 {
			t.Errorf("stderr %q; want nothing", res.Outcome.Stderr.Text)
		}
	})
	t.Run("the taps see every byte in order", func(t *testing.T) {
		var out, err strings.Builder
		res := s.run(t, s.hints, confine.Spec{Program: confine.Python([]byte("import sys\nfor i in range(20000): print(i)\nprint('e', file=sys.stderr)")), Policy: minimal,
			Limits: confine.Limits{OutputBytes: 1000}, Stdout: &out, Stderr: &err})
		var want strings.Builder
		for i := range 20000 {
			fmt.Fprintln(&want, i)
		}
		if out.String() != want.String() || err.String() != "e\n" || res.Outcome.Stdout.Dropped == 0 {
			t.Errorf("the taps got %d and %d bytes, dropped %d; want %d, 2 and more than 0", out.Len(), err.Len(), res.Outcome.Stdout.Dropped, want.Len())
		}
	})
}
