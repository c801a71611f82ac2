package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// fuzzMeta makes a request modern.
const fuzzMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// FuzzEveryIDIsAnsweredOnce serves arbitrary lines. Whatever they are: a request that was let in and not cancelled is answered exactly
// once under its id, a cancelled one never, and no other id is ever written.
func FuzzEveryIDIsAnsweredOnce(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{$}}`,
		`{"jsonrpc":"2.0","id":1,"method":"held","params":{$}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.0}}` +
			"\n" + `{"jsonrpc":"2.0","id":1,"method":"held","params":{$}}`,
		`{"jsonrpc":"2.0","id":1,"method":"held","params":{$}}` + "\n" + `{"jsonrpc":"2.0","id":1e0,"method":"a","params":{$}}`,
		`{"jsonrpc":"2.0","id":"x","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"a"}`,
		`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},$}}` + "\n" +
			`{"jsonrpc":"2.0","id":8,"method":"changed","params":{$}}`,
		"\ufeff{}\r\n[]\n{\"id\":null}\n" + `{"jsonrpc":"2.0","id":3,"id":4,"method":"a"}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x","arguments":{"a":1,"a":2},$}}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":6,"method":"progress","params":{` + strings.Replace(fuzzMeta, "{", `{"progressToken":1,`, 1) + `}}`,
		`{"jsonrpc":"2.0","id":6,"method":"a","params":{` + strings.Replace(fuzzMeta, "{", `{"progressToken":1,`, 1) + `}}`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, script []byte, second bool) {
		script = bytes.ReplaceAll(script, []byte("$"), []byte(fuzzMeta))
		cfg := Config{Modern: []string{"2026-07-28"}, Legacy: []string{"2025-11-25"}, Changes: []Change{ToolsChanged}, TooLong: CodeInvalid}
		if second {
			cfg.Legacy, cfg.AnyID, cfg.SharedIDs, cfg.RunOn = nil, true, true, true
		}
		book := &ledger{t: t, want: map[string]int{}}
		cfg.Observer = book
		b := &worker{ended: make(chan struct{})}
		var out bytes.Buffer
		b.g = New(context.Background(), cfg, b, &out)
		if err := b.g.Serve(&stream{bytes.NewReader(script), sync.OnceFunc(func() { close(b.ended) })}); err != nil {
			t.Fatalf("Serve: %v", err)
		}
		b.wait.Wait()
		if book.open != 0 {
			t.Errorf("%d requests were begun and not ended", book.open)
		}
		got := map[string]int{}
		for line := range bytes.Lines(out.Bytes()) {
			var m struct {
				ID     json.RawMessage
				Method string
				Result json.RawMessage
				Error  *Error
			}
			if err := json.Unmarshal(line, &m); err != nil || line[len(line)-1] != '\n' || (m.Result != nil) == (m.Error != nil) && m.Method == "" {
				t.Fatalf("not a message: %q, %v", line, err)
			}
			if bytes.Contains(line, []byte(`"progress":2`)) {
				t.Error("a progress note after the answer")
			}
			if m.Method == "" && string(m.ID) != "null" {
				got[string(m.ID)]++
			}
		}
		if !maps.Equal(got, book.want) {
			t.Errorf("answers by id: %v; want %v", got, book.want)
		}
	})
}

// ledger counts what the gate says has become of each request.
type ledger struct {
	t    *testing.T
	mu   sync.Mutex
	want map[string]int

	open, cancelled int
}

func (l *ledger) Begin(e Event) (func(Ending) error, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	ended := false
	return func(x Ending) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if ended {
			l.t.Errorf("the request %s ended twice", e.ID)
		}
		ended = true
		l.open--
		if x.Result != nil || x.Err != nil {
			l.want[string(e.ID)]++
		} else if l.cancelled == 0 && e.Method != "subscriptions/listen" {
			l.t.Errorf("the request %s was met with silence, and nothing was cancelled", e.ID)
		}
		return nil
	}, nil
}

func (l *ledger) Cancelled(json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancelled++
}

// worker answers each request on its own goroutine, some of them only when they are cancelled or the input has ended.
type worker struct {
	g     *Gate
	ended chan struct{}
	wait  sync.WaitGroup
}

func (w *worker) Deliver(r *Request) {
	w.wait.Go(func() {
		switch r.Method {
		case "held":
			select {
			case <-r.Context().Done():
			case <-w.ended:
			}
		case "changed":
			w.g.Changed(ToolsChanged, "")
		case "progress":
			r.Progress(1, 0, "")
		default:
			runtime.Gosched()
		}
		r.Answer(json.RawMessage("{\n}"), nil)
		r.Answer(nil, Errorf(CodeInternal, "twice"))
		r.Progress(2, 0, "after the answer")
	})
}

func (w *worker) Busy(r *Request) { r.Answer(nil, Errorf(CodeInternal, "busy")) }
func (w *worker) Initialized()    {}

// stream says when it has been read to its end.
type stream struct {
	*bytes.Reader
	end func()
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		s.end()
	}
	return n, err
}

func TestIDsAreKnownByTheirValue(t *testing.T) {
	for _, same := range [][]string{
		{"1", "1.0", "1e0", "10e-1", "0.1E+1", "1.000"},
		{"0", "-0", "0.0", "0e5"},
		{"100", "1e2", "1.00e2"},
		{`"1"`, `"\u0031"`},
		{"9007199254740993"}, {"9007199254740992"}, {"9223372036854775807"}, {"-9223372036854775808"},
		{"1e999999999"}, {"-1"}, {`""`}, {`"n1e0"`},
	} {
		first, ok := idKey([]byte(same[0]))
		for _, raw := range same {
			if key, allowed := idKey([]byte(raw)); key != first || !allowed || !ok {
				t.Errorf("%s is known by %q (%t), %s by %q", raw, key, allowed, same[0], first)
			}
		}
	}
	seen := map[string]string{}
	for _, raw := range []string{"1", `"1"`, "9007199254740993", "9007199254740992", "10", "-1", `"n1e0"`, "3.7", "3", `""`, "0"} {
		key, _ := idKey([]byte(raw))
		if other, taken := seen[key]; taken {
			t.Errorf("%s and %s are known by the same key", raw, other)
		}
		seen[key] = raw
	}
	for _, raw := range []string{"1.5", "1e-1", "1e99999999999", "true", "{}", "[]", "null", ""} {
		if key, allowed := idKey([]byte(raw)); allowed {
			t.Errorf("%s is allowed, as %q", raw, key)
		}
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"the last line counts without its end", "a\nb", []string{"a", "b"}},
		{"blank lines and carriage returns", "\n a \r\n\r\n\t\nb\r\n", []string{"a", "b"}},
		{"a mark before the first line only", "\ufeffa\n\ufeffb\n", []string{"a", "\ufeffb"}},
		{"a mark alone", "\ufeff\na\n", []string{"a"}},
		{"nothing", "", nil},
		{"exactly as long as allowed", long[1:] + "\na\n", []string{long[1:], "a"}},
		{"one byte more", long + "\na\n", []string{"!", "a"}},
		{"too long at the end", "a\n" + long + "y", []string{"a", "!"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLines(strings.NewReader(tt.in))
			var got []string
			for {
				line, err := l.next()
				if err == io.EOF {
					break
				}
				if err == errTooLong {
					line = []byte("!")
				} else if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(line))
			}
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("got %d lines %.80q, want %d", len(got), got, len(tt.want))
			}
		})
	}
}
