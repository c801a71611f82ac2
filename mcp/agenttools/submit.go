package agenttools

import (
	"context"
	"encoding/json"
	"fmt"

	"pdlt.dev/pdlt/mcp"
	"pdlt.dev/pdlt/runner"
)

func (o Options) submit() mcp.Tool {
	witness := "A program may print a witness: a line WITNESS: and one JSON object."
	if o.Settings.WitnessRequired {
		witness = "A RESULT must contain a program that runs cleanly and prints a witness: a line WITNESS: and one JSON object."
	}
	return mcp.Tool{
		Name: "submit_execute_unconfirmed", Title: "Check a deliverable's structure",
		Description: o.state() + "Checks a deliverable structurally: the outcome model, then the programs in its body, run as run_python would, each afresh. When it is accepted, " + runner.Unverified + ".\n" +
			"The body of a RESULT is one Python module, or text in which every fenced block tagged python or py is a program. " + witness +
			" Each error names the path, what was found and what is required; correct that and submit again. " +
			fmt.Sprintf("This server answers %d submissions in its life; one that is rejected uses one up. Programs run on %s and may use (tier %s) %s. Off: the network, new processes, native code.",
				o.Settings.Submissions, o.python(), o.Settings.Tier, o.budget()),
		Input:  json.RawMessage(`{"type":"object","properties":{"outcome":` + string(runner.OutcomeSchema()) + `},"required":["outcome"],"additionalProperties":false}`),
		Output: json.RawMessage(submissionSchema),
		Tasks:  mcp.TaskMaybe, Ordered: true,
		Call: func(_ context.Context, c mcp.Call) (mcp.ToolResult, error) {
			var args struct{ Outcome json.RawMessage }
			if err := json.Unmarshal(c.Arguments, &args); err != nil {
				return mcp.ToolResult{}, fmt.Errorf("read arguments that were checked: %w", err)
			}
			deliverable, err := o.Runner.Deliverable(args.Outcome)
			if err != nil {
				return refused(err)
			}
			return mcp.ToolResult{Later: func(ctx context.Context, _ *mcp.Task) (mcp.ToolResult, error) {
				defer tick(c, o.Settings.Tier.Limits().Wall)()
				s, err := deliverable.Check(ctx)
				if err != nil {
					return refused(err)
				}
				text := encode(s)
				return mcp.ToolResult{Structured: text, Content: []mcp.Content{mcp.Text(string(text))}}, nil
			}}, nil
		},
	}
}

// submissionSchema is the schema of a runner.Submission, or a refusal.
const submissionSchema = `{"type":"object","properties":{
"ok":{"type":"boolean","description":"whether the structural checks passed"},"result":{"type":"string"},
"errors":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"},"found":{"type":"string"},"required":{"type":"string"},"code":{"type":"string"},"block":{"type":"integer"}},"required":["path","found","required","code"],"additionalProperties":false}},
"facts":{"type":"object","properties":{"kind":{"type":"string"},"tier":{"type":"string"},"backend":{"type":"string"},"interpreter":{"type":"object"},
"programs":{"type":"array","items":{"type":"object","properties":{"block":{"type":"integer","description":"counts from 1, in the order found"},"exit_code":{"type":"integer"},"witness_line":{"type":"boolean"},"stopped":{"type":"string"},"steps_used":` + integerOrNull + `,"step_budget_exceeded":{"type":"boolean"},"timed_out":{"type":"boolean"},"oom_killed":{"type":"boolean"},"digest":{"type":"string"}},"required":["block","exit_code","witness_line","stopped","steps_used","step_budget_exceeded","timed_out","oom_killed","digest"],"additionalProperties":false}},
"witness":{"type":"object","properties":{"block":{"type":"integer"},"polarity":{"type":"string"},"data":{"type":"object"},"literal":` + booleanOrNull + `},"required":["block","polarity","literal"],"additionalProperties":false}},"required":["programs"],"additionalProperties":false},
` + refusalSchema + `},"additionalProperties":false}`
