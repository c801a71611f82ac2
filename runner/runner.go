package runner

import (
	"context"
	"errors"
	"fmt"

	"pdlt.dev/pdlt/confine"
)

// CodeBytes bounds the source of one program: specification §2.1.
const CodeBytes = 1 << 20

// Options configure a [Runner].
type Options struct {
	Tier Tier // the budget of every program
	// WorkCalls and Submissions are how many the Runner answers in its life; 0 is none. See [DefaultWorkCalls] and [DefaultSubmissions].
	WorkCalls, Submissions int
	// WitnessRequired makes a submission fail that has no program which prints a witness.
	WitnessRequired bool
}

// Runner runs programs and checks submissions within one budget. It is safe for concurrent use.
type Runner struct {
	x           Executor
	o           Options
	work        *Ledger
	submissions *Ledger
}

// New gives a Runner whose programs x runs.
func New(x Executor, o Options) *Runner {
	return &Runner{x: x, o: o, work: NewLedger(o.WorkCalls), submissions: NewLedger(o.Submissions)}
}

// The exit statuses that say that a limit ended a program, and that none ran: specification §2.3.
const (
	exitWall  = 124
	exitSteps = 125
	exitNone  = -1
)

// exitStatus says how a program ended in one number: its own status, or the negative number of the signal that ended it. A program can exit with
// 124 and 125 too; that a limit stopped it, only [confine.Outcome.Stopped] says.
func exitStatus(o confine.Outcome) int {
	switch {
	case o.Stopped == confine.StoppedWall:
		return exitWall
	case o.Stopped == confine.StoppedSteps:
		return exitSteps
	case o.Stopped == confine.StoppedLost:
		return exitNone
	case o.ExitCode != nil:
		return *o.ExitCode
	case o.Signal != nil:
		return -*o.Signal
	}
	return exitNone
}

// Run is what one [Work] did. It is for inspection and is not evidence.
type Run struct {
	confine.Result
	Tier   Tier
	Limits confine.Limits
	// ExitStatus is the program's own; or the negative number of a signal, 124 (wall clock), 125 (step budget), -1 (nothing is known).
	ExitStatus int
	// TimedOut, StepBudgetExceeded and OOMKilled say which limit stopped the program. The outcome has the others.
	TimedOut, StepBudgetExceeded, OOMKilled bool
	// Stdout and Stderr are the ends of the streams, whatever the outcome dropped.
	Stdout, Stderr Tail
}

// Work is a source that has got one of the work calls. Whoever has one runs it, once.
type Work struct {
	r    *Runner
	code string
	call *Reservation
}

// Work takes one work call for a source, or gives a *[confine.Refusal] ([CodeWorkBudgetSpent], [CodeCodeTooLong]). Taking is apart from running so that
// calls can be taken in the order in which they came and run together.
func (r *Runner) Work(code string) (*Work, error) {
	if len(code) > CodeBytes {
		return nil, &confine.Refusal{Code: CodeCodeTooLong, Path: "$.code", Found: fmt.Sprintf("%d bytes", len(code)), Required: fmt.Sprintf("at most %d", CodeBytes)}
	}
	call, ok := r.work.Reserve()
	if !ok {
		return nil, &confine.Refusal{Code: CodeWorkBudgetSpent, Path: "$.code", Found: "a call beyond the budget",
			Required: fmt.Sprintf("none: the budget of %d work calls is used up", r.work.Limit())}
	}
	return &Work{r, code, call}, nil
}

// Run runs the source as one program and uses up the work call, unless nothing ran for want of confinement, of a slot or of time. An error is a
// *[confine.Refusal] ([CodeConfinementUnavailable], [CodeQueueFull]); it wraps the error of a ctx that was done before the program was started; or it is
// a fault. How the program ended is in the outcome and never an error.
func (w *Work) Run(ctx context.Context) (Run, error) {
	defer w.call.Return()
	r := w.r
	stdout, stderr := newTailer(), newTailer()
	job := r.job(w.code)
	job.Stdout, job.Stderr = stdout, stderr
	res, err := r.x.Execute(ctx, job)
	if err != nil {
		if !nothingRan(err) {
			w.call.Spend()
		}
		return Run{}, err
	}
	w.call.Spend()
	stopped := res.Outcome.Stopped
	return Run{Result: res, Tier: r.o.Tier, Limits: job.Limits, ExitStatus: exitStatus(res.Outcome),
		TimedOut: stopped == confine.StoppedWall, StepBudgetExceeded: stopped == confine.StoppedSteps, OOMKilled: stopped == confine.StoppedMemory,
		Stdout: stdout.tail(), Stderr: stderr.tail()}, nil
}

// job is a source under the tier.
func (r *Runner) job(source string) Job {
	return Job{Program: confine.Python([]byte(source)), Policy: r.o.Tier.Policy(), Limits: r.o.Tier.Limits()}
}

// nothingRan reports whether an error of an Executor says that no program was started. After a fault nobody knows, and a call whose program can
// have run is not given back.
func nothingRan(err error) bool {
	var refusal *confine.Refusal
	return errors.As(err, &refusal) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, confine.ErrClosed)
}
