package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain is also the server behind the bridge: it keeps each line in a file, and answers each request whose method says how.
func TestMain(m *testing.M) {
	if name := os.Getenv("BRIDGE_TEST_LOG"); name != "" {
		serveTest(name)
		return
	}
	os.Exit(m.Run())
}

func serveTest(name string) {
	log, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if _, err := log.Write(append(lines.Bytes(), '\n')); err != nil {
			panic(err)
		}
		var o object
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			panic(err)
		}
		reply := object{"jsonrpc": o["jsonrpc"], "id": o["id"]}
		switch o.str("method") {
		case "echo":
			reply["result"] = json.RawMessage(`{}`)
		case "note":
			token := o.meta()["progressToken"]
			note := object{"jsonrpc": o["jsonrpc"], "method": json.RawMessage(`"notifications/progress"`),
				"params": object{"progressToken": token, "progress": json.RawMessage("1")}.line()}
			os.Stdout.Write(append(note.line(), '\n'))
			reply["result"] = json.RawMessage(`{}`)
		case "refuse":
			reply["error"] = failure(nil, -32022, "no").child("error").line()
		default: // "hang" and notes
			continue
		}
		os.Stdout.Write(append(reply.line(), '\n'))
	}
}

// bridged starts a bridge before the test's own server, and gives its address and the file of what the server read.
func bridged(t *testing.T) (url, log string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log = filepath.Join(t.TempDir(), "log")
	t.Setenv("BRIDGE_TEST_LOG", log)
	b, err := newBridge([]string{self})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(b)
	t.Cleanup(func() {
		h.Close()
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	return h.URL, log
}

const version = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":"mine"}`

// post sends a request of the modern era with the headers that belong to it, changed as told.
func post(t *testing.T, ctx context.Context, url, method string, change func(*http.Request)) (*http.Response, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":"own","method":"`+method+`","params":{`+version+`}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", method)
	if change != nil {
		change(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

func TestWhatAClientGets(t *testing.T) {
	url, _ := bridged(t)
	for _, c := range []struct {
		name, method string
		change       func(*http.Request)
		status       int
		kind, body   string
	}{
		{"an answer", "echo", nil, 200, "application/json", `{"id":"own","jsonrpc":"2.0","result":{}}`},
		{"a note and an answer, with the client's token and id", "note", nil, 200, "text/event-stream",
			"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":1,\"progressToken\":\"mine\"}}\n\n" +
				"event: message\ndata: {\"id\":\"own\",\"jsonrpc\":\"2.0\",\"result\":{}}\n\n"},
		{"an error under its status", "refuse", nil, 400, "application/json", `{"error":{"code":-32022,"message":"no"},"id":"own","jsonrpc":"2.0"}`},
		{"a header that is missing", "echo", func(r *http.Request) { r.Header.Del("Mcp-Method") }, 400, "application/json",
			`{"error":{"code":-32020,"message":"header Mcp-Method is missing"},"id":"own","jsonrpc":"2.0"}`},
		{"a header that differs", "echo", func(r *http.Request) { r.Header.Set("MCP-Protocol-Version", "2025-11-25") }, 400, "application/json",
			`{"error":{"code":-32020,"message":"header MCP-Protocol-Version does not repeat the body"},"id":"own","jsonrpc":"2.0"}`},
		{"a header in base64", "echo", func(r *http.Request) { r.Header.Set("Mcp-Method", "=?base64?ZWNobw==?=") }, 200, "application/json",
			`{"id":"own","jsonrpc":"2.0","result":{}}`},
		{"a foreign host", "echo", func(r *http.Request) { r.Host = "example.org" }, 403, "text/plain; charset=utf-8", "this host is not served\n"},
		{"a foreign origin", "echo", func(r *http.Request) { r.Header.Set("Origin", "https://example.org") }, 403, "text/plain; charset=utf-8", "this origin is not served\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body, err := post(t, t.Context(), url, c.method, c.change)
			if err != nil {
				t.Fatal(err)
			}
			if kind := resp.Header.Get("Content-Type"); resp.StatusCode != c.status || kind != c.kind || body != c.body {
				t.Errorf("%d %s %q; required: %d %s %q", resp.StatusCode, kind, body, c.status, c.kind, c.body)
			}
		})
	}
}

func TestAClientThatHangsUpIsACancellation(t *testing.T) {
	url, log := bridged(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, _, err := post(t, ctx, url, "hang", nil)
		ended <- err
	}()
	await(t, log, `"id":1,`)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the client: %v", err)
	}
	await(t, log, `"method":"notifications/cancelled","params":{"requestId":1,`)
}

// await waits until the server has read a text.
func await(t *testing.T, log, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		got, _ := os.ReadFile(log)
		if bytes.Contains(got, []byte(text)) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server read %q; required: %q in it", got, text)
		}
	}
}
