package gate

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// writer writes messages, one Write call each.
type writer struct {
	mu     sync.Mutex
	out    io.Writer
	broken bool
	fail   func(error) // told once, when a write failed
}

// message writes a line. A client that does not read holds back whoever has something to say to it: nothing is queued.
func (w *writer) message(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		return
	}
	if _, err := w.out.Write(append(line, '\n')); err != nil {
		w.broken = true
		w.fail(err)
	}
}

func (w *writer) result(id, result json.RawMessage) {
	w.message(join(`{"jsonrpc":"2.0","id":`, id, `,"result":`, result, `}`))
}

func (w *writer) error(id json.RawMessage, e *Error) {
	body, err := json.Marshal(e)
	if err != nil {
		body = []byte(`{"code":-32603,"message":"the error has data that is not JSON"}`)
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	w.message(join(`{"jsonrpc":"2.0","id":`, id, `,"error":`, body, `}`))
}

func (w *writer) note(method string, params json.RawMessage) {
	name, _ := json.Marshal(method)
	w.message(join(`{"jsonrpc":"2.0","method":`, name, `,"params":`, params, `}`))
}

func (w *writer) ask(id json.RawMessage, method string, params json.RawMessage) {
	name, _ := json.Marshal(method)
	w.message(join(`{"jsonrpc":"2.0","id":`, id, `,"method":`, name, `,"params":`, params, `}`))
}

// join puts a message together. Raw parts that came in more than one line become one.
func join(parts ...any) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
		case json.RawMessage:
			raw(&b, p)
		case []byte:
			raw(&b, p)
		}
	}
	return b.Bytes()
}

func raw(b *bytes.Buffer, part []byte) {
	if bytes.IndexByte(part, '\n') >= 0 && json.Compact(b, part) == nil {
		return
	}
	b.Write(part)
}
