package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/client"
	mcpgotransport "github.com/mark3labs/mcp-go/client/transport"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// programs are what every client has run. They are as many as the default budget of a server has work calls. The endless one works, in one
// instruction, so that no step budget ends it.
var programs = map[string]string{
	"success": "print(6*7)",
	"failure": "import sys\nprint('bad', file=sys.stderr)\nsys.exit(3)",
	"stopped": "while True: pass",
	"late":    "import time\ntime.sleep(26)",
	"endless": "sum(range(10**13))",
	"after":   "print('after')",
}

// uri is the response of the one session in testdata/sessions.
const uri = "pdlt://sessions/session-20261015-101530/W-0123456789ab/turn_001/response"

// server is how a test starts "pdlt serve".
type server struct {
	command string
	args    []string
	log     string // the call log
}

func newServer(t *testing.T, flags ...string) server {
	t.Helper()
	sessions, err := filepath.Abs(filepath.Join("testdata", "sessions"))
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "calls.jsonl")
	return server{needPdlt(t), append([]string{"serve", "--sessions", sessions, "--log", log}, flags...), log}
}

// logged waits until the call log says that a program was asked for: from then on it can be cancelled.
func (s server) logged(t *testing.T, code string) {
	t.Helper()
	quoted, err := json.Marshal(code)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(s.log)
		if bytes.Contains(text, quoted) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the call log never held %s:\n%s", quoted, text)
		}
	}
}

// ran is the result of a call, as a client hands it on.
type ran struct {
	Content []struct{ Type, Text string }
	IsError bool
	Facts   struct {
		ExitCode           int  `json:"exit_code"`
		StepBudgetExceeded bool `json:"step_budget_exceeded"`
		TimedOut           bool `json:"timed_out"`
		OOMKilled          bool `json:"oom_killed"`
		Stdout, Stderr     string
	} `json:"structuredContent"`
}

// text is all that a model would read.
func (r ran) text() string {
	var texts []string
	for _, c := range r.Content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// report is what a client said in the course of the scenario. What it could not do is nil.
type report struct {
	Tools                     []string
	Success, Failure, Stopped *ran
	TimedOut, Cancelled       *string // the client's error
	After                     *ran
	Resources                 []string
	Resource                  struct {
		Contents []contents
	}
	Errors []string // of the client's error channel
}

// contents is an item of a resource that was read.
type contents struct{ URI, MimeType, Text string }

// judge holds a report against what the scenario must give. cancels says whether the client can cancel.
func judge(t *testing.T, r report, cancels bool) {
	t.Helper()
	if want := []string{"run_python", "submit_execute_unconfirmed"}; !slices.Equal(r.Tools, want) {
		t.Errorf("tools %q, want %q", r.Tools, want)
	}
	judgeRun(t, "print(6*7)", r.Success, 0, "42\n", "")
	judgeRun(t, "sys.exit(3)", r.Failure, 3, "", "bad\n")
	judgeRun(t, "while True: pass", r.Stopped, 125, "", "")
	if r.Stopped != nil && (!r.Stopped.Facts.StepBudgetExceeded || r.Stopped.Facts.TimedOut) {
		t.Errorf("an endless loop: %+v; required: stopped by the step budget", r.Stopped.Facts)
	}
	if cancels && (r.TimedOut == nil || r.Cancelled == nil) {
		t.Errorf("timed out: %v, cancelled: %v; required: an error of the client for both", r.TimedOut, r.Cancelled)
	}
	judgeRun(t, "print('after')", r.After, 0, "after\n", "")
	if !slices.Contains(r.Resources, uri) {
		t.Errorf("resources %q; required: %s among them", r.Resources, uri)
	}
	if c := r.Resource.Contents; len(c) != 2 || c[0].URI != uri || c[0].MimeType != "text/markdown" || c[0].Text != "The answer is 42.\n" ||
		c[1].URI != strings.TrimSuffix(uri, "response")+"provenance" || c[1].MimeType != "application/json" || !json.Valid([]byte(c[1].Text)) {
		t.Errorf("resource %+v; required: the response, and the turn's provenance as the second item", c)
	}
	if len(r.Errors) > 0 {
		t.Errorf("the client complains: %q", r.Errors)
	}
}

func judgeRun(t *testing.T, what string, r *ran, exit int, stdout, stderr string) {
	t.Helper()
	switch {
	case r == nil:
		t.Errorf("%s: no result", what)
	case r.IsError || r.Facts.ExitCode != exit || r.Facts.Stdout != stdout || !strings.Contains(r.Facts.Stderr, stderr):
		t.Errorf("%s: isError %t, exit %d, standard output %q, standard error %q; required: a result with exit %d, %q and %q",
			what, r.IsError, r.Facts.ExitCode, r.Facts.Stdout, r.Facts.Stderr, exit, stdout, stderr)
	case r.text() == "" || stdout != "" && !strings.Contains(r.text(), "standard output:\n"+strings.TrimRight(stdout, "\n")):
		t.Errorf("%s: content %+v; required: a text with the output", what, r.Content)
	}
}

// TestTypeScriptClients runs the libraries that have a script in node.
func TestTypeScriptClients(t *testing.T) {
	pin := map[string]string{"pin": "2026-07-28"}
	for _, c := range []struct {
		name, script string
		mode         any
		cancels      bool
	}{
		{"SDK v1", "v1.mjs", nil, true},
		{"SDK v2, legacy", "v2.mjs", "legacy", true},
		{"SDK v2, auto", "v2.mjs", "auto", true},
		{"SDK v2, modern", "v2.mjs", pin, true},
		{"AI SDK", "aisdk.mjs", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			name, s := needNode(t), newServer(t)
			asked, err := json.Marshal(map[string]any{"command": s.command, "args": s.args, "log": s.log, "programs": programs, "uri": uri, "mode": c.mode})
			if err != nil {
				t.Fatal(err)
			}
			out, errs := runScript(t, name, scripts(t, c.script), string(asked))
			var r report
			if err := json.Unmarshal(out, &r); err != nil {
				t.Fatalf("%v: %q\n%s", err, out, errs)
			}
			judge(t, r, c.cancels)
		})
	}
}

// scripts copies the scripts to where their imports are found, and gives the path of one.
func scripts(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp(packages, "scripts-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, n := range []string{"scenario.mjs", name} {
		text, err := os.ReadFile(filepath.Join("node", n))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, n), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, name)
}

// runScript runs a client that must succeed, away from the settings of whoever tests.
func runScript(t *testing.T, name string, args ...string) (stdout, stderr []byte) {
	t.Helper()
	stdout, stderr, err := command(t, name, args...)
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", strings.Join(args, " "), err, tail(stdout), tail(stderr))
	}
	return stdout, stderr
}

func command(t *testing.T, name string, args ...string) (stdout, stderr []byte, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "NO_COLOR=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.Bytes(), errs.Bytes(), err
}

// TestInspector drives the command line of the MCP Inspector, which starts a server for every step.
func TestInspector(t *testing.T) {
	for _, era := range []string{"legacy", "auto", "modern"} {
		t.Run(era, func(t *testing.T) {
			name, s := needNode(t), newServer(t)
			args := func(method string, more ...string) []string {
				a := []string{filepath.Join(packages, "node_modules", ".bin", "mcp-inspector"), "--cli", s.command}
				a = append(append(a, s.args...), "--format", "json", "-q", "--protocol-era", era, "--method", method)
				return append(a, more...)
			}
			ask := func(into any, method string, more ...string) {
				t.Helper()
				out, errs := runScript(t, name, args(method, more...)...)
				if err := json.Unmarshal(out, &struct{ Result any }{into}); err != nil {
					t.Fatalf("%s: %v: %q", method, err, out)
				}
				if len(errs) > 0 {
					t.Errorf("%s: the Inspector complains: %s", method, errs)
				}
			}
			call := func(what string) *ran {
				r := new(ran)
				code, err := json.Marshal(map[string]string{"code": programs[what]})
				if err != nil {
					t.Fatal(err)
				}
				ask(r, "tools/call", "--tool-name", "run_python", "--tool-args-json", string(code))
				return r
			}
			var r report
			r.Tools = toolNames(t, func(into any) { ask(into, "tools/list") })
			// It ends with 6 if a schema is one that some clients cannot take; what it merely advises is not asked for here.
			runScript(t, name, args("tools/list", "--strict")...)
			r.Success, r.Failure, r.Stopped = call("success"), call("failure"), call("stopped")
			interrupted := abandon(t, exec.Command(name, args("tools/call", "--tool-name", "run_python", "--tool-args-json", `{"code":"`+programs["endless"]+`"}`)...))
			r.Cancelled, r.TimedOut = &interrupted, &interrupted // it has no time-out of its own for a call
			r.After = call("after")
			r.Resources = resourceURIs(t, func(into any) { ask(into, "resources/list") })
			ask(&r.Resource, "resources/read", "--uri", uri)
			judge(t, r, true)
		})
	}
}

// TestMcporter drives mcporter, which starts a server for every step and gives either the facts of a call or its text.
func TestMcporter(t *testing.T) {
	name, s := needNode(t), newServer(t)
	config := filepath.Join(t.TempDir(), "mcporter.json")
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"pdlt": map[string]any{"command": s.command, "args": s.args}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	args := func(more ...string) []string {
		return append([]string{filepath.Join(packages, "node_modules", ".bin", "mcporter"), "--config", config}, more...)
	}
	ask := func(into any, more ...string) {
		t.Helper()
		out, errs := runScript(t, name, args(more...)...)
		if err := json.Unmarshal(out, into); err != nil {
			t.Fatalf("%v: %q", err, out)
		}
		if len(errs) > 0 {
			t.Errorf("%s: mcporter complains: %s", more, errs)
		}
	}
	argument := func(what string) string {
		b, err := json.Marshal(map[string]string{"code": programs[what]})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	call := func(what string) *ran {
		r := new(ran)
		ask(&r.Facts, "call", "pdlt.run_python", "--args", argument(what), "--output", "json")
		text, _ := runScript(t, name, args("call", "pdlt.run_python", "--args", argument(what), "--output", "text")...)
		r.Content = append(r.Content, struct{ Type, Text string }{"text", string(text)})
		return r
	}
	r := report{Tools: toolNames(t, func(into any) { ask(into, "list", "pdlt", "--json") })}
	r.Success, r.Failure, r.Stopped = call("success"), call("failure"), call("stopped")
	// Its own time-out is how it cancels.
	out, errs, err := command(t, name, args("call", "pdlt.run_python", "--args", argument("late"), "--timeout", "700")...)
	if said := string(out) + string(errs); err == nil || !strings.Contains(said, "timed out") {
		t.Errorf("a time-out of the client: %v: %s", err, said)
	} else {
		r.TimedOut, r.Cancelled = &said, &said
	}
	r.After = call("after")
	r.Resources = resourceURIs(t, func(into any) { ask(into, "resource", "pdlt", "--json") })
	// Of a resource it gives no more than the texts, with an empty line between them.
	read, _ := runScript(t, name, args("resource", "pdlt", uri, "--output", "text")...)
	response, provenance, _ := strings.Cut(string(read), "\n\n")
	r.Resource.Contents = []contents{{uri, "text/markdown", response + "\n"}, {strings.TrimSuffix(uri, "response") + "provenance", "application/json", provenance}}
	judge(t, r, true)
}

func toolNames(t *testing.T, ask func(into any)) (names []string) {
	t.Helper()
	var list struct{ Tools []struct{ Name string } }
	ask(&list)
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func resourceURIs(t *testing.T, ask func(into any)) (uris []string) {
	t.Helper()
	var list struct{ Resources []struct{ URI string } }
	ask(&list)
	for _, r := range list.Resources {
		uris = append(uris, r.URI)
	}
	return uris
}

// abandon starts a client that has the endless program run, interrupts it once the program is at work, and checks that the server and all
// that it had started die with it.
func abandon(t *testing.T, client *exec.Cmd) (said string) {
	t.Helper()
	var out bytes.Buffer
	client.Stdout, client.Stderr = &out, &out
	client.Env = append(os.Environ(), "HOME="+t.TempDir())
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	working(t, client.Process.Pid)
	family := descendants(client.Process.Pid)
	if err := client.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	err := client.Wait()
	if err == nil {
		t.Errorf("the client was interrupted and says success: %s", &out)
	}
	waitGone(t, family)
	return fmt.Sprint(err)
}

// TestGoSDKClient runs the official Go SDK's client, which speaks the modern era unless it is told otherwise.
func TestGoSDKClient(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		t.Run(version, func(t *testing.T) {
			s := newServer(t)
			cmd := exec.Command(s.command, s.args...)
			var wire transcript
			client := mcp.NewClient(&mcp.Implementation{Name: "conformance", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), &mcp.LoggingTransport{Transport: &mcp.CommandTransport{Command: cmd}, Writer: &wire},
				&mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			call := func(ctx context.Context, what string) (*ran, error) {
				p := &mcp.CallToolParams{Name: "run_python", Arguments: map[string]any{"code": programs[what]}}
				p.SetProgressToken(what)
				result, err := session.CallTool(ctx, p)
				if err != nil {
					return nil, err
				}
				return convert[ran](t, result), nil
			}
			r := goScenario(t, s, call)
			list, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Tools = toolNames(t, func(into any) { convertInto(t, list, into) })
			resources, err := session.ListResources(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Resources = resourceURIs(t, func(into any) { convertInto(t, resources, into) })
			read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err != nil {
				t.Fatal(err)
			}
			convertInto(t, read, &r.Resource)
			if err := session.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			r.Errors = wire.complaints()
			judge(t, r, true)
		})
	}
}

// TestMCPGoClient runs the client of mcp-go, an implementation of its own.
func TestMCPGoClient(t *testing.T) {
	for _, version := range []string{mcpgotypes.ProtocolVersion20260728, mcpgotypes.LATEST_LEGACY_PROTOCOL_VERSION} {
		t.Run(version, func(t *testing.T) {
			s := newServer(t)
			var complaints transcript
			client, err := mcpgo.NewStdioMCPClientWithOptions(s.command, nil, s.args,
				mcpgotransport.WithCommandLogger(slog.New(slog.NewTextHandler(&complaints, &slog.HandlerOptions{Level: slog.LevelWarn}))))
			if err != nil {
				t.Fatal(err)
			}
			var start mcpgotypes.InitializeRequest
			start.Params.ProtocolVersion = version
			start.Params.ClientInfo = mcpgotypes.Implementation{Name: "conformance", Version: "1"}
			if got, err := client.Initialize(t.Context(), start); err != nil || got.ProtocolVersion != version {
				t.Fatalf("initialize: %+v, %v", got, err)
			}
			call := func(ctx context.Context, what string) (*ran, error) {
				var req mcpgotypes.CallToolRequest
				req.Params.Name, req.Params.Arguments = "run_python", map[string]any{"code": programs[what]}
				result, err := client.CallTool(ctx, req)
				if err != nil {
					return nil, err
				}
				return convert[ran](t, result), nil
			}
			r := goScenario(t, s, call)
			list, err := client.ListTools(t.Context(), mcpgotypes.ListToolsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			r.Tools = toolNames(t, func(into any) { convertInto(t, list, into) })
			resources, err := client.ListResources(t.Context(), mcpgotypes.ListResourcesRequest{})
			if err != nil {
				t.Fatal(err)
			}
			r.Resources = resourceURIs(t, func(into any) { convertInto(t, resources, into) })
			var read mcpgotypes.ReadResourceRequest
			read.Params.URI = uri
			contents, err := client.ReadResource(t.Context(), read)
			if err != nil {
				t.Fatal(err)
			}
			convertInto(t, contents, &r.Resource)
			if err := client.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			if said := complaints.String(); said != "" {
				r.Errors = append(r.Errors, said)
			}
			judge(t, r, true)
		})
	}
}

// goScenario runs the programs of the scenario through a Go client.
func goScenario(t *testing.T, s server, call func(ctx context.Context, what string) (*ran, error)) (r report) {
	t.Helper()
	for what, into := range map[string]**ran{"success": &r.Success, "failure": &r.Failure, "stopped": &r.Stopped} {
		var err error
		if *into, err = call(t.Context(), what); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := call(ctx, "late"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a time-out of the client: %v", err)
	} else {
		r.TimedOut = new(string)
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := call(ctx, "endless")
		ended <- err
	}()
	s.logged(t, programs["endless"])
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	} else {
		r.Cancelled = new(string)
	}
	var err error
	if r.After, err = call(t.Context(), "after"); err != nil {
		t.Errorf("after: %v", err)
	}
	return r
}

// convert gives a client's own result the shape that the tests judge.
func convert[T any](t *testing.T, result any) *T {
	t.Helper()
	into := new(T)
	convertInto(t, result, into)
	return into
}

func convertInto(t *testing.T, result, into any) {
	t.Helper()
	b, err := json.Marshal(result)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// transcript collects what is written to it from any goroutine.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the transcript.
func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

// String is all that was written.
func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// complaints reads a transcript of the Go SDK's LoggingTransport, and says what a client that minds would have minded: an answer to no
// request, a second one, one for a request that was cancelled before, or a progress note for no running request. That transport notes a
// message when it has been written, so that a quick answer can stand before its request.
func (w *transcript) complaints() (all []string) {
	type message struct {
		direction, text string
		ID              json.RawMessage
		Method          string
		Params          struct {
			RequestID     json.RawMessage
			ProgressToken string
			Meta          struct{ ProgressToken string } `json:"_meta"`
		}
	}
	var messages []message
	waiting := map[string]string{} // id: progress token
	for line := range strings.Lines(w.String()) {
		direction, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if direction == "read error" {
			continue // the end; any other would have failed a call
		}
		m := message{direction: direction, text: text}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			all = append(all, fmt.Sprintf("%v: %s", err, line))
			continue
		}
		messages = append(messages, m)
		if direction == "write" && m.ID != nil {
			waiting[string(m.ID)] = m.Params.Meta.ProgressToken
		}
	}
	cancelled := map[string]bool{}
	for _, m := range messages {
		id := string(m.ID)
		_, running := waiting[id]
		switch {
		case m.direction == "write" && m.Method == "notifications/cancelled":
			cancelled[string(m.Params.RequestID)] = true
		case m.direction == "read" && m.Method == "notifications/progress":
			found := false
			for id, token := range waiting {
				found = found || token == m.Params.ProgressToken && !cancelled[id]
			}
			if !found {
				all = append(all, "a progress note for nothing that runs: "+m.text)
			}
		case m.direction == "read" && m.Method == "":
			if !running || cancelled[id] {
				all = append(all, "an answer that nobody waits for: "+m.text)
			}
			delete(waiting, id)
		}
	}
	return all
}
