package provenance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T) *Log {
	t.Helper()
	l, err := OpenLog(filepath.Join(t.TempDir(), "logs", "calls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// events reads a log and fails on a damaged line.
func events(t *testing.T, l *Log) []Event {
	t.Helper()
	text, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	var all []Event
	for line, err := range ReadLog(bytes.NewReader(text)) {
		if err != nil || line.Damage != nil {
			t.Fatalf("line %d: %v, %v: %q", line.Number, err, line.Damage, line.Text)
		}
		all = append(all, line.Event)
	}
	return all
}

func call(t *testing.T, l *Log, r Request, a Response) {
	t.Helper()
	e, err := l.Begin(r)
	if err == nil {
		err = e.End(a)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheRecordsAreThoseOfTheSpecification(t *testing.T) {
	l := open(t)
	call(t, l, Request{ID: []byte("2"), Method: "tools/call", Name: "run_python", Params: []byte(`{"name":"run_python","arguments":{"code":"print(6 * 7)"}}`)},
		Response{Result: []byte(`{"exit_code":0,"steps_used":65}`)})
	call(t, l, Request{ID: []byte(`"a"`), Method: "nonsense"}, Response{Error: &CallError{-32601, "method not found"}})
	call(t, l, Request{ID: []byte(`3`), Method: "tools/call", Name: "run_python"}, Response{IsError: true})
	if _, err := l.Begin(Request{Method: "notifications/cancelled", Params: []byte(`{"requestId":2}`)}); err != nil {
		t.Fatal(err)
	}
	call(t, l, Request{ID: []byte(`5`), Method: "tools/call", Name: "run_python"}, Response{Cancelled: true})
	text, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00`).ReplaceAllString(string(text), "TIME")
	got = regexp.MustCompile(`"duration_ms":\d+\.\d{3}`).ReplaceAllString(got, `"duration_ms":N`)
	want := `{"at_utc":"TIME","seq":1,"phase":"request","id":2,"method":"tools/call","name":"run_python","params":{"name":"run_python","arguments":{"code":"print(6 * 7)"}}}
{"at_utc":"TIME","seq":1,"phase":"response","id":2,"method":"tools/call","name":"run_python","ok":true,"is_error":false,"duration_ms":N,"result":{"exit_code":0,"steps_used":65}}
{"at_utc":"TIME","seq":2,"phase":"request","id":"a","method":"nonsense"}
{"at_utc":"TIME","seq":2,"phase":"response","id":"a","method":"nonsense","ok":false,"error":{"code":-32601,"message":"method not found"},"duration_ms":N}
{"at_utc":"TIME","seq":3,"phase":"request","id":3,"method":"tools/call","name":"run_python"}
{"at_utc":"TIME","seq":3,"phase":"response","id":3,"method":"tools/call","name":"run_python","ok":true,"is_error":true,"duration_ms":N}
{"at_utc":"TIME","seq":4,"phase":"request","method":"notifications/cancelled","params":{"requestId":2}}
{"at_utc":"TIME","seq":5,"phase":"request","id":5,"method":"tools/call","name":"run_python"}
{"at_utc":"TIME","seq":5,"phase":"response","id":5,"method":"tools/call","name":"run_python","cancelled":true,"duration_ms":N}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnEventIsOneLineWhateverIsInIt(t *testing.T) {
	for name, params := range map[string]string{
		"white space":    "{\n\t\"a\":\r\n [1,\n2]}",
		"separators":     "{\"a\":\"x\u2028y\u2029z\u0085\"}",
		"controls":       "{\"a\":\"\x7f\u009b31m\"}",
		"escapes":        `{"a":"\n\u2028\u0000\u001b[2J"}`,
		"no UTF-8":       "{\"a\":\"\xff\xe2\x80\"}",
		"lone surrogate": `{"a":"\ud800"}`,
		"no JSON":        "{\"a\":\n\x1b",
		"markup":         `{"a":"<&>"}`,
		"bidi and marks": "{\"a\":\"\u202e\ufeff\"}",
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t)
			call(t, l, Request{ID: []byte("\"\u2028\""), Method: "a\nb\u2028", Name: "\x1b[2J\xff", Params: []byte(params)},
				Response{Error: &CallError{1, "\n\x00"}, Result: []byte(params)})
			text, err := os.ReadFile(l.Path())
			if err != nil {
				t.Fatal(err)
			}
			if !utf8.Valid(text) || strings.Count(string(text), "\n") != 2 || strings.ContainsFunc(strings.ReplaceAll(string(text), "\n", ""), func(r rune) bool {
				return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029
			}) {
				t.Errorf("found %q; required: two lines of plain text", text)
			}
			all := events(t, l)
			if len(all) != 2 || all[0].Method != "a\nb\u2028" {
				t.Fatalf("found %+v", all)
			}
			if !utf8.ValidString(params) {
				return // its bytes became U+FFFD
			}
			var sent, logged any
			if json.Unmarshal([]byte(params), &sent) == nil {
				if err := json.Unmarshal(all[0].Params, &logged); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(sent, logged); diff != "" {
					t.Errorf("an escape changed what was sent:\n%s", diff)
				}
			} else if sha, n := digest([]byte(params)); all[0].ParamsSHA256 != sha || all[0].ParamsBytes != n {
				t.Errorf("found %+v; required: digest and length", all[0])
			}
		})
	}
}

func TestWhatIsTooLargeIsLoggedAsDigestAndLength(t *testing.T) {
	l := open(t)
	args := []byte(`{"code":"` + strings.Repeat("x", wholeBytes) + `"}`)
	long := strings.Repeat("é", nameBytes)
	call(t, l, Request{ID: []byte("1"), Method: "tools/call", Name: "run_python", Params: []byte(`{"name":"run_python","arguments":` + string(args) + `}`)}, Response{Result: args})
	call(t, l, Request{ID: []byte(`"` + long + `"`), Method: long, Name: long, Params: args}, Response{Error: &CallError{1, long}})
	sha, n := digest(args)
	all := events(t, l)
	if e := all[0]; e.ArgumentsSHA256 != sha || e.ArgumentsBytes != n || string(e.Params) != `{"name":"run_python"}` {
		t.Errorf("found %.200s, %s, %d; required: the digest and length of the arguments, and the rest as it was", e.Params, e.ArgumentsSHA256, e.ArgumentsBytes)
	}
	if e := all[1]; e.ResultSHA256 != sha || e.ResultBytes != n || e.Result != nil {
		t.Errorf("found %.200s; required: digest and length of the result", e.Result)
	}
	if e := all[2]; e.ParamsSHA256 != sha || e.ParamsBytes != n || e.Params != nil || e.ArgumentsBytes != 0 {
		t.Errorf("found %.200s; required: digest and length of the parameters", e.Params)
	}
	for _, text := range []string{all[2].Method, all[2].Name, string(all[2].ID), all[3].Error.Message} {
		if len(text) > nameBytes+200 || !strings.Contains(text, fmt.Sprintf("(%d bytes, sha256 ", len(long))) && !strings.Contains(text, fmt.Sprintf("(%d bytes, sha256 ", len(long)+2)) {
			t.Errorf("found %d bytes: %.80q…; required: a beginning, a digest and a length", len(text), text)
		}
	}
}

func TestNumbersAreExactAndPairsMatchUnderConcurrency(t *testing.T) {
	l := open(t)
	const callers, calls = 16, 25
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := range calls {
				name := fmt.Sprintf("%d.%d", c, i)
				e, err := l.Begin(Request{ID: []byte(`"` + name + `"`), Method: "m", Name: name})
				if err == nil {
					err = e.End(Response{})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	next, begun, ended := uint64(1), map[uint64]string{}, 0
	for _, e := range events(t, l) {
		switch e.Phase {
		case RequestPhase:
			if e.Seq != next {
				t.Fatalf("found request %d; required: %d", e.Seq, next)
			}
			next++
			begun[e.Seq] = e.Name
		case ResponsePhase:
			if begun[e.Seq] != e.Name {
				t.Fatalf("response %d is of %q; its request is of %q", e.Seq, e.Name, begun[e.Seq])
			}
			ended++
		}
	}
	if next-1 != callers*calls || ended != callers*calls {
		t.Errorf("found %d requests and %d responses; required: %d", next-1, ended, callers*calls)
	}
}

func TestTheLogIsPrivateAndItsDefaultNameIsNew(t *testing.T) {
	dir := t.TempDir()
	l, err := CreateLog(filepath.Join(dir, "runs", "live-sessions"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ok, _ := regexp.MatchString(fmt.Sprintf(`^calls-\d{8}-\d{6}-%d\.jsonl$`, os.Getpid()), filepath.Base(l.Path())); !ok {
		t.Errorf("found the name %s", filepath.Base(l.Path()))
	}
	if folder := filepath.Join(dir, "runs", "mcp-server"); filepath.Dir(l.Path()) != folder {
		t.Errorf("found the folder %s; required: %s", filepath.Dir(l.Path()), folder)
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]fs.FileMode{l.Path(): 0o600, filepath.Dir(l.Path()): fs.ModeDir | 0o700} {
			if info, err := os.Stat(name); err != nil || info.Mode() != want {
				t.Errorf("%s: found %v, %v; required: %v", filepath.Base(name), info.Mode(), err, want)
			}
		}
	}
	if _, err := openLog(l.Path(), os.O_EXCL); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a log that is there: found %v; required: an error", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "runs", "live-sessions")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the sessions folder was created")
	}
}

func TestALogThatCannotBeOpenedIsAnError(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a folder": dir, "below a file": filepath.Join(file, "x"), "a device": os.DevNull, "a NUL": file + "\x00"} {
		if l, err := OpenLog(path); err == nil {
			_ = l.Close()
			t.Errorf("%s: opened", name)
		}
	}
}

func TestALogThatNobodyWouldFindStopsTheRequest(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file keeps its name there")
	}
	l := open(t)
	call(t, l, Request{ID: []byte("1"), Method: "m"}, Response{})
	pending, err := l.Begin(Request{ID: []byte("2"), Method: "m"})
	if err != nil {
		t.Fatal(err)
	}
	away := l.Path() + ".1"
	if err := os.Rename(l.Path(), away); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Begin(Request{ID: []byte("3"), Method: "m"}); err == nil {
		t.Error("a log that was renamed takes requests")
	}
	if err := os.WriteFile(l.Path(), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := pending.End(Response{}); err == nil {
		t.Error("a log that was replaced takes responses")
	}
	if err := os.Rename(away, l.Path()); err != nil {
		t.Fatal(err)
	}
	call(t, l, Request{ID: []byte("4"), Method: "m"}, Response{}) // tried again
	if all := events(t, l); len(all) != 5 || all[4].Seq != 4 {
		t.Errorf("found %+v", all)
	}
	if err := os.Truncate(l.Path(), 10); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Begin(Request{ID: []byte("5"), Method: "m"}); err == nil {
		t.Error("a log that was cut takes requests")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Begin(Request{ID: []byte("6"), Method: "m"}); err == nil {
		t.Error("a closed log takes requests")
	}
}

func TestADamagedLastLineStaysALineOfItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	if err := os.WriteFile(path, []byte(`{"at_utc":"2026-`), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	call(t, l, Request{ID: []byte("1"), Method: "m"}, Response{})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var damaged, whole []int
	for line := range ReadLog(bytes.NewReader(text)) {
		if line.Damage != nil {
			damaged = append(damaged, line.Number)
		} else {
			whole = append(whole, line.Number)
		}
	}
	if !cmp.Equal(damaged, []int{1}) || !cmp.Equal(whole, []int{2, 3}) {
		t.Errorf("found damaged %v, whole %v:\n%s", damaged, whole, text)
	}
}

func TestReadLogSurvivesWhatIsNoRecord(t *testing.T) {
	good := `{"at_utc":"2026-10-15T12:00:00.000000+00:00","seq":1,"phase":"request","id":2,"method":"m"}`
	long := `{"at_utc":"` + strings.Repeat("x", lineBytes) + `"}`
	for name, c := range map[string]struct{ text, damage string }{
		"cut":       {good[:40], "unexpected end"},
		"too long":  {long, "longer than"},
		"no phase":  {strings.Replace(good, `"request"`, `"done"`, 1), "phase"},
		"no number": {strings.Replace(good, `"seq":1`, `"seq":0`, 1), "seq"},
		"no time":   {strings.Replace(good, "2026", "soon", 1), "at_utc"},
		"an array":  {"[]", "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			for line, err := range ReadLog(strings.NewReader(good + "\n\n" + c.text + "\n" + good)) {
				if err != nil {
					t.Fatal(err)
				}
				n++
				if bad := line.Number == 3; bad != (line.Damage != nil) || bad && !strings.Contains(line.Damage.Error(), c.damage) {
					t.Errorf("line %d: found %v; required: %q of line 3 only", line.Number, line.Damage, c.damage)
				}
				if len(line.Text) > lineBytes {
					t.Errorf("line %d: holds %d bytes", line.Number, len(line.Text))
				}
			}
			if n != 3 {
				t.Errorf("found %d lines; required: 3", n)
			}
		})
	}
}

func FuzzReadLog(f *testing.F) {
	f.Add([]byte("{\"at_utc\":\"2026-10-15T12:00:00.000000+00:00\",\"seq\":1,\"phase\":\"request\",\"id\":2,\"method\":\"m\"}\n{\"at"))
	f.Add([]byte("\n\r\n[]\n{}\n\x00\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		last := 0
		for line, err := range ReadLog(bytes.NewReader(text)) {
			if err != nil {
				t.Fatal(err)
			}
			if line.Number <= last || bytes.ContainsRune(line.Text, '\n') || !bytes.Contains(text, line.Text) {
				t.Fatalf("line %d after %d: %q", line.Number, last, line.Text)
			}
			if last = line.Number; line.Damage == nil && (line.Event.Seq == 0 || line.Time.IsZero() && line.Event.At == "") {
				t.Fatalf("taken for a record: %q", line.Text)
			}
		}
		if n := bytes.Count(text, []byte{'\n'}) + 1; last > n {
			t.Fatalf("found line %d of %d", last, n)
		}
	})
}

func FuzzARecordReadsBack(f *testing.F) {
	f.Add([]byte(`1`), "tools/call", "run_python", []byte(`{"arguments":{"code":"print(1)"}}`))
	f.Add([]byte("\xff"), "\n\u2028", "\x1b", []byte("{\"a\":\"\u2028\x7f\xff\"}"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, id []byte, method, name string, params []byte) {
		l, err := OpenLog(filepath.Join(dir, "calls.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(l.Path())
		defer l.Close()
		call(t, l, Request{ID: id, Method: method, Name: name, Params: params}, Response{Result: params})
		if all := events(t, l); len(all) != 2 || all[0].Seq != 1 || all[1].Seq != 1 {
			t.Fatalf("found %+v", all)
		}
	})
}

func TestLevels(t *testing.T) {
	if !(Unverified < ContractChecked && ContractChecked < HostVerified) {
		t.Error("the levels are out of order")
	}
	for _, l := range []Level{Unverified, ContractChecked, HostVerified} {
		if got, err := ParseLevel(l.String()); err != nil || got != l {
			t.Errorf("%v: read back as %v, %v", l, got, err)
		}
	}
	for _, word := range []string{"", "HOST_VERIFIED", "host_verified ", "verified"} {
		if l, err := ParseLevel(word); err == nil || l != Unverified {
			t.Errorf("%q: found %v, %v; required: an error", word, l, err)
		}
	}
	if got := Level(200).String(); got != "unverified" {
		t.Errorf("a value outside the set claims %q", got)
	}
}
