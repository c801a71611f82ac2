package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pdlt.dev/pdlt/mcp"
)

// diary is an observer that can be told to fail.
type diary struct {
	mu                 sync.Mutex
	lines              []string
	failBegin, failEnd bool
}

func (d *diary) note(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) Begin(e mcp.Event) (func(mcp.Ending) error, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failBegin {
		return nil, errors.New("the disk is full")
	}
	d.note("begin %s %s", e.ID, e.Method)
	return func(x mcp.Ending) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		switch {
		case x.Err != nil:
			d.note("end %s error %d", e.ID, x.Err.Code)
		case x.Result != nil:
			d.note("end %s result", e.ID)
		default:
			d.note("end %s silence", e.ID)
		}
		if d.failEnd {
			return errors.New("the disk is full")
		}
		return nil
	}, nil
}

func (d *diary) Cancelled(params json.RawMessage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note("cancelled %s", params)
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

func TestEveryRequestIsObserved(t *testing.T) {
	w, d := newWorld(), &diary{}
	p := w.profile("agent")
	p.Observer = d
	c := serve(t, p).listen()
	c.send("no JSON\n" + `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}` + "\n")
	c.next()
	c.tool("1", "zulu", "a")
	c.next()
	c.call("2", "nothing", "")
	c.next()
	c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}` + "\n" + `{"jsonrpc":"1.0","id":4,"method":"x"}` + "\n")
	c.next()
	c.next()
	c.tool("5", "hold", "b")
	started(t, w, 1)
	c.cancel("5")
	c.quiet()
	want := []string{"begin 1 tools/call", "end 1 result", "begin 2 nothing", "end 2 error -32601", "begin 3 tools/list", "end 3 error -32602",
		"begin 4 x", "end 4 error -32600", "begin 5 tools/call", `cancelled {"requestId":5}`, "end 5 silence"}
	if got := d.read(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestWhatCannotBeLoggedDoesNotRun(t *testing.T) {
	w, d := newWorld(), &diary{failBegin: true}
	p := w.profile("agent")
	p.Observer = d
	c := serve(t, p).listen()
	c.tool("1", "zulu", "a")
	if a := c.answer(); a.Error == nil || a.Error.Code != mcp.CodeInternal || a.Error.Message != "call log not writable" || string(a.ID) != "1" {
		t.Errorf("%+v", a)
	}
	if ran := w.calls(); len(ran) > 0 {
		t.Errorf("%q ran", ran)
	}
	d.mu.Lock()
	d.failBegin, d.failEnd = false, true
	d.mu.Unlock()
	c.tool("1", "zulu", "a")
	if a := c.answer(); a.Error == nil || a.Error.Message != "call log not writable" {
		t.Errorf("a result that is not logged is given away: %+v", a)
	}
	d.mu.Lock()
	d.failEnd = false
	d.mu.Unlock()
	c.tool("1", "zulu", "a")
	if a := c.answer(); a.Error != nil {
		t.Errorf("the log is writable again: %+v", a)
	}
	c.quiet()
}

func TestAFaultIsAnsweredAndTheServerLives(t *testing.T) {
	w := newWorld()
	c := serve(t, w.profile("agent")).listen()
	for _, name := range []string{"panic", "fault", "no JSON"} {
		c.tool("1", name, "k")
		a := c.answer()
		if a.Error == nil || a.Error.Code != mcp.CodeInternal || strings.Contains(a.Error.Message, "on purpose") {
			t.Errorf("%s: %+v; want a fault that says nothing of its cause", name, a)
		}
	}
	c.tool("2", "zulu", "k")
	if a := c.answer(); a.Error != nil {
		t.Errorf("%+v", a)
	}
	c.quiet()
	if len(w.faults) != 3 || !strings.Contains(w.faults[0], "goroutine") || w.faults[1] != "on purpose" {
		t.Errorf("the operator is told %.300q", w.faults)
	}
}

func TestProgressIsRatedAndEndsBeforeTheResult(t *testing.T) {
	p := newWorld().profile("agent")
	p.Tools = append(p.Tools, mcp.Tool{Name: "progress", Input: json.RawMessage(`{}`), Call: func(_ context.Context, c mcp.Call) (mcp.ToolResult, error) {
		if c.Progress == nil {
			return mcp.ToolResult{Content: []mcp.Content{mcp.Text("no token")}}, nil
		}
		c.Progress(1, 10, "one")
		for i := range 1000 {
			c.Progress(2+float64(i)/1000, 10, "too soon, most of them")
		}
		time.Sleep(120 * time.Millisecond) // the interval is the property: it has to pass
		c.Progress(0.5, 10, "backwards")
		c.Progress(9, 10, "nine")
		go func() {
			for i := range 1000 {
				c.Progress(10+float64(i), 0, "after the result, most of them")
			}
		}()
		return mcp.ToolResult{}, nil
	}})
	for _, token := range []string{`"t"`, `9007199254740993`, `"\u0041"`} {
		c := serve(t, p).listen()
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress",` + strings.Replace(meta, `{`, `{"progressToken":`+token+`,`, 1) + "}}\n")
		got, err := c.end()
		if err != nil || len(got) < 3 || len(got) > 5 || !strings.Contains(got[len(got)-1], `"id":1`) {
			t.Fatalf("%q, %v", got, err)
		}
		last := -1.0
		for _, line := range got[:len(got)-1] {
			var note struct {
				Method string
				Params struct {
					ProgressToken json.RawMessage
					Progress      float64
				}
			}
			if err := json.Unmarshal([]byte(line), &note); err != nil || note.Method != "notifications/progress" || string(note.Params.ProgressToken) != token ||
				note.Params.Progress <= last {
				t.Errorf("%s after %g: %v", line, last, err)
			}
			last = note.Params.Progress
		}
	}
	c := serve(t, p).listen()
	c.call("1", "tools/call", `"name":"progress"`)
	if got, _ := c.end(); len(got) != 1 || !strings.Contains(got[0], "no token") {
		t.Errorf("without a token: %q", got)
	}
}

// listed is the _meta of a client that can take tasks.
var listed = strings.Replace(meta, `clientCapabilities":{}`, `clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1)

func (c *client) tasky(id, method, params string) answer {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s,%s}}`+"\n", id, method, params, listed))
	a := c.answer()
	if string(a.ID) != id {
		c.t.Fatalf("an answer to %s: %+v", id, a)
	}
	return a
}

func TestTasks(t *testing.T) {
	w := newWorld()
	c := serve(t, w.profile("agent")).listen()
	begin := func(key string) string {
		t.Helper()
		a := c.tasky("1", "tools/call", `"name":"later","arguments":{"key":"`+key+`"}`)
		if a.Result.ResultType != "task" || a.Result.Status != "working" || a.Result.TaskID == "" {
			t.Fatalf("%+v", a)
		}
		started(t, w, 1)
		return a.Result.TaskID
	}
	status := func(id string) string {
		t.Helper()
		return c.tasky("2", "tasks/get", `"taskId":"`+id+`"`).Result.Status
	}
	await := func(id, want string) {
		t.Helper()
		for until := time.Now().Add(patience); status(id) != want; {
			if time.Now().After(until) {
				t.Fatalf("the task is %s, want %s", status(id), want)
			}
		}
	}
	first := begin("a")
	c.cancel("1") // its request was answered: a task is not cancelled in this way
	if got := status(first); got != "working" {
		t.Errorf("after a cancellation of the request: %s", got)
	}
	close(w.gate("a"))
	await(first, "completed")

	second := begin("b")
	if a := c.tasky("3", "tasks/cancel", `"taskId":"`+second+`"`); a.Error != nil || a.Result.ResultType != "complete" || a.Result.TaskID != "" {
		t.Errorf("%+v", a)
	}
	await(second, "cancelled")
	ended(t, w, 1)
	begin("c")
	begin("d")

	// There is room for four. A fifth is done while the client waits.
	c.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"later","arguments":{"key":"e"},` + listed + "}}\n")
	started(t, w, 1)
	close(w.gate("e"))
	if a := c.answer(); a.Result.ResultType != "complete" || a.Result.TaskID != "" || a.Result.Content[0].Text != "released e" {
		t.Errorf("a fifth task: %+v", a)
	}
	if a := c.tasky("6", "tasks/get", `"taskId":"none"`); a.Error == nil || a.Error.Code != mcp.CodeInvalidParams {
		t.Errorf("an unknown task: %+v", a)
	}
	c.call("7", "tasks/get", `"taskId":"`+first+`"`)
	if a := c.answer(); a.Error == nil || a.Error.Code != mcp.CodeMissingCapability {
		t.Errorf("a client that did not declare tasks: %+v", a)
	}
	c.quiet() // two tasks are at work: nobody can ask for them any more
	ended(t, w, 2)
	if len(w.faults) > 0 {
		t.Errorf("a cancelled task is no fault: %q", w.faults)
	}
}

func TestShortWorkIsNoTask(t *testing.T) {
	w := newWorld()
	p := w.profile("agent")
	p.Tasks.After = patience
	close(w.gate("a"))
	c := serve(t, p).listen()
	if a := c.tasky("1", "tools/call", `"name":"later","arguments":{"key":"a"}`); a.Result.ResultType != "complete" || a.Result.Content[0].Text != "released a" {
		t.Errorf("%+v", a)
	}
	started(t, w, 1)
	// While it is not yet a task, a cancellation of the request is one of the work.
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"later","arguments":{"key":"b"},` + listed + "}}\n")
	started(t, w, 1)
	c.cancel("2")
	ended(t, w, 1)
	c.quiet()
}

func TestManyCallsAtOnceAreToldToWait(t *testing.T) {
	w := newWorld()
	c := serve(t, w.profile("agent")).listen()
	const room = 256
	listen := func(id, more string) (a answer) {
		c.call(id, "subscriptions/listen", `"notifications":{}`+more)
		return c.answer()
	}
	for i := range room { // streams take none of the room
		if a := listen(fmt.Sprintf(`"stream %d"`, i), ""); a.Error != nil || a.Method != "notifications/subscriptions/acknowledged" {
			t.Fatalf("%+v", a)
		}
	}
	if a := listen(`"too many"`, ""); a.Error == nil {
		t.Errorf("%+v", a)
	}
	c.cancel(`"stream 0"`)
	if a := listen(`"too long"`, `,"x":"`+strings.Repeat("x", 64<<10)+`"`); a.Error == nil || a.Error.Code != mcp.CodeInvalidParams {
		t.Errorf("%+v", a)
	}
	if a := listen(`"stream 0"`, ""); a.Error != nil {
		t.Errorf("%+v", a)
	}
	for i := range room {
		c.tool(fmt.Sprint(i), "hold", "all")
	}
	started(t, w, room)
	c.tool(`"more"`, "hold", "more")
	if a := c.answer(); string(a.ID) != `"more"` || a.Result.IsError == nil || !*a.Result.IsError || !strings.Contains(a.Result.Content[0].Text, "busy") {
		t.Errorf("%+v", a)
	}
	c.call(`"list"`, "tools/list", "")
	if a := c.answer(); string(a.ID) != `"list"` || a.Error != nil {
		t.Errorf("what is no call is still served: %+v", a)
	}
	close(w.gate("all"))
	if rest, err := c.end(); len(rest) != room || err != nil {
		t.Errorf("%d answers, %v; want %d", len(rest), err, room)
	}
	if slices.Contains(w.calls(), "more") {
		t.Error("the call that was told to wait ran")
	}
}

func TestResidency(t *testing.T) {
	w := newWorld()
	c := serve(t, w.profile("residency")).listen()
	c.tool("1", "hold", "a")
	c.tool("1", "hold", "b") // the same id: both are answered
	c.tool("2", "hold", "c")
	started(t, w, 3)
	c.cancel("2") // its answer is withheld, its work goes on
	c.tool("3", "zulu", "after")
	if a := c.answer(); string(a.ID) != "3" {
		t.Fatalf("%+v", a)
	}
	for _, k := range []string{"a", "b", "c"} {
		close(w.gate(k))
	}
	for range 2 {
		if a := c.answer(); string(a.ID) != "1" || a.Error != nil || !strings.HasPrefix(a.Result.Content[0].Text, "released") {
			t.Errorf("%+v", a)
		}
	}
	c.quiet()
	if len(w.ended) > 0 {
		t.Error("the work of a cancelled request saw its context end")
	}
}

// TestAStopWaitsForWorkThatRunsOn is law M36: what was begun is finished, however the server ends.
func TestAStopWaitsForWorkThatRunsOn(t *testing.T) {
	w := newWorld()
	c := serve(t, w.profile("residency")).listen()
	c.tool("1", "hold", "a")
	started(t, w, 1)
	c.stop(errors.New("a signal"))
	close(w.gate("a"))
	if a := c.answer(); string(a.ID) != "1" || a.Error != nil {
		t.Errorf("%+v", a)
	}
	if err := <-c.ended; err == nil {
		t.Error("Serve does not say that it was stopped")
	}
}

// TestAStreamBeginsWithItsAcknowledgement announces changes while streams are opened: none may hear of one before it was acknowledged.
func TestAStreamBeginsWithItsAcknowledgement(t *testing.T) {
	p := newWorld().profile("agent")
	p.Changes = []mcp.Change{mcp.ToolsChanged}
	stop := make(chan struct{})
	p.Tools = append(p.Tools, mcp.Tool{Name: "announce", Input: json.RawMessage(`{}`), Call: func(_ context.Context, c mcp.Call) (mcp.ToolResult, error) {
		for {
			select {
			case <-stop:
				return mcp.ToolResult{}, nil
			default:
				c.Changed(mcp.ToolsChanged, "")
			}
		}
	}})
	c := serve(t, p).listen()
	c.call(`"a"`, "tools/call", `"name":"announce"`)
	const streams = 50
	go func() {
		for i := range streams {
			fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},%s}}`+"\n", i, meta)
		}
	}()
	open := map[string]bool{}
	for len(open) < streams {
		var m struct {
			Method string
			Params struct {
				Meta map[string]json.RawMessage `json:"_meta"`
			}
		}
		if err := json.Unmarshal([]byte(c.next()), &m); err != nil {
			t.Fatal(err)
		}
		id := string(m.Params.Meta["io.modelcontextprotocol/subscriptionId"])
		switch m.Method {
		case "notifications/subscriptions/acknowledged":
			open[id] = true
		case "notifications/tools/list_changed":
			if !open[id] {
				t.Errorf("the stream %s hears of a change before it was acknowledged", id)
			}
		}
	}
	close(stop)
	rest, err := c.end()
	if err != nil || !slices.ContainsFunc(rest, func(line string) bool { return strings.Contains(line, `"id":"a"`) }) {
		t.Errorf("the call is not answered: %v", err)
	}
}
