package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/confine"
)

// fake is an Executor that runs nothing. It answers a reader of ours by itself: every body is text, and no witness is literal.
type fake func(ctx context.Context, j Job) (confine.Result, error)

func (f fake) Execute(ctx context.Context, j Job) (confine.Result, error) {
	if j.Program.Entry == confine.PythonFile {
		return f(ctx, j)
	}
	answer := `{"body": "text"}`
	if len(j.Program.Files) == 3 {
		answer = `{"literal": false}`
	}
	return exited(0, answer), nil
}

func exited(code int, stdout string) confine.Result {
	return confine.Result{Outcome: confine.Outcome{Stopped: confine.StoppedNone, ExitCode: &code, Stdout: confine.Stream{Text: stdout}},
		Report: confine.Report{Backend: "fake"}}
}

// prints gives an Executor whose programs print their own source's comment lines: a program "# WITNESS: {}" prints that line.
func prints(after func(j Job, source string) (confine.Result, error)) fake {
	return func(_ context.Context, j Job) (confine.Result, error) {
		source := string(j.Program.Files[0].Data)
		for _, l := range strings.Split(source, "\n") {
			if out, ok := strings.CutPrefix(l, "# "); ok {
				_, _ = j.Stdout.Write([]byte(out + "\n"))
			}
		}
		return after(j, source)
	}
}

var clean = prints(func(Job, string) (confine.Result, error) { return exited(0, ""), nil })

func runner(x Executor, o Options) *Runner {
	if o.Tier == "" {
		o.Tier = Minimal
	}
	return New(x, o)
}

// runPython and submit take a call and use it.
func (r *Runner) runPython(ctx context.Context, code string) (Run, error) {
	w, err := r.Work(code)
	if err != nil {
		return Run{}, err
	}
	return w.Run(ctx)
}

func (r *Runner) submit(ctx context.Context, outcome json.RawMessage) (Submission, error) {
	d, err := r.Deliverable(outcome)
	if err != nil {
		return Submission{}, err
	}
	return d.Check(ctx)
}

func refused(t *testing.T, err error, code string) *confine.Refusal {
	t.Helper()
	var r *confine.Refusal
	if !errors.As(err, &r) || r.Code != code {
		t.Fatalf("%v, want a refusal %s", err, code)
	}
	return r
}

func TestTheSeventhWorkCallIsRefusedWhateverTheInterleaving(t *testing.T) {
	var ran, denied atomic.Int64
	x := fake(func(context.Context, Job) (confine.Result, error) { ran.Add(1); return exited(0, ""), nil })
	r := runner(x, Options{WorkCalls: DefaultWorkCalls})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := r.runPython(t.Context(), "pass"); err != nil {
				refused(t, err, CodeWorkBudgetSpent)
				denied.Add(1)
			}
		})
	}
	wg.Wait()
	if ran.Load() != 6 || denied.Load() != 44 {
		t.Errorf("%d ran and %d were refused, want 6 and 44", ran.Load(), denied.Load())
	}
	_, err := r.runPython(t.Context(), "pass")
	if got := refused(t, err, CodeWorkBudgetSpent); !strings.Contains(got.Required, "the budget of 6 work calls is used up") {
		t.Errorf("%v", got)
	}
}

func TestACallInWhichNothingRanIsGivenBack(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name  string
		err   error
		spent bool
	}{
		{"no confinement", unavailable(errors.New("no")), false},
		{"a full queue", &confine.Refusal{Code: CodeQueueFull}, false},
		{"cancelled while it waited", fmt.Errorf("wait: %w", cancelled.Err()), false},
		{"closed", confine.ErrClosed, false},
		{"a fault: nobody knows", errors.New("the supervisor lost the cell"), true},
		{"a run", nil, true},
	} {
		answer := c.err
		r := runner(fake(func(context.Context, Job) (confine.Result, error) { return exited(1, ""), answer }), Options{WorkCalls: 1})
		if _, err := r.runPython(t.Context(), "pass"); err != c.err {
			t.Errorf("%s: %v", c.name, err)
		}
		answer = nil
		if _, err := r.runPython(t.Context(), "pass"); (err != nil) != c.spent {
			t.Errorf("%s: spent is %v, want %v", c.name, err != nil, c.spent)
		}
	}
}

func TestNoneIsNoneAndALongSourceIsRefused(t *testing.T) {
	x := fake(func(context.Context, Job) (confine.Result, error) { return exited(0, ""), nil })
	r := runner(x, Options{})
	_, err := r.runPython(t.Context(), "pass")
	refused(t, err, CodeWorkBudgetSpent)
	_, err = r.submit(t.Context(), json.RawMessage(resultWith("")))
	refused(t, err, CodeSubmissionsSpent)
	r = runner(x, Options{WorkCalls: 1})
	_, err = r.runPython(t.Context(), strings.Repeat("#", CodeBytes+1))
	refused(t, err, CodeCodeTooLong)
	if _, err := r.runPython(t.Context(), strings.Repeat("#", CodeBytes)); err != nil {
		t.Errorf("a source of exactly the bound, after a refusal: %v", err)
	}
}

func TestARunSaysWhatStoppedIt(t *testing.T) {
	number := func(n int) *int { return &n }
	for _, c := range []struct {
		name    string
		outcome confine.Outcome
		status  int
		flags   [3]bool // timed out, step budget exceeded, out of memory
	}{
		{"its own end", confine.Outcome{Stopped: confine.StoppedNone, ExitCode: number(3)}, 3, [3]bool{}},
		{"an exit with 124 is no time-out", confine.Outcome{Stopped: confine.StoppedNone, ExitCode: number(124)}, 124, [3]bool{}},
		{"an exit with 125 is no step budget", confine.Outcome{Stopped: confine.StoppedNone, ExitCode: number(125)}, 125, [3]bool{}},
		{"the wall clock", confine.Outcome{Stopped: confine.StoppedWall, Signal: number(9)}, 124, [3]bool{true}},
		{"the step budget", confine.Outcome{Stopped: confine.StoppedSteps, ExitCode: number(125)}, 125, [3]bool{false, true}},
		{"memory", confine.Outcome{Stopped: confine.StoppedMemory, Signal: number(9)}, -9, [3]bool{false, false, true}},
		{"memory, told by an exception", confine.Outcome{Stopped: confine.StoppedMemory, ExitCode: number(1)}, 1, [3]bool{false, false, true}},
		{"a signal is not memory", confine.Outcome{Stopped: confine.StoppedSignal, Signal: number(9)}, -9, [3]bool{}},
		{"processor time", confine.Outcome{Stopped: confine.StoppedCPU, Signal: number(24)}, -24, [3]bool{}},
		{"lost", confine.Outcome{Stopped: confine.StoppedLost}, -1, [3]bool{}},
	} {
		r := runner(fake(func(context.Context, Job) (confine.Result, error) { return confine.Result{Outcome: c.outcome}, nil }), Options{WorkCalls: 1})
		run, err := r.runPython(t.Context(), "pass")
		if err != nil {
			t.Fatal(err)
		}
		if flags := [3]bool{run.TimedOut, run.StepBudgetExceeded, run.OOMKilled}; run.ExitStatus != c.status || flags != c.flags {
			t.Errorf("%s: status %d and flags %v, want %d and %v", c.name, run.ExitStatus, flags, c.status, c.flags)
		}
		if run.Tier != Minimal || run.Limits != Minimal.Limits() {
			t.Errorf("%s: tier %s, limits %+v", c.name, run.Tier, run.Limits)
		}
	}
}

// blocks is a RESULT whose body has these programs in fences.
func blocks(programs ...string) json.RawMessage {
	var b strings.Builder
	for _, p := range programs {
		b.WriteString("```py\n" + p + "\n```\n")
	}
	v, _ := json.Marshal(map[string]any{"kind": KindResult, "interpretation": "", "approach": "", "body": b.String()})
	return v
}

func TestVerdictsOnWhatProgramsPrint(t *testing.T) {
	mixed := prints(func(_ Job, source string) (confine.Result, error) {
		switch {
		case strings.Contains(source, "fail"):
			r := exited(1, "")
			r.Outcome.Stderr.Text = "Traceback (most recent call last):\n  File \"program.py\", line 2, in <module>\n    fail\nNameError: name 'fail' is not defined\n"
			return r, nil
		case strings.Contains(source, "steps"):
			r := exited(125, "")
			r.Outcome.Stopped = confine.StoppedSteps
			return r, nil
		case strings.Contains(source, "wall"):
			return confine.Result{Outcome: confine.Outcome{Stopped: confine.StoppedWall}}, nil
		case strings.Contains(source, "memory"):
			return confine.Result{Outcome: confine.Outcome{Stopped: confine.StoppedMemory}}, nil
		case strings.Contains(source, "disk"):
			limit, observed := int64(10), int64(12)
			return confine.Result{Outcome: confine.Outcome{Stopped: confine.StoppedDisk, Limit: &limit, Observed: &observed}}, nil
		}
		return exited(0, "a\nb\n\nc\nd\n"), nil
	})
	const object = `# WITNESS: {"n": 7}`
	for _, c := range []struct {
		name     string
		programs []string
		want     []string // code, block: found
		block    int      // of the witness
	}{
		{"a witness", []string{object}, nil, 1},
		{"the last clean one counts", []string{object, object, "fail " + object}, nil, 2},
		{"one that is no object yields to an earlier one", []string{object, "# WITNESS: five"}, nil, 1},
		{"one that fails its check does not", []string{object, `# WITNESS: {}`}, []string{"WITNESS_INVALID 2: witness.data: empty object"}, 0},
		{"one that is no object, alone", []string{"# WITNESS: five", "pass", "fail"}, []string{`WITNESS_INVALID 1: "WITNESS: five"`}, 0},
		{"the last of two that are none", []string{"# WITNESS: five", "# WITNESS: six"}, []string{`WITNESS_INVALID 2: "WITNESS: six"`}, 0},
		{"every failed block, then the witness that is missing", []string{"fail\n" + object, "steps", "wall", "memory", "disk", "pass"}, []string{
			`PROGRAM_FAILED 1: block 1 exited with status 1: "File \"program.py\", line 2, in <module>\nNameError: name 'fail' is not defined"`,
			"STEP_BUDGET_EXCEEDED 2: block 2 was stopped after 100000 steps",
			"WALL_CLOCK_EXCEEDED 3: block 3 did not finish in 30s",
			"MEMORY_EXCEEDED 4: block 4 exceeded 256 MiB",
			"PROGRAM_FAILED 5: block 5 was stopped: disk (limit 10, observed 12)",
			`WITNESS_NOT_PRINTED 0: no WITNESS: line; block 6 printed "b\nc\nd"`}, 0},
		{"no program", nil, []string{"WITNESS_NOT_PRINTED 0: no WITNESS: line; no program"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			outcome := blocks(c.programs...)
			if len(c.programs) == 0 {
				outcome = json.RawMessage(resultWith(""))
			}
			s, err := runner(mixed, Options{Submissions: 1, WitnessRequired: true}).submit(t.Context(), outcome)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range s.Errors {
				got = append(got, fmt.Sprintf("%s %d: %s", f.Code, f.Block, f.Found))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if s.OK != (c.want == nil) || (s.Result != "") != s.OK || len(s.Facts.Programs) != len(c.programs) {
				t.Errorf("%+v", s)
			}
			if w := s.Facts.Witness; c.block > 0 && (w == nil || w.Block != c.block || string(w.Data) != `{"n": 7}` || w.Literal == nil || *w.Literal) || c.block == 0 && w != nil {
				t.Errorf("witness %+v, want that of block %d", w, c.block)
			}
			// Nothing is required: the same is accepted, and the facts stay.
			s, err = runner(mixed, Options{Submissions: 1}).submit(t.Context(), outcome)
			if err != nil || !s.OK || s.Errors != nil || len(s.Facts.Programs) != len(c.programs) {
				t.Errorf("when none is required: %+v, %v", s, err)
			}
		})
	}
}

func TestWithoutConfinementNoSubmissionIsAccepted(t *testing.T) {
	for _, required := range []bool{false, true} {
		s, err := runner(Unavailable(errors.New("no pack")), Options{Submissions: 2, WitnessRequired: required}).submit(t.Context(), blocks("pass"))
		if err != nil || s.OK || len(s.Errors) != 1 || s.Errors[0].Code != FindingSandboxUnavailable || !strings.Contains(s.Errors[0].Found, "no pack") {
			t.Errorf("%+v, %v", s, err)
		}
	}
	ran := 0
	x := fake(func(context.Context, Job) (confine.Result, error) {
		if ran++; ran == 2 {
			return confine.Result{}, unavailable(errors.New("gone"))
		}
		return exited(0, ""), nil
	})
	s, err := runner(x, Options{Submissions: 1}).submit(t.Context(), blocks("1", "2", "3"))
	if err != nil || s.OK || len(s.Errors) != 1 || s.Errors[0].Block != 2 || ran != 2 || len(s.Facts.Programs) != 1 {
		t.Errorf("%+v, %v; %d tried", s, err, ran)
	}
}

func TestASubmissionWithTooManyProgramsRunsNone(t *testing.T) {
	ran := 0
	x := fake(func(context.Context, Job) (confine.Result, error) { ran++; return exited(0, ""), nil })
	r := runner(x, Options{Submissions: 2})
	for n, want := range map[int]int{100: 100, 101: 0} {
		ran = 0
		s, err := r.submit(t.Context(), blocks(strings.Split(strings.Repeat("x,", n-1)+"x", ",")...))
		if err != nil || ran != want || s.OK != (want > 0) || len(s.Facts.Programs) != want {
			t.Errorf("%d programs: %d ran, ok is %v, %v", n, ran, s.OK, err)
		}
	}
}

// Only the reading of the body begins a submission: what follows is never refused for want of room, when something has run already.
func TestASubmissionThatWasBegunIsFinished(t *testing.T) {
	var begun []bool
	x := jobs(func(j Job) { begun = append(begun, j.Begun) })
	s, err := runner(x, Options{Submissions: 1, WitnessRequired: true}).submit(t.Context(), blocks("1", `# WITNESS: {"a": 5}`))
	if err != nil || !s.OK || fmt.Sprint(begun) != "[false true true true]" { // the body, two programs, the witness
		t.Errorf("%+v, %v; begun: %v", s, err, begun)
	}
}

// jobs is an Executor that shows its jobs.
type jobs func(Job)

func (f jobs) Execute(ctx context.Context, j Job) (confine.Result, error) {
	f(j)
	return clean.Execute(ctx, j)
}

func TestALongWitnessIsNotShown(t *testing.T) {
	for n, shown := range map[int]bool{TailCharacters: true, TailCharacters + 1: false} {
		data := `{"a": "` + strings.Repeat("é", n-len(`{"a": ""}`)) + `"}`
		s, err := runner(clean, Options{Submissions: 1, WitnessRequired: true}).submit(t.Context(), blocks("# WITNESS: "+data))
		if err != nil || !s.OK || s.Facts.Witness == nil || (string(s.Facts.Witness.Data) == data) != shown || (s.Facts.Witness.Data == nil) == shown {
			t.Errorf("%d characters: %+v, %v", n, s, err)
		}
	}
}

func TestAnOutcomeOfTooManyValuesIsRefusedUnread(t *testing.T) {
	r := runner(clean, Options{Submissions: 2, WitnessRequired: true})
	outcome := func(n int, body string) json.RawMessage {
		return json.RawMessage(`{"kind": "RESULT", "interpretation": "[,{\",", "approach": "` + strings.Repeat(",", maxValues) + `", "body": ` + body +
			`, "result_ir": {"witness": {"polarity": "positive", "data": {"a": [1` + strings.Repeat(",1", n-1) + `]}}}}`)
	}
	const others = 12 // values and brackets of the rest
	_, err := r.submit(t.Context(), outcome(maxValues, `"text"`))
	if got := refused(t, err, CodeOutcomeInvalid); !strings.Contains(got.Found, "100000 values") {
		t.Errorf("%v", got)
	}
	s, err := r.submit(t.Context(), outcome(maxValues-others, `"text"`))
	if err != nil || len(s.Errors) != 1 || s.Errors[0].Code != FindingWitnessNotPrinted {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = r.submit(t.Context(), blocks(`# WITNESS: {"a": [1`+strings.Repeat(",1", maxValues)+`]}`))
	if err != nil || len(s.Errors) != 1 || s.Errors[0].Code != FindingWitnessInvalid || !strings.Contains(s.Errors[0].Found, "more than 100000 values") {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestASubmissionCountsWhateverTheVerdict(t *testing.T) {
	r := runner(clean, Options{Submissions: DefaultSubmissions})
	for _, outcome := range []string{`{}`, string(blocks("pass")), `{"kind": "BLOCKED_BY_HIGHER_PRIORITY", "interpretation": "", "approach": "", "body": "No."}`} {
		for _, damaged := range []string{"", "7", "null", `[]`, `{"a": 1, "a": 2}`} {
			_, err := r.submit(t.Context(), json.RawMessage(damaged))
			refused(t, err, CodeOutcomeInvalid)
		}
		if _, err := r.submit(t.Context(), json.RawMessage(outcome)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.submit(t.Context(), blocks("pass"))
	if got := refused(t, err, CodeSubmissionsSpent); !strings.Contains(got.Required, "the limit of 3 submissions is reached") {
		t.Errorf("%v", got)
	}
}

func TestACancelledSubmissionHasNoVerdict(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	x := fake(func(context.Context, Job) (confine.Result, error) {
		cancel()
		return confine.Result{Outcome: confine.Outcome{Stopped: confine.StoppedCancelled}}, nil
	})
	if s, err := runner(x, Options{Submissions: 1}).submit(ctx, blocks("pass", "pass")); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", s, err)
	}
}

// A reader of ours that crashes, is stopped or says anything else has said nothing: the fences decide.
func TestAReaderIsNotBelieved(t *testing.T) {
	signal := 11
	for name, res := range map[string]confine.Result{
		"crashed":               {Outcome: confine.Outcome{Stopped: confine.StoppedSignal, Signal: &signal, Stdout: confine.Stream{Text: `{"body": "module"}`}}},
		"was stopped":           {Outcome: confine.Outcome{Stopped: confine.StoppedWall, Stdout: confine.Stream{Text: `{"body": "module"}`}}},
		"failed":                exited(1, `{"body": "module"}`),
		"said nothing":          exited(0, ""),
		"said more":             exited(0, `{"body": "module"} {"body": "module"}`),
		"said it twice":         exited(0, `{"body": "module", "body": "module"}`),
		"said something beside": exited(0, `{"body": "module", "a": 1}`),
		"said it otherwise":     exited(0, `{"body": ["module"]}`),
		"said text":             exited(0, `{"body": "text"}`),
	} {
		x := executor(func(context.Context, Job) (confine.Result, error) { return res, nil })
		got, err := Extract(t.Context(), x, Minimal, "x = 1\n```py\ny\n```")
		if diff := cmp.Diff([]string{"y\n"}, got); err != nil || diff != "" {
			t.Errorf("a reader that %s: %v\n%s", name, err, diff)
		}
	}
}

// executor is a function as an Executor.
type executor func(context.Context, Job) (confine.Result, error)

func (f executor) Execute(ctx context.Context, j Job) (confine.Result, error) { return f(ctx, j) }

func TestAReaderHasItsOwnLimits(t *testing.T) {
	var got Job
	x := executor(func(_ context.Context, j Job) (confine.Result, error) { got = j; return exited(0, ""), nil })
	if _, err := Extract(t.Context(), x, HeavyCompute, "x"); err != nil {
		t.Fatal(err)
	}
	l := got.Limits
	if l.Wall != readerWall || l.Steps != 0 || l.MemoryBytes != 512<<20 || got.Policy != HeavyCompute.Policy() {
		t.Errorf("%+v under %+v", l, got.Policy)
	}
}

func TestASubmissionsJSONIsWhatTheSpecificationShows(t *testing.T) {
	steps := uint64(120)
	x := prints(func(Job, string) (confine.Result, error) {
		r := exited(0, "")
		r.Outcome.Steps, r.Program.Digest, r.Report.Interpreter.Version = &steps, "sha256:00", "3.14.6"
		return r, nil
	})
	r := runner(x, Options{Submissions: 2, WitnessRequired: true})
	var text []byte
	for _, outcome := range []json.RawMessage{blocks(`# WITNESS: {"a": 2}`), json.RawMessage(`{"kind": "RESULT", "interpretation": "", "approach": ""}`)} {
		s, err := r.submit(t.Context(), outcome)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, b...), '\n')
	}
	golden(t, "submissions.json", text)
}
