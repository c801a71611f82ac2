package mcp

import (
	"encoding/json"
	"maps"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/mcp/internal/gate"
)

// maxRounds is how often a handler may ask a client of the legacy era within one request. Modern clients count for themselves.
const maxRounds = 10

// needs names the capability that a client must have declared to be asked.
var needs = map[string]string{"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}

// inputRequired is the answer to a modern request whose handler asks something.
type inputRequired struct {
	head
	Requests map[string]inputRequest `json:"inputRequests,omitempty"`
	State    string                  `json:"requestState,omitempty"`
	sdk.ResultBase
}

type inputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// rounds runs a handler until it no longer asks. A modern client is sent away with the questions and comes again with the answers;
// a legacy one is asked while it waits.
func (d *dispatcher) rounds(r *gate.Request, handle func(Call) (sdk.Result, *Ask, error)) (sdk.Result, error) {
	c := Call{Arguments: r.Arguments, Tasks: d.takesTasks(r), r: r, d: d}
	if r.WantsProgress() {
		c.Progress = r.Progress
	}
	if r.Modern {
		if raw := r.Fields.Get("inputResponses"); raw != nil {
			kind, fields, err := jsonx.Scan(raw, jsonx.Bounds{})
			if err != nil || kind != jsonx.Object {
				return nil, gate.Errorf(CodeInvalidParams, "$.params.inputResponses is not an object")
			}
			c.Answers = map[string]json.RawMessage{}
			for _, f := range fields {
				c.Answers[f.Name] = f.Raw
			}
		}
		c.State = textOf(r.Fields, "requestState")
	}
	for range maxRounds {
		res, ask, err := handle(c)
		if err != nil || ask == nil {
			return res, err
		}
		for _, q := range ask.Questions {
			if need := needs[q.Method]; !r.Declares(need) {
				return nil, MissingCapability(map[string]any{need: struct{}{}})
			}
		}
		if r.Modern {
			return &inputRequired{head: head{"input_required"}, Requests: wireQuestions(ask.Questions), State: ask.State}, nil
		}
		c.Answers, c.State = maps.Clone(c.Answers), ask.State
		if c.Answers == nil {
			c.Answers = map[string]json.RawMessage{}
		}
		for _, q := range ask.Questions {
			if c.Answers[q.Key], err = r.Ask(q.Method, q.Params); err != nil {
				return nil, err
			}
		}
	}
	return nil, gate.Errorf(CodeInternal, "the request was not complete after %d rounds of questions", maxRounds)
}

func wireQuestions(qs []Question) map[string]inputRequest {
	m := map[string]inputRequest{}
	for _, q := range qs {
		m[q.Key] = inputRequest{q.Method, q.Params}
	}
	return m
}

// MissingCapability is the error for a client that did not declare what its request needs; required has the shape of client
// capabilities.
func MissingCapability(required map[string]any) *Error {
	return gate.Errorf(CodeMissingCapability, "the request needs a capability that the client did not declare").
		With(map[string]any{"requiredCapabilities": required})
}
