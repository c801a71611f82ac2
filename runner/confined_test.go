package runner

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/native"
)

func TestMain(m *testing.M) {
	confine.Stage()
	os.Exit(m.Run())
}

// opened is one confiner for all tests, because each slot of one has an interpreter to start. It ends with the process.
var opened = sync.OnceValues(func() (confine.Confiner, error) {
	pack, err := filepath.Abs("../bin/pack")
	if err != nil {
		return nil, err
	}
	return native.Open(confine.Options{Pack: pack})
})

// confined gives the executor of this machine. A machine that has none skips the test, unless it is known to.
func confined(t *testing.T) Executor {
	t.Helper()
	c, err := opened()
	if err == nil {
		_, err = c.Run(t.Context(), confine.Spec{Program: confine.Python([]byte("pass"))})
	}
	switch {
	case err == nil:
		return NewLocal(c, 2, 100)
	case os.Getenv("CONFINE_REQUIRE") != "":
		t.Fatalf("no program can be confined here: %v", err)
	default:
		t.Skipf("no program can be confined here: %v", err)
	}
	return nil
}

// What the shared vectors leave open (test/vectors), as the interpreter itself sees it.
func TestTheInterpreterSaysWhatIsAProgram(t *testing.T) {
	x := confined(t)
	whole := []string{}
	for _, c := range []struct {
		name, body string
		want       []string // whole: the body
	}{
		{"nothing", "", nil},
		{"a comment is no program", "# only a comment", nil},
		{"constants are none", "1\n'a'\nb'c'\n...", nil},
		{"a sum is one", "1 + 1", whole},
		{"a NUL is no syntax error", "import os\nimport sys\nx = 1\n\x00", nil},
		{"whatever stands behind it", "\x00\nimport os", nil},
		{"and leaves the fences", "\x00\n```py\nx\n```", []string{"x\n"}},
		{"nesting beyond the parser", "x = 1\ny = 2\nz = 3\n" + strings.Repeat("-", 500_000) + "1", nil},
		{"a broken program ends at its last whole statement", "def f():\n    return 1\n\nfor i in range(3):\n    print(i\n", whole},
		{"structure behind the broken line", "x ==== 1\nimport os", whole},
		{"three assignments are structure", "a = 1\nb = 2\nc = 3\nThen we are done", whole},
		{"two are none", "a = 1\nb = 2\nThen we are done", nil},
		{"structure beyond 20 lines does not count", "no program\n" + strings.Repeat("no program either\n", 21) + "import os", nil},
		{"a block wins over a broken whole", "import os\nThis is how\n```py\nx = 1\n```", []string{"x = 1\n"}},
		{"a coding line is a comment", "# -*- coding: latin-1 -*-\nx = 'é'", whole},
		{"carriage returns count as lines", "import os\rx = = 1\r", whole},
		{"what no interpreter reads as a name", "🦀\n```py\nprint('🦀')\n```", []string{"print('🦀')\n"}},
	} {
		got, err := Extract(t.Context(), x, Standard, c.body)
		want := c.want
		if c.want != nil && len(c.want) == 0 {
			want = []string{c.body}
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

// An error at the end of a statement that begins long before makes the reader parse again and again. When it cannot finish, the body counts as text.
func TestABodyThatTheReaderCannotFinishIsText(t *testing.T) {
	x := confined(t)
	for _, c := range []struct{ lines, want int }{{50, 1}, {50_000, 0}} {
		if c.lines > 50 && testing.Short() {
			t.Skip("the reader has five seconds")
		}
		got, err := Extract(t.Context(), x, Standard, "try:\n"+strings.Repeat(" x = 1\n", c.lines)+"no except\nimport os\n")
		if err != nil || len(got) != c.want {
			t.Errorf("of %d lines: %d programs, want %d; %v", c.lines, len(got), c.want, err)
		}
	}
}

func TestTheEndOfAStreamIsShownWhateverTheOutcomeDrops(t *testing.T) {
	r := New(confined(t), Options{Tier: HeavyCompute, WorkCalls: 1})
	run, err := r.runPython(t.Context(), "import sys\nfor _ in range(3000):\n    sys.stdout.write('é' * 1000 + '\\n')\nprint('the end')\nsys.stderr.write('x' * 5)")
	if err != nil {
		t.Fatal(err)
	}
	if run.Outcome.Stdout.Dropped == 0 {
		t.Error("the outcome dropped nothing: the test shows nothing")
	}
	want := Tail{Kept: 2000, Dropped: 3000*1001 + 8 - 2000, Bytes: 3000*2001 + 8}
	if diff := cmp.Diff(want, run.Stdout, cmpopts.IgnoreFields(Tail{}, "Text", "Digest")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !strings.HasSuffix(run.Stdout.Text, "é\nthe end\n") || run.Stderr.Text != "xxxxx" || run.ExitStatus != 0 || run.Tier != HeavyCompute {
		t.Errorf("%q, %q, %d", run.Stdout.Text[len(run.Stdout.Text)-20:], run.Stderr.Text, run.ExitStatus)
	}
}

// 125 and the text of a stop are a program's to print; what stopped it is not.
func TestAForgedStopIsAnExit(t *testing.T) {
	run, err := New(confined(t), Options{Tier: Minimal, WorkCalls: 1}).runPython(t.Context(), "import sys\nsys.stderr.write('stopped by the step budget')\nraise SystemExit(125)")
	if err != nil || run.ExitStatus != 125 || run.StepBudgetExceeded || run.TimedOut {
		t.Errorf("%+v, %v", run, err)
	}
}

func TestACancelledRunIsOverAndSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	x := confined(t)
	r := New(executor(func(ctx context.Context, j Job) (confine.Result, error) {
		j.Stdout = writer(func() { cancel() })
		return x.Execute(ctx, j)
	}), Options{Tier: Standard, WorkCalls: 1})
	run, err := r.runPython(ctx, "import time\nprint('up', flush=True)\ntime.sleep(25)")
	if err != nil || run.Outcome.Stopped != confine.StoppedCancelled || run.TimedOut {
		t.Errorf("%+v, %v", run.Outcome, err)
	}
}

// writer is called when something is written.
type writer func()

func (w writer) Write(p []byte) (int, error) { w(); return len(p), nil }

// Behind and before more output than an outcome keeps, in two pieces and without a line break.
func TestAWitnessIsFoundInTheWholeStream(t *testing.T) {
	program := `
import sys
noise = ("noise" * 200 + "\n") * 1000
for _ in range(4):
    sys.stdout.write(noise)
sys.stdout.write("WITNESS: {\"n\":")
sys.stdout.flush()
sys.stdout.write(" %d}" % (6 * 7))
sys.stdout.write("\n" + noise * 4 + "the end")
`
	r := New(confined(t), Options{Tier: Standard, Submissions: 1, WitnessRequired: true})
	s, err := r.submit(t.Context(), blocks(program))
	if err != nil || !s.OK || string(s.Facts.Witness.Data) != `{"n": 42}` || *s.Facts.Witness.Literal {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestFactsComeFromTheRun(t *testing.T) {
	r := New(confined(t), Options{Tier: Minimal, Submissions: 1})
	s, err := r.submit(t.Context(), blocks("print(6 * 7)", "import os\nos.kill(os.getpid(), 11)", "while True: pass"))
	if err != nil || !s.OK || len(s.Facts.Programs) != 3 {
		t.Fatalf("%+v, %v", s, err)
	}
	if s.Facts.Backend != native.Name || !strings.HasPrefix(s.Facts.Interpreter.Version, "3.") {
		t.Errorf("%+v", s.Facts)
	}
	first, second, third := s.Facts.Programs[0], s.Facts.Programs[1], s.Facts.Programs[2]
	if first.StepsUsed == nil || *first.StepsUsed == 0 || *first.StepsUsed > 20 || first.Digest != confine.Python([]byte("print(6 * 7)\n")).ID().Digest {
		t.Errorf("%+v", first)
	}
	if second.ExitCode >= 0 || second.Stopped != confine.StoppedSignal || second.OOMKilled {
		t.Errorf("%+v", second)
	}
	if !third.StepBudgetExceeded || third.ExitCode != 125 || *third.StepsUsed != 100_001 {
		t.Errorf("%+v", third)
	}
}

func TestLiteralCorners(t *testing.T) {
	x := confined(t)
	yes, no := true, false
	for _, c := range []struct {
		name, source, line string
		want               *bool
	}{
		{"an integer beyond the digits that int() takes by itself", "n = " + strings.Repeat("7", 5000), `WITNESS: {"n": ` + strings.Repeat("7", 5000) + `}`, &yes},
		{"a float equals its integer", "n = 6", `WITNESS: {"n": 6.0}`, &yes},
		{"True is no 1, and trivial anyway", "n = True", `WITNESS: {"n": 1, "m": 7}`, &no},
		{"bytes are no string", "n = b'abc'", `WITNESS: {"n": "abc"}`, &no},
		{"the line with its line break", "import sys\nsys.stdout.write('WITNESS: {\"a\": [2, 3]}\\n')", `WITNESS: {"a": [2, 3]}`, &yes},
		{"the line in an f-string", `print(f'WITNESS: {{"a": 25}}')`, `WITNESS: {"a": 25}`, &yes},
		{"keys are no leaves", "n = 'answer'", `WITNESS: {"answer": 12}`, &no},
		{"the data of a witness with a polarity", "n = 12", `WITNESS: {"polarity": "positive", "method": "x", "data": {"n": 12}}`, &yes},
		{"a program that does not parse", "n = = 12", `WITNESS: {"n": 12}`, nil},
	} {
		got, err := Literal(t.Context(), x, Standard, c.source, c.line)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

func TestManySubmissionsAtOnceKeepTheirProgramsApart(t *testing.T) {
	x := confined(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			n := string(rune('2' + i))
			outcome := blocks("import json\nprint('WITNESS: ' + json.dumps({'n': int('" + n + "') * 10}))")
			s, err := New(x, Options{Tier: Minimal, Submissions: 1, WitnessRequired: true}).submit(t.Context(), outcome)
			if err != nil || !s.OK || string(s.Facts.Witness.Data) != `{"n": `+n+`0}` {
				b, _ := json.Marshal(s)
				t.Errorf("%s: %s, %v", n, b, errors.Join(err))
			}
		})
	}
	wg.Wait()
}
