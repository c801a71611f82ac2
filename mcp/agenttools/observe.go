package agenttools

import (
	"encoding/json"

	"pdlt.dev/pdlt/mcp"
	"pdlt.dev/pdlt/provenance"
)

// observer writes the call log.
type observer struct{ log *provenance.Log }

// Begin implements mcp.Observer.
func (o observer) Begin(e mcp.Event) (func(mcp.Ending) error, error) {
	entry, err := o.log.Begin(provenance.Request{ID: e.ID, Method: e.Method, Name: nameOf(e), Params: e.Params})
	if err != nil {
		return nil, err
	}
	return func(end mcp.Ending) error { return entry.End(responseOf(end)) }, nil
}

// Cancelled implements mcp.Observer. What was cancelled ends whether or not the notice could be written.
func (o observer) Cancelled(params json.RawMessage) {
	_, _ = o.log.Begin(provenance.Request{Method: "notifications/cancelled", Params: params})
}

// nameOf is the tool of a call, or the URI of a read.
func nameOf(e mcp.Event) string {
	var p struct{ Name, URI string }
	switch e.Method {
	case "tools/call", "resources/read":
		_ = json.Unmarshal(e.Params, &p) // of another shape: it has no name, and will be refused
	}
	if e.Method == "resources/read" {
		return p.URI
	}
	return p.Name
}

// printed are the places in a structured result where something stands that a program wrote. The log has digests and lengths in its place.
var printed = [][]string{{"stdout"}, {"stderr"}, {"facts", "witness", "data"}}

// without takes the member out of an object to which names lead, if it is there.
func without(object json.RawMessage, names []string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil || members[names[0]] == nil {
		return object
	}
	if len(names) == 1 {
		delete(members, names[0])
	} else {
		members[names[0]] = without(members[names[0]], names[1:])
	}
	return encode(members)
}

func responseOf(end mcp.Ending) provenance.Response {
	switch {
	case end.Err != nil:
		return provenance.Response{Error: &provenance.CallError{Code: end.Err.Code, Message: end.Err.Message}}
	case end.Result == nil:
		return provenance.Response{Cancelled: true}
	}
	type result struct {
		IsError    bool            `json:"isError"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	var r struct {
		result
		Result *result `json:"result"` // of a task that ended
		TaskID string  `json:"taskId"`
		Status string  `json:"status"`
	}
	_ = json.Unmarshal(end.Result, &r) // ours; what is no result of a tool leaves it empty
	one := r.result
	if r.Result != nil {
		one = *r.Result
	}
	for _, names := range printed {
		one.Structured = without(one.Structured, names)
	}
	facts := map[string]json.RawMessage{}
	_ = json.Unmarshal(one.Structured, &facts) // it may have none
	if r.TaskID != "" {
		facts["task"], facts["task_status"] = encode(r.TaskID), encode(r.Status)
	}
	out := provenance.Response{IsError: one.IsError}
	if len(facts) > 0 {
		out.Result = encode(facts)
	}
	return out
}
