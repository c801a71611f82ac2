package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"pdlt.dev/pdlt/internal/jsonx"
)

// Config is what differs between the servers behind a gate.
type Config struct {
	// Modern are the revisions that a request may name in its _meta; Legacy are those that the handshake may agree on, the newest
	// first. Without any there is no handshake.
	Modern, Legacy []string
	// Paged are the list methods that take a cursor. The others refuse one.
	Paged []string
	// Changes are the kinds of change that a listen stream can be told of. A frozen catalogue has none.
	Changes []Change
	// TooLong is the code of the answer to a line over [MaxLine].
	TooLong int
	// AnyID makes a request with a null id a notification, and accepts every other value as an id.
	AnyID bool
	// SharedIDs serves a second request under an id that is in use. Else it is refused.
	SharedIDs bool
	// RunOn lets work go on when its request is cancelled, and at the end of the server: only the answer is withheld.
	RunOn bool
	// Depth bounds the nesting of a message; 0 means [jsonx.DefaultDepth].
	Depth int
	// Observer, if any, is told of every request.
	Observer Observer
}

// Backend does the work behind a gate.
type Backend interface {
	// Deliver takes an admitted request, in the order of the stream. It must return at once; the answer is [Request.Answer].
	Deliver(*Request)
	// Busy answers a tool call that came while the server has all the work it can hold.
	Busy(*Request)
	// Initialized is the client's note that the legacy handshake is complete.
	Initialized()
}

const (
	// maxCalls are the tool calls that may be open at once, and as many other requests beside them. A client that keeps more open
	// than this has lost count; programs wait in the runner's queue, which is shorter.
	maxCalls = 256
	// maxBytes bounds the lines that are held for open tool calls, and as much for others beside them, so that what the reader waits
	// for never is a program: two of the longest, or sixteen programs of the longest.
	maxBytes = 2 * MaxLine
	// maxListens bounds the listen streams. The Inspector opened eight by mistake.
	maxListens = 256
	// maxListenBytes bounds the line of a listen stream, which is kept as long as the stream: some hundred URIs.
	maxListenBytes = 64 << 10
)

// Grace is how long work gets to end when the server is stopped. The promise outside is 2 s for everything: this for requests, as
// much for tasks, and some for the process.
const Grace = 800 * time.Millisecond

// errClosed is why requests end that are still open when the server does.
var errClosed = errors.New("the server is stopping")

// Gate is one connection. It is made by [New] and used for one [Gate.Serve].
type Gate struct {
	cfg     Config
	backend Backend
	out     writer

	stopped context.Context // done when everything must end
	stop    context.CancelCauseFunc

	work sync.WaitGroup // admitted requests; they are added by the reader only

	mu      sync.Mutex
	left    sync.Cond // a request has been released
	closed  bool      // nothing is admitted any more
	open    map[string][]*Request
	all     map[*Request]struct{}
	streams int             // the listen streams among all
	bytes   int             // of the lines of the others
	turn    bool            // a request has the turn to make a large answer
	version string          // what the legacy handshake agreed on; "" before
	caps    json.RawMessage // what the client declared in it
	watched map[string]bool // resources that it subscribed to
	asks    int
	asked   map[string]chan<- reply
}

// New makes a gate in front of a backend. When ctx ends, or out can no longer be written, everything that is open is cancelled and
// Serve returns.
func New(ctx context.Context, cfg Config, backend Backend, out io.Writer) *Gate {
	g := &Gate{cfg: cfg, backend: backend, open: map[string][]*Request{}, all: map[*Request]struct{}{}, asked: map[string]chan<- reply{},
		watched: map[string]bool{}}
	g.left.L = &g.mu
	g.stopped, g.stop = context.WithCancelCause(ctx)
	g.out.out = out
	g.out.fail = func(err error) { g.stop(fmt.Errorf("write to the client: %w", err)) }
	return g
}

// Serve reads messages until the stream ends, waits until all that was admitted is answered, and returns nil. If it was stopped it
// returns the reason within moments: a read that blocks then stays behind, and so does work that ignores its context.
func (g *Gate) Serve(in io.Reader) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for l := newLines(in); ; {
			line, err := l.next()
			if err != nil && err != errTooLong {
				return
			}
			if g.stopped.Err() != nil {
				return
			}
			if err != nil {
				g.out.error(nil, Errorf(g.cfg.TooLong, "the line is longer than %d bytes", MaxLine))
				continue
			}
			g.line(line)
		}
	}()
	select {
	case <-ended:
	case <-g.stopped.Done():
	}
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()

	drained := make(chan struct{})
	go func() {
		g.work.Wait()
		close(drained)
	}()
	if g.cfg.RunOn {
		<-drained
	}
	select {
	case <-drained:
	case <-g.stopped.Done():
		g.drop(func(*Request) bool { return true })
		select {
		case <-drained:
		case <-time.After(Grace):
		}
	}
	g.drop(func(*Request) bool { return true }) // the listen streams
	cause := context.Cause(g.stopped)
	g.stop(errClosed)
	return cause
}

// line takes one message.
func (g *Gate) line(line []byte) {
	m, refused := g.envelope(line)
	switch {
	case refused != nil:
		g.refuse(m, refused)
	case m.method == "notifications/cancelled" && (m.id == nil || g.cfg.AnyID):
		g.cancelled(m)
	case m.answer:
		g.answered(m)
	case m.id == nil:
		if m.method == "notifications/initialized" {
			g.backend.Initialized()
		}
	default:
		g.admit(m, len(line))
	}
}

// refuse answers a message that is not let in: one with an id is a request, and the observer is told of it.
func (g *Gate) refuse(m message, e *Error) {
	if m.key == "" && !m.anyID {
		g.out.error(m.id, e)
		return
	}
	end, err := g.begin(m)
	if err != nil {
		g.out.error(m.id, errNotLogged)
		return
	}
	g.refused(m.id, end, e)
}

// refused answers a request that was begun and is not let in.
func (g *Gate) refused(id json.RawMessage, end func(Ending) error, e *Error) {
	if end(Ending{Err: e}) != nil {
		e = errNotLogged
	}
	g.out.error(id, e)
}

func (g *Gate) begin(m message) (func(Ending) error, error) {
	if g.cfg.Observer == nil {
		return func(Ending) error { return nil }, nil
	}
	return g.cfg.Observer.Begin(Event{ID: m.id, Method: m.method, Params: m.fields.Get("params")})
}

// cancelled frees the requests under the id that a notice names, and keeps their answers back. An id that is not in use is not
// remembered.
func (g *Gate) cancelled(m message) {
	params := m.fields.Get("params")
	if g.cfg.Observer != nil {
		g.cfg.Observer.Cancelled(params)
	}
	_, fields, err := jsonx.Scan(params, jsonx.Bounds{Depth: g.cfg.Depth})
	if err != nil {
		return
	}
	key, ok := idKey(fields.Get("requestId"))
	if key == "" || !ok && !g.cfg.AnyID {
		return
	}
	g.drop(func(r *Request) bool { return r.key == key })
}
