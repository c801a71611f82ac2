package verify_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/native"
	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/runner"
	"pdlt.dev/pdlt/runner/verify"
)

func TestMain(m *testing.M) {
	confine.Stage()
	os.Exit(m.Run())
}

// opened is one confiner for all tests. It ends with the process.
var opened = sync.OnceValues(func() (confine.Confiner, error) {
	pack, err := filepath.Abs("../../bin/pack")
	if err != nil {
		return nil, err
	}
	return native.Open(confine.Options{Pack: pack})
})

// cells gives a registry whose commands run in cells. A machine that has none skips the test, unless it is known to.
func cells(t *testing.T) verify.Registry {
	t.Helper()
	c, err := opened()
	if err == nil {
		_, err = c.Run(t.Context(), confine.Spec{Program: confine.Python([]byte("pass"))})
	}
	switch {
	case err == nil:
	case os.Getenv("CONFINE_REQUIRE") != "":
		t.Fatalf("no program can be confined here: %v", err)
	default:
		t.Skipf("no program can be confined here: %v", err)
	}
	return verify.Registry{Executor: runner.NewLocal(c, 2, 100), Python: verify.Tool{Version: "any"}}
}

// c makes the arguments of a command that runs this source.
func c(source string) string { return fmt.Sprintf(`["-c",%q]`, source) }

// tested runs a test plan under the contract of the confined profile or of none.
func tested(t *testing.T, r verify.Registry, plan string, patch *string) verify.Signal {
	t.Helper()
	p, err := r.Plan(parse(t, `{"test_plan":`+plan+`}`), parse(t, `{"signals":{"tests":{"weight":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return run(t, p, verify.Inputs{Content: content, Patch: patch}).Signals["tests"]
}

// record gives a record of a phase.
func record(s verify.Signal, phase string, i int) jsonx.Value {
	records, _ := s.Detail.Get(phase)
	if i < len(records.Elems) {
		return records.Elems[i]
	}
	return jsonx.Value{}
}

// member gives a member of a record as text.
func member(v jsonx.Value, name string) string {
	m, _ := v.Get(name)
	return m.Str + m.Num
}

func digest(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

func TestThePhasesOfATestPlan(t *testing.T) {
	r := cells(t)
	reads := func(text string) string {
		return c("import sys; sys.exit(open('src/a.py').read() != " + fmt.Sprintf("%q", text) + ")")
	}
	expecting := func(plan, baseline string) string {
		return strings.Replace(plan, `"timeout_seconds"`, `"baseline":{"allowed_exit_codes":[`+baseline+`]},"timeout_seconds"`, 1)
	}
	bad := strings.Replace(goodPatch, "-return 1", "-return 9", 1)
	for _, tt := range []struct {
		name, plan string
		patch      *string
		state      verify.State
		reason     string
	}{
		{"both as expected", expecting(testPlan(reads("return 2\n")), "1"), ptr(goodPatch), verify.Pass, ""},
		{"the subject does not do what is said of it", testPlan(reads("return 2\n")), ptr(goodPatch), verify.Error, "baseline did not meet its declared expectation"},
		{"the patch breaks it", testPlan(reads("return 1\n")), ptr(goodPatch), verify.Fail, "patched did not meet its declared expectation"},
		{"no patch", testPlan(reads("return 1\n")), nil, verify.Fail, "no patched tree"},
		{"a patch that does not apply", testPlan(reads("return 1\n")), &bad, verify.Fail, "no patched tree"},
		{"a patched tree that no disk can hold", testPlan(c("pass")), ptr("--- /dev/null\n+++ b/doc.md/x\n@@ -0,0 +1 @@\n+x\n"), verify.Error, "patched run failed"},
		{"a file that is there and cannot be executed", `{"commands":[{"argv":["./src/a.py"]}]}`, ptr(goodPatch), verify.Error, "baseline run failed"},
	} {
		s := tested(t, r, tt.plan, tt.patch)
		if why, _ := s.Detail.Get("reason"); s.State != tt.state || why.Str != tt.reason {
			t.Errorf("%s: %v, want %s, %s", tt.name, s, tt.state, tt.reason)
		}
	}
}

func TestTheCommandsOfAPhaseShareOneCopy(t *testing.T) {
	s := tested(t, cells(t), testPlan(c("open('made','x').write('by the first')"), c("print(open('made').read())"), c("import os; print(sorted(os.listdir()))")), ptr(goodPatch))
	if s.State != verify.Pass { // and the patched tree has a copy of its own: 'x' refuses a file that is there
		t.Fatalf("%v", s)
	}
	if got := member(record(s, "patched", 1), "stdout_digest"); got != digest("by the first\n") {
		t.Errorf("the second command printed something else: %s", got)
	}
	if got := member(record(s, "patched", 2), "stdout_digest"); got != digest("['blob.bin', 'doc.md', 'made', 'src']\n") {
		t.Errorf("there is more in the copy than the subject and what was made: %s", got)
	}
}

func TestACommandIsSealedOff(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VERIFY_SECRET", "of the host")
	plan := strings.Replace(testPlan(
		c("import os; print(sorted(k for k in os.environ if k != 'LC_CTYPE'), os.environ['A'])"),
		c("import sys; print(repr(sys.stdin.read()))"),
		c("import os; print(os.path.exists("+fmt.Sprintf("%q", secret)+"))"),
		c("import socket\ntry:\n socket.create_connection(('127.0.0.1', 1), 1)\nexcept ConnectionRefusedError: print('a network')\nexcept OSError: print('none')"),
	), `"commands"`, `"run_policy":{"environment":{"A":"b","PATH":"/x"}},"commands"`, 1)
	s := tested(t, cells(t), plan, ptr(goodPatch))
	for i, want := range []string{"['A'] b\n", "''\n", "False\n", "none\n"} {
		if got := member(record(s, "patched", i), "stdout_digest"); got != digest(want) {
			t.Errorf("command %d did not print %q: %v", i, want, record(s, "patched", i))
		}
	}
}

func TestOutputIsCountedWhole(t *testing.T) {
	s := tested(t, cells(t), testPlan(c("import sys\nfor _ in range(3000): sys.stdout.write('x' * 1000)\nsys.stderr.write('e')")), ptr(goodPatch))
	if got := member(record(s, "patched", 0), "stdout_digest"); got != digest(strings.Repeat("x", 3_000_000)) {
		t.Errorf("the digest is not that of everything: %v", s)
	}
	if got := member(record(s, "patched", 0), "stderr_digest"); got != digest("e") {
		t.Errorf("the other stream: %v", s)
	}
}

func TestWhatCannotBeCompletedEndsThePhase(t *testing.T) {
	r := cells(t)
	r.Limits = confine.Limits{Wall: 20 * time.Second, MemoryBytes: 128 << 20, Processes: 32}
	quick := func(plan string) string {
		return strings.Replace(plan, `"timeout_seconds":30`, `"timeout_seconds":0.5`, 1)
	}
	in := func(cwd string) string {
		return strings.Replace(testPlan(c("pass"), c("pass")), `"timeout_seconds"`, `"cwd":`+cwd+`,"timeout_seconds"`, 1)
	}
	for _, tt := range []struct{ name, plan, problem string }{
		{"it does not end", quick(testPlan(c("import time; time.sleep(60)"), c("pass"))), "TimeoutExpired"},
		{"its child holds its streams", quick(testPlan(c("import os, time\nif os.fork() == 0: time.sleep(60)"), c("pass"))), "TimeoutExpired"},
		{"there is no such folder", in(`"gone"`), "FileNotFoundError"},
		{"a folder outside", in(`"../.."`), "unsafe_cwd"},
		{"a folder that is a file", in(`"doc.md"`), "NotADirectoryError"},
		{"there is no such program", `{"commands":[{"argv":["/bin/no-such-program"]},{"argv":["python3","-c","pass"]}]}`, "FileNotFoundError"},
		{"an argument with a NUL", testPlan(`["-c","\u0000"]`, c("pass")), "ValueError"},
		{"it kills what runs it", testPlan(c("import os; os.kill(os.getppid(), 9)"), c("pass")), "stopped_signal"},
	} {
		s := tested(t, r, tt.plan, ptr(goodPatch))
		records, _ := s.Detail.Get("baseline")
		if why, _ := s.Detail.Get("reason"); s.State != verify.Error || why.Str != "baseline run failed" || len(records.Elems) != 1 {
			t.Errorf("%s: %v, want the phase to end with its first command", tt.name, s)
		}
		if got := member(record(s, "baseline", 0), "error"); got != tt.problem {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.problem)
		}
	}
}

// Whatever a command does to what runs it, it cannot make its own record: it can end the phase, and that is an error.
func TestACommandCannotWriteItsRecord(t *testing.T) {
	forge := `import json, os
line = json.dumps({"exit_code": 0, "stdout_digest": "sha256:0", "stderr_digest": "sha256:0"}).encode() + b"\n"
for name in os.listdir("/proc"):
    if name.isdigit():
        for fd in "0123456789":
            try:
                with open("/proc/" + name + "/fd/" + fd, "wb") as f: f.write(line)
            except OSError: pass
for fd in range(3, 64):
    try: os.write(fd, line)
    except OSError: pass
os._exit(7)`
	s := tested(t, cells(t), testPlan(c(forge)), ptr(goodPatch))
	if got := member(record(s, "baseline", 0), "exit_code"); s.State != verify.Error || got != "7" {
		t.Errorf("%v; want the exit code 7", s)
	}
}

// Native code is on in these cells, and so the kernel's own ways into another process are tried too. Outside a cell the same command prints maps, 8 8, 0, a
// descriptor and mem.
func TestACommandCannotReachIntoWhatRunsIt(t *testing.T) {
	reach := `import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
class Vec(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
room = ctypes.create_string_buffer(b"x" * 8)
def vec(at): return ctypes.byref(Vec(at, 8))
parent = os.getppid()
here = start = ctypes.addressof(room)
try:
    with open("/proc/%d/maps" % parent) as f: start = int(next(l for l in f if " rw" in l).split("-")[0], 16)
    print("maps")
except OSError: print("no maps")
print(libc.process_vm_readv(parent, vec(here), 1, vec(start), 1, 0), libc.process_vm_writev(parent, vec(here), 1, vec(start), 1, 0))
print(libc.ptrace(16, parent, 0, 0))
pidfd = libc.syscall(434, parent, 0)
print(libc.syscall(438, pidfd, 1, 0))
try:
    with open("/proc/%d/mem" % parent, "r+b") as f: print("mem")
except OSError: print("no mem")
`
	s := tested(t, cells(t), testPlan(c(reach)), ptr(goodPatch))
	if got := member(record(s, "patched", 0), "stdout_digest"); got != digest("no maps\n-1 -1\n-1\n-1\nno mem\n") {
		t.Errorf("%v", s)
	}
}

func TestFormOneRunsThePythonOfTheCell(t *testing.T) {
	s := tested(t, cells(t), `{"commands":[{"argv":["python3","-c","import sys; print(sys.argv[1:])","/a/b"],"cwd":"src"}]}`, ptr(goodPatch))
	if s.State != verify.Pass || member(record(s, "patched", 0), "stdout_digest") != digest("['/a/b']\n") {
		t.Errorf("%v", s)
	}
}
