package report_test

import (
	"errors"
	"strings"
	"testing"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/report"
)

func document(t testing.TB, text string) jsonx.Value {
	t.Helper()
	v, err := provenance.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func text(t testing.TB, v jsonx.Value) string {
	t.Helper()
	b, err := provenance.Canonical.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func member(v jsonx.Value, names ...string) jsonx.Value {
	for _, name := range names {
		v, _ = v.Get(name)
	}
	return v
}

func compared(t *testing.T, left, right string) jsonx.Value {
	t.Helper()
	doc, err := report.Compare(document(t, left), document(t, right), report.Context{})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestComparingTurnsAround(t *testing.T) {
	const low, high, none = `{"task_id":"t","reward":0.25,"episode_id":"a","verification":{"x":"pass","y":"fail"}}`,
		`{"task_id":"t","reward":1,"episode_id":"b","verification":{"x":"pass","z":null}}`, `{"task_id":"t","reward":true,"episode_id":"c"}`
	for _, c := range []struct{ left, right, want string }{
		{low, high, `{"reward":"right_higher","right_minus_left":0.75,"same_episode":false,"same_trace":true}`},
		{high, low, `{"reward":"left_higher","right_minus_left":-0.75,"same_episode":false,"same_trace":true}`},
		{low, low, `{"reward":"equal","right_minus_left":0.0,"same_episode":true,"same_trace":true}`},
		{low, none, `{"reward":"incomparable","right_minus_left":null,"same_episode":false,"same_trace":true}`},
	} {
		if got := text(t, member(compared(t, c.left, c.right), "relation")); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
	differences := member(compared(t, low, high), "differences")
	if got, want := text(t, differences), `{"execution_facts":null,"outputs":null,"verification":{"y":{"left":"fail","right":null},"z":{"left":null,"right":null}},`+
		`"verification_evidence":null,"verifier_versions":null}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got, want := text(t, member(compared(t, low, none), "differences", "verification")), `{"left":{"x":"pass","y":"fail"},"right":null}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestRewardsAreAddedFromLeftToRight(t *testing.T) {
	e := report.Evaluation{}
	for _, reward := range []float64{1e16, 1, 1} { // a sum that compensates would have both ones
		e.Entries = append(e.Entries, report.Entry{TaskID: "t", Status: "ok", Reward: &reward, Kept: report.NotRequested})
	}
	e.Entries = append(e.Entries, report.Entry{TaskID: "u", Status: "error", Kept: report.Failed})
	const want = `{"error":1,"invalid":0,"ok":3,"persistence_closed":0,"persistence_error":1,"reward_mean":3333333333333333.5,"reward_sum":1e+16,"scored":3,"tasks":4}`
	if got := text(t, member(e.Document(), "totals")); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := text(t, member(e.Document(), "runtime_context")); got != `{"registry_version":null,"verifier_versions":{},"verifiers_available":[],"wiring":"caller_supplied"}` {
		t.Error(got)
	}
}

func TestCandidateSets(t *testing.T) {
	set := func(candidates string) string {
		return `{"candidate_set_version":"traaviis.candidate-set.v1","candidates":` + candidates + `}`
	}
	one := func(key, argv string) string { return `{"candidate_key":` + key + `,"argv":` + argv + `}` }
	for _, c := range []struct{ name, text, want string }{
		{"two", set(`[` + one(`"b"`, `["x"]`) + `,` + one(`"A.1-x_"`, `["y",""]`) + `]`), ""},
		{"no JSON", `{`, report.CodeCandidateSetMalformed},
		{"too deep", strings.Repeat("[", 200), report.CodeCandidateSetMalformed},
		{"a list", `[]`, report.CodeCandidateSetMalformed},
		{"another version", `{"candidate_set_version":"x","candidates":[]}`, report.CodeCandidateSetVersion},
		{"a member more", `{"candidate_set_version":"traaviis.candidate-set.v1","candidates":[],"x":1}`, report.CodeCandidateSetMalformed},
		{"nobody", set(`[]`), report.CodeCandidateSetEmpty},
		{"no list", set(`{}`), report.CodeCandidateSetMalformed},
		{"no object", set(`[1]`), report.CodeCandidateSetMalformed},
		{"a member more in one", set(`[{"candidate_key":"a","argv":["x"],"env":{}}]`), report.CodeCandidateSetMalformed},
		{"two dashes", set(`[` + one(`"a--b"`, `["x"]`) + `]`), report.CodeCandidateKeyInvalid},
		{"a dot first", set(`[` + one(`".a"`, `["x"]`) + `]`), report.CodeCandidateKeyInvalid},
		{"a newline last", set(`[` + one(`"a\n"`, `["x"]`) + `]`), report.CodeCandidateKeyInvalid},
		{"a key of 65", set(`[` + one(`"`+strings.Repeat("a", 65)+`"`, `["x"]`) + `]`), report.CodeCandidateKeyInvalid},
		{"a key twice", set(`[` + one(`"a"`, `["x"]`) + `,` + one(`"a"`, `["y"]`) + `]`), report.CodeCandidateKeyDuplicate},
		{"a line for a shell", set(`[` + one(`"a"`, `"x y"`) + `]`), report.CodeCandidateArgvInvalid},
		{"nothing to run", set(`[` + one(`"a"`, `[]`) + `]`), report.CodeCandidateArgvInvalid},
		{"a number", set(`[` + one(`"a"`, `["x",1]`) + `]`), report.CodeCandidateArgvInvalid},
	} {
		list, err := report.ParseCandidates([]byte(c.text))
		r := (*provenance.Refusal)(nil)
		if errors.As(err, &r) != (c.want != "") || r != nil && r.Code != c.want {
			t.Errorf("%s: %v, %v; want %q", c.name, list, err, c.want)
		}
		if c.want == "" && (len(list) != 2 || list[0].Key != "A.1-x_" || len(list[0].Argv) != 2) {
			t.Errorf("%s: %v", c.name, list)
		}
	}
}
