package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"pdlt.dev/pdlt/mcp"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// patience is how long a test waits for what must come. It is no measure of anything: a machine that needs longer is broken.
const patience = 60 * time.Second

// What transcripts abbreviate, and the short fixed list of what they mask.
var (
	meta       = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	serverInfo = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"wire","version":"1"}}`
	masks      = []struct {
		re   *regexp.Regexp
		text string
	}{
		{regexp.MustCompile(`internal fault [A-Z2-7]{12}`), "internal fault FAULT"},
		{regexp.MustCompile(`"taskId":"[A-Z2-7]{26}"`), `"taskId":"TASK"`},
		{regexp.MustCompile(`"(createdAt|lastUpdatedAt)":"[^"]*"`), `"$1":"TIME"`},
	}
)

func expand(s string) string {
	return strings.NewReplacer("$M", meta, "$S", serverInfo).Replace(s)
}

func abbreviate(s string) string {
	for _, m := range masks {
		s = m.re.ReplaceAllString(s, m.text)
	}
	return strings.NewReplacer(meta, "$M", serverInfo, "$S").Replace(s)
}

// world is what the tools of the test profiles act on.
type world struct {
	mu      sync.Mutex
	ran     []string // the keys of the calls that ran, in order
	started chan string
	ended   chan string // calls whose context ended
	release map[string]chan struct{}
	faults  []string
}

func newWorld() *world {
	return &world{started: make(chan string, 100_000), ended: make(chan string, 100_000), release: map[string]chan struct{}{}}
}

// gate gives what a held call waits for.
func (w *world) gate(key string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.release[key] == nil {
		w.release[key] = make(chan struct{})
	}
	return w.release[key]
}

func (w *world) calls() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ran)
}

func (w *world) profile(name string) mcp.Profile {
	keyed := json.RawMessage(`{"type":"object","properties":{"key":{"type":"string"},"n":{"type":"integer"}},"required":["key"],"additionalProperties":false}`)
	run := func(c mcp.Call) string {
		var a struct{ Key string }
		_ = json.Unmarshal(c.Arguments, &a)
		w.mu.Lock()
		w.ran = append(w.ran, a.Key)
		w.mu.Unlock()
		return a.Key
	}
	hold := func(ctx context.Context, c mcp.Call, stubborn bool) (mcp.ToolResult, error) {
		key := run(c)
		w.started <- key
		done := ctx.Done()
		if stubborn {
			done = nil
		}
		select {
		case <-w.gate(key):
			return mcp.ToolResult{Content: []mcp.Content{mcp.Text("released " + key)}}, nil
		case <-done:
			w.ended <- key
			return mcp.ToolResult{}, ctx.Err()
		}
	}
	p := mcp.Profile{
		Name: "wire", Version: "1", Modern: []string{mcp.Revision20260728},
		Fault: func(_ string, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.faults = append(w.faults, err.Error())
		},
		Tools: []mcp.Tool{
			{Name: "zulu", Description: "first", Input: keyed, Call: func(_ context.Context, c mcp.Call) (mcp.ToolResult, error) {
				return mcp.ToolResult{Content: []mcp.Content{mcp.Text("ran " + run(c))}}, nil
			}},
			{Name: "echo", Description: "second", Input: json.RawMessage(`{"type":"object"}`), Call: func(_ context.Context, c mcp.Call) (mcp.ToolResult, error) {
				run(c)
				return mcp.ToolResult{Structured: c.Arguments}, nil
			}},
			{Name: "hold", Unlisted: true, Input: keyed, Call: func(ctx context.Context, c mcp.Call) (mcp.ToolResult, error) { return hold(ctx, c, false) }},
			{Name: "stubborn", Unlisted: true, Input: keyed, Call: func(ctx context.Context, c mcp.Call) (mcp.ToolResult, error) { return hold(ctx, c, true) }},
			{Name: "panic", Unlisted: true, Input: keyed, Call: func(context.Context, mcp.Call) (mcp.ToolResult, error) { panic("on purpose") }},
			{Name: "fault", Unlisted: true, Input: keyed, Call: func(context.Context, mcp.Call) (mcp.ToolResult, error) {
				return mcp.ToolResult{}, errors.New("on purpose")
			}},
			{Name: "no JSON", Unlisted: true, Input: keyed, Call: func(context.Context, mcp.Call) (mcp.ToolResult, error) {
				return mcp.ToolResult{Structured: json.RawMessage("{on purpose}")}, nil
			}},
			{Name: "later", Unlisted: true, Input: keyed, Tasks: mcp.TaskMaybe, Call: func(_ context.Context, c mcp.Call) (mcp.ToolResult, error) {
				return mcp.ToolResult{Later: func(ctx context.Context, _ *mcp.Task) (mcp.ToolResult, error) { return hold(ctx, c, false) }}, nil
			}},
		},
		Tasks:     &mcp.Tasks{Max: 4, TTL: time.Hour, Poll: time.Second},
		Resources: texts{"test://empty": "", "test://full": "full"},
	}
	switch name {
	case "", "agent":
		p.Legacy = []string{mcp.Revision20251125, mcp.Revision20250618, mcp.Revision20241105}
	case "residency":
		p.TooLong, p.AnyID, p.SharedIDs, p.RunOn, p.Tasks = mcp.CodeUnreadable, true, true, true, nil
		p.Discovery = map[string]json.RawMessage{"com.example/profile": json.RawMessage(`{"v":1}`)}
	case "full":
		p.Legacy = []string{mcp.Revision20251125}
		p.Changes, p.Logging = []mcp.Change{mcp.ToolsChanged, mcp.ResourceUpdated}, true
		p.Complete = func(_ context.Context, ref json.RawMessage, argument, value string) ([]string, error) {
			return slices.Repeat([]string{value + "!"}, 101), nil
		}
		who := mcp.Question{Key: "who", Method: "elicitation/create", Params: json.RawMessage(`{"message":"Who?"}`)}
		p.Prompts = []mcp.Prompt{{Name: "greet", Arguments: []mcp.PromptArgument{{Name: "how", Required: true}, {Name: "where"}},
			Get: func(_ context.Context, c mcp.Call, args map[string]string) (mcp.PromptResult, error) {
				if c.Answers["who"] == nil {
					return mcp.PromptResult{Ask: &mcp.Ask{Questions: []mcp.Question{who}}}, nil
				}
				return mcp.PromptResult{Messages: []mcp.Message{{Role: "user", Content: mcp.Text(args["how"] + " " + string(c.Answers["who"]))}}}, nil
			}}}
		p.Tools = append(p.Tools, mcp.Tool{Name: "asking", Unlisted: true, Input: json.RawMessage(`{}`), Call: func(_ context.Context, c mcp.Call) (mcp.ToolResult, error) {
			if c.Answers["who"] == nil {
				return mcp.ToolResult{Ask: &mcp.Ask{Questions: []mcp.Question{who}, State: "s"}}, nil
			}
			return mcp.ToolResult{Content: []mcp.Content{mcp.Text(c.State + " " + string(c.Answers["who"]))}}, nil
		}}, mcp.Tool{Name: "changing", Unlisted: true, Input: json.RawMessage(`{}`), Call: func(_ context.Context, c mcp.Call) (mcp.ToolResult, error) {
			c.Log("debug", "noise")
			c.Log("warning", "a change")
			c.Changed(mcp.ToolsChanged, "")
			c.Changed(mcp.PromptsChanged, "") // not among those that are announced
			c.Changed(mcp.ResourceUpdated, "test://full")
			return mcp.ToolResult{}, nil
		}})
	default:
		panic("no profile " + name)
	}
	return p
}

// texts are resources that have pages of one.
type texts map[string]string

func (texts) Paged() bool { return true }

func (x texts) List(_ context.Context, cursor string) ([]mcp.Resource, string, error) {
	switch cursor {
	case "":
		return []mcp.Resource{{URI: "test://empty", Name: "empty"}}, "page 2", nil
	case "page 2":
		return []mcp.Resource{{URI: "test://full", Name: "full"}}, "", nil
	}
	return nil, "", mcp.ErrBadCursor
}

func (texts) Templates(context.Context) ([]mcp.Template, error) { return nil, nil }

func (x texts) Read(_ context.Context, uri string) ([]mcp.Contents, error) {
	body, ok := x[uri]
	if !ok {
		return nil, mcp.ErrNoResource
	}
	return []mcp.Contents{{URI: uri, Name: strings.TrimPrefix(uri, "test://"), MIMEType: "text/plain", Text: body}}, nil
}

// client is a client on real pipes.
type client struct {
	t     *testing.T
	in    *os.File
	out   *os.File
	lines chan string
	stop  context.CancelCauseFunc
	ended chan error
}

func serve(t *testing.T, p mcp.Profile) *client {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	c := &client{t: t, in: inW, out: outR, lines: make(chan string, 100_000), stop: stop, ended: make(chan error, 1)}
	go func() {
		err := mcp.Serve(ctx, p, inR, outW)
		outW.Close()
		c.ended <- err
	}()
	t.Cleanup(func() {
		stop(nil)
		inW.Close()
		inR.Close()
		outR.Close()
	})
	return c
}

// listen starts to read what the server writes.
func (c *client) listen() *client {
	go func() {
		defer close(c.lines)
		for r := bufio.NewReaderSize(c.out, 1<<16); ; {
			line, err := r.ReadString('\n')
			if line != "" {
				c.lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				return
			}
		}
	}()
	return c
}

func (c *client) send(raw string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, raw); err != nil {
		c.t.Fatal(err)
	}
}

// call sends a modern request.
func (c *client) call(id, method, params string) {
	c.t.Helper()
	if params != "" {
		params += ","
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`+"\n", id, method, params, meta))
}

func (c *client) tool(id, name, key string) {
	c.t.Helper()
	c.call(id, "tools/call", fmt.Sprintf(`"name":%q,"arguments":{"key":%q}`, name, key))
}

func (c *client) cancel(id string) {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}` + "\n")
}

// next gives the next line of the server.
func (c *client) next() string {
	c.t.Helper()
	select {
	case line, open := <-c.lines:
		if !open {
			c.t.Fatal("the server has ended")
		}
		return line
	case <-time.After(patience):
		c.t.Fatal("the server says nothing")
	}
	return ""
}

// answer is a response as a test reads it.
type answer struct {
	ID     json.RawMessage
	Method string
	Result struct {
		ResultType, TaskID, Status string
		IsError                    *bool
		StructuredContent          json.RawMessage
		Content                    []struct{ Text string }
	}
	Error *mcp.Error
}

func (c *client) answer() (a answer) {
	c.t.Helper()
	line := c.next()
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		c.t.Fatalf("not a message: %.200q: %v", line, err)
	}
	return a
}

// end closes the server's input and gives all that it still says, once it has returned.
func (c *client) end() (rest []string, err error) {
	c.t.Helper()
	c.in.Close()
	for {
		select {
		case line, open := <-c.lines:
			if !open {
				return rest, <-c.ended
			}
			rest = append(rest, line)
		case <-time.After(patience):
			c.t.Fatal("the server does not end")
		}
	}
}

// quiet ends the server and fails if it had anything left to say.
func (c *client) quiet() {
	c.t.Helper()
	if rest, err := c.end(); len(rest) > 0 || err != nil {
		c.t.Errorf("at the end: %q, %v; want silence", rest, err)
	}
}

func started(t *testing.T, w *world, n int) {
	t.Helper()
	count(t, w.started, n, "start")
}

func ended(t *testing.T, w *world, n int) {
	t.Helper()
	count(t, w.ended, n, "end")
}

func count(t *testing.T, c chan string, n int, what string) {
	t.Helper()
	for i := range n {
		select {
		case <-c:
		case <-time.After(patience):
			t.Fatalf("%d of %d calls did %s", i, n, what)
		}
	}
}

// TestTranscripts replays the conversations of testdata/wire. A step is what the client sends and then what the server says to it, in any
// order. A client line that begins with ! is a Go string of raw bytes.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := ""
			if a.Files[0].Name == "profile" {
				name = strings.TrimSpace(string(a.Files[0].Data))
			}
			c := serve(t, newWorld().profile(name)).listen()
			for i := range a.Files {
				f := &a.Files[i]
				switch f.Name {
				case "client":
					for line := range strings.Lines(string(f.Data)) {
						c.send(bytesOf(t, line))
					}
				case "server", "end":
					got := c.collect(strings.Count(string(f.Data), "\n"), f.Name == "end")
					if *update {
						f.Data = []byte(got)
					} else if d := cmp.Diff(sorted(string(f.Data)), sorted(got)); d != "" {
						t.Errorf("step %d: the server says something else (-want +got):\n%s", i, d)
					}
				}
			}
			if a.Files[len(a.Files)-1].Name != "end" {
				c.quiet()
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func bytesOf(t *testing.T, line string) string {
	if !strings.HasPrefix(line, "!") {
		return expand(line)
	}
	raw, err := strconv.Unquote(strings.TrimSpace(line[1:]))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return expand(raw)
}

// collect gives n lines, or all up to the end of the server. While transcripts are written anew it waits for silence instead of n.
func (c *client) collect(n int, end bool) string {
	var got []string
	switch {
	case end:
		rest, err := c.end()
		if err != nil {
			c.t.Error(err)
		}
		got = rest
	case *update:
		for quiet := false; !quiet; {
			select {
			case line := <-c.lines:
				got = append(got, line)
			case <-time.After(300 * time.Millisecond):
				quiet = true
			}
		}
	default:
		for range n {
			got = append(got, c.next())
		}
	}
	var b strings.Builder
	for _, line := range got {
		b.WriteString(abbreviate(line) + "\n")
	}
	return sorted(b.String())
}

func sorted(s string) string {
	lines := slices.Sorted(strings.Lines(s))
	return strings.Join(lines, "")
}

// TestSetUpCheck is the check of the README: two lines piped in, two lines out, as they come from any shell.
func TestSetUpCheck(t *testing.T) {
	lines := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"check","version":"0"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"zulu","arguments":{"key":"42"}}}`,
	}
	for name, form := range map[string]struct{ bom, end, last string }{
		"lines": {"", "\n", "\n"}, "CRLF": {"", "\r\n", "\r\n"}, "a byte-order mark": {"\ufeff", "\r\n", "\r\n"}, "no last newline": {"", "\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range 200 {
				c := serve(t, newWorld().profile("agent")).listen()
				c.send(form.bom + lines[0] + form.end + lines[1] + form.last)
				got, err := c.end()
				if err != nil || len(got) != 2 || !strings.Contains(got[0], `"serverInfo":{"name":"wire"`) ||
					!strings.Contains(got[1], "ran 42") || !strings.Contains(got[1], `"isError":false`) {
					t.Fatalf("run %d: %q, %v", i, got, err)
				}
			}
		})
	}
}

func TestACancelledIDIsUsedAgain(t *testing.T) {
	w := newWorld()
	c := serve(t, w.profile("agent")).listen()
	for i := range 200 {
		key := strconv.Itoa(i)
		c.tool("7", "stubborn", key) // work that ignores the cancellation and ends later
		started(t, w, 1)
		c.cancel("7")
		c.tool("7", "zulu", "again")
		if a := c.answer(); string(a.ID) != "7" || a.Error != nil || a.Result.Content[0].Text != "ran again" {
			t.Fatalf("round %d: %+v", i, a)
		}
		close(w.gate(key))
		c.cancel("7") // late: nothing is in use
		c.cancel("8") // unknown, and used right after
		c.tool("8", "zulu", "next")
		if a := c.answer(); string(a.ID) != "8" || a.Error != nil {
			t.Fatalf("round %d: %+v", i, a)
		}
	}
	c.quiet()
}

func TestHalfOfAHundredIsCancelled(t *testing.T) {
	w := newWorld()
	c := serve(t, w.profile("agent")).listen()
	for i := range 100 {
		c.tool(strconv.Itoa(i), "hold", strconv.Itoa(i))
	}
	started(t, w, 100)
	for i := 0; i < 100; i += 2 {
		c.cancel(strconv.Itoa(i))
	}
	ended(t, w, 50)
	c.call(`"ping"`, "server/discover", "") // after the last cancellation
	if a := c.answer(); string(a.ID) != `"ping"` {
		t.Fatalf("%+v", a)
	}
	for i := range 100 {
		close(w.gate(strconv.Itoa(i)))
	}
	got := map[string]int{}
	for range 50 {
		a := c.answer()
		got[string(a.ID)]++
		if n, err := strconv.Atoi(string(a.ID)); err != nil || n%2 == 0 || a.Error != nil || got[string(a.ID)] > 1 {
			t.Errorf("%+v", a)
		}
	}
	c.quiet()
}

func TestTheEndOfInputDrains(t *testing.T) {
	w := newWorld()
	c := serve(t, w.profile("agent")).listen()
	c.tool("1", "hold", "a")
	c.call("2", "subscriptions/listen", `"notifications":{}`)
	started(t, w, 1)
	if a := c.answer(); a.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("%+v", a)
	}
	c.in.Close()
	select {
	case line := <-c.lines:
		t.Fatalf("said before the call was done: %s", line)
	case err := <-c.ended:
		t.Fatalf("ended before the call was done: %v", err)
	default:
	}
	close(w.gate("a"))
	if rest, err := c.end(); len(rest) != 1 || !strings.Contains(rest[0], "released a") || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestAStoppedServerLeavesNothingBehindThatListens(t *testing.T) {
	why := errors.New("a signal")
	for name, stop := range map[string]func(*client){
		"context":         func(c *client) { c.stop(why) },
		"a broken reader": func(c *client) { c.out.Close(); c.call("9", "server/discover", "") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			c := serve(t, w.profile("agent"))
			c.tool("1", "hold", "a")
			c.tool("2", "later", "b")
			started(t, w, 2)
			stop(c)
			ended(t, w, 2)
			select {
			case err := <-c.ended:
				if err == nil || name == "context" && !errors.Is(err, why) {
					t.Errorf("Serve returned %v", err)
				}
			case <-time.After(patience):
				t.Fatal("the server does not end")
			}
		})
	}
}

func TestALineThatIsTooLong(t *testing.T) {
	const max = 8 << 20
	for profile, code := range map[string]int{"agent": mcp.CodeInvalid, "residency": mcp.CodeUnreadable} {
		t.Run(profile, func(t *testing.T) {
			w := newWorld()
			c := serve(t, w.profile(profile)).listen()
			smuggled := `{"jsonrpc":"2.0","id":666,"method":"tools/call","params":{"name":"zulu","arguments":{"key":"smuggled"},` + meta + `}}`
			long := `{"jsonrpc":"2.0","id":1,"x":"` + strings.Repeat("x", max) + smuggled
			c.send(long + "\n")
			if a := c.answer(); a.Error == nil || a.Error.Code != code || string(a.ID) != "null" {
				t.Fatalf("%+v", a)
			}
			c.tool("2", "zulu", "next")
			if a := c.answer(); string(a.ID) != "2" || a.Error != nil {
				t.Fatalf("the next line: %+v", a)
			}
			if profile == "residency" {
				return // the rest is the same line reader
			}
			frame := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"a":"%s"},` + meta + `}}`
			fits := fmt.Sprintf(frame, strings.Repeat("y", max-len(frame)+1)) // with its newline 8 MiB
			c.send(fits + "\n")
			if a := c.answer(); string(a.ID) != "3" || a.Error != nil || len(a.Result.StructuredContent) < max-1000 {
				t.Fatalf("a line of %d bytes: id %s, %v", len(fits)+1, a.ID, a.Error)
			}
			c.send(strings.Replace(fits, "y", "yy", 1) + "\n")
			if a := c.answer(); a.Error == nil || a.Error.Code != code {
				t.Fatal("a line of one byte more was accepted")
			}
			c.send(long) // the last line, without its end
			if rest, err := c.end(); len(rest) != 1 || err != nil {
				t.Errorf("%.300q, %v", rest, err)
			}
			if ran := w.calls(); slices.Contains(ran, "smuggled") {
				t.Error("the tail of a line was taken for a message")
			}
		})
	}
}

func TestDepth(t *testing.T) {
	c := serve(t, newWorld().profile("agent")).listen()
	for _, n := range []int{300, 9_000, 200_000, 2_000_000} {
		c.send(`{"jsonrpc":"2.0","id":1,"method":"x","params":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}\n")
		if a := c.answer(); a.Error == nil || a.Error.Code != mcp.CodeUnreadable {
			t.Errorf("%d levels: %+v", n, a)
		}
	}
	c.call("2", "tools/call", `"name":"echo","arguments":{"a":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+"}")
	if a := c.answer(); a.Error != nil {
		t.Errorf("200 levels: %+v", a)
	}
	c.quiet()
}

func TestABurstIsAnswered(t *testing.T) {
	const n = 10_000
	w := newWorld()
	c := serve(t, w.profile("agent")).listen()
	go func() { // what is sent and what is read do not wait for each other
		var b bytes.Buffer
		for i := range n {
			switch i % 3 {
			case 0:
				fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{%s}}`+"\n", i, meta)
			case 1:
				fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"zulu","arguments":{"key":"k"},%s}}`+"\n", i, meta)
			case 2:
				fmt.Fprintf(&b, `{"jsonrpc":"2.0","method":"notifications/nothing"}`+"\n"+`{"jsonrpc":"2.0","id":%d,"method":"nothing","params":{%s}}`+"\n", i, meta)
			}
		}
		_, _ = c.in.Write(b.Bytes())
	}()
	seen := make([]bool, n)
	for range n {
		a := c.answer()
		i, err := strconv.Atoi(string(a.ID))
		if err != nil || i < 0 || i >= n || seen[i] {
			t.Fatalf("an id that is not open: %s", a.ID)
		}
		seen[i] = true
	}
	c.quiet()
}

// TestAClientThatDoesNotRead fills both pipes: the server must stop reading instead of keeping what it cannot say.
func TestAClientThatDoesNotRead(t *testing.T) {
	c := serve(t, newWorld().profile("agent"))
	line := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"a":"` + strings.Repeat("x", 20_000) + `"},` + meta + `}}` + "\n"
	// 256 open calls, one whose refusal waits for the reader, and what fits into two pipes and a buffer of 64 KiB. Nothing else is kept.
	const limit = 256 + 1 + 3*4
	sent, rest := 0, ""
	for rest == "" && sent <= limit {
		_ = c.in.SetWriteDeadline(time.Now().Add(2 * time.Second)) // without progress for that long, the pipe is full
		text := fmt.Sprintf(line, sent)
		n, err := io.WriteString(c.in, text)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			rest = text[n:]
		} else if err != nil {
			t.Fatal(err)
		}
		sent++
	}
	if rest == "" {
		t.Fatalf("%d requests of 20 kB were read although nobody reads the answers", sent)
	}
	_ = c.in.SetWriteDeadline(time.Time{})
	c.listen()
	c.send(rest)
	if got, err := c.end(); len(got) != sent || err != nil {
		t.Errorf("%d answers to %d requests, %v", len(got), sent, err)
	}
}

// What a line makes the server hold does not depend on what the line is made of: a list of numbers, many names. Counted is all that is allocated, by the test too.
func TestNoLineTakesManyTimesItsSize(t *testing.T) {
	const lineBytes = 1 << 20
	list := "[" + strings.Repeat("1,", lineBytes/2) + "1]"
	var names strings.Builder
	for i := range lineBytes / 12 {
		fmt.Fprintf(&names, `"%x":1,`, i)
	}
	for name, line := range map[string]string{
		"an argument":       `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"zulu","arguments":{"key":` + list + `},` + meta + `}}`,
		"unknown arguments": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"zulu","arguments":{` + names.String() + `"":1},` + meta + `}}`,
		"an id":             `{"jsonrpc":"2.0","id":` + list + `,"method":"tools/list","params":{` + meta + `}}`,
		"a token":           `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + strings.Replace(meta, "{", `{"progressToken":`+list+",", 1) + `}}`,
		"meta":              `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + strings.Replace(meta, "{", `{"x":`+list+",", 1) + `}}`,
		"a capability":      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + strings.Replace(meta, "{}", `{"experimental":{"x":`+list+"}}", 1) + `}}`,
		"a task":            `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":` + list + "," + strings.Replace(meta, "{}", `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, newWorld().profile("agent")).listen()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c.send(line + "\n")
			if answer := c.next(); len(answer) > 8<<10 {
				t.Errorf("an answer of %d bytes", len(answer))
			}
			runtime.ReadMemStats(&after)
			// Names are read several times, and each time they take a field and an entry in a set. Their answer is what is bounded.
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 40*lineBytes && name != "unknown arguments" {
				t.Errorf("%d MiB for a line of %d MiB", grown>>20, len(line)>>20)
			}
		})
	}
}

// shelf is one resource of which every reading is noted.
type shelf struct {
	texts
	read chan string
}

func (s shelf) Read(_ context.Context, uri string) ([]mcp.Contents, error) {
	s.read <- uri
	return []mcp.Contents{{URI: uri, Text: strings.Repeat("x", 1<<20)}}, nil
}

// A client that asks for a large resource many times and reads no answer makes the server hold one, and a cancelled one is not made.
func TestLargeAnswersAreHeldOneAtATime(t *testing.T) {
	const n = 20
	w := newWorld()
	p := w.profile("agent")
	s := shelf{read: make(chan string, n)}
	p.Resources = s
	c := serve(t, p)
	for id := range n {
		c.call(strconv.Itoa(id), "resources/read", `"uri":"test://large"`)
	}
	c.tool(`"held"`, "hold", "a")
	started(t, w, 1) // the reads came before it
	count(t, s.read, 1, "read")
	for id := range n {
		c.cancel(strconv.Itoa(id))
	}
	c.tool(`"last"`, "hold", "a")
	started(t, w, 1) // the cancellations came before it
	close(w.gate("a"))
	if len(s.read) > 0 {
		t.Errorf("%d more answers were made and could not be written", len(s.read))
	}
	c.listen()
	rest, err := c.end()
	if err != nil || len(rest) != 3 && len(rest) != 2 { // the one that was being written may be there
		t.Errorf("%d answers, %v; want those of the calls and at most one of a read", len(rest), err)
	}
	if len(s.read) > 0 {
		t.Errorf("%d cancelled reads were made", len(s.read))
	}
}

// Ordered calls are entered as they came, whatever goroutines do, and one that is refused or cancelled before it is entered holds nobody back.
func TestOrderedCallsAreEnteredAsTheyCame(t *testing.T) {
	w := newWorld()
	p := w.profile("agent")
	p.Tools = append(p.Tools, mcp.Tool{Name: "ordered", Unlisted: true, Ordered: true, Input: p.Tools[0].Input,
		Call: func(_ context.Context, c mcp.Call) (mcp.ToolResult, error) {
			var a struct{ Key string }
			_ = json.Unmarshal(c.Arguments, &a)
			w.mu.Lock()
			w.ran = append(w.ran, a.Key)
			w.mu.Unlock()
			if a.Key == "panic" {
				panic("on purpose")
			}
			return mcp.ToolResult{Later: func(context.Context, *mcp.Task) (mcp.ToolResult, error) {
				<-w.gate("all")
				return mcp.ToolResult{}, nil
			}}, nil
		}})
	c := serve(t, p).listen()
	var want []string
	for i := range 150 {
		key := strconv.Itoa(i)
		switch i % 10 {
		case 3:
			c.call(key, "tools/call", `"name":"ordered","arguments":{"Key":"refused"}`)
			continue
		case 5:
			key = "panic"
		}
		c.tool(strconv.Itoa(i), "ordered", key)
		if i%10 == 7 {
			c.cancel(key)
		}
		want = append(want, key)
	}
	c.tool(`"end"`, "hold", "end") // handed over behind all of them
	started(t, w, 1)
	want = append(want, "end")
	if diff := cmp.Diff(want, w.calls()); diff != "" {
		t.Errorf("-came +entered\n%s", diff)
	}
	close(w.gate("all"))
	close(w.gate("end"))
	if rest, err := c.end(); len(rest) != 151-15 || err != nil {
		t.Errorf("%d answers, %v", len(rest), err)
	}
}

// A handshake that was refused for its id is not half made.
func TestARefusedHandshakeCanBeMadeAgain(t *testing.T) {
	w := newWorld()
	c := serve(t, w.profile("agent")).listen()
	shake := `{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
	c.tool("1", "hold", "a")
	started(t, w, 1)
	for id, refused := range []bool{1: true, 2: false, 3: true} {
		if id == 0 {
			continue
		}
		c.send(fmt.Sprintf(shake, id))
		if a := c.answer(); (a.Error != nil) != refused {
			t.Errorf("handshake %d: %+v; required: refused %t", id, a, refused)
		}
	}
	close(w.gate("a"))
	c.answer()
	c.quiet()
}
