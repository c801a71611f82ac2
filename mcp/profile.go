package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"pdlt.dev/pdlt/mcp/internal/gate"
)

// Revisions of the protocol. 2025-03-26 is missing on purpose: whoever negotiates it must serve batches.
const (
	Revision20260728 = "2026-07-28" // the modern one, stateless
	Revision20251125 = "2025-11-25"
	Revision20250618 = "2025-06-18"
	Revision20241105 = "2024-11-05"
)

// Codes of protocol errors, for handlers that return an [Error].
const (
	CodeUnreadable        = gate.CodeUnreadable
	CodeInvalid           = gate.CodeInvalid
	CodeUnknownMethod     = gate.CodeUnknownMethod
	CodeInvalidParams     = gate.CodeInvalidParams
	CodeInternal          = gate.CodeInternal
	CodeMissingCapability = gate.CodeMissingCapability
)

// Error is a protocol error: what the client's library can act on, not the model behind it. A handler returns it as an error; any
// other error is a fault of ours.
type Error = gate.Error

// Observer is told of every request with an id, before anything runs and after: it is where a call log is written.
type Observer = gate.Observer

// Event is a request as the client sent it.
type Event = gate.Event

// Ending is what became of a request: a result, an error, or silence because it was cancelled.
type Ending = gate.Ending

// Change is a kind of change that clients can be told of.
type Change = gate.Change

// The changes.
const (
	ToolsChanged     = gate.ToolsChanged
	PromptsChanged   = gate.PromptsChanged
	ResourcesChanged = gate.ResourcesChanged
	ResourceUpdated  = gate.ResourceUpdated
)

// Profile is what a server offers and how it behaves where the protocol leaves a choice. It is not changed while it is served.
type Profile struct {
	Name, Title, Version string
	Instructions         string

	// Modern are the revisions served without a handshake, Legacy those that a handshake can agree on, the newest first. A server
	// with none of the second refuses the handshake and names the first.
	Modern, Legacy []string

	Tools     []Tool    // in the order in which they are listed
	Resources Resources // nil: none
	Prompts   []Prompt
	Complete  Complete // nil: no completion
	Tasks     *Tasks   // nil: no call becomes a task

	// Discovery are further members of the answer to server/discover, beside _meta, under names with a prefix of their owner.
	Discovery map[string]json.RawMessage
	// CatalogueTTL and ResourcesTTL say how long a client may keep the catalogue (anybody's) and resources (its own).
	CatalogueTTL, ResourcesTTL time.Duration
	// Changes are the kinds of change that are announced. A frozen catalogue has none.
	Changes []Change
	// Logging offers log notes, which the protocol deprecates.
	Logging bool

	// TooLong is the code of the answer to a line over 8 MiB; 0 means [CodeInvalid].
	TooLong int
	// Depth bounds the nesting of a message; 0 means 256.
	Depth int
	// AnyID makes a request with a null id a notification, and accepts every other value as an id.
	AnyID bool
	// SharedIDs serves a second request under an id that is in use. Else it is refused.
	SharedIDs bool
	// RunOn lets the work of a cancelled request go on, and waits for it at the end: only its answer is withheld.
	RunOn bool

	Observer Observer
	// Fault, if any, is told of each fault, with the id that the client was given for it. The stack of a panic is part of the error.
	Fault func(id string, err error)
}

// Tool is a tool.
type Tool struct {
	Name, Title, Description string
	// Input is the schema of the arguments, an object schema. Names, types and presence at its top level are checked before Call, and
	// what breaks them is answered as an error that a model can act on. Everything below is checked by Call.
	Input json.RawMessage
	// Output is the schema of structured results; nil if there are none.
	Output json.RawMessage
	// Unlisted tools are called like others and not listed.
	Unlisted bool
	// Tasks says whether the Later of a result may become a task.
	Tasks TaskUse
	// Ordered calls are entered in the order in which they came, one after another. Call then returns at once, with a Later if there is work.
	Ordered bool
	Call    func(context.Context, Call) (ToolResult, error)
}

// ToolResult is what a tool answers. It has an Ask, or a Later, or content.
type ToolResult struct {
	Content    []Content
	Structured json.RawMessage // nil: none
	IsError    bool            // the caller can fix it
	Ask        *Ask
	// Later is the rest of the work. It runs at once, and as a task if the client can take one and it lasts.
	Later func(context.Context, *Task) (ToolResult, error)
}

// check finds what could not be written. The SDK would never answer a request whose result it cannot encode.
func (r ToolResult) check() error {
	if r.Structured != nil && !json.Valid(r.Structured) {
		return errors.New("the structured result is not JSON")
	}
	return r.Ask.check()
}

// Call is a request of a client as a handler sees it.
type Call struct {
	Arguments json.RawMessage // an object, {} if the client sent none; exactly the client's bytes
	// Progress tells the client how far the work is: a number that grows, its end or 0, and a text. It may be called as often as one
	// likes. It is nil if the client did not ask.
	Progress func(progress, total float64, message string)
	// Tasks says that the client can take a task in place of a result.
	Tasks bool
	// Answers are those to an [Ask] of an earlier round, by their keys, and State is what that one gave along. Both come from the
	// client, which may have made them up.
	Answers map[string]json.RawMessage
	State   string

	r *gate.Request
	d *dispatcher
}

// Declares reports whether the client declared a capability: elicitation, sampling, roots.
func (c Call) Declares(capability string) bool { return c.r.Declares(capability) }

// Changed announces a change; uri is that of an updated resource, else "".
func (c Call) Changed(what Change, uri string) { c.d.gate.Changed(what, uri) }

// Ask is what a handler needs from its client before it can go on. It will be called again with the answers.
type Ask struct {
	Questions []Question
	State     string // comes back with the answers; "" if there is none
}

// Question is a request for input: elicitation/create, sampling/createMessage or roots/list.
type Question struct {
	Key, Method string
	Params      json.RawMessage
}

func (a *Ask) check() error {
	if a == nil {
		return nil
	}
	for _, q := range a.Questions {
		if q.Params != nil && !json.Valid(q.Params) {
			return fmt.Errorf("the params of the question %q are not JSON", q.Key)
		}
	}
	return nil
}
