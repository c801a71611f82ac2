package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/mcp/internal/gate"
)

// session is one SDK session. There is one for each era, because a session of the SDK remembers what it has seen: after a modern
// request it would let bare ones pass and refuse the handshake. It is its own transport and connection.
//
// The SDK sees ids of ours only. A cancellation never reaches it, since the gate ends the context of the request itself: the SDK's
// own way, by id and later, can hit another request.
type session struct {
	mu      sync.Mutex
	arrived sync.Cond
	queue   []message     // bounded by what the gate lets in
	entered *gate.Request // an ordered call that the SDK has, and that has not been entered: nothing is handed over behind it
	closed  bool
	last    int
	pending map[string]*gate.Request
}

// message is something for the SDK. ordered is the call that it is, if it is an ordered one.
type message struct {
	jsonrpc.Message
	ordered *gate.Request
}

// requestHeader carries our id past the SDK to the dispatcher.
const requestHeader = "Pdlt-Request"

func connect(server *sdk.Server) (*session, error) {
	s := &session{pending: map[string]*gate.Request{}}
	s.arrived.L = &s.mu
	_, err := server.Connect(context.Background(), s, nil)
	return s, err
}

// Connect makes a session its own transport.
func (s *session) Connect(context.Context) (sdk.Connection, error) { return s, nil }

// SessionID is empty: there is one client.
func (s *session) SessionID() string { return "" }

// deliver hands a request to the SDK, which gives each a goroutine of its own.
func (s *session) deliver(r *gate.Request, ordered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	key := strconv.Itoa(s.last)
	id, err := jsonrpc.MakeID(key)
	if err != nil {
		panic(err) // cannot happen: a string is an id
	}
	s.pending[key] = r
	m := message{Message: &jsonrpc.Request{ID: id, Method: r.Method, Params: shortened(r),
		Extra: &sdk.RequestExtra{Header: http.Header{requestHeader: {key}}}}}
	if ordered {
		m.ordered = r
	}
	s.put(m)
}

func (s *session) notify(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(message{Message: &jsonrpc.Request{Method: method, Params: json.RawMessage("{}")}})
}

func (s *session) put(m message) {
	s.queue = append(s.queue, m)
	s.arrived.Signal()
}

// shortened gives the params without what the gate has checked or the dispatcher reads from the client's own bytes. The SDK would decode it
// several times, into trees of twenty times its size, and numbers in it through float64.
func shortened(r *gate.Request) json.RawMessage {
	out := []byte{'{'}
	for _, f := range r.Fields {
		switch f.Name {
		case "arguments", "inputResponses", "requestState", "_meta":
			continue
		}
		out = member(out, f.Name, f.Raw)
	}
	if r.Modern {
		version, _ := json.Marshal(r.Version)
		meta := append(member(member([]byte{'{'}, gate.MetaVersion, version), gate.MetaCapabilities, []byte("{}")), '}')
		out = member(out, "_meta", meta)
	}
	return append(out, '}')
}

// member adds a member to an object that is not closed yet.
func member(object []byte, name string, value []byte) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	quoted, _ := json.Marshal(name)
	return append(append(append(object, quoted...), ':'), value...)
}

// request gives the request that the SDK is handling.
func (s *session) request(extra *sdk.RequestExtra) *gate.Request {
	if extra == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending[extra.Header.Get(requestHeader)]
}

// Read gives the SDK the next message.
func (s *session) Read(context.Context) (jsonrpc.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for (len(s.queue) == 0 || s.entered != nil) && !s.closed {
		s.arrived.Wait()
	}
	if s.closed {
		return nil, io.EOF
	}
	m := s.queue[0]
	s.queue[0] = message{}
	s.queue = s.queue[1:]
	s.entered = m.ordered
	return m.Message, nil
}

// pass lets in what comes behind an ordered call. It may be said more than once, and of any request.
func (s *session) pass(r *gate.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entered == r {
		s.entered = nil
		s.arrived.Signal()
	}
}

// Write takes what the SDK answers. Questions and notes do not come this way: they are written by the gate.
func (s *session) Write(_ context.Context, m jsonrpc.Message) error {
	answer, ok := m.(*jsonrpc.Response)
	if !ok {
		return nil
	}
	key, _ := answer.ID.Raw().(string)
	s.mu.Lock()
	r := s.pending[key]
	delete(s.pending, key)
	s.mu.Unlock()
	if r != nil {
		s.pass(r) // if it was answered before it was entered
		r.Answer(answer.Result, wireError(answer.Error))
	}
	return nil
}

// Close ends the session.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.arrived.Broadcast()
	return nil
}

// wireError translates an error that comes out of the SDK. Ours pass through it as they are; the others are about params that it
// could not decode, and quote them at any length.
func wireError(err error) *gate.Error {
	if err == nil {
		return nil
	}
	if ours, ok := err.(*jsonrpc.Error); ok {
		return &gate.Error{Code: int(ours.Code), Message: ours.Message, Data: ours.Data}
	}
	var wrapped *jsonrpc.Error
	if errors.As(err, &wrapped) && wrapped.Code == CodeUnknownMethod { // the SDK words this one anew, whoever said it
		return &gate.Error{Code: CodeUnknownMethod, Message: wrapped.Message}
	}
	return gate.Errorf(CodeInvalidParams, "$.params do not have the shape that the method requires")
}

// textOf reads a member that must be a string, and gives "" for anything else.
func textOf(f jsonx.Fields, name string) string {
	var s string
	if raw := f.Get(name); len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
