package confinetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"pdlt.dev/pdlt/confine"
)

// elsewhere are the rows of the specification (sections 13.1 to 13.5, 13.7, 13.8) that do not concern a confiner, with the reason.
var elsewhere = map[string]string{
	"C5":  "no folder on disk holds a session: what is swept is cgroups, and the tests of confine/internal/cgroup sweep dead, living and foreign owners",
	"C6":  "as C5: a cgroup without an owner's record is left alone there",
	"C22": "findings of a body with two programs are the runner's",
	"C23": "a repair is the harness's; the server answers once",
	"C25": "there is no interactive host; an unavailable backend is the refusal that C18 and C19 check",
	"C26": "a batch runner's options are the harness's",
	"B17": "Windows",
	"B18": "Windows",
	"P10": "the tier table is the runner's",
}

// declare gives the name of a row's subtest and remembers that the row is there, also when a filter leaves it out.
func (s *suite) declare(id, sentence string) string {
	for _, one := range strings.Split(id, "+") {
		s.rows[one] = true
	}
	return id + " " + sentence
}

// specification: the rows of the specification's own suite, by their ids.
func (s *suite) specification(t *testing.T) {
	s.lifeCycle(t)
	s.insidePolicy(t)
	s.selection(t)
	s.escapes(t)
	s.positive(t)
	s.basics(t)
	s.budgets(t)
	t.Run("every row is here or has a reason", func(t *testing.T) {
		var want []string
		for prefix, last := range map[string]int{"C": 44, "B": 18, "P": 10} {
			for i := 1; i <= last; i++ {
				want = append(want, fmt.Sprint(prefix, i))
			}
		}
		want = append(want, "C33a")
		sort.Strings(want)
		for _, id := range want {
			switch reason := elsewhere[id]; {
			case s.rows[id] && reason != "":
				t.Errorf("%s is tested and also said not to apply", id)
			case s.rows[id]:
			case reason == "":
				t.Errorf("%s is neither tested nor has a reason", id)
			default:
				t.Logf("%s does not apply: %s", id, reason)
			}
		}
	})
}

func (s *suite) lifeCycle(t *testing.T) {
	t.Run(s.declare("C1+C9", "nothing exists before the first run, it runs in /work, closing removes everything"), func(t *testing.T) {
		before, files := steady(), len(OpenFiles())
		o := s.Options
		o.Start = s.mode
		c, err := s.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if now := steady(); len(now) > len(before) {
			t.Errorf("processes before the first run: %v", now)
		}
		row{stdout: "/work\n"}.judge(t, s.python(t, c, "import os; print(os.getcwd())", confine.Limits{}))
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if now := steady(); len(now) > len(before) {
			t.Errorf("processes after closing: %v", now)
		}
		if now := OpenFiles(); len(now) > files+2 { // the runtime may have opened its poller
			t.Errorf("%d descriptors before, after closing %v", files, now)
		}
	})
	t.Run(s.declare("C2", "a second run sees its own file only"), func(t *testing.T) {
		s.python(t, s.hints, "import os\nos.mkdir('d'); open('d/f', 'w').write('x'); open('/tmp/f', 'w').write('x'); open('/dev/shm/f', 'w').write('x')", confine.Limits{})
		row{stdout: "['program.py'] [] []\n"}.judge(t, s.python(t, s.hints, "import os; print(os.listdir(), os.listdir('/tmp'), os.listdir('/dev/shm'))", confine.Limits{}))
	})
	s.table(t, []row{{name: s.declare("C3", "mkstemp makes its file in the private /tmp"), both: true, stdout: "/tmp\n", source: "import tempfile, os; print(os.path.dirname(tempfile.mkstemp()[1]))"}})
	t.Run(s.declare("C4", "closing twice is allowed, a closed one says so, another one works"), func(t *testing.T) {
		o := s.Options
		o.Start = s.mode
		c, err := s.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		s.python(t, c, "", confine.Limits{})
		for range 2 {
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		if _, err := c.Run(context.Background(), confine.Spec{Program: confine.Python(nil)}); !errors.Is(err, confine.ErrClosed) {
			t.Errorf("run after closing: %v; want ErrClosed", err)
		}
		row{stdout: "1\n"}.judge(t, s.python(t, s.open(t, func(*confine.Options) {}), "print(1)", confine.Limits{}))
	})
	t.Run(s.declare("C7", "an interrupted run is dead within five seconds and the next one works"), func(t *testing.T) {
		before, after, left := leaves(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var once sync.Once
			begin := time.Now()
			res, err := s.hints.Run(ctx, confine.Spec{Program: confine.Python([]byte("import time; print(1, flush=True); time.sleep(60)")), Policy: minimal, Stdout: tap(func() { once.Do(cancel) })})
			if err != nil {
				t.Fatal(err)
			}
			row{stopped: confine.StoppedCancelled, signal: 9}.judge(t, res)
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
		if left {
			t.Errorf("processes before %v, now %v", before, after)
		}
		row{stdout: "1\n"}.judge(t, s.python(t, s.hints, "print(1)", confine.Limits{}))
	})
	t.Run(s.declare("C8", "two programs share one confiner, are told apart, and name the same backend"), func(t *testing.T) {
		a, b := s.python(t, s.hints, "print(1)", confine.Limits{}), s.python(t, s.hints, "print(2)", confine.Limits{})
		if a.Report.Backend != b.Report.Backend || a.Program.Digest == b.Program.Digest || a.Report.PolicyDigest != b.Report.PolicyDigest {
			t.Errorf("backends %q, %q; programs %q, %q; policies %q, %q", a.Report.Backend, b.Report.Backend, a.Program.Digest, b.Program.Digest, a.Report.PolicyDigest, b.Report.PolicyDigest)
		}
	})
}

// tries is a program that attempts each of the lines by itself and prints for each "ok" and the value, or the exception's name.
func tries(setup string, lines ...string) string {
	var b strings.Builder
	b.WriteString(setup + "\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "try: print('ok', repr(%s))\nexcept BaseException as e: print(type(e).__name__)\n", l)
	}
	return b.String()
}

// refused says that the program printed n answers, every one of them one of the exceptions.
func refused(n int, exceptions ...string) func(*testing.T, confine.Result) {
	return func(t *testing.T, r confine.Result) {
		t.Helper()
		lines := strings.Split(strings.TrimSpace(r.Outcome.Stdout.Text), "\n")
		if len(lines) != n {
			t.Errorf("%d answers; want %d", len(lines), n)
		}
		for i, l := range lines {
			if !slices.Contains(exceptions, l) {
				t.Errorf("answer %d is %q; want one of %v", i+1, l, exceptions)
			}
		}
	}
}

// hostFolder is a folder of the host that a program must not reach: a secret, and a document that it must not change.
type hostFolder struct{ dir, secret, mark, document string }

const documentText = "the host's own text\n"

func newOutside(t *testing.T) hostFolder {
	t.Helper()
	// Not below the system's temporary folder alone: that path exists inside too, and is another one.
	dir, err := os.MkdirTemp(".", "outside-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	o := hostFolder{dir, filepath.Join(dir, "secret-name.txt"), fmt.Sprintf("mark-%d-%d", os.Getpid(), time.Now().UnixNano()), filepath.Join(dir, "current.md")}
	for name, text := range map[string]string{o.secret: o.mark, o.document: documentText} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// Every user of the host may read and write here, so that only confinement is left to refuse.
	for _, p := range []string{dir, o.secret, o.document} {
		if err := os.Chmod(p, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// whole checks that nothing was added or changed.
func (o hostFolder) whole(t *testing.T) {
	t.Helper()
	list, err := os.ReadDir(o.dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 {
		t.Errorf("%s holds %v; want 2 files", o.dir, list)
	}
	if b, err := os.ReadFile(o.document); err != nil || string(b) != documentText {
		t.Errorf("the document is %q, %v", b, err)
	}
}

func (s *suite) insidePolicy(t *testing.T) {
	s.table(t, []row{
		{name: s.declare("C10", "ctypes and cffi are refused, as native code where hints are on"), both: true, source: tries("import importlib",
			"importlib.import_module('ctypes')", "importlib.import_module('_ctypes')", "importlib.import_module('ctypes.util')", "importlib.import_module('cffi')", "importlib.import_module('_cffi_backend')"),
			check: refused(5, "PermissionError", "ModuleNotFoundError", "ImportError")},
		{name: s.declare("C10", "and the sentence says native code"), source: "import _ctypes", stopped: confine.StoppedDenied, code: 1, errHas: []string{"PermissionError", "native code is off in tier MINIMAL"}},
	})
	o := newOutside(t)
	source := tries(fmt.Sprintf("import os, shutil, sqlite3\nD, S = %q, %q", o.dir, o.secret),
		"open(S).read()", "open(D + '/new', 'w')", "os.open(D + '/new', os.O_CREAT | os.O_WRONLY)", "os.listdir(D)", "os.rename(__file__, D + '/new')", "os.link(__file__, D + '/new')", "shutil.copy(S, 'x')", "os.chdir(D)",
		"sqlite3.connect(D + '/new.db').execute('create table t(x)')", "sqlite3.connect('file:' + D + '/new.db?mode=rwc', uri=True).execute('create table t(x)')",
		"open('../escape.txt', 'w')", "open('/escape.txt', 'w')", "os.mkdir('/escape')", "open('/etc/passwd', 'a')", "open('/proc/self/comm', 'w')", "open('/python/x', 'w')", "os.truncate('/dev/null', 1) or open('/dev/new', 'w')", "os.mknod('/tmp/d', 0o20666, 0x103)")
	s.table(t, []row{{name: s.declare("C11", "nothing outside is read, made, listed, renamed, copied or entered"), both: true, source: source, hasNot: []string{o.mark, "secret-name.txt'"},
		check: func(t *testing.T, r confine.Result) {
			refused(18, "PermissionError", "FileNotFoundError", "OSError", "OperationalError", "NotADirectoryError")(t, r)
			o.whole(t)
		}}})
	s.table(t, []row{
		{name: s.declare("C12", "everything usual works in the work folder"), both: true, stdout: "True True ['a', 'c', 'e', 'link', 'm.db', 'program.py'] [(1,)] 3 gone\n", source: `
import os, shutil, sqlite3, json
source = "def loads" in open(json.__file__).read()
os.makedirs("a/b"); open("a/f", "w").write("x"); shutil.copy("a/f", "c"); os.rename("c", "d"); shutil.copy("d", "c"); os.unlink("d")
d = os.open("a", os.O_RDONLY); os.mkdir("by-fd", dir_fd=d); made = os.path.isdir("a/by-fd"); os.close(d)
os.symlink("a/f", "link"); shutil.copytree("a", "e"); os.makedirs("g/h"); shutil.rmtree("g")
c = sqlite3.connect("m.db"); c.execute("create table t(x)"); c.execute("insert into t values(1)"); c.commit(); c.close()
sqlite3.connect(":memory:").execute("create table t(x)")
n = open("/dev/null", "w").write("xyz")
print(source, made, sorted(os.listdir()), sqlite3.connect("m.db").execute("select * from t").fetchall(), n, "gone" if not os.path.exists("g") else "")
`},
		{name: s.declare("C13", "links that lead up lead to the private root and nowhere else"), both: true, hasNot: []string{o.mark}, source: fmt.Sprintf(`
import os
os.mkdir("sub")
for i, to in enumerate(("/", "..", "../..", "sub/../..")):
    os.symlink(to, f"l{i}")
    try: top = sorted(os.listdir(f"l{i}"))
    except OSError: top = []
    try: w = open(f"l{i}/escape.txt", "w") and "written"
    except OSError: w = "refused"
    try: s = open(f"l{i}" + %q).read()
    except OSError: s = "absent"
    print(set(top) <= {"bin", "box", "dev", "etc", "lib", "lib64", "proc", "python", "tmp", "usr", "work"}, w, s)
`, o.secret), stdout: strings.Repeat("True refused absent\n", 4)},
		{name: s.declare("C14", "the parent cannot be signalled"), both: true, source: tries("import os", "os.kill(os.getppid(), 0)", "os.kill(1, 9)", "os.killpg(1, 9)", "__import__('signal').pidfd_send_signal(os.pidfd_open(1), 9)"),
			check: refused(4, "PermissionError", "ProcessLookupError", "OSError", "AttributeError")},
		{name: s.declare("C15", "processes stay refused under a policy that allows something else"), both: true, policy: confine.Policy{Name: "a policy with native code", NativeCode: true}, hasNot: []string{"shell"},
			source: "import os\ntry: r = os.system('echo shell')\nexcept PermissionError: r = 1\nassert r"},
		{name: s.declare("C16", "imports and a file write cost fewer than 200 steps"), both: true, limits: confine.Limits{Steps: 1000}, source: "import json, decimal, collections, re, tempfile\nwith open('f', 'w') as f: f.write('x')", check: stepsBetween(1, 199)},
	})
}

func stepsBetween(from, to uint64) func(*testing.T, confine.Result) {
	return func(t *testing.T, r confine.Result) {
		t.Helper()
		if n := r.Outcome.Steps; n == nil || *n < from || *n > to {
			t.Errorf("steps %s; want %d … %d", show(n), from, to)
		}
	}
}

// failing is a backend whose set-up always fails.
const failing = "confinetest-failing"

var registerFailing = sync.OnceFunc(func() {
	confine.Register(confine.Backend{Name: failing, Open: func(confine.Options) (confine.Confiner, error) {
		return nil, &confine.Refusal{Code: confine.CodeFacetUnavailable, Path: "$.sandbox", Found: "set-up step \"test\" failed", Required: "a set-up that works", Unsupported: true}
	}})
})

func (s *suite) selection(t *testing.T) {
	t.Run(s.declare("C17", "a backend is chosen by name, auto is the default, the environment is ignored"), func(t *testing.T) {
		t.Setenv("PDLT_SANDBOX", failing)
		t.Setenv("EXECUTION_SANDBOX", "audit-only")
		for _, name := range []string{s.Name, confine.Auto, ""} {
			if name != s.Name && s.Name != "native" {
				continue
			}
			o := s.Options
			o.Start = s.mode
			c, err := confine.Open(name, o)
			if err != nil {
				t.Errorf("open %q: %v", name, err)
				continue
			}
			if res := s.python(t, c, "print(1)", confine.Limits{}); res.Report.Backend != s.Name {
				t.Errorf("%q is backend %q; want %q", name, res.Report.Backend, s.Name)
			}
			_ = c.Close()
		}
	})
	t.Run(s.declare("C18+C24", "an unknown backend is refused, and so is one that only watches"), func(t *testing.T) {
		for _, name := range []string{"no-such", "audit-only", "AUTO", "none"} {
			_, err := confine.Open(name, s.Options)
			if refusal(t, err, confine.CodeBackendUnavailable); !errors.Is(err, confine.ErrUnsupported) {
				t.Errorf("%q: %v does not match ErrUnsupported", name, err)
			}
		}
	})
	t.Run(s.declare("C19+C20+C21", "a backend that cannot be set up says why, stays so, and leaves nothing"), func(t *testing.T) {
		registerFailing()
		before := len(steady())
		for range 2 {
			_, err := confine.Open(failing, s.Options)
			if r := refusal(t, err, confine.CodeFacetUnavailable); !strings.Contains(r.Error(), "set-up step") {
				t.Errorf("refusal %q; want the step named", r.Error())
			}
			o := s.Options
			o.Start, o.Python = s.mode, "/no/such/python"
			c, err := s.Open(o)
			if err == nil {
				_ = c.Close()
			}
			refusal(t, err, confine.CodeInterpreter)
			o.Python = os.DevNull
			_, err = s.Open(o)
			refusal(t, err, confine.CodeInterpreter)
			o = s.Options
			o.Start, o.Pack = s.mode, t.TempDir()
			if _, err = s.Open(o); err == nil {
				t.Error("a folder without a pack was opened as one")
			}
			o.Start, o.Pack = "tepid", s.Options.Pack
			_, err = s.Open(o)
			refusal(t, err, confine.CodePolicyInvalid)
		}
		if now := steady(); len(now) > before {
			t.Errorf("%d processes before, now %v", before, now)
		}
	})
	home, _ := os.UserHomeDir()
	checkout, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	s.table(t, []row{
		{name: s.declare("C27", "only the private folders can be written, and neither home, checkout nor the host's proc can be seen"), both: true, stdout: "['/dev/full', '/dev/null', '/dev/shm', '/dev/zero', '/tmp', '/work'] False False True True\n", source: fmt.Sprintf(`
import os, sys
can = set()
for top in ("/", "/box", "/dev", "/etc", "/lib", "/lib64", "/usr", "/bin", "/tmp", "/work", "/python", "/run", "/var", "/home", "/sys"):
  for d, names, files in [(top, [], []), *os.walk(top)]:
    if d == "/" and files: break
    for n in [d] + [os.path.join(d, f) for f in files]:
        try:
            if os.path.isdir(n): os.rmdir(os.mkdir(os.path.join(n, "try-it")) or os.path.join(n, "try-it")); can.add(n)
            elif os.stat(n).st_uid != 1000 and not os.path.islink(n): os.close(os.open(n, os.O_WRONLY)); can.add(n)
        except OSError: pass
pids = [p for p in os.listdir("/proc") if p.isdigit()]
print(sorted(can), os.path.exists(%q) and %q not in ("/", "/work"), os.path.exists(%q), str(os.getpid()) in pids and len(pids) <= 2, not os.path.exists("/proc/sys") and not os.path.exists("/proc/meminfo"))
`, home, home, checkout)},
		{name: s.declare("C28", "only the interpreter and its loader can be executed"), policy: families, source: `
import os, stat, sys
bad = []
os.system; r = []
open("/work/x", "w").write("#!/python/bin/python3.14\nprint('ran')\n"); os.chmod("/work/x", 0o755)
open("/tmp/y", "wb").write(open(next(p for p in ("/python/bin/python3.14", sys.executable) if os.path.exists(p)), "rb").read(1 << 16)); os.chmod("/tmp/y", 0o755)
names = ["/work/x", "/tmp/y"]
for top in ("/lib", "/lib64", "/usr", "/etc", "/dev", "/python", "/bin"):
    for d, _, files in os.walk(top): names += [os.path.join(d, f) for f in files]
for n in names:
    if not os.access(n, os.X_OK) or os.path.islink(n): continue
    p = os.fork()
    if not p:
        os.closerange(0, 3)
        try: os.execv(n, [n, "--version"])
        except OSError: os._exit(77)
    if os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) != 77: r.append(n)
print("\n".join(sorted(r)))
`, limits: confine.Limits{Wall: 20 * time.Second}, check: func(t *testing.T, r confine.Result) {
			for _, n := range strings.Fields(r.Outcome.Stdout.Text) {
				if base := filepath.Base(n); !strings.HasPrefix(base, "python3.") && !strings.HasPrefix(base, "ld-") && !strings.HasPrefix(base, "ld64") {
					t.Errorf("%s can be executed", n)
				}
			}
			if !strings.Contains(r.Outcome.Stdout.Text, "python3.") {
				t.Error("not even the interpreter can be executed: the attempt proves nothing")
			}
		}},
	})
}

func (s *suite) escapes(t *testing.T) {
	o := newOutside(t)
	home, _ := os.UserHomeDir()
	checkout, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	mark := filepath.Base(o.dir) + ".left"
	folders := []string{home, checkout, o.dir, os.TempDir(), "/var/tmp", "/dev/shm", "/run", "/", filepath.Dir(s.Options.Pack)}
	left := func() (found []string) {
		for _, d := range folders {
			if name := filepath.Join(d, mark); d != "" {
				if _, err := os.Lstat(name); err == nil {
					found = append(found, name)
					_ = os.Remove(name)
				}
			}
		}
		return found
	}
	var lines []string
	for _, d := range folders {
		lines = append(lines, fmt.Sprintf("open(%q, 'w').write('x')", filepath.Join(d, mark)))
	}
	source := tries("", lines...)
	name := s.declare("C29", "files written to places of the host do not appear there")
	t.Run(name+", baseline", func(t *testing.T) {
		s.baseline(t, source, "ok 1")
		if found := left(); len(found) == 0 && len(s.Bare) > 0 {
			t.Log("vacuous: bare it leaves nothing either")
		}
	})
	s.table(t, []row{{name: name, both: true, source: source, check: func(t *testing.T, _ confine.Result) {
		if found := left(); len(found) > 0 {
			t.Errorf("on the host: %v", found)
		}
	}}})

	probe := func(id, sentence, source string, n int, marks ...string) {
		t.Helper()
		name := s.declare(id, sentence)
		t.Run(name+", baseline", func(t *testing.T) { s.baseline(t, source, marks...) })
		s.table(t, []row{{name: name, both: true, source: source, hasNot: append([]string{"ok "}, marks...), check: func(t *testing.T, r confine.Result) {
			if have := strings.Count(r.Outcome.Stdout.Text, "\n"); have != n {
				t.Errorf("%d answers; want %d", have, n)
			}
		}}})
	}
	setup := fmt.Sprintf("import os\nD, S = %q, %q", o.dir, o.secret)
	probe("C30", "a secret cannot be read and its name not be seen", tries(setup, "open(S).read()", "os.read(os.open(S, 0), 100)", "os.listdir(D)", "os.stat(S)", "open('/proc/self/root' + S).read()", "open('/proc/1/root' + S).read()", "open('/proc/self/cwd/..' + S).read()"), 7, o.mark, "secret-name.txt'")
	probe("C31", "a secret cannot be read through a link", tries(setup, "os.symlink(S, 'l') or open('l').read()", "os.symlink(D, 'd') or open('d/secret-name.txt').read()", "os.link(S, 'h') or open('h').read()"), 3, o.mark)
	probe("C32", "native code cannot open the secret", tries(setup, "__import__('ctypes').CDLL(None).open(S.encode(), 0) >= 0 and open(S).read()"), 1, o.mark)

	s.network(t)
	probe("C34", "no shell starts", tries("import os, subprocess, sys", "subprocess.run(['/bin/sh', '-c', 'echo she''ll-ran'], capture_output=True).stdout", "subprocess.run('echo she''ll-ran', shell=True, capture_output=True).stdout"), 2, "shell-ran")
	s.table(t, []row{{name: s.declare("C34", "and none takes the program's place"), both: true, hasNot: []string{"she" + "ll-ran"}, stdout: "denied\n", source: `
import os
try: os.execv("/bin/sh", ["sh", "-c", "echo she''ll-ran"])
except OSError: print("denied")
`}})
	t.Run(s.declare("C35", "a second run sees nothing of the first"), func(t *testing.T) {
		for _, c := range []confine.Confiner{s.hints, s.plain} {
			s.python(t, c, "open('mine.txt', 'w').write('x')\ntry: open('../left.txt', 'w')\nexcept OSError: pass\nimport os; os.chmod('.', 0o777)", confine.Limits{})
			res := s.python(t, c, "import os; print(os.listdir('.'), oct(os.stat('.').st_mode), *(os.path.exists(n) for n in ('mine.txt', '../left.txt', '/left.txt')))\ntry: print(os.listdir('..'))\nexcept OSError: print('unseen')", confine.Limits{})
			row{has: []string{"['program.py'] 0o40700 False False False\n"}, hasNot: []string{"mine", "left"}}.judge(t, res)
		}
	})
	name = s.declare("C36", "a document of the host is not appended to, replaced or removed")
	source = tries(fmt.Sprintf("import os\nF = %q", o.document), "open(F, 'a').write('x')", "open(F, 'w').write('x')", "os.replace(__file__, F)", "os.truncate(F, 0)", "os.chmod(F, 0)", "os.utime(F, (0, 0))", "os.rename(F, F + '.old')", "os.unlink(F)")
	s.table(t, []row{{name: name, both: true, source: source, check: func(t *testing.T, r confine.Result) {
		refused(8, "PermissionError", "FileNotFoundError", "OSError")(t, r)
		o.whole(t)
	}}})
}

// network: rows about sockets, all by what the host's listeners got.
func (s *suite) network(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	dir, err := os.MkdirTemp("", "s") // short: the path of a socket is bounded
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	unix, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close()
	_ = os.Chmod(dir, 0o755)
	_ = os.Chmod(filepath.Join(dir, "s"), 0o777)
	got := make(chan string, 1000)
	accept := func(what string, l net.Listener) {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			got <- what
			_ = c.Close()
		}
	}
	go accept("tcp", tcp)
	go accept("unix", unix)
	if abstract, err := net.Listen("unix", "@"+filepath.Base(dir)+"-pdlt"); err == nil {
		defer abstract.Close()
		go accept("abstract", abstract)
	}
	go func() {
		b := make([]byte, 100)
		for {
			if _, _, err := udp.ReadFrom(b); err != nil {
				return
			}
			got <- "udp"
		}
	}()
	quiet := func(t *testing.T) {
		t.Helper()
		time.Sleep(20 * time.Millisecond)
		for len(got) > 0 {
			t.Errorf("the host's %s socket heard the program", <-got)
		}
	}
	setup := fmt.Sprintf("import socket, _socket, os\nfrom socket import *\nT, U, P, A = ('127.0.0.1', %d), ('127.0.0.1', %d), %q, %q", tcp.Addr().(*net.TCPAddr).Port, udp.LocalAddr().(*net.UDPAddr).Port, filepath.Join(dir, "s"), "\x00"+filepath.Base(dir)+"-pdlt")
	probe := func(id, sentence string, n int, exceptions []string, lines ...string) {
		source := tries(setup, lines...)
		name := s.declare(id, sentence)
		t.Run(name+", baseline", func(t *testing.T) {
			s.baseline(t, source, "ok ")
			time.Sleep(20 * time.Millisecond)
			if len(got) == 0 && len(s.Bare) > 0 && id != "C33a" {
				t.Log("vacuous: bare the host's sockets hear nothing either")
			}
			for len(got) > 0 {
				<-got
			}
		})
		s.table(t, []row{{name: name, both: true, source: source, check: func(t *testing.T, r confine.Result) {
			refused(n, exceptions...)(t, r)
			quiet(t)
		}}})
	}
	denied := []string{"PermissionError"}
	probe("C33", "a listener of the host on loopback hears nothing", 3, denied, "create_connection(T, 1)", "socket(AF_INET, SOCK_STREAM).connect(T)", "socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK).connect_ex(T)")
	probe("C33a", "no byte crosses by listening unbound, UDP, UNIX paths, abstract names, netlink or odd families", 14, []string{"PermissionError", "OSError", "FileNotFoundError", "ConnectionRefusedError"},
		"socket(AF_INET, SOCK_STREAM).listen()", "socket(AF_INET6, SOCK_STREAM).listen()", "socket(AF_INET, SOCK_DGRAM).sendto(b'x', U)", "socket(AF_UNIX, SOCK_STREAM).connect(P)", "socket(AF_UNIX, SOCK_STREAM).connect(A)",
		"socket(16, SOCK_RAW, 0)", "socket(17, SOCK_RAW, 3)", "socket(38, SOCK_SEQPACKET)", "socket(40, SOCK_STREAM)", "socket(AF_INET, SOCK_RAW, 1)", "socket(29, SOCK_RAW, 1)", "socket(31, SOCK_RAW, 1)", "socket(21, SOCK_STREAM)", "socket(44, SOCK_RAW)")
	probe("B4", "a TCP connection is refused with a permission error", 1, denied, "create_connection(T, 1)")
	probe("B15", "an unconnected sendmsg on a datagram socket is refused", 1, denied, "socket(AF_INET, SOCK_DGRAM).sendmsg([b'x'], [], 0, U)")
	s.table(t, []row{
		{name: s.declare("B8", "create_connection, raw connect, subprocess.run and os.system are each a permission error"), source: tries(setup+"\nimport subprocess", "create_connection(T, 1)", "_socket.socket(2, 1).connect(T)", "subprocess.run(['/bin/true'])", "os.system('true')"), check: refused(4, "PermissionError")},
		{name: s.declare("B8", "and without hints none of them has an effect"), source: tries(setup+"\nimport subprocess", "create_connection(T, 1)", "_socket.socket(2, 1).connect(T)", "subprocess.run(['/bin/true'])", "1 // (os.system('true') == 0)"), check: func(t *testing.T, r confine.Result) {
			refused(4, "PermissionError", "FileNotFoundError", "ZeroDivisionError")(t, r)
			quiet(t)
		}},
	})
}

func (s *suite) positive(t *testing.T) {
	const mb = 1 << 20
	s.table(t, []row{
		{name: s.declare("C37", "json, decimal, fractions, itertools and sqlite3 are right"), both: true, stdout: "{\"a\": [1, 2.5, null]} 0.1 5/6 [(0, 1), (0, 2), (1, 2)] 6\n", source: `
import json, decimal, fractions, itertools, sqlite3
c = sqlite3.connect(":memory:"); c.execute("create table t(x)"); c.executemany("insert into t values (?)", [(1,), (2,), (3,)])
print(json.dumps({"a": [1, 2.5, None]}), decimal.Decimal("0.3") - decimal.Decimal("0.2"), fractions.Fraction(1, 2) + fractions.Fraction(1, 3), list(itertools.combinations(range(3), 2)), c.execute("select sum(x) from t").fetchone()[0])
`},
		{name: s.declare("C38", "writing, folders, replacing, reading and named temporary files work"), both: true, stdout: "new True\n", source: `
import os, tempfile
os.makedirs("a/b"); open("a/b/x", "w").write("old"); open("y", "w").write("new"); os.replace("y", "a/b/x")
with tempfile.NamedTemporaryFile(dir=".") as f: here = os.path.dirname(os.path.abspath(f.name)) == "/work"
print(open("a/b/x").read(), here)
`},
		{name: s.declare("C39", "text that is not ASCII with a __future__ import is exact"), both: true, stdout: "é 漢 😀\n", source: "from __future__ import annotations\nprint('é 漢 😀')"},
		{name: s.declare("C39", "and with a step limit"), both: true, limits: confine.Limits{Steps: 10_000}, stdout: "é 漢 😀\n", source: "from __future__ import annotations\nprint('é 漢 😀')"},
		{name: s.declare("C40", "an endless loop under 10,000 steps is stopped at 10,001"), both: true, stopped: confine.StoppedSteps, signal: -1, limit: 10_000, limits: confine.Limits{Steps: 10_000}, source: "while True: pass", check: stepsBetween(10_001, 10_001)},
		{name: s.declare("C41", "a sleeper is timed out with its output kept"), stopped: confine.StoppedWall, signal: 9, limits: confine.Limits{Wall: 700 * time.Millisecond}, stdout: "first\n", source: "import time; print('first', flush=True); time.sleep(30)"},
		{name: s.declare("C41", "and the next run works"), stdout: "next\n", source: "print('next')"},
		{name: s.declare("C42", "512 MiB under 64 MiB are too much"), both: true, stopped: confine.StoppedMemory, signal: -1, limit: 64 * mb, limits: confine.Limits{MemoryBytes: 64 * mb, DiskBytes: 16 * mb}, source: "x = bytearray(512 << 20); print(len(x))"},
		{name: s.declare("C43", "no descriptor is open above 2, and the report names Landlock"), both: true, stdout: "[0, 1, 2]\n", source: `
import os
def there(n):
    try: os.fstat(n); return True
    except OSError: return False
print([n for n in range(1024) if there(n)])
`, check: func(t *testing.T, r confine.Result) {
			for _, f := range r.Report.Facets {
				if f.Facet == confine.FSRead && (!strings.Contains(f.By, "Landlock") || !strings.Contains(f.Version, "Landlock ABI ")) {
					t.Errorf("fs-read is by %q, version %q; want Landlock and its ABI", f.By, f.Version)
				}
			}
		}},
	})
	t.Run(s.declare("C44", "closing gives every descriptor back"), func(t *testing.T) {
		s.python(t, s.hints, "", confine.Limits{}) // whatever the runtime opens once is open now
		before := OpenFiles()
		o := s.Options
		o.Start = s.mode
		c, err := s.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []confine.Policy{minimal, families, minimal} {
			s.run(t, c, confine.Spec{Program: confine.Python(nil), Policy: p})
		}
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if after := OpenFiles(); len(after) > len(before) {
			t.Errorf("descriptors before %v\nafter %v", before, after)
		}
	})
}

func (s *suite) basics(t *testing.T) {
	s.table(t, []row{
		{name: s.declare("B1", "printing is clean, exit 0, and takes time"), both: true, stdout: "hello\n", source: "print('hello')"},
		{name: s.declare("B2", "an endless sleep is timed out"), stopped: confine.StoppedWall, signal: 9, limit: 500, limits: confine.Limits{Wall: 500 * time.Millisecond}, source: "import time\nwhile True: time.sleep(0.01)"},
		{name: s.declare("B3", "120 MiB under 50 MiB are too much"), both: true, stopped: confine.StoppedMemory, signal: -1, limits: confine.Limits{MemoryBytes: 50 << 20, DiskBytes: 16 << 20}, source: "x = bytearray(120 << 20)"},
		{name: s.declare("B9", "subprocess can be imported"), both: true, stdout: "True\n", source: "import subprocess; print(callable(subprocess.run))"},
		{name: s.declare("B10", "accents, CJK and emoji are exact on both streams"), both: true, stdout: "é 漢字 🎉\n", errHas: []string{"ü かな 👩‍🚀\n"}, source: "import sys\nprint('é 漢字 🎉'); print('ü かな 👩‍🚀', file=sys.stderr)"},
		{name: s.declare("B11", "lines end with LF"), both: true, stdout: "1\n2\n", source: "print(1); print(2)"},
		{name: s.declare("B12", "what was printed before the limit is kept"), stopped: confine.StoppedWall, signal: 9, limits: confine.Limits{Wall: 400 * time.Millisecond}, stdout: "kept\n", source: "import time\nprint('kept', flush=True)\ntime.sleep(30)"},
		{name: s.declare("B13", "a docstring and a __future__ import work"), both: true, stdout: "d\n", source: "'''d'''\nfrom __future__ import annotations\nprint(__doc__)"},
		{name: s.declare("B13", "and with a step limit"), both: true, limits: confine.Limits{Steps: 1000}, stdout: "d\n", source: "'''d'''\nfrom __future__ import annotations\nprint(__doc__)"},
		{name: s.declare("B16", "the CPU limit under a 2 s clock is 5 s"), both: true, stdout: "True\n", limits: confine.Limits{Wall: 2 * time.Second},
			// The supervisor holds the 5 s; the kernel's limit stands behind it, with room for the interpreter's start and for ticks.
			source: "import resource; print(5 <= resource.getrlimit(resource.RLIMIT_CPU)[0] <= 7)", check: func(t *testing.T, _ confine.Result) {
				if l, err := (confine.Limits{Wall: 2 * time.Second}).Filled(); err != nil || l.CPU != 5*time.Second {
					t.Errorf("CPU %v, %v; want 5 s", l.CPU, err)
				}
			}},
	})
	t.Run(s.declare("B5", "a written file is not in the host's folder"), func(t *testing.T) {
		s.python(t, s.plain, "open('b5-left.txt', 'w').write('x')", confine.Limits{})
		if _, err := os.Lstat("b5-left.txt"); err == nil {
			t.Error("b5-left.txt is in the host's working folder")
		}
	})
	t.Run(s.declare("B6", "one run takes less than 2.5 s and at most 50 ms more than bare, by the median of 9"), func(t *testing.T) {
		median := func(f func()) time.Duration {
			var all []time.Duration
			for range 9 {
				begin := time.Now()
				f()
				all = append(all, time.Since(begin))
			}
			slices.Sort(all)
			return all[4]
		}
		confined := median(func() { s.python(t, s.plain, "print(1)", confine.Limits{}) })
		if confined > 2500*time.Millisecond {
			t.Errorf("one run takes %v", confined)
		}
		if len(s.Bare) == 0 {
			return
		}
		bare := median(func() { s.baseline(t, "print(1)", "1") })
		t.Logf("confined %v, bare %v", confined, bare)
		if confined > bare+50*time.Millisecond {
			t.Errorf("confined %v, bare %v", confined, bare)
		}
	})
	t.Run(s.declare("B7+B14", "keys and other secrets in the host's environment are neither seen by name nor by value"), func(t *testing.T) {
		value := "v4lue-that-must-not-show"
		names := []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "SOME_PRIVATE_TOKEN", "PYTHONSTARTUP", "PYTHONPATH", "LD_LIBRARY_PATH_X"}
		for _, n := range names {
			t.Setenv(n, value)
		}
		for _, noHints := range []bool{false, true} {
			c := s.open(t, func(o *confine.Options) { o.NoHints = noHints })
			res := s.python(t, c, `
import os, glob, sys
print(dict(os.environ), os.environb, sys.argv, sys.orig_argv, sys.path)
for n in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline") + ["/proc/self/environ", "/proc/1/environ", "/proc/self/task/1/environ"]:
    try: print(n, open(n, "rb").read())
    except OSError as e: print(n, type(e).__name__)
`, confine.Limits{})
			row{has: []string{"/proc/self/environ"}, hasNot: append([]string{value, "PDLT_CELL", "LD_PRELOAD"}, names...)}.judge(t, res)
			if t.Failed() {
				explain(t, confine.Program{}, res)
			}
		}
	})
}

func (s *suite) budgets(t *testing.T) {
	hundred := confine.Limits{Steps: 100_000, Wall: 20 * time.Second}
	over := func(id, sentence, source string, l confine.Limits) row {
		return row{name: s.declare(id, sentence), both: true, stopped: confine.StoppedSteps, signal: -1, limit: int64(l.Steps), limits: l, source: source, hasNot: []string{"caught", "after"}, check: stepsBetween(l.Steps+1, l.Steps+1)}
	}
	s.table(t, []row{
		over("P1", "a loop on one line is over budget, not timed out", "while True: pass", hundred),
		over("P2", "so it is inside except BaseException", "while True:\n    try:\n        while True: pass\n    except BaseException: print('caught', flush=True)", hundred),
		over("P3", "so it is after settrace(None)", "import sys\ntry: sys.settrace(None)\nexcept BaseException: pass\nwhile True: pass", hundred),
		{name: s.declare("P3", "where settrace(None) is a permission error"), both: true, limits: hundred, stdout: "PermissionError\nPermissionError\n", source: tries("import sys", "sys.settrace(None)", "sys.setprofile(None)")},
		over("P4", "so is an endless comprehension in a thread", "import threading, itertools\nt = threading.Thread(target=lambda: [x for x in itertools.count() if x < 0]); t.start(); t.join(); print('after')", hundred),
		over("P5", "a generator sum of 20,000 terms is too much for 60,000 steps", "print('after', sum(x for x in range(20000)))", confine.Limits{Steps: 60_000}),
		{name: s.declare("P5", "and fits 200,000"), both: true, limits: confine.Limits{Steps: 200_000}, stdout: "199990000\n", source: "print(sum(x for x in range(20000)))"},
		{name: s.declare("P6", "five imports of the standard library fit 1,000 steps"), both: true, limits: confine.Limits{Steps: 1000}, stdout: "ok\n", source: "import json, decimal, dataclasses, typing, email.message\nprint('ok')"},
		over("P7", "a key function of 5,000 calls is over 5,000 steps", "print('after', sorted(range(5000), key=lambda x: -x)[0])", confine.Limits{Steps: 5000}),
		over("P7", "and so is a loop of 5,000 in exec", "exec('for i in range(5000): pass'); print('after')", confine.Limits{Steps: 5000}),
		{name: s.declare("P8", "a loop of 1,000 is clean and takes 1,000 to 20,000 steps"), both: true, limits: confine.Limits{Steps: 100_000}, source: "for i in range(1000): pass", check: func(t *testing.T, r confine.Result) {
			stepsBetween(1000, 20_000)(t, r)
			if r.Outcome.Stderr.Bytes != 0 {
				t.Errorf("stderr %q; want nothing", r.Outcome.Stderr.Text)
			}
		}},
		over("P8", "over the limit it reports the limit and one", "for i in range(1000): pass\nprint('after')", confine.Limits{Steps: 500}),
		{name: s.declare("P8", "without a limit it reports none"), both: true, source: "for i in range(1000): pass"},
		over("P9", "the limit asked for is the limit enforced and stated", "while True: pass", hundred),
	})
}
