package runner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"pdlt.dev/pdlt/confine"
)

// gate is a Confiner whose programs run until they are let go. It notes the order in which they started.
type gate struct {
	confine.Confiner
	started chan string
	leave   chan struct{}
	err     error
}

func newGate() *gate { return &gate{started: make(chan string, 100), leave: make(chan struct{})} }

func (g *gate) Run(ctx context.Context, s confine.Spec) (confine.Result, error) {
	g.started <- s.Program.Entry
	select {
	case <-g.leave:
	case <-ctx.Done():
	}
	return confine.Result{}, g.err
}

func named(name string) Job { return Job{Program: confine.Program{Entry: name}} }

func TestJobsStartInTheOrderInWhichTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := NewLocal(g, 2, 100)
		names := strings.Split("abcdefgh", "")
		for _, name := range names {
			go l.Execute(t.Context(), named(name))
			synctest.Wait()
		}
		if n := len(g.started); n != 2 {
			t.Fatalf("%d jobs run on 2 slots", n)
		}
		for i, want := range names {
			if got := <-g.started; got != want {
				t.Errorf("job %d is %s, want %s", i, got, want)
			}
			g.leave <- struct{}{}
			synctest.Wait()
		}
		if l.free != 2 || len(l.waiting) != 0 {
			t.Errorf("in the end %d slots are free and %d jobs wait", l.free, len(l.waiting))
		}
	})
}

func TestAFullQueueRefusesAndNamesItsDepth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := NewLocal(g, 1, 2)
		for _, name := range []string{"a", "b", "c"} {
			go l.Execute(t.Context(), named(name))
			synctest.Wait()
		}
		_, err := l.Execute(t.Context(), named("d"))
		var r *confine.Refusal
		if !errors.As(err, &r) || r.Code != CodeQueueFull || !strings.Contains(r.Found, "2") {
			t.Errorf("the fourth job: %v; want a refusal that names a depth of 2", err)
		}
		close(g.leave)
		synctest.Wait()
		if n := len(g.started); n != 3 {
			t.Errorf("%d jobs ran, want 3", n)
		}
	})
}

func TestWhatWasBegunWaitsHoweverManyDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := NewLocal(g, 1, 1)
		begun := named("begun")
		begun.Begun = true
		for _, j := range []Job{named("runs"), named("waits"), begun} {
			go l.Execute(t.Context(), j)
			synctest.Wait()
		}
		_, err := l.Execute(t.Context(), named("new"))
		refused(t, err, CodeQueueFull)
		for _, want := range []string{"runs", "waits", "begun"} {
			if got := <-g.started; got != want {
				t.Errorf("%s started, want %s", got, want)
			}
			g.leave <- struct{}{}
			synctest.Wait()
		}
	})
}

func TestAJobThatGivesUpWaitingLeavesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		l := NewLocal(g, 1, 100)
		go l.Execute(t.Context(), named("a"))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := l.Execute(ctx, named("b"))
			gone <- err
		}()
		synctest.Wait()
		go l.Execute(t.Context(), named("c"))
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up got %v", err)
		}
		close(g.leave)
		synctest.Wait()
		if a, c := <-g.started, <-g.started; a != "a" || c != "c" || len(g.started) > 0 {
			t.Errorf("started %s and %s, then %d more", a, c, len(g.started))
		}
		if l.free != 1 {
			t.Errorf("%d slots are free", l.free)
		}
	})
}

// The slot and the end of the wait can come at the same moment. It must not be lost, whichever is seen.
func TestNoSlotIsLostWhenAJobGivesUpAsItIsServed(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			l := NewLocal(newGate(), 1, 100)
			if err := l.take(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			waited := make(chan error)
			go func() { waited <- l.take(ctx, false) }()
			synctest.Wait()
			cancel() // wakes the waiter, which then finds that it has been served
			l.give()
			if err := <-waited; err == nil {
				l.give()
			}
			if l.free != 1 || len(l.waiting) != 0 {
				t.Fatalf("%d slots are free and %d jobs wait", l.free, len(l.waiting))
			}
		})
	}
}

func TestAJobOfSomebodyWhoIsGoneDoesNotStart(t *testing.T) {
	g := newGate()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewLocal(g, 1, 1).Execute(ctx, named("a")); !errors.Is(err, context.Canceled) || len(g.started) > 0 {
		t.Errorf("%v, %d started", err, len(g.started))
	}
}

func TestARefusalThatNoProgramWouldEscapeIsUnavailability(t *testing.T) {
	for code, want := range map[string]string{
		confine.CodeFacetUnavailable:   CodeConfinementUnavailable,
		confine.CodeBackendUnavailable: CodeConfinementUnavailable,
		confine.CodeInterpreter:        CodeConfinementUnavailable,
		confine.CodeStepsUnavailable:   CodeConfinementUnavailable,
		confine.CodeProgramInvalid:     confine.CodeProgramInvalid,
		confine.CodeLimitInvalid:       confine.CodeLimitInvalid,
	} {
		g := newGate()
		g.err = &confine.Refusal{Code: code, Path: "$.policy", Found: "this", Required: "that"}
		close(g.leave)
		_, err := NewLocal(g, 1, 1).Execute(t.Context(), Job{})
		var r *confine.Refusal
		if !errors.As(err, &r) || r.Code != want || !strings.Contains(r.Error(), "this") {
			t.Errorf("%s becomes %v, want %s with its reason", code, err, want)
		}
	}
}

func TestAnExecutorWithoutConfinementSaysWhy(t *testing.T) {
	_, err := Unavailable(errors.New("the pack is gone")).Execute(t.Context(), Job{})
	const want = "$.sandbox: found the pack is gone; required: confinement that this machine's operating system enforces (run pdlt doctor) [RUNNER_CONFINEMENT_UNAVAILABLE]"
	if err == nil || err.Error() != want || !errors.Is(err, confine.ErrUnsupported) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
