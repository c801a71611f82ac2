package gate

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"pdlt.dev/pdlt/internal/jsonx"
)

// Request is an admitted request. Its exported fields do not change once it is delivered.
type Request struct {
	Method  string
	Params  json.RawMessage // as the client sent them; nil if there were none
	Fields  jsonx.Fields    // their members
	Meta    jsonx.Fields    // the members of their _meta
	Modern  bool            // the era
	Version string          // the revision; "" for a ping before the handshake

	Capabilities json.RawMessage // what the client declared, in the request or in the handshake
	LogLevel     string          // of a modern request; "" if it wants no log notes
	Name         string          // of the tool or prompt, or the URI of the resource
	Arguments    json.RawMessage // of a tool or prompt; {} if there were none
	Cursor       string          // of a list that has pages

	g      *Gate
	id     json.RawMessage
	key    string
	size   int
	end    func(Ending) error
	ctx    context.Context
	cancel context.CancelCauseFunc
	listen map[Change]bool // of a listen stream
	uris   []string        // of a listen stream
	turn   bool            // under g.mu: it is the one that makes a large answer

	// note is held while a note about this request is written, and while the request is settled: none follows the decision.
	note   sync.Mutex
	live   bool // under g.mu: neither settled nor cancelled
	token  json.RawMessage
	last   time.Time // of the last progress note
	shown  float64   // its progress
	silent bool      // none has been written
}

// admit lets a request in: it is logged, checked, counted and delivered. The reader calls it, one request after the other.
func (g *Gate) admit(m message, size int) {
	end, err := g.begin(m)
	if err != nil {
		g.out.error(m.id, errNotLogged)
		return
	}
	r := &Request{Method: m.method, Params: m.fields.Get("params"), g: g, id: m.id, key: m.key, size: size, end: end, silent: true}
	e := g.era(r)
	if e == nil && r.Modern && r.Method == "subscriptions/listen" {
		e = r.subscribe()
	}
	if e != nil {
		g.refused(m.id, end, e)
		return
	}
	r.note.Lock() // nothing is said about a request before it is let in, and on a listen stream not before the acknowledgement
	busy, e := g.enter(r)
	if e == nil && r.listen != nil {
		r.acknowledge()
	}
	r.note.Unlock()
	switch {
	case e != nil:
		g.mu.Lock()
		r.undo()
		g.mu.Unlock()
		g.refused(m.id, end, e)
	case busy:
		g.backend.Busy(r)
	case r.listen == nil:
		g.backend.Deliver(r)
	}
}

// enter counts a request among the open ones. A tool call beyond the bounds is let in to be told so; anything else waits for room,
// which other requests make without the reader.
func (g *Gate) enter(r *Request) (busy bool, e *Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	full := func(times int) bool {
		open := len(g.all) - g.streams // streams last, and nobody waits for them
		return open >= times*maxCalls || open > 0 && g.bytes+r.size > times*maxBytes
	}
	switch {
	case r.listen != nil:
	case r.Method == "tools/call":
		busy = full(1)
	default:
		for full(2) && !g.closed && g.stopped.Err() == nil {
			g.left.Wait()
		}
	}
	switch {
	case g.closed || g.stopped.Err() != nil:
		return false, Errorf(CodeInternal, "%v", errClosed)
	case !g.cfg.SharedIDs && len(g.open[r.key]) > 0:
		return false, Errorf(CodeInvalid, "$.id is in use by a request that is still open")
	case r.listen != nil && r.size > maxListenBytes:
		return false, Errorf(CodeInvalidParams, "a request for a stream has %d bytes, and at most %d are kept", r.size, maxListenBytes)
	case r.listen != nil && g.streams >= maxListens:
		return false, Errorf(CodeInternal, "there are %d listen streams already", maxListens)
	}
	r.ctx, r.cancel = context.WithCancelCause(r.Lifetime())
	r.live = true
	if r.key != "" {
		g.open[r.key] = append(g.open[r.key], r)
	}
	g.all[r] = struct{}{}
	if r.listen != nil {
		g.streams++
		return false, nil
	}
	g.bytes += r.size
	g.work.Add(1)
	return busy, nil
}

// free takes a request out of those that its id names. g.mu is held.
func (g *Gate) free(r *Request) {
	r.live = false
	left := slices.DeleteFunc(g.open[r.key], func(q *Request) bool { return q == r })
	if len(left) == 0 {
		delete(g.open, r.key)
	} else {
		g.open[r.key] = left
	}
}

// leave takes a request out of the account, once nothing of it is left.
func (g *Gate) leave(r *Request) {
	r.cancel(nil)
	g.mu.Lock()
	delete(g.all, r)
	if r.listen != nil {
		g.streams--
	} else {
		g.bytes -= r.size
	}
	if r.turn {
		g.turn = false
	}
	g.left.Broadcast()
	g.mu.Unlock()
	if r.listen == nil {
		g.work.Done()
	}
}

// drop cancels the open requests for which the question is answered with yes.
func (g *Gate) drop(which func(*Request) bool) {
	var listens []*Request
	g.mu.Lock()
	for r := range g.all {
		if !r.live || !which(r) {
			continue
		}
		g.free(r)
		if r.listen != nil {
			listens = append(listens, r)
		} else if !g.cfg.RunOn {
			r.cancel(context.Canceled)
		}
	}
	g.left.Broadcast() // the gate may be closed
	g.mu.Unlock()
	for _, r := range listens { // nothing works on them that would end them
		_ = r.end(Ending{})
		g.leave(r)
	}
}

// Turn waits until no other request that took a turn has an answer in memory: it has been written, or there is none. It reports false if the
// request was cancelled before.
func (r *Request) Turn() bool {
	g := r.g
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.turn && r.live {
		g.left.Wait()
	}
	if r.live {
		g.turn, r.turn = true, true
	}
	return r.live
}

// undo takes a handshake back that was answered with an error. g.mu is held.
func (r *Request) undo() {
	if r.Method == "initialize" && !r.Modern {
		r.g.version, r.g.caps = "", nil
	}
}

// Context ends when the request is cancelled, answered, or the server is stopped.
func (r *Request) Context() context.Context { return r.ctx }

// Lifetime is the context of the server: it ends when work must, and not when the request is settled.
func (r *Request) Lifetime() context.Context {
	if r.g.cfg.RunOn {
		return context.WithoutCancel(r.g.stopped)
	}
	return r.g.stopped
}

// Answer settles the request with a result or an error. If it was cancelled before, nothing is written. Only the first Answer counts.
func (r *Request) Answer(result json.RawMessage, e *Error) {
	r.note.Lock()
	r.g.mu.Lock()
	answered, live := r.end == nil, r.live
	end := r.end
	r.end = nil
	if live {
		r.g.free(r)
	}
	if e != nil && !answered {
		r.undo()
	}
	r.g.mu.Unlock()
	r.note.Unlock()
	if answered {
		return
	}
	defer r.g.leave(r)
	if !live {
		_ = end(Ending{})
		return
	}
	ending := Ending{Result: result, Err: e}
	if e != nil {
		ending.Result = nil
	}
	if end(ending) != nil {
		e = errNotLogged
	}
	if e != nil {
		r.g.out.error(r.id, e)
	} else {
		r.g.out.result(r.id, result)
	}
}

// Note writes a note that belongs to the request, unless it has been answered or cancelled.
func (r *Request) Note(method string, params any) {
	raw, err := json.Marshal(params)
	if err != nil {
		return // cannot happen: notes are made of strings, numbers and raw values
	}
	r.note.Lock()
	defer r.note.Unlock()
	if r.alive() {
		r.g.out.note(method, raw)
	}
}

func (r *Request) alive() bool {
	r.g.mu.Lock()
	defer r.g.mu.Unlock()
	return r.live
}

// interval is the least time between two progress notes. Clients were seen to drop the connection over a note in the same read as
// the answer; a slower pace makes that rare and costs nobody anything.
const interval = 100 * time.Millisecond

// WantsProgress reports whether the client gave a token for progress notes.
func (r *Request) WantsProgress() bool { return r.token != nil }

// Progress writes a progress note if the client asked for them, the last one is not too recent, and there is progress. A total of
// 0 is not known.
func (r *Request) Progress(progress, total float64, message string) {
	if r.token == nil {
		return
	}
	r.note.Lock()
	defer r.note.Unlock()
	now := time.Now()
	if !r.silent && (now.Sub(r.last) < interval || progress <= r.shown) || !r.alive() {
		return
	}
	raw, err := json.Marshal(struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total,omitempty"`
		Message  string          `json:"message,omitempty"`
	}{r.token, progress, total, message})
	if err != nil {
		return // not a number
	}
	r.silent, r.last, r.shown = false, now, progress
	r.g.out.note("notifications/progress", raw)
}

// reply is a client's answer to a question of ours.
type reply struct {
	result json.RawMessage
	err    *Error
}

// Ask puts a question to a client of the legacy era and waits for its answer, or for the end of the request.
func (r *Request) Ask(method string, params json.RawMessage) (json.RawMessage, error) {
	g := r.g
	c := make(chan reply, 1)
	g.mu.Lock()
	g.asks++
	id := strconv.Itoa(g.asks)
	key, _ := idKey([]byte(id))
	g.asked[key] = c
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		delete(g.asked, key)
		g.mu.Unlock()
	}()
	r.note.Lock()
	if r.alive() {
		g.out.ask(json.RawMessage(id), method, params)
	}
	r.note.Unlock()
	select {
	case a := <-c:
		if a.err != nil {
			return nil, a.err
		}
		return a.result, nil
	case <-r.ctx.Done():
		return nil, context.Cause(r.ctx)
	}
}

// answered hands a client's answer to whoever asked. One that nobody waits for is dropped.
func (g *Gate) answered(m message) {
	g.mu.Lock()
	c := g.asked[m.key]
	delete(g.asked, m.key)
	g.mu.Unlock()
	if c == nil || m.key == "" {
		return
	}
	a := reply{result: m.fields.Get("result")}
	if raw := m.fields.Get("error"); raw != nil {
		a.err = &Error{}
		if json.Unmarshal(raw, a.err) != nil {
			a.err = Errorf(CodeInternal, "the client's error cannot be read")
		}
	}
	c <- a
}
