package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"pdlt.dev/pdlt/confine"
)

// Job is one thing given to an [Executor]: a program, what it may touch, how much it may use, and who sees its streams. It is a value;
// nothing in it says where it runs.
type Job struct {
	Program confine.Program
	Policy  confine.Policy
	Limits  confine.Limits
	// Stdout and Stderr, when not nil, are given every byte of the program's streams in order, under the rules of [confine.Spec].
	Stdout, Stderr io.Writer
	// Begun says that the job is a part of work of which another part ran. It waits for its turn however many wait: nothing that was begun is
	// left half done for want of room.
	Begun bool
}

// Executor is where jobs run.
type Executor interface {
	// Execute runs a job to its end. What the program did is in the outcome and never an error. An error is a *[confine.Refusal], with
	// CodeConfinementUnavailable when no program can run here and CodeQueueFull when no work can be begun right now; or it wraps the error of a ctx that
	// was done before the program was started; or it is a fault. It must be safe for concurrent use.
	Execute(ctx context.Context, j Job) (confine.Result, error)
}

// Local runs jobs on this machine, as many at once as it has slots. Who comes when all are taken waits, and those who wait are served in the
// order in which they came.
type Local struct {
	c     confine.Confiner
	depth int

	mu      sync.Mutex
	free    int
	waiting []chan struct{} // closed when its owner has a slot
}

// NewLocal gives an Executor over c with that many slots, at least one, and room for depth jobs that wait. It does not close c.
func NewLocal(c confine.Confiner, slots, depth int) *Local {
	return &Local{c: c, free: max(1, slots), depth: max(0, depth)}
}

// Execute implements [Executor].
func (l *Local) Execute(ctx context.Context, j Job) (confine.Result, error) {
	if err := l.take(ctx, j.Begun); err != nil {
		return confine.Result{}, err
	}
	defer l.give()
	res, err := l.c.Run(ctx, confine.Spec{Program: j.Program, Policy: j.Policy, Limits: j.Limits, Stdout: j.Stdout, Stderr: j.Stderr})
	if r := (*confine.Refusal)(nil); errors.As(err, &r) && slices.Contains(unavailableCodes, r.Code) {
		err = unavailable(r)
	}
	return res, err
}

// take waits for a slot.
func (l *Local) take(ctx context.Context, begun bool) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("wait for a slot: %w", err)
	}
	l.mu.Lock()
	if l.free > 0 { // nobody waits: a slot that is given back goes to who waits longest
		l.free--
		l.mu.Unlock()
		return nil
	}
	if len(l.waiting) >= l.depth && !begun {
		defer l.mu.Unlock()
		return &confine.Refusal{Code: CodeQueueFull, Path: "$", Found: fmt.Sprintf("%d programs that wait for a slot", len(l.waiting)),
			Required: fmt.Sprintf("fewer than %d", l.depth), Hint: "try again when one has ended"}
	}
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	i := slices.Index(l.waiting, turn)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 {
		l.give() // the slot came at the same moment
	}
	return fmt.Errorf("wait for a slot: %w", ctx.Err())
}

// give passes a slot on.
func (l *Local) give() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.free++
		return
	}
	close(l.waiting[0])
	l.waiting = slices.Delete(l.waiting, 0, 1)
}

// unavailableCodes are the refusals that no other program would escape.
var unavailableCodes = []string{confine.CodeFacetUnavailable, confine.CodeBackendUnavailable, confine.CodeInterpreter, confine.CodeStepsUnavailable}

// unavailable is the one refusal for want of confinement, whatever the reason is.
func unavailable(reason error) *confine.Refusal {
	return &confine.Refusal{Code: CodeConfinementUnavailable, Path: "$.sandbox", Found: reason.Error(),
		Required: "confinement that this machine's operating system enforces", Hint: "run pdlt doctor", Unsupported: true}
}

// Unavailable is the Executor of a server whose confinement could not be opened: it refuses every job, for that reason.
func Unavailable(reason error) Executor { return nowhere{unavailable(reason)} }

type nowhere struct{ why *confine.Refusal }

func (n nowhere) Execute(context.Context, Job) (confine.Result, error) {
	return confine.Result{}, n.why
}
