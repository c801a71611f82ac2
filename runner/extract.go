package runner

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/internal/jsonx"
)

//go:embed extract.py
var extractSource []byte

// readerWall is how long a reader of ours may look at a text: specification §4.1.
const readerWall = 5 * time.Second

// Extract finds the programs of a body, in order: specification §4. The interpreter that will run them says what it accepts, in a cell, since a
// parser that reads untrusted text is a program like any other. A text on which it crashes or does not end counts as one that it does not accept.
// An error is one of [Executor].
func Extract(ctx context.Context, x Executor, t Tier, body string) ([]string, error) {
	answer, err := ask(ctx, x, t, false, extractSource, "body", confine.File{Name: "body.txt", Data: []byte(body)})
	if err != nil {
		return nil, err
	}
	if answer.Str == "module" {
		return []string{body}, nil
	}
	programs := fenced(body)
	if len(programs) == 0 && answer.Str == "broken" {
		return []string{body}, nil // it runs, so that its syntax error is reported with its line
	}
	return programs, nil
}

// ask runs a reader of ours over files in a cell. The reader answers with one JSON object of one member, whose value is returned; null
// is the answer of a reader that crashed, was stopped or said anything else.
func ask(ctx context.Context, x Executor, t Tier, begun bool, reader []byte, member string, files ...confine.File) (jsonx.Value, error) {
	const entry = "reader.py"
	limits := t.Limits()
	limits.Wall, limits.CPU, limits.Steps = readerWall, cpuFor(readerWall), 0
	res, err := x.Execute(ctx, Job{Program: confine.Program{Files: append(files, confine.File{Name: entry, Data: reader}), Entry: entry},
		Policy: t.Policy(), Limits: limits, Begun: begun})
	switch {
	case err != nil:
		return jsonx.Value{}, err
	case res.Outcome.Stopped == confine.StoppedCancelled:
		return jsonx.Value{}, fmt.Errorf("read a text: %w", cancelled(ctx))
	case !res.Outcome.Clean():
		return jsonx.Value{}, nil
	}
	v, err := jsonx.Parse([]byte(res.Outcome.Stdout.Text), jsonx.Bounds{})
	if answer, ok := v.Get(member); err == nil && ok && len(v.Members) == 1 {
		return answer, nil
	}
	return jsonx.Value{}, nil
}

// cancelled is why a program was cancelled. Its confiner was closed when it was not ctx.
func cancelled(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return confine.ErrClosed
}
