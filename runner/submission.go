package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/internal/jsonx"
)

// Unverified is what an accepted submission says of itself, word for word: specification §3.1. Whoever describes the check says it too.
const Unverified = "the structural checks passed; nothing verifies the deliverable afterwards here"

const accepted = "accepted: " + Unverified

// Submission is the verdict on an outcome. Its JSON form is what a tool answers.
type Submission struct {
	OK     bool      `json:"ok"`
	Result string    `json:"result,omitempty"` // when OK
	Errors []Finding `json:"errors,omitempty"` // when not
	Facts  Facts     `json:"facts"`
}

// Facts is what was seen, whatever the verdict is.
type Facts struct {
	// Kind and Tier are empty when the model rejected the outcome, Backend and Interpreter when no program ran.
	Kind        string               `json:"kind,omitempty"`
	Tier        Tier                 `json:"tier,omitempty"`
	Backend     string               `json:"backend,omitempty"`
	Interpreter *confine.Interpreter `json:"interpreter,omitempty"` // step counts differ between its versions
	Programs    []ProgramFacts       `json:"programs"`              // those that ran, in order
	Witness     *WitnessFacts        `json:"witness,omitempty"`     // the one that counts
}

// ProgramFacts is how one program of a submission ran.
type ProgramFacts struct {
	Block              int             `json:"block"` // from 1, in the order found
	ExitCode           int             `json:"exit_code"`
	WitnessLine        bool            `json:"witness_line"` // whether it printed one, clean or not
	Stopped            confine.Stopped `json:"stopped"`
	StepsUsed          *uint64         `json:"steps_used"`
	StepBudgetExceeded bool            `json:"step_budget_exceeded"`
	TimedOut           bool            `json:"timed_out"`
	OOMKilled          bool            `json:"oom_killed"`
	Digest             string          `json:"digest"` // of the source
}

// WitnessFacts is a witness that a program printed and that passed its check.
type WitnessFacts struct {
	Block    int             `json:"block"`
	Polarity string          `json:"polarity"`
	Data     json.RawMessage `json:"data,omitempty"` // of a positive one, as it was printed, if it is no longer than what is shown of a stream
	// Literal is whether the program holds the witness instead of computing it; nil when that could not be found out. It is a label and
	// no proof: 6+0 passes as computed.
	Literal *bool `json:"literal"`
}

// attempt is one program of a submission that ran.
type attempt struct {
	block   int
	source  string
	outcome confine.Outcome
	line    *witnessLine
}

// Deliverable is an outcome that has got one of the submissions. Whoever has one checks it, once.
type Deliverable struct {
	r       *Runner
	outcome jsonx.Value
	call    *Reservation
}

// Deliverable takes one submission for an outcome, or gives a *[confine.Refusal] ([CodeOutcomeInvalid], [CodeSubmissionsSpent]). It is apart from the
// check for the reason that [Runner.Work] has.
func (r *Runner) Deliverable(outcome json.RawMessage) (*Deliverable, error) {
	if tooMany(outcome) {
		return nil, &confine.Refusal{Code: CodeOutcomeInvalid, Path: "$.outcome", Found: fmt.Sprintf("more than %d values", maxValues),
			Required: fmt.Sprintf("an object of at most %d values", maxValues)}
	}
	v, err := jsonx.Parse(outcome, jsonx.Bounds{})
	if err != nil || v.Kind != jsonx.Object {
		what := found(v)
		if err != nil {
			what = err.Error()
		}
		return nil, &confine.Refusal{Code: CodeOutcomeInvalid, Path: "$.outcome", Found: what, Required: "an object"}
	}
	call, ok := r.submissions.Reserve()
	if !ok {
		return nil, &confine.Refusal{Code: CodeSubmissionsSpent, Path: "$.outcome", Found: "a submission beyond the budget",
			Required: fmt.Sprintf("none: the limit of %d submissions is reached", r.submissions.Limit())}
	}
	return &Deliverable{r, v, call}, nil
}

// Check checks the outcome against the model, runs its programs one after another and gives the verdict of specification §3.5. A verdict uses up
// the submission, whatever it is. An error is a *[confine.Refusal] ([CodeQueueFull]); it wraps the error of a ctx that was done; or it is a fault.
func (d *Deliverable) Check(ctx context.Context) (Submission, error) {
	r, call := d.r, d.call
	defer call.Return()
	v, findings := CheckOutcome(d.outcome)
	if findings != nil {
		call.Spend()
		return Submission{Errors: findings, Facts: Facts{Programs: []ProgramFacts{}}}, nil
	}
	kind, _ := v.Get("kind")
	s := Submission{Facts: Facts{Kind: kind.Str, Tier: r.o.Tier, Programs: []ProgramFacts{}}}
	if kind.Str == KindResult {
		body, _ := v.Get("body")
		attempts, untried, err := r.attempt(ctx, body.Str, &s.Facts)
		if err != nil {
			if len(s.Facts.Programs) > 0 || !nothingRan(err) {
				call.Spend()
			}
			return Submission{}, err
		}
		findings, err := r.certify(ctx, attempts, &s.Facts)
		switch {
		case err != nil:
			call.Spend()
			return Submission{}, err
		case untried != nil:
			s.Errors = []Finding{*untried}
		case r.o.WitnessRequired:
			s.Errors = findings
		}
	}
	call.Spend()
	if s.OK = s.Errors == nil; s.OK {
		s.Result = accepted
	}
	return s, nil
}

// attempt finds the programs of a body and runs each. One that fails does not stop the next. The finding says why not every program was tried.
func (r *Runner) attempt(ctx context.Context, body string, facts *Facts) ([]attempt, *Finding, error) {
	programs, err := Extract(ctx, r.x, r.o.Tier, body)
	if why := unavailability(err); why != nil {
		// Whether the whole body is a program only the interpreter can say, so that nothing was checked.
		return nil, &Finding{Path: "outcome.body", Found: "not run, and not searched for programs: " + why.Found, Required: sandboxRequired,
			Code: FindingSandboxUnavailable}, nil
	} else if err != nil {
		return nil, nil, err
	}
	if len(programs) > maxPrograms {
		return nil, &Finding{Path: "outcome.body", Found: fmt.Sprintf("%d programs", len(programs)), Required: fmt.Sprintf("at most %d", maxPrograms),
			Code: FindingOutputMalformed}, nil
	}
	var attempts []attempt
	for i, source := range programs {
		tap := &witnessTap{}
		job := r.job(source)
		job.Stdout, job.Begun = tap, true // the body was read
		res, err := r.x.Execute(ctx, job)
		if why := unavailability(err); why != nil {
			return attempts, &Finding{Path: "outcome.body", Found: fmt.Sprintf("block %d was not run: %s", i+1, why.Found), Required: sandboxRequired,
				Code: FindingSandboxUnavailable, Block: i + 1}, nil
		} else if err != nil {
			return nil, nil, err
		}
		o := res.Outcome
		if o.Stopped == confine.StoppedCancelled {
			return nil, nil, fmt.Errorf("run block %d: %w", i+1, cancelled(ctx))
		}
		a := attempt{block: i + 1, source: source, outcome: o, line: tap.line()}
		attempts = append(attempts, a)
		facts.Backend, facts.Interpreter = res.Report.Backend, &res.Report.Interpreter
		facts.Programs = append(facts.Programs, ProgramFacts{Block: a.block, ExitCode: exitStatus(o), WitnessLine: a.line != nil, Stopped: o.Stopped,
			StepsUsed: o.Steps, StepBudgetExceeded: o.Stopped == confine.StoppedSteps, TimedOut: o.Stopped == confine.StoppedWall,
			OOMKilled: o.Stopped == confine.StoppedMemory, Digest: res.Program.Digest})
	}
	return attempts, nil, nil
}

// maxPrograms bounds what one submission can start: a hundred programs that use up their 30 s take 50 minutes. No deliverable that was seen had ten.
const maxPrograms = 100

const sandboxRequired = "confinement in which a program can run; in this session there is none"

// unavailability gives the refusal of an Executor that can run nothing, or nil.
func unavailability(err error) *confine.Refusal {
	var r *confine.Refusal
	if errors.As(err, &r) && r.Code == CodeConfinementUnavailable {
		return r
	}
	return nil
}

// certify finds the witness that counts: the last one that a cleanly run block printed, valid or not.
func (r *Runner) certify(ctx context.Context, attempts []attempt, facts *Facts) ([]Finding, error) {
	var garbled *attempt
	for _, a := range slices.Backward(attempts) {
		if !a.outcome.Clean() || a.line == nil {
			continue
		}
		w, ok := a.line.read()
		if !ok {
			if garbled == nil {
				garbled = &a
			}
			continue
		}
		if findings := w.check(a.block); findings != nil {
			return findings, nil
		}
		literal := new(bool) // false of a negative one: it has no data that could be written down
		if w.polarity == "positive" {
			var err error
			if literal, err = Literal(ctx, r.x, r.o.Tier, a.source, a.line.text); err != nil && ctx.Err() != nil {
				return nil, err // for want of anything else, the label is missing and the verdict is not
			}
		}
		if utf8.RuneCount(w.data) > TailCharacters {
			w.data = nil
		}
		facts.Witness = &WitnessFacts{Block: a.block, Polarity: w.polarity, Data: w.data, Literal: literal}
		return nil, nil
	}
	if garbled != nil {
		what := quote(garbled.line.text, maxFound)
		switch {
		case garbled.line.long:
			what = fmt.Sprintf("a line of more than %d bytes", WitnessLineBytes)
		case tooMany([]byte(garbled.line.text)):
			what = fmt.Sprintf("a line of more than %d values", maxValues)
		}
		return []Finding{{Path: "outcome.body", Found: what, Required: "one JSON object behind " + witnessPrefix, Code: FindingWitnessInvalid, Block: garbled.block}}, nil
	}
	var findings []Finding
	for _, a := range attempts {
		if !a.outcome.Clean() && len(findings) < maxFindings-1 {
			findings = append(findings, a.failure(r.o.Tier.Limits()))
		}
	}
	return append(findings, notPrinted(attempts)), nil
}

// notPrinted is the finding of a submission without a witness. It shows the end of what each block printed that could have had one.
func notPrinted(attempts []attempt) Finding {
	const lines, characters, most = 3, 300, 2000
	seen := []string{"no " + witnessPrefix + " line"}
	if len(attempts) == 0 {
		seen = append(seen, "no program")
	}
	for _, a := range attempts {
		if a.outcome.Clean() {
			seen = append(seen, fmt.Sprintf("block %d printed %s", a.block, ending(a.outcome.Stdout.Text, lines, characters)))
		}
	}
	return Finding{Path: "outcome.body", Found: cut(strings.Join(seen, "; "), most), Code: FindingWitnessNotPrinted,
		Required: "a program that exits with status 0 and prints its result as a line: " + witnessPrefix + " and a JSON object"}
}

// ending quotes the last lines of a text that are not blank.
func ending(text string, lines, characters int) string {
	all := slices.DeleteFunc(splitLines(text), blank)
	if len(all) == 0 {
		return "nothing"
	}
	last := []rune(strings.Join(all[max(0, len(all)-lines):], "\n"))
	return quote(string(last[max(0, len(last)-characters):]), 2*characters) // twice, for the escapes
}

// failure is the finding of a block that did not run cleanly.
func (a attempt) failure(l confine.Limits) Finding {
	f := Finding{Path: "outcome.body", Code: FindingProgramFailed, Required: "exit status 0", Block: a.block}
	o := a.outcome
	switch o.Stopped {
	case confine.StoppedSteps:
		f.Code = FindingStepBudgetExceeded
		f.Found = fmt.Sprintf("block %d was stopped after %d steps", a.block, l.Steps)
		f.Required = fmt.Sprintf("a program whose step count for this input fits %d; if the result cannot be had within it, print no witness and record the defect", l.Steps)
	case confine.StoppedWall:
		f.Code = FindingWallClockExceeded
		f.Found = fmt.Sprintf("block %d did not finish in %v", a.block, l.Wall)
		f.Required = fmt.Sprintf("finish within %v, library and built-in work included", l.Wall)
	case confine.StoppedMemory:
		f.Code = FindingMemoryExceeded
		f.Found = fmt.Sprintf("block %d exceeded %d MiB", a.block, l.MemoryBytes>>20)
		f.Required = fmt.Sprintf("stay within %d MiB", l.MemoryBytes>>20)
	case confine.StoppedNone:
		f.Found = fmt.Sprintf("block %d exited with status %d%s", a.block, exitStatus(o), complaint(o.Stderr.Text))
	case confine.StoppedSignal:
		f.Found = fmt.Sprintf("block %d was ended by signal %d%s", a.block, -exitStatus(o), complaint(o.Stderr.Text))
	default:
		f.Found = fmt.Sprintf("block %d was stopped: %s", a.block, o.Stopped)
		if o.Limit != nil && o.Observed != nil {
			f.Found += fmt.Sprintf(" (limit %d, observed %d)", *o.Limit, *o.Observed)
		}
		f.Found += complaint(o.Stderr.Text)
		f.Required = "a program that ends by itself with exit status 0"
	}
	return f
}

// complaint quotes the lines of a traceback that tell most: the last one of the program's own, and the last one if it names an error; else the last
// three. Specification §9.3.
func complaint(stderr string) string {
	const characters = 300
	all := slices.DeleteFunc(splitLines(stderr), blank)
	if len(all) == 0 {
		return ""
	}
	var tell []string
	for _, l := range slices.Backward(all) {
		if strings.Contains(l, `File "`+confine.PythonFile+`"`) {
			tell = append(tell, trim(l))
			break
		}
	}
	if last := all[len(all)-1]; strings.Contains(last, "Error") {
		tell = append(tell, trim(last))
	} else {
		tell = append(tell, all[max(0, len(all)-3):]...)
	}
	return ": " + quote(strings.Join(tell, "\n"), characters)
}
