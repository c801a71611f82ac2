package sessions

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	out    = "stages/50_execution/output/"
	answer = "Answer 7.\n"
	always = -24 * time.Hour // every stamp is settled
	never  = 24 * time.Hour
)

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func line(kind, payload string) string {
	return fmt.Sprintf(`{"at_utc":"2026-10-10T09:00:00+00:00","kind":%q,"payload":%s}`+"\n", kind, payload)
}

// The events of a turn that rule D12 verifies.
var (
	classified = line("PROBLEM_CLASS_CLASSIFIED", `{"requires_verified_execution":true}`)
	begun      = line("OPERATION_MATERIALIZED", `{"operation":"EXECUTE"}`)
	ran        = line("SANDBOX_RUN", `{"block":1,"backend":"landlock","exit_code":0,"step_budget_exceeded":false,"timed_out":false,"oom_killed":false}`)
	passed     = line("VERIFICATION_PASSED", `{"provisional":false,"sandbox_reproduced":true}`)
	validated  = line("RESULT_IR_VALIDATED", `{"ir":{"witness":{"polarity":"positive","data":{"answer":7}}}}`)
	closed     = line("TURN_STATUS", `{"status":"CLOSED_SUCCESS"}`)
	verified   = classified + begun + ran + passed + validated + closed
)

// verifiedTurn are the files of a turn that rule D12 verifies.
func verifiedTurn() map[string]string {
	return map[string]string{
		"turn.json":                   `{"turn_id":"turn_001","status":"CLOSED_SUCCESS","deliverable_sha256":"` + sha("Answer 7.") + `"}`,
		"routing.json":                `{"requires_verified_execution":true}`,
		"events/events.jsonl":         verified,
		out + "current.md":            answer,
		out + "current.json":          `{"kind":"RESULT","result_body_hash":"` + sha("Answer 7.") + `"}`,
		out + "program-output.json":   `{"runs":[{"block":1,"exit_code":0,"stdout":"WITNESS: {}\n","stderr":""}]}`,
		"stages/10_prompt/current.md": "elsewhere",
	}
}

var one = name{"session-1", "W-aaaaaaaaaa01", "turn_001"}

func at(folder string, n name, path string) string {
	return filepath.Join(folder, filepath.Join(n.path()...), filepath.FromSlash(path))
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func putTurn(t testing.TB, folder string, n name, files map[string]string) {
	t.Helper()
	for path, text := range files {
		put(t, at(folder, n, path), text)
	}
}

func do(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// all lists everything, in pages of n.
func all(t testing.TB, tree *Tree, n int) []Resource {
	t.Helper()
	var list []Resource
	for cursor := ""; ; {
		page, next, err := tree.List(cursor, n)
		if err != nil || n > 0 && len(page) > n || next != "" && len(page) != max(n, PageSize*(1-min(n, 1))) {
			t.Fatalf("found a page of %d, next %q, %v", len(page), next, err)
		}
		list = append(list, page...)
		if next == "" {
			return list
		}
		cursor = next
	}
}

// descriptions gives what is said of each listed turn's response, by session.
func descriptions(t testing.TB, tree *Tree) map[string]string {
	t.Helper()
	said := map[string]string{}
	for _, r := range all(t, tree, 0) {
		if session, ok := strings.CutSuffix(r.Name, "/W-aaaaaaaaaa01/turn_001/response"); ok {
			said[session], _, _ = strings.Cut(r.Description, ":")
		}
	}
	return said
}

func TestAFolderThatIsNotThereListsNothingAndIsNotCreated(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "live-sessions")
	tree := Open(folder)
	for range 2 {
		if page, next, err := tree.List("", 0); err != nil || next != "" || page == nil || len(page) != 0 {
			t.Errorf("found %v, %q, %v; required: an empty page", page, next, err)
		}
		if _, err := tree.Read(one.uri(response)); !errors.Is(err, ErrUnknownURI) {
			t.Errorf("found %v", err)
		}
	}
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the folder was created")
	}
	putTurn(t, folder, one, verifiedTurn())
	if got := descriptions(t, tree); len(got) != 1 {
		t.Errorf("a folder that came later: found %v", got)
	}
	do(t, os.RemoveAll(folder))
	if got := descriptions(t, tree); len(got) != 0 {
		t.Errorf("a folder that went away: found %v", got)
	}
}

func TestAChangeShowsInTheNextListing(t *testing.T) {
	for name, change := range map[string]struct {
		do   func(t *testing.T, path func(string) string)
		want string // "" when the turn is not listed
	}{
		"the response is edited in place": {func(t *testing.T, p func(string) string) { put(t, p(out+"current.md"), answer+"more\n") }, "CLOSED_SUCCESS, unverified"},
		"the response is exchanged": {func(t *testing.T, p func(string) string) {
			put(t, p(out+"new"), "Answer 8.\n")
			do(t, os.Rename(p(out+"new"), p(out+"current.md")))
		}, "CLOSED_SUCCESS, unverified"},
		"the response is removed":  {func(t *testing.T, p func(string) string) { do(t, os.Remove(p(out+"current.md"))) }, ""},
		"the turn is opened again": {func(t *testing.T, p func(string) string) { put(t, p("turn.json"), `{"status":"ACTIVE"}`) }, ""},
		"the events are cut":       {func(t *testing.T, p func(string) string) { do(t, os.Truncate(p("events/events.jsonl"), 40)) }, "CLOSED_SUCCESS, unverified"},
		"the events go":            {func(t *testing.T, p func(string) string) { do(t, os.RemoveAll(p("events"))) }, "CLOSED_SUCCESS, unverified"},
		"the class changes": {func(t *testing.T, p func(string) string) {
			put(t, p("routing.json"), `{"requires_verified_execution":false}`)
		}, "CLOSED_SUCCESS, unverified"},
		"the routing goes":            {func(t *testing.T, p func(string) string) { do(t, os.Remove(p("routing.json"))) }, "CLOSED_SUCCESS, host_verified"},
		"the outcome becomes another": {func(t *testing.T, p func(string) string) { put(t, p(out+"current.json"), `{"kind":"REQUEST_INPUT"}`) }, ""},
		"a record comes": {func(t *testing.T, p func(string) string) {
			put(t, p("provenance.json"), `{"status":"CLOSED_SUCCESS","verification":{"level":"contract_checked"},"deliverable_sha256":"`+sha("Answer 7.")+`"}`)
		}, "CLOSED_SUCCESS, contract_checked"},
		"the turn goes":      {func(t *testing.T, p func(string) string) { do(t, os.RemoveAll(p("."))) }, ""},
		"the workspace goes": {func(t *testing.T, p func(string) string) { do(t, os.RemoveAll(p("../.."))) }, ""},
		"the session goes":   {func(t *testing.T, p func(string) string) { do(t, os.RemoveAll(p("../../../.."))) }, ""},
		"the session is renamed, and a link left": {func(t *testing.T, p func(string) string) {
			s := p("../../../..")
			do(t, os.Rename(s, s+".x"), os.Symlink(s+".x", s))
		}, ""},
		"the stages become a link": {func(t *testing.T, p func(string) string) {
			do(t, os.Rename(p("stages"), p("elsewhere")), os.Symlink("elsewhere", p("stages")))
		}, ""},
		"the execution becomes a link": {func(t *testing.T, p func(string) string) {
			do(t, os.Rename(p("stages/50_execution"), p("stages/elsewhere")), os.Symlink("elsewhere", p("stages/50_execution")))
		}, ""},
		"the events become a link": {func(t *testing.T, p func(string) string) {
			do(t, os.Rename(p("events"), p("elsewhere")), os.Symlink("elsewhere", p("events")))
		}, ""},
		"the output becomes a link": {func(t *testing.T, p func(string) string) {
			do(t, os.Rename(p(out), p("elsewhere")), os.Symlink("../../elsewhere", p(out)))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			other := name2("session-2")
			putTurn(t, folder, one, verifiedTurn())
			putTurn(t, folder, other, verifiedTurn())
			tree := Open(folder)
			tree.coarse = always
			if got := descriptions(t, tree); got["session-1"] != "CLOSED_SUCCESS, host_verified" {
				t.Fatalf("before: found %q", got)
			}
			kept := tree.entries[other]
			change.do(t, func(path string) string { return at(folder, one, path) })
			got := descriptions(t, tree)
			if got["session-1"] != change.want {
				t.Errorf("found %q; required: %q", got["session-1"], change.want)
			}
			if got["session-2"] != "CLOSED_SUCCESS, host_verified" || tree.entries[other] != kept {
				t.Errorf("the other turn: found %q, remembered %v; required: as before, without reading it again", got["session-2"], tree.entries[other] == kept)
			}
			fresh := descriptions(t, Open(folder))
			if diff := cmp.Diff(fresh, got); diff != "" {
				t.Errorf("a reader without memory finds something else:\n%s", diff)
			}
		})
	}
}

func name2(session string) name { return name{session, one.workspace, one.turn} }

func TestATurnThatJustChangedIsReadAgain(t *testing.T) {
	folder := t.TempDir()
	putTurn(t, folder, one, verifiedTurn())
	tree := Open(folder)
	tree.coarse = never
	all(t, tree, 0)
	was := tree.entries[one]
	all(t, tree, 0)
	if tree.entries[one] == was {
		t.Error("a stamp was trusted that a second change need not move")
	}
}

func TestAListingIsInTheOrderOfNames(t *testing.T) {
	folder := t.TempDir()
	// Byte order of the whole name would put "a-b/" and "a.b/" before "a/".
	want := []name{{"a", "W-000000000001", "turn_001"}, {"a", "W-000000000001", "turn_1000"}, {"a", "W-000000000001", "turn_999"},
		{"a", "W-00000000000a", "turn_001"}, {"a-b", "W-000000000001", "turn_001"}, {"a.b", "W-000000000001", "turn_001"}, {"b", "W-000000000001", "turn_001"}}
	for _, n := range want {
		putTurn(t, folder, n, verifiedTurn())
	}
	var names []string
	for _, n := range want {
		names = append(names, n.of(response), n.of(programOutput), n.of(provenanceRecord))
	}
	for _, pages := range []int{0, 1, 2, 3, 4, 7, 20, 21, 22} {
		var got []string
		for _, r := range all(t, Open(folder), pages) {
			got = append(got, r.Name)
		}
		if diff := cmp.Diff(names, got); diff != "" {
			t.Errorf("pages of %d:\n%s", pages, diff)
		}
	}
}

func TestPagesStayStableWhileSessionsComeAndGo(t *testing.T) {
	folder := t.TempDir()
	var before []string
	for _, s := range []string{"b", "d", "f", "h"} {
		putTurn(t, folder, name2(s), verifiedTurn())
		for k := range kinds {
			before = append(before, name2(s).of(kind(k)))
		}
	}
	tree := Open(folder)
	tree.fresh = 0
	var got []string
	for i, cursor := 0, ""; i == 0 || cursor != ""; i++ {
		page, next, err := tree.List(cursor, 2)
		do(t, err)
		for _, r := range page {
			got = append(got, r.Name)
		}
		cursor = next
		switch i {
		case 1: // after two thirds of "d"'s predecessors
			putTurn(t, folder, name2("a"), verifiedTurn())
			putTurn(t, folder, name2("e"), verifiedTurn())
		case 2:
			do(t, os.RemoveAll(filepath.Join(folder, "h")))
			do(t, os.RemoveAll(filepath.Join(folder, "b")))
		case 3:
			all(t, tree, 0) // somebody else begins a listing
		}
	}
	seen := map[string]bool{}
	for _, name := range got {
		seen[name] = true
	}
	if !slices.IsSortedFunc(got, func(a, b string) int { return strings.Compare(a[:1], b[:1]) }) || len(seen) != len(got) {
		t.Errorf("found %v; required: in order, none twice", got)
	}
	for _, name := range before {
		if gone := strings.HasPrefix(name, "h/"); gone == slices.Contains(got, name) {
			t.Errorf("%s: listed %v; required: what stayed, and not what went", name, !gone)
		}
	}
}

func TestACursorThatNoListingGaveIsRefused(t *testing.T) {
	folder := t.TempDir()
	putTurn(t, folder, one, verifiedTurn())
	tree := Open(folder)
	good := cursorAfter(one, response)
	for _, cursor := range []string{"0", "1", "500", "null", "x", " ", good + "=", good + "A", good[1:], strings.ToUpper(good), "\x00", good + "\n",
		cursorAfter(name{"..", one.workspace, one.turn}, response), "c2Vzc2lvbi0x", strings.Repeat("A", 1<<20)} {
		if page, _, err := tree.List(cursor, 1); !errors.Is(err, ErrCursor) || page != nil {
			t.Errorf("%.60q: found %v, %v; required: %v", cursor, page, err, ErrCursor)
		}
	}
	// One for what is gone goes on behind it.
	if page, _, err := tree.List(cursorAfter(name2("session-0"), response), 1); err != nil || len(page) != 1 || page[0].URI != one.uri(response) {
		t.Errorf("found %v, %v", page, err)
	}
}

// lookalikes are spellings that a file system, a URI library or a person might take for a listed URI.
func lookalikes(uri string) []string {
	n := strings.TrimPrefix(uri, scheme)
	return []string{
		"", scheme, n, uri + "/", uri + "?", uri + "#", uri + "\x00", uri + " ", " " + uri, uri + "/.", uri + "/../response", strings.ToUpper(uri),
		"PDLT" + uri[4:], "file:///" + n, "pdlt:/sessions/" + n, "pdlt://sessions//" + n, "pdlt://SESSIONS/" + n, "pdlt://sessions/./" + n, "pdlt://sessions/x/../" + n,
		"pdlt://user@sessions/" + n, "pdlt://sessions:80/" + n, strings.ReplaceAll(uri, "/turn_001", "//turn_001"), strings.ReplaceAll(uri, "turn_001", "./turn_001"),
		strings.ReplaceAll(uri, "turn_001", "turn_001/."), strings.ReplaceAll(uri, "turn_001", "turn_0001"), strings.ReplaceAll(uri, "turn_001", "TURN_001"),
		strings.ReplaceAll(uri, "turn_001", "%74urn_001"), strings.ReplaceAll(uri, "_", "%5F"), strings.ReplaceAll(uri, "/W-", "%2FW-"), strings.ReplaceAll(uri, "/W-", "\\W-"),
		strings.ReplaceAll(uri, "W-a", "W-A"), strings.ReplaceAll(uri, "response", "turn.json"), strings.ReplaceAll(uri, "response", "../turn.json"),
		strings.ReplaceAll(uri, "response", "response%00"), strings.ReplaceAll(uri, "response", "respons\u0435"), uri[:len(uri)-1],
		scheme + "../" + n, scheme + "%2e%2e/" + n, scheme + one.session + "/workspaces/" + one.workspace + "/turns/" + one.turn + "/turn.json",
	}
}

func TestALookalikeOfAURIIsUnknown(t *testing.T) {
	folder := t.TempDir()
	putTurn(t, folder, one, verifiedTurn())
	tree := Open(folder)
	for _, uri := range lookalikes(one.uri(response)) {
		if got, err := tree.Read(uri); !errors.Is(err, ErrUnknownURI) || got != nil {
			t.Errorf("%q: found %v, %v; required: %v", uri, got, err, ErrUnknownURI)
		}
	}
	if _, err := tree.Read(one.uri(response)); err != nil {
		t.Error(err)
	}
}

func TestTheProvenanceOfAReadIsOfTheSameBytes(t *testing.T) {
	folder := t.TempDir()
	putTurn(t, folder, one, verifiedTurn())
	tree := Open(folder)
	tree.coarse = always
	all(t, tree, 0)
	put(t, at(folder, one, out+"current.md"), "Answer 8.\n")
	got, err := tree.Read(one.uri(response))
	do(t, err)
	if got[0].Text != "Answer 8.\n" || !strings.Contains(got[1].Text, reasonHash) {
		t.Errorf("found %q and %s; required: the new text, and that it is not the recorded one", got[0].Text, got[1].Text)
	}
}

func TestAResponseThatIsNotUTF8IsABlob(t *testing.T) {
	folder := t.TempDir()
	putTurn(t, folder, one, verifiedTurn())
	put(t, at(folder, one, out+"current.md"), "caf\xe9")
	got, err := Open(folder).Read(one.uri(response))
	do(t, err)
	if got[0].Text != "" || string(got[0].Blob) != "caf\xe9" || got[0].Name != one.of(response) {
		t.Errorf("found %+v", got[0])
	}
}

func TestProgramOutputIsServedInItsShapeAndCut(t *testing.T) {
	edge := strings.Repeat("x", streamBytes-1)
	for name, c := range map[string]struct {
		text string
		want string // "" when it counts as not recorded
	}{
		"cut on a character": {`{"runs":[{"block":1,"exit_code":-9,"stdout":"` + edge + `é!","stderr":"` + edge + `ab"}],"more":1}`,
			`{"runs":[{"block":1,"exit_code":-9,"stdout":"` + edge + `","stderr":"` + edge + `a"}]}`},
		"no run":              {`{"runs":[]}`, `{"runs":[]}`},
		"markup":              {`{"runs":[{"block":1,"exit_code":0,"stdout":"<&>\u2028","stderr":"\u0000"}]}`, `{"runs":[{"block":1,"exit_code":0,"stdout":"<&>\u2028","stderr":"\u0000"}]}`},
		"no JSON":             {`{"runs":`, ""},
		"no list":             {`{"runs":{}}`, ""},
		"no runs":             {`{}`, ""},
		"a run of no object":  {`{"runs":[1]}`, ""},
		"a number for a text": {`{"runs":[{"block":1,"exit_code":0,"stdout":1,"stderr":""}]}`, ""},
		"a name twice":        {`{"runs":[{"block":1,"block":1,"exit_code":0,"stdout":"","stderr":""}]}`, ""},
		"other letters":       {`{"runs":[{"Block":1,"exit_code":0,"stdout":"","stderr":""}]}`, ""},
		"a fraction":          {`{"runs":[{"block":1.5,"exit_code":0,"stdout":"","stderr":""}]}`, ""},
		"too many runs":       {`{"runs":[` + strings.Repeat(`{"block":1,"exit_code":0,"stdout":"","stderr":""},`, runs) + `{"block":1,"exit_code":0,"stdout":"","stderr":""}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := servedOutput([]byte(c.text))
			if string(got) != c.want || ok != (c.want != "") {
				t.Errorf("found %.300s, %v; required: %.300s", got, ok, c.want)
			}
			folder := t.TempDir()
			putTurn(t, folder, one, verifiedTurn())
			put(t, at(folder, one, out+"program-output.json"), c.text)
			tree := Open(folder)
			if listed := len(all(t, tree, 0)) == 3; listed != ok {
				t.Errorf("listed: %v; required: %v", listed, ok)
			}
			if _, err := tree.Read(one.uri(programOutput)); (err == nil) != ok {
				t.Errorf("read: found %v", err)
			}
		})
	}
}

// A host writes a turn piece by piece while others list. What is listed is whole, and the turns beside it are there all the time.
func TestListingWhileATurnIsBeingWritten(t *testing.T) {
	folder := t.TempDir()
	putTurn(t, folder, one, verifiedTurn())
	tree := Open(folder)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := range 40 {
			n := name2(fmt.Sprintf("session-2-%d", i))
			files := verifiedTurn()
			for _, path := range slices.Sorted(maps.Keys(files)) { // turn.json comes last but for what it does not need
				for cut := range 3 { // each in pieces
					put(t, at(folder, n, path), files[path][:len(files[path])*(cut+1)/3])
				}
			}
		}
	}()
	for done := false; !done; {
		select {
		case <-written:
			done = true
		default:
		}
		for session, said := range descriptions(t, tree) {
			if session == "session-1" && said != "CLOSED_SUCCESS, host_verified" || !strings.HasPrefix(said, "CLOSED_SUCCESS, ") {
				t.Errorf("%s: found %q", session, said)
			}
		}
		if _, err := tree.Read(one.uri(response)); err != nil {
			t.Error(err)
		}
	}
	got := descriptions(t, tree)
	if len(got) != 41 {
		t.Errorf("found %d turns; required: 41", len(got))
	}
	for session, said := range got {
		if said != "CLOSED_SUCCESS, host_verified" {
			t.Errorf("%s, when it was whole: found %q", session, said)
		}
	}
}

func TestATreeIsSafeForConcurrentUse(t *testing.T) {
	folder := t.TempDir()
	for i := range 5 {
		putTurn(t, folder, name2(fmt.Sprintf("session-%d", i)), verifiedTurn())
	}
	tree := Open(folder)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 10 {
				if got := len(all(t, tree, 4)); got != 15 {
					t.Errorf("found %d resources; required: 15", got)
				}
				if got, err := tree.Read(one.uri(programOutput)); err != nil || len(got) != 2 {
					t.Errorf("found %v, %v", got, err)
				}
			}
		})
	}
	wait.Wait()
}

func TestTemplatesNameWhatIsListed(t *testing.T) {
	for i, tmpl := range Templates() {
		uri := strings.NewReplacer("{session}", one.session, "{workspace}", one.workspace, "{turn}", one.turn).Replace(tmpl.URITemplate)
		if uri != one.uri(kind(i)) || tmpl.MIMEType != kinds[i].mimeType || tmpl.Description == "" {
			t.Errorf("found %+v", tmpl)
		}
	}
}

func FuzzRead(f *testing.F) {
	folder := f.TempDir()
	putTurn(f, folder, one, verifiedTurn())
	put(f, filepath.Join(folder, "secret"), "secret")
	tree := Open(folder)
	listed := map[string]bool{}
	for _, r := range all(f, tree, 0) {
		listed[r.URI] = true
		f.Add(r.URI)
	}
	for _, uri := range lookalikes(one.uri(response)) {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		got, err := tree.Read(uri)
		if listed[uri] != (err == nil) || err != nil && !errors.Is(err, ErrUnknownURI) || err == nil && got[0].URI != uri {
			t.Errorf("%q: found %v, %v; listed: %v", uri, got, err, listed[uri])
		}
		if page, next, err := tree.List(uri, 1); err != nil && !errors.Is(err, ErrCursor) || uri != "" && err == nil && (len(page) > 1 || next == uri) {
			t.Errorf("as a cursor: found %v, %q, %v", page, next, err)
		}
	})
}

// BenchmarkList lists 10,000 sessions of one turn each: "first" reads them all, "again" is a whole listing in pages after that.
func BenchmarkList(b *testing.B) {
	folder := b.TempDir()
	for i := range 10_000 {
		putTurn(b, folder, name2(fmt.Sprintf("session-%05d", i)), verifiedTurn())
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if got := len(all(b, Open(folder), 0)); got != 30_000 {
				b.Fatal(got)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		tree := Open(folder)
		all(b, tree, 0)
		for b.Loop() {
			if got := len(all(b, tree, 0)); got != 30_000 {
				b.Fatal(got)
			}
		}
	})
	b.Run("one page", func(b *testing.B) {
		tree := Open(folder)
		all(b, tree, 0)
		for b.Loop() {
			if page, _, err := tree.List("", 0); err != nil || len(page) != PageSize {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		tree := Open(folder)
		all(b, tree, 0)
		for b.Loop() {
			if _, err := tree.Read(name2("session-05000").uri(response)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
