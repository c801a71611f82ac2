package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/mcp/internal/gate"
)

// Prompt is a prompt.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
	// Get makes the messages. It is called with the arguments that are declared, the required ones among them.
	Get func(context.Context, Call, map[string]string) (PromptResult, error)
}

// PromptArgument is an argument of a prompt. All are strings.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// PromptResult is what a prompt gives: messages, or an Ask.
type PromptResult struct {
	Description string
	Messages    []Message
	Ask         *Ask
}

// Message is a message of a prompt.
type Message struct {
	Role    string  `json:"role"` // user or assistant
	Content Content `json:"content"`
}

type promptList struct {
	head
	Prompts []listedPrompt `json:"prompts"`
	*caching
	sdk.ResultBase
}

type listedPrompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
}

func (d *dispatcher) listPrompts(r *gate.Request) (sdk.Result, error) {
	list := &promptList{head: headFor(r), Prompts: []listedPrompt{}, caching: d.catalogue(r)}
	for _, p := range d.p.Prompts {
		list.Prompts = append(list.Prompts, listedPrompt{p.Name, p.Title, p.Description, p.Arguments})
	}
	return list, nil
}

type promptResult struct {
	head
	Description string    `json:"description,omitempty"`
	Messages    []Message `json:"messages"`
	sdk.ResultBase
}

func (d *dispatcher) getPrompt(r *gate.Request) (sdk.Result, error) {
	p := d.prompts[r.Name]
	if p == nil {
		return nil, gate.Errorf(CodeInvalidParams, "Unknown prompt: %s", cut(r.Name)).With(map[string]any{"prompt": r.Name})
	}
	_, given, err := jsonx.Scan(r.Arguments, jsonx.Bounds{Depth: len(r.Arguments) + 1})
	if err != nil {
		return nil, err // cannot happen: the line has been scanned
	}
	args := map[string]string{}
	for _, a := range p.Arguments {
		raw := given.Get(a.Name)
		if raw == nil && a.Required || raw != nil && raw[0] != '"' {
			return nil, gate.Errorf(CodeInvalidParams, "$.params.arguments.%s is not a string", a.Name).
				With(map[string]any{"prompt": p.Name, "argument": a.Name})
		}
		if raw != nil {
			args[a.Name] = textOf(given, a.Name)
		}
	}
	for _, m := range given {
		if _, declared := args[m.Name]; !declared {
			return nil, gate.Errorf(CodeInvalidParams, "the prompt has no argument %s", shown(m.Name)).
				With(map[string]any{"prompt": p.Name, "argument": m.Name})
		}
	}
	return d.rounds(r, func(c Call) (sdk.Result, *Ask, error) {
		res, err := p.Get(r.Context(), c, args)
		if err == nil {
			err = res.Ask.check()
		}
		return &promptResult{head: headFor(r), Description: res.Description, Messages: res.Messages}, res.Ask, err
	})
}

// Complete proposes values for an argument of the prompt or resource template that ref, an object, names. At most 100 of them are
// given to the client.
type Complete func(ctx context.Context, ref json.RawMessage, argument, value string) (values []string, err error)

// maxValues is the protocol's own bound.
const maxValues = 100

type completion struct {
	head
	Completion struct {
		Values []string `json:"values"`
		Total  int      `json:"total"`
		More   bool     `json:"hasMore"`
	} `json:"completion"`
	sdk.ResultBase
}

func (d *dispatcher) complete(r *gate.Request) (sdk.Result, error) {
	kind, argument, err := jsonx.Scan(r.Fields.Get("argument"), jsonx.Bounds{})
	if err != nil || kind != jsonx.Object {
		return nil, gate.Errorf(CodeInvalidParams, "$.params.argument is not an object")
	}
	values, err := d.p.Complete(r.Context(), r.Fields.Get("ref"), textOf(argument, "name"), textOf(argument, "value"))
	if err != nil {
		return nil, err
	}
	res := &completion{head: headFor(r)}
	res.Completion.Total, res.Completion.More = len(values), len(values) > maxValues
	res.Completion.Values = append([]string{}, values[:min(len(values), maxValues)]...)
	return res, nil
}
