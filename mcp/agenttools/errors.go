package agenttools

import (
	"errors"
	"strings"

	"pdlt.dev/pdlt/mcp"
	"pdlt.dev/pdlt/runner"
)

// channel is where a refusal goes.
type channel int

const (
	toOperator channel = iota // a fault: nothing that a client sends can have caused it
	toModel                   // a result with isError, which says what to do next
)

// row says which channel a refusal takes, and the step that it leads a model to. What only a client's library can act on
// is answered as a JSON-RPC error before a call gets here.
type row struct {
	channel channel
	next    string
}

// rows has every refusal code of the runner. A code without a row, as one of the confinement that the runner does not translate, is a fault.
var rows = map[string]row{
	runner.CodeWorkBudgetSpent:  {toModel, "Nothing more can be run with this server. Work with what you have, or ask whoever operates the server to start it anew."},
	runner.CodeSubmissionsSpent: {toModel, "Nothing more can be submitted to this server. Give your deliverable to the user as it is."},
	runner.CodeCodeTooLong:      {toModel, "Make the program shorter, or compute its data instead of writing it down."},
	runner.CodeOutcomeInvalid:   {toModel, "Submit one object as the schema of this tool describes it; large data belongs into a program that computes it."},
	runner.CodeQueueFull:        {toModel, "Wait until earlier calls are answered and call again."},
	runner.CodeConfinementUnavailable: {toModel,
		"Do not try again. Tell the user that `pdlt doctor` on the server's machine says what is missing and how to mend it."},
	runner.CodeTierUnknown: {toOperator, ""}, // the tier is the operator's, and was read at the start
	runner.CodeLimitRaised: {toOperator, ""}, // no argument names a limit
}

// refused gives the answer to a call that the caller can act on. Any other error is not its to give.
func refused(err error) (mcp.ToolResult, error) {
	var r *runner.Refusal
	if !errors.As(err, &r) || rows[r.Code].channel != toModel {
		return mcp.ToolResult{}, err
	}
	next := rows[r.Code].next // what a refusal itself may hint at is for whoever operates the server
	text := "Refused; nothing ran. " + r.Path + ": found " + r.Found + "; required: " + r.Required + "."
	if r.Code == runner.CodeConfinementUnavailable {
		text = "Code execution is unavailable: " + strings.TrimSuffix(r.Found, ".") + "."
	}
	return mcp.ToolResult{IsError: true, Content: []mcp.Content{mcp.Text(text + " " + next)},
		Structured: encode(map[string]any{"refusal": map[string]string{"code": r.Code, "path": r.Path, "found": r.Found, "required": r.Required, "hint": next}})}, nil
}
