package cli

import (
	"io"
	"sync"
)

// outlet passes a program's streams on to ours, byte for byte and in the order in which they came, without ever making the supervisor
// wait for whoever reads them: a program must not gain time from a slow terminal. What waits is held in memory, bounded by the flood
// limits of the two streams.
type outlet struct {
	mu     sync.Mutex
	more   *sync.Cond
	queue  []chunk
	closed bool
	err    error
	done   chan struct{}
}

const chunkBytes = 64 << 10 // what the supervisor reads at once

type chunk struct {
	to   io.Writer
	data []byte
}

// newOutlet starts an outlet. broken is called once, when a write fails; nothing is written after that.
func newOutlet(broken func(error)) *outlet {
	o := &outlet{done: make(chan struct{})}
	o.more = sync.NewCond(&o.mu)
	go o.pass(broken)
	return o
}

func (o *outlet) pass(broken func(error)) {
	defer close(o.done)
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.closed {
			o.more.Wait()
		}
		queue := o.queue
		o.queue = nil
		o.mu.Unlock()
		if len(queue) == 0 {
			return
		}
		for _, c := range queue {
			if _, err := c.to.Write(c.data); err != nil {
				o.mu.Lock()
				o.err, o.closed, o.queue = &outletError{err}, true, nil
				o.mu.Unlock()
				broken(o.err)
				return
			}
		}
	}
}

// finish waits until everything is written, or until giveUp is closed.
func (o *outlet) finish(giveUp <-chan struct{}) error {
	o.mu.Lock()
	o.closed = true
	o.more.Signal()
	o.mu.Unlock()
	select {
	case <-o.done:
	case <-giveUp:
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// tap is one stream's way into the outlet.
type tap struct {
	o    *outlet
	to   io.Writer
	last byte // of everything written so far
}

// Write takes p over. It never fails and never waits for a reader.
func (t *tap) Write(p []byte) (int, error) {
	o := t.o
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(p) == 0 || o.closed {
		return len(p), nil
	}
	t.last = p[len(p)-1]
	// Small writes share a chunk, and no chunk ever grows: what waits takes the room that it needs and not twice that.
	if n := len(o.queue); n > 0 && o.queue[n-1].to == t.to && len(o.queue[n-1].data)+len(p) <= cap(o.queue[n-1].data) {
		o.queue[n-1].data = append(o.queue[n-1].data, p...)
	} else {
		o.queue = append(o.queue, chunk{t.to, append(make([]byte, 0, max(len(p), chunkBytes)), p...)})
	}
	o.more.Signal()
	return len(p), nil
}

// outletError is a write to our own output that failed.
type outletError struct{ err error }

// Error says what could not be written.
func (e *outletError) Error() string { return "write output: " + e.err.Error() }

// Unwrap gives the cause.
func (e *outletError) Unwrap() error { return e.err }
