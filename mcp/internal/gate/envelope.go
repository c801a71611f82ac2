package gate

import (
	"encoding/json"
	"errors"

	"pdlt.dev/pdlt/internal/jsonx"
)

// message is a line whose envelope has been read.
type message struct {
	fields jsonx.Fields
	id     json.RawMessage // the client's own characters; nil if there is no id that could be answered
	key    string          // what the id is known by; "" if it cannot be in use
	anyID  bool            // an id although it is neither a string nor a number
	method string
	answer bool // to a question of ours
}

// envelope reads a line. A message that comes with an error is answered with it, under its id if that could be read.
func (g *Gate) envelope(line []byte) (message, *Error) {
	var m message
	kind, fields, err := jsonx.Scan(line, jsonx.Bounds{Depth: g.cfg.Depth})
	unclear := (*jsonx.Error)(nil)
	if errors.As(err, &unclear) && unclear.Rule != jsonx.Duplicate && unclear.Rule != jsonx.Surrogate {
		return m, Errorf(CodeUnreadable, "the line cannot be read: %v", unclear)
	}
	if kind != jsonx.Object {
		return m, Errorf(CodeInvalid, "a message is an object, and this is %s %s; batches are not served", article(kind), kind)
	}
	m.fields = fields
	methodIsText := text(fields.Get("method"), &m.method)
	bad := g.id(&m)
	switch {
	case unclear != nil && m.id == nil && fields.Get("id") == nil && methodIsText:
		return message{}, nil // a notification, which gets no answer and, being unclear, has no effect
	case unclear != nil:
		if twice(fields, "id") {
			m.id, m.key, m.anyID = nil, "", false
		}
		return m, Errorf(CodeInvalid, "the message is unclear: %v", unclear)
	case g.cfg.AnyID && m.method == "notifications/cancelled":
		return m, nil // whatever else it holds
	case bad != nil:
		return m, bad
	case string(fields.Get("jsonrpc")) != `"2.0"`:
		return m, Errorf(CodeInvalid, `$.jsonrpc is not "2.0"`)
	case fields.Get("method") == nil && (fields.Get("result") != nil || fields.Get("error") != nil):
		m.answer = true
		return m, nil
	case !methodIsText:
		return m, Errorf(CodeInvalid, "$.method is not a string")
	}
	return m, nil
}

// id reads the id of a message.
func (g *Gate) id(m *message) *Error {
	raw := json.RawMessage(m.fields.Get("id"))
	if raw == nil {
		return nil
	}
	if string(raw) == "null" {
		if g.cfg.AnyID {
			return nil
		}
		return Errorf(CodeInvalid, "$.id is null: a request has a string or an integer")
	}
	key, allowed := idKey(raw)
	switch {
	case allowed:
		m.id, m.key = raw, key
	case g.cfg.AnyID:
		m.id, m.key, m.anyID = raw, key, true
	default:
		return Errorf(CodeInvalid, "$.id is neither a string nor an integer")
	}
	return nil
}

func twice(f jsonx.Fields, name string) bool {
	n := 0
	for i := range f {
		if f[i].Name == name {
			n++
		}
	}
	return n > 1
}

func article(k jsonx.Kind) string {
	if k == jsonx.Array {
		return "an"
	}
	return "a"
}

// text reads a value that must be a string, and reports whether it is one.
func text(raw []byte, s *string) bool {
	return len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, s) == nil
}

// object takes apart a value that must be an object, and reports whether it is one. It has been scanned as part of its line.
func object(raw []byte) (jsonx.Fields, bool) {
	kind, fields, err := jsonx.Scan(raw, jsonx.Bounds{Depth: len(raw) + 1})
	return fields, err == nil && kind == jsonx.Object
}
