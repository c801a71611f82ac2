package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pdlt.dev/pdlt/mcp/internal/gate"
)

// tool is a tool with what is known of its arguments.
type tool struct {
	*Tool
	check arguments
}

func newTool(t *Tool) (*tool, error) {
	check, err := parseArguments(t.Input)
	if err != nil {
		return nil, fmt.Errorf("input schema of %s: %w", t.Name, err)
	}
	return &tool{t, check}, nil
}

type toolList struct {
	head
	Tools json.RawMessage `json:"tools"`
	*caching
	sdk.ResultBase
}

type listedTool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema,omitempty"`
}

// listing writes the tools that are listed, once for all answers.
func listing(tools []Tool) (json.RawMessage, error) {
	listed := []listedTool{}
	for _, t := range tools {
		if !t.Unlisted {
			listed = append(listed, listedTool{t.Name, t.Title, t.Description, t.Input, t.Output})
		}
	}
	return json.Marshal(listed)
}

func (d *dispatcher) listTools(r *gate.Request) (sdk.Result, error) {
	return &toolList{head: headFor(r), Tools: d.listed, caching: d.catalogue(r)}, nil
}

type toolResult struct {
	head
	Content    []Content       `json:"content"`
	Structured json.RawMessage `json:"structuredContent,omitempty"`
	IsError    bool            `json:"isError"` // written when false, too: the set-up check looks for it
	sdk.ResultBase
}

func (d *dispatcher) toolResult(r *gate.Request, res ToolResult) *toolResult {
	if res.Content == nil {
		res.Content = []Content{}
	}
	return &toolResult{head: headFor(r), Content: res.Content, Structured: res.Structured, IsError: res.IsError}
}

func (d *dispatcher) callTool(r *gate.Request) (sdk.Result, error) {
	t := d.tools[r.Name]
	if t == nil {
		names := []string{}
		for _, t := range d.p.Tools {
			if !t.Unlisted {
				names = append(names, t.Name)
			}
		}
		return nil, gate.Errorf(CodeInvalidParams, "Unknown tool: %s", cut(r.Name)).With(map[string]any{"tool": r.Name, "tools": names})
	}
	if t.Tasks == TaskAlways && !d.takesTasks(r) {
		return nil, MissingCapability(map[string]any{"extensions": map[string]any{tasksExtension: struct{}{}}})
	}
	if found := t.check.refusals(r.Arguments); found != "" {
		return d.toolResult(r, ToolResult{IsError: true, Content: []Content{Text(found)}}), nil
	}
	return d.rounds(r, func(c Call) (sdk.Result, *Ask, error) {
		res, err := t.Call(r.Context(), c)
		d.session(r).pass(r)
		if err == nil {
			err = res.check()
		}
		if err == nil && res.Ask == nil && res.Later != nil {
			late, err := d.later(r, t, res.Later)
			return late, nil, err
		}
		return d.toolResult(r, res), res.Ask, err
	})
}

// later does the rest of a call's work: as a task, if the client can take one, the work lasts, and there is room for it.
func (d *dispatcher) later(r *gate.Request, t *tool, work func(context.Context, *Task) (ToolResult, error)) (sdk.Result, error) {
	if t.Tasks != TaskNever && d.takesTasks(r) {
		if task := d.tasks.start(d, r, work); task != nil {
			return task.outlast(r)
		}
	}
	res, err := work(r.Context(), &Task{})
	if err == nil {
		err = res.check()
	}
	return d.toolResult(r, res), err
}
