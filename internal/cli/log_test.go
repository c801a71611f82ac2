package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/provenance"
)

// aLog writes a call log with one call of every kind and gives its path.
func aLog(t *testing.T) string {
	t.Helper()
	l, err := provenance.OpenLog(filepath.Join(t.TempDir(), "calls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []struct {
		method, name, params string
		response             *provenance.Response
	}{
		{"initialize", "", `{"clientInfo":{"name":"x"}}`, &provenance.Response{}},
		{"tools/call", "run_python", `{"name":"run_python","arguments":{"code":"for i in range(2):\n\tprint(i)\n"}}`, &provenance.Response{Result: []byte(`{"exit_code":0,"stopped":"none"}`)}},
		{"tools/call", "run_python", `{"name":"run_python","arguments":{"code":"while True: pass"}}`, &provenance.Response{Result: []byte(`{"exit_code":125,"stopped":"steps"}`)}},
		{"tools/call", "run_python", `{"name":"run_python","arguments":{"cod":1}}`, &provenance.Response{IsError: true}},
		{"tools/call", "submit_execute_unconfirmed", `{"name":"submit_execute_unconfirmed","arguments":{"outcome":{}}}`, &provenance.Response{Result: []byte(`{"ok":false}`)}},
		{"resources/read", "pdlt://sessions/x", `{"uri":"pdlt://sessions/x"}`, &provenance.Response{Error: &provenance.CallError{Code: -32002, Message: "no such resource"}}},
		{"tools/call", "run_python", `{"name":"run_python","arguments":{"code":"` + strings.Repeat("x", 70_000) + `"}}`, &provenance.Response{Cancelled: true}},
		{"tools/call", "run_python", `{"name":"run_python","arguments":{"code":"print(1)"}}`, nil},
	} {
		e, err := l.Begin(provenance.Request{ID: []byte("1"), Method: c.method, Name: c.name, Params: []byte(c.params)})
		if err == nil && c.response != nil {
			err = e.End(*c.response)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Begin(provenance.Request{Method: "notifications/cancelled", Params: []byte(`{"requestId":1}`)}); err != nil {
		t.Fatal(err)
	}
	return l.Path()
}

// masked replaces what differs from run to run.
func masked(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if at := strings.Index(l, "  #"); at >= 0 {
			lines[i] = "TIME" + l[at:]
		}
		if before, rest, ok := strings.Cut(lines[i], ", "); ok && strings.HasSuffix(rest, " ms") {
			lines[i] = before + ", N ms"
		}
		if before, _, ok := strings.Cut(lines[i], ", sha256 "); ok {
			lines[i] = before + ", sha256 …"
		}
	}
	return strings.Join(lines, "\n")
}

func TestLogPrintsCallsForPeople(t *testing.T) {
	var f fake
	got := f.pdlt("", "log", aLog(t))
	want := `TIME  #1  initialize  ok, N ms
  clientInfo: {"name":"x"}
TIME  #2  tools/call run_python  ok, N ms
  code:
    | for i in range(2):
    |     print(i)
  = {"exit_code":0,"stopped":"none"}
TIME  #3  tools/call run_python  steps, N ms
  code: while True: pass
  = {"exit_code":125,"stopped":"steps"}
TIME  #4  tools/call run_python  refused, N ms
  cod: 1
TIME  #5  tools/call submit_execute_unconfirmed  ok, N ms
  outcome: {}
  = {"ok":false}
TIME  #6  resources/read pdlt://sessions/x  error, N ms
  uri: pdlt://sessions/x
  = -32002: no such resource
TIME  #7  tools/call run_python  cancelled, N ms
  arguments of 70011 bytes, sha256 …
TIME  #9  notifications/cancelled  notification
  requestId: 1
TIME  #8  tools/call run_python  unanswered
  code: print(1)
`
	if diff := cmp.Diff(want, masked(got.stdout)); diff != "" || got.status != exitOK || got.stderr != "" || f.opened != 0 {
		t.Errorf("found status %d, %q:\n%s", got.status, got.stderr, diff)
	}
}

func TestLogFilters(t *testing.T) {
	path := aLog(t)
	for _, c := range []struct {
		flags []string
		want  string // the numbers of the calls
	}{
		{[]string{"--tool=run_python"}, "2 3 4 7 8"},
		{[]string{"--tool=resources/read"}, ""},
		{[]string{"--outcome=ok"}, "1 2 5"},
		{[]string{"--outcome=error"}, "6"},
		{[]string{"--outcome=refused"}, "4"},
		{[]string{"--outcome=steps"}, "3"},
		{[]string{"--outcome=cancelled"}, "7"},
		{[]string{"--outcome=unanswered"}, "8"},
		{[]string{"--outcome=memory"}, ""},
		{[]string{"--tool=run_python", "--outcome=ok"}, "2"},
		{[]string{"--since=2000-01-01"}, "1 2 3 4 5 6 7 9 8"},
		{[]string{"--until=2000-01-01"}, ""},
		{[]string{"--since=2999-01-01T00:00:00+02:00"}, ""},
		{[]string{"--until=2999-01-01T00:00:00", "--outcome=refused"}, "4"},
	} {
		var f fake
		var numbers []string
		got := f.pdlt("", append([]string{"log", path}, c.flags...)...)
		for l := range strings.Lines(got.stdout) {
			if _, rest, ok := strings.Cut(l, "  #"); ok {
				number, _, _ := strings.Cut(rest, " ")
				numbers = append(numbers, number)
			}
		}
		if found := strings.Join(numbers, " "); found != c.want || got.status != exitOK || got.stderr != "" {
			t.Errorf("%v: found %q, status %d, %q; required: %q", c.flags, found, got.status, got.stderr, c.want)
		}
	}
}

func TestLogPassesLinesThrough(t *testing.T) {
	path := aLog(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	var f fake
	if got := f.pdlt("", "log", "--json", "--outcome=steps", path); got.stdout != lines[4]+lines[5] {
		t.Errorf("found %q; required: %q", got.stdout, lines[4]+lines[5])
	}
	all := f.pdlt("", "log", "--json", path).stdout
	if len(all) != len(text) {
		t.Errorf("found %d bytes; required: each of %d", len(all), len(text))
	}
	for _, l := range lines {
		if !strings.Contains(all, l) {
			t.Errorf("%.80q is missing", l)
		}
	}
}

func TestLogSaysWhatIsNoRecordAndGoesOn(t *testing.T) {
	path := aLog(t)
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("\x1b[2J\n{\"at_utc\":\"2026-"); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	var f fake
	got := f.pdlt("", "log", path)
	if got.status != exitOK || strings.Count(got.stdout, "  #") != 9 {
		t.Errorf("found status %d, %q", got.status, got.stdout)
	}
	lines := strings.Split(strings.TrimSuffix(got.stderr, "\n"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "pdlt: "+path+":17: no record: ") || !strings.HasPrefix(lines[1], "pdlt: "+path+":18: no record: ") {
		t.Errorf("found %q", lines)
	}
}

// A log may be anybody's: whatever its strings are, no byte of it acts on a terminal or makes a line of its own.
func TestLogShowsNothingThatActs(t *testing.T) {
	const evil = "\x1b]0;x\x07\r\n\x00\u009b31m\u202e\u2028\ufeff\U000e0041 2026-10-15 12:00:00.000  #1  forged"
	quoted := fmt.Sprintf("%q", evil)
	quoted = strings.NewReplacer(`\x1b`, `\u001b`, `\a`, `\u0007`, `\x00`, `\u0000`, `\U000e0041`, "\U000e0041").Replace(quoted)
	line := func(phase, rest string) string {
		return `{"at_utc":"2026-10-15T12:00:00+00:00","seq":1,"phase":"` + phase + `","id":1,"method":` + quoted + `,"name":` + quoted + rest + "}\n"
	}
	for name, text := range map[string]string{
		"a call":          line("request", `,"params":{`+quoted+`:`+quoted+`}`) + line("response", `,"ok":true,"result":{`+quoted+`:`+quoted+`}`),
		"raw characters":  line("request", `,"params":["`+"\u009b\u202e\x7f"+`"]`) + line("response", `,"ok":false,"error":{"code":1,"message":`+quoted+`}`),
		"a tool":          strings.ReplaceAll(line("request", `,"params":{"arguments":{"code":`+quoted+`}},"arguments_bytes":1,"arguments_sha256":`+quoted), `"method":`+quoted, `"method":"tools/call"`),
		"a damaged line":  "{\"at_utc\":\"" + evil,
		"a word in error": `{"at_utc":` + quoted + `,"seq":1,"phase":` + quoted + "}\n",
		"a wrong phase":   `{"at_utc":"2026-10-15T12:00:00+00:00","seq":1,"phase":` + quoted + "}\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "calls.jsonl")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var f fake
			got := f.pdlt("", "log", path)
			for _, out := range []string{got.stdout, got.stderr} {
				if strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
					t.Errorf("found %q", out)
				}
				for l := range strings.Lines(out) {
					if strings.HasPrefix(strings.TrimSpace(l), "2026-10-15 12:00:00.000  #1  forged") {
						t.Errorf("a line of the log's own making: %q", l)
					}
				}
			}
			if got.stdout+got.stderr == "" || got.status != exitOK {
				t.Errorf("found nothing, status %d", got.status)
			}
		})
	}
}

// A file may hold several servers' calls, whose numbers begin again.
func TestLogPairsWithTheLastRequestOfANumber(t *testing.T) {
	path := aLog(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	unanswered := strings.SplitAfter(string(text), "\n")[14]
	if err := os.WriteFile(path, []byte(unanswered+unanswered+strings.Replace(unanswered, `"request"`, `"response"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	var f fake
	got := f.pdlt("", "log", path)
	if strings.Count(got.stdout, "unanswered") != 1 || strings.Count(got.stdout, "  #8") != 2 {
		t.Errorf("found %s", got.stdout)
	}
}

// The flags of a result say how a program was stopped where it has no word for it.
func TestLogReadsTheFlagsOfAResult(t *testing.T) {
	for result, want := range map[string]string{
		`{"timed_out":true}`: "wall", `{"step_budget_exceeded":true}`: "steps", `{"oom_killed":true}`: "memory", `{"timed_out":false}`: "ok",
		`{"stopped":"cpu","timed_out":true}`: "cpu", `{"stopped":"forged"}`: "ok", `[]`: "ok", `{"stopped":1}`: "ok",
	} {
		c := call{request: &provenance.Event{}, response: &provenance.Event{OK: ptr(true), Result: []byte(result)}}
		if got := c.outcome(); got != want {
			t.Errorf("%s: found %s; required: %s", result, got, want)
		}
	}
}

func FuzzLogShowsNothingThatActs(f *testing.F) {
	f.Add([]byte("{\"at_utc\":\"2026-10-15T12:00:00+00:00\",\"seq\":1,\"phase\":\"request\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"arguments\":{\"code\":\"a\\nb\\u001b\"}}}\n{\"at"))
	f.Add([]byte("{\"at_utc\":\"2026-10-15T12:00:00+00:00\",\"seq\":1,\"phase\":\"response\",\"method\":\"\u009b\xff\",\"ok\":true,\"result\":[]}"))
	path := filepath.Join(f.TempDir(), "calls.jsonl")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var g fake
		got := g.pdlt("", "log", path)
		if got.status != exitOK || strings.ContainsFunc(got.stdout+got.stderr, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
			t.Fatalf("status %d: found %q, %q", got.status, got.stdout, got.stderr)
		}
	})
}

func TestLogRefuses(t *testing.T) {
	path := aLog(t)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a file that is not there": {[]string{path + ".x"}, "CLI_LOG_INVALID"},
		"a folder":                 {[]string{filepath.Dir(path)}, "CLI_LOG_INVALID"},
		"an outcome":               {[]string{path, "--outcome=fine"}, "CLI_FLAG_INVALID"},
		"a moment":                 {[]string{path, "--since=yesterday"}, "CLI_FLAG_INVALID"},
		"no file":                  {nil, "expected"},
	} {
		t.Run(name, func(t *testing.T) {
			var f fake
			got := f.pdlt("", append([]string{"log"}, c.args...)...)
			if got.status != exitRefusal || got.stdout != "" || !strings.Contains(got.stderr, c.want) {
				t.Errorf("found status %d, %q, %q; required: %s", got.status, got.stdout, got.stderr, c.want)
			}
		})
	}
}
