package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

// logCommand is "pdlt log".
type logCommand struct {
	Files []string `arg:"" name:"file" help:"Call logs, oldest first."`

	Tool    string `placeholder:"NAME" help:"Only calls of this tool."`
	Outcome string `placeholder:"WORD" help:"Only calls that ended so: ${outcomes}."`
	Since   string `placeholder:"TIME" help:"Only calls from this moment on: 2026-10-15, 2026-10-15T12:00:00 or with an offset; UTC without one."`
	Until   string `placeholder:"TIME" help:"Only calls before this moment."`
	JSON    bool   `name:"json" help:"Print the lines of the log as they stand there, those of one call together."`
}

// Help is printed below the usage line.
func (*logCommand) Help() string {
	return "A call is printed when its answer is found; those without one come last. Nothing that a log contains can steer a terminal. " +
		"Lines that are no records are named on standard error and passed over."
}

// outcomes are how a call can end: with a result, with a protocol error, refused as the caller can fix it, without an answer in the log, or as its
// program was stopped.
var outcomes = []string{"ok", "error", "refused", "unanswered", string(confine.StoppedWall), string(confine.StoppedCPU), string(confine.StoppedMemory),
	string(confine.StoppedPids), string(confine.StoppedDisk), string(confine.StoppedOutput), string(confine.StoppedSteps), string(confine.StoppedSignal),
	string(confine.StoppedDenied), string(confine.StoppedCancelled), string(confine.StoppedLost)}

// outstanding is how many calls without an answer are held back: more than a server has open at once. The oldest is given up first.
const outstanding = 1000

func (c *logCommand) run(a *app) int {
	p := printer{command: c, out: bufio.NewWriter(a.stdout)}
	var err error
	if p.since, err = parseTime("--since", c.Since); err == nil {
		p.until, err = parseTime("--until", c.Until)
	}
	if err == nil && c.Outcome != "" && !slices.Contains(outcomes, c.Outcome) {
		err = refuse(codeFlag, "--outcome", strconv.Quote(c.Outcome), "one of "+strings.Join(outcomes, ", "))
	}
	for _, path := range c.Files {
		if err == nil {
			err = p.file(a, path)
		}
	}
	if flushed := p.out.Flush(); err == nil && flushed != nil {
		err = &outletError{flushed}
	}
	if err != nil {
		return a.failed(err, false)
	}
	return exitOK
}

// printer prints the calls that the flags ask for.
type printer struct {
	command      *logCommand
	out          *bufio.Writer
	since, until time.Time // zero is none
	pending      []*call   // without an answer yet, oldest first
}

// call is a request and its answer, if there is one.
type call struct {
	at                time.Time
	request, response *provenance.Event // response may be nil
	lines             [][]byte
}

func (p *printer) file(a *app, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return refuse(codeLog, path, err.Error(), "a call log")
	}
	defer f.Close()
	for line, err := range provenance.ReadLog(f) {
		if err != nil {
			return refuse(codeLog, path, err.Error(), "a call log")
		}
		if line.Damage != nil {
			a.say(fmt.Sprintf("%s:%d: no record: %s", printable(path), line.Number, printable(line.Damage.Error())))
			continue
		}
		if err := p.take(line); err != nil {
			return err
		}
	}
	for _, c := range p.pending {
		if err := p.print(c); err != nil {
			return err
		}
	}
	p.pending = nil
	return nil
}

// take adds a record to its call, and prints the call when it is whole.
func (p *printer) take(l provenance.Line) error {
	text := slices.Clone(l.Text)
	same := func(c *call) bool { return c.request.Seq == l.Event.Seq }
	if l.Event.Phase == provenance.ResponsePhase {
		// An answer whose request is not in the log stands for itself.
		c := &call{at: l.Time, request: &provenance.Event{Seq: l.Event.Seq, Method: l.Event.Method, Name: l.Event.Name}}
		if i := slices.IndexFunc(p.pending, same); i >= 0 {
			c = p.remove(i)
		}
		c.response = &l.Event
		c.lines = append(c.lines, text)
		return p.print(c)
	}
	c := &call{at: l.Time, request: &l.Event, lines: [][]byte{text}}
	if len(l.Event.ID) == 0 {
		return p.print(c) // a notification: there is no answer to wait for
	}
	p.pending = append(p.pending, c)
	// Numbers begin again when another server appends to the same file: nothing answers the old call any more.
	if i := slices.IndexFunc(p.pending, same); i < len(p.pending)-1 {
		return p.print(p.remove(i))
	}
	if len(p.pending) > outstanding {
		return p.print(p.remove(0))
	}
	return nil
}

func (p *printer) remove(i int) *call {
	c := p.pending[i]
	p.pending = slices.Delete(p.pending, i, i+1)
	return c
}

// outcome is one of outcomes, or "notification".
func (c *call) outcome() string {
	r := c.response
	switch {
	case r == nil && len(c.request.ID) == 0:
		return "notification"
	case r == nil:
		return "unanswered"
	case r.Cancelled:
		return string(confine.StoppedCancelled)
	case r.OK == nil || !*r.OK:
		return "error"
	case r.IsError != nil && *r.IsError:
		return "refused"
	}
	var facts struct {
		Stopped            confine.Stopped
		TimedOut           bool `json:"timed_out"`
		StepBudgetExceeded bool `json:"step_budget_exceeded"`
		OOMKilled          bool `json:"oom_killed"`
	}
	_ = json.Unmarshal(r.Result, &facts) // what is no program's result leaves them unset
	switch {
	case facts.Stopped != confine.StoppedNone && slices.Contains(outcomes, string(facts.Stopped)):
		return string(facts.Stopped)
	case facts.TimedOut:
		return string(confine.StoppedWall)
	case facts.StepBudgetExceeded:
		return string(confine.StoppedSteps)
	case facts.OOMKilled:
		return string(confine.StoppedMemory)
	}
	return "ok"
}

func (p *printer) wants(c *call) bool {
	return (p.command.Tool == "" || c.request.Method == "tools/call" && c.request.Name == p.command.Tool) &&
		(p.command.Outcome == "" || c.outcome() == p.command.Outcome) &&
		(p.since.IsZero() || !c.at.Before(p.since)) && (p.until.IsZero() || c.at.Before(p.until))
}

func (p *printer) print(c *call) error {
	if !p.wants(c) {
		return nil
	}
	var b bytes.Buffer
	if p.command.JSON {
		for _, line := range c.lines {
			b.Write(append(line, '\n'))
		}
	} else {
		c.print(&b)
	}
	if _, err := p.out.Write(b.Bytes()); err != nil {
		return &outletError{err}
	}
	return nil
}

// print prints a call for people: one line that says what and how it ended, and below it what was asked and what came of it.
func (c *call) print(b *bytes.Buffer) {
	what := c.request.Method
	if c.request.Name != "" {
		what += " " + c.request.Name
	}
	how := c.outcome()
	if r := c.response; r != nil && r.DurationMS != "" {
		how += ", " + r.DurationMS.String() + " ms"
	}
	fmt.Fprintf(b, "%s  #%d  %s  %s\n", c.at.UTC().Format("2006-01-02 15:04:05.000"), c.request.Seq, printable(what), printable(how))
	asked := c.request.Params
	if k, params, err := jsonx.Scan(asked, jsonx.Bounds{}); err == nil && k == jsonx.Object && c.request.Method == "tools/call" {
		asked = params.Get("arguments")
	}
	details(b, asked)
	omitted(b, "arguments", c.request.ArgumentsBytes, c.request.ArgumentsSHA256)
	omitted(b, "parameters", c.request.ParamsBytes, c.request.ParamsSHA256)
	if r := c.response; r != nil {
		if r.Error != nil {
			fmt.Fprintf(b, "  = %d: %s\n", r.Error.Code, printable(r.Error.Message))
		}
		if len(r.Result) > 0 {
			fmt.Fprintf(b, "  = %s\n", printable(string(r.Result)))
		}
		omitted(b, "result", r.ResultBytes, r.ResultSHA256)
	}
}

// details prints the members of an object, texts as they are, line by line.
func details(b *bytes.Buffer, raw []byte) {
	k, members, err := jsonx.Scan(raw, jsonx.Bounds{})
	if err != nil || k != jsonx.Object {
		if len(raw) > 0 {
			fmt.Fprintf(b, "  %s\n", printable(string(raw)))
		}
		return
	}
	for _, m := range members {
		var text string
		if m.Raw[0] != '"' || json.Unmarshal(m.Raw, &text) != nil {
			text = string(m.Raw)
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) == 1 {
			fmt.Fprintf(b, "  %s: %s\n", printable(m.Name), printable(lines[0]))
			continue
		}
		fmt.Fprintf(b, "  %s:\n", printable(m.Name))
		for _, l := range lines {
			fmt.Fprintf(b, "    | %s\n", printable(l))
		}
	}
}

func omitted(b *bytes.Buffer, what string, n int, sha string) {
	if n != 0 {
		fmt.Fprintf(b, "  %s of %d bytes, sha256 %s\n", what, n, printable(sha))
	}
}

// printable gives a text with escapes for all that does not print: nothing in it ends a line, steers a terminal or turns the direction of writing.
func printable(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '\t':
			b.WriteString("    ")
		case !strconv.IsPrint(r) && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		case !strconv.IsPrint(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// parseTime reads a moment; an empty text gives none.
func parseTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, refuse(codeFlag, flag, strconv.Quote(text), "a moment such as 2026-10-15, 2026-10-15T12:00:00 or 2026-10-15T12:00:00+02:00")
}
