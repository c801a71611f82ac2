package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
)

// Names that the specification gives.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"

	codeParse          = -32700
	codeInvalid        = -32600
	codeHeaderMismatch = -32020
)

// object is a JSON object whose members keep the bytes they came with.
type object map[string]json.RawMessage

// child is a member that is an object, or nil.
func (o object) child(name string) object {
	var c object
	_ = json.Unmarshal(o[name], &c)
	return c
}

// str is a member that is a string, or "".
func (o object) str(name string) string {
	var s string
	_ = json.Unmarshal(o[name], &s)
	return s
}

// replace gives the member at the path another value, if there is such a member.
func (o object) replace(value json.RawMessage, path ...string) {
	if o[path[0]] == nil {
		return
	}
	if len(path) > 1 {
		c := o.child(path[0])
		c.replace(value, path[1:]...)
		if c == nil {
			return
		}
		value = c.line()
	}
	o[path[0]] = value
}

// line is the object as one line, without its end.
func (o object) line() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(o) // cannot fail: the members are JSON that was read
	return bytes.TrimRight(b.Bytes(), "\n")
}

// meta is params._meta of a request or a note.
func (o object) meta() object { return o.child("params").child("_meta") }

// code is the code of an error, or 0.
func (o object) code() (code int) {
	_ = json.Unmarshal(o.child("error")["code"], &code)
	return code
}

// failure is an error that the bridge gives itself.
func failure(id json.RawMessage, code int, message string) object {
	if id == nil {
		id = json.RawMessage("null")
	}
	text, _ := json.Marshal(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{code, message})
	return object{"jsonrpc": json.RawMessage(`"2.0"`), "id": id, "error": text}
}

// statuses are those of the modern era: W5 and W7 of the transport's page, and 400 for what no server could have read.
var statuses = map[int]int{
	-32601: http.StatusNotFound,
	-32700: http.StatusBadRequest, -32600: http.StatusBadRequest, -32602: http.StatusBadRequest,
	-32020: http.StatusBadRequest, -32021: http.StatusBadRequest, -32022: http.StatusBadRequest,
}

// named says which parameter the header Mcp-Name repeats.
var named = map[string]string{
	"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
	"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
}

// mismatch says which header does not repeat what the body of a modern request says, or "".
func mismatch(h http.Header, message object) string {
	method, params := message.str("method"), message.child("params")
	for _, c := range []struct {
		header, want string
		required     bool
	}{
		{"MCP-Protocol-Version", message.meta().str(metaVersion), true},
		{"Mcp-Method", method, true},
		{"Mcp-Name", params.str(named[method]), named[method] != "" && params[named[method]] != nil},
	} {
		switch got, there := h[http.CanonicalHeaderKey(c.header)]; {
		case !c.required:
		case !there:
			return "header " + c.header + " is missing"
		case plain(got[0]) != c.want:
			return "header " + c.header + " does not repeat the body"
		}
	}
	return ""
}

// plain is a header's value without the base64 form that stands for text which a header cannot carry.
func plain(value string) string {
	value = strings.TrimSpace(value)
	if inner, ok := strings.CutPrefix(value, "=?base64?"); ok {
		if inner, ok = strings.CutSuffix(inner, "?="); ok {
			if b, err := base64.StdEncoding.DecodeString(inner); err == nil {
				return string(b)
			}
		}
	}
	return value
}
