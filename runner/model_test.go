package runner

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/internal/jsonx"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file of testdata, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (go test ./runner -update writes it anew): -want +got\n%s", name, diff)
	}
}

func parsed(t *testing.T, text string) jsonx.Value {
	t.Helper()
	v, err := jsonx.Parse([]byte(text), jsonx.Bounds{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// resultWith is a RESULT with some members more.
func resultWith(members string) string {
	return `{"kind": "RESULT", "interpretation": "", "approach": "", "body": "x"` + members + `}`
}

// The shared vectors have the common cases (test/vectors); these are the ones that they leave open.
func TestWhatTheModelRejects(t *testing.T) {
	long := strings.Repeat("é", 500)
	for _, c := range []struct {
		name, outcome string
		want          []string // path: found; required
	}{
		{"nothing of a kind", `{}`, []string{"outcome.kind: missing; one of RESULT, BLOCKED_BY_HIGHER_PRIORITY, REQUEST_INPUT"}},
		{"no object", `[1]`, []string{"outcome: list of 1; an object"}},
		{"declared keys first, then the others as given", `{"z": 1, "kind": "RESULT", "a": null, "y": {}, "approach": 1}`, []string{
			"outcome.interpretation: missing; a string",
			"outcome.approach: integer 1; a string",
			"outcome.body: missing; a non-empty string",
			"outcome.z: integer 1; no such key",
			"outcome.y: empty object; no such key"}},
		{"a body of escapes that are blank", strings.Replace(resultWith(""), `"x"`, `"\\n\\t"`, 1), []string{`outcome.body: string "\\n\\t"; a non-empty string`}},
		{"null in a list", resultWith(`, "result_ir": {"files": [null], "open_defects": [{"description": null}]}`), []string{
			"outcome.result_ir.files.0: null; an object",
			"outcome.result_ir.open_defects.0.description: null; a non-empty string"}},
		{"found is short", resultWith(`, "` + long + `": "` + long + `"`), []string{
			"outcome." + strings.Repeat("é", maxFound-1) + "…: string \"" + strings.Repeat("é", maxFound-len("string ")-2) + "…; no such key"}},
		{"a number with a fraction", resultWith(`, "result_ir": {"witness": {"polarity": "negative", "nodes_explored": 1.5}}`), []string{
			"outcome.result_ir.witness.nodes_explored: number 1.5; an integer greater than 0"}},
		{"a number that cannot be written out", resultWith(`, "result_ir": {"witness": {"polarity": "negative", "nodes_explored": 1e999999999}}`), []string{
			"outcome.result_ir.witness.nodes_explored: number 1e999999999; an integer greater than 0"}},
		{"both rules of a search", resultWith(`, "result_ir": {"witness": {"polarity": "negative", "basis": "search", "search_exhausted": false}}`), []string{
			"outcome.result_ir.witness.search_exhausted: false; true (a search-based negative witness)",
			"outcome.result_ir.witness.nodes_explored: missing; an integer greater than 0 (a search-based negative witness)"}},
		{"another basis has no rules", resultWith(`, "result_ir": {"witness": {"polarity": "negative", "basis": "guess"}}`), []string{
			`outcome.result_ir.witness.basis: string "guess"; one of search, proof`}},
	} {
		_, findings := CheckOutcome(parsed(t, c.outcome))
		var got []string
		for _, f := range findings {
			got = append(got, f.Path+": "+f.Found+"; "+f.Required)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

func TestAtMost50FindingsAreGiven(t *testing.T) {
	_, findings := CheckOutcome(parsed(t, resultWith(`, "result_ir": {"files": [`+strings.Repeat("1,", 9999)+"1]}")))
	if len(findings) != 50 || findings[49].Path != "outcome.result_ir.files.49" {
		t.Errorf("%d findings", len(findings))
	}
}

func TestABodyIsDecodedOnce(t *testing.T) {
	for _, c := range []struct{ given, want string }{
		{"x = 1", "x = 1"},
		{`x = 1\ny = 2`, "x = 1\ny = 2"},
		{`print("a")\n\tx`, "print(\"a\")\n\tx"},         // no JSON string: replaced as text
		{`a\r\nb`, "a\r\nb"},                             // a JSON string
		{`"a"\r\nb`, "\"a\"\nb"},                         // none
		{`\\n`, `\n`},                                    // once
		{"tab\there\\nx", "tab\there\nx"},                // control characters may stand in it
		{"\x01\\n\u00e9", "\x01\n\u00e9"},                // all of them
		{`\ud83e\udd80\n1`, "🦀\n1"},                      // a surrogate pair
		{`\ud83e\n1`, "\\ud83e\n1"},                      // half of one is no character
		{"real\nbreak \\n", "real\nbreak \\n"},           // left alone
		{"carriage\rreturn \\n", "carriage\rreturn \\n"}, // likewise
		{`x = 1\n`, "x = 1"},
		{`c = 'a\tb'`, `c = 'a\tb'`}, // without \n nothing says that it was escaped
		{"trailing break is trimmed first\\nx\n", "trailing break is trimmed first\nx"}, // and then there is none
	} {
		outcome := parsed(t, resultWith(""))
		outcome.Members[3].Value.Str = c.given
		normal, findings := CheckOutcome(outcome)
		if got, _ := normal.Get("body"); findings != nil || got.Str != c.want {
			t.Errorf("%q becomes %q, want %q; %+v", c.given, got.Str, c.want, findings)
		}
	}
}

func TestWhatIsAnInteger(t *testing.T) {
	for num, want := range map[string]string{
		"0": "0", "-0": "0", "3": "3", "-3": "-3", "3.0": "3", "3.10": "", "0.5": "", "30e-1": "3", "35e-1": "", "1e3": "1000", "1.5E1": "15", "0e-5": "0",
		"0.000": "0", "1e-400": "", "1e1001": "", "12345678901234567890123": "12345678901234567890123", "-1.20e+1": "-12", "0.3e1": "3",
	} {
		if got, ok := integer(num); got != want || ok != (want != "") {
			t.Errorf("integer(%s) is %q, %v; want %q", num, got, ok, want)
		}
	}
}

func TestTheSchemaIsTheModel(t *testing.T) {
	var b bytes.Buffer
	if err := json.Indent(&b, OutcomeSchema(), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "outcome.schema.json", append(b.Bytes(), '\n'))
}

func FuzzOutcome(f *testing.F) {
	for _, seed := range []string{
		resultWith(""), resultWith(`, "result_ir": {"files": [{"filename": "a", "evidence": {"path": "p"}}], "open_defects": [{}]}`),
		resultWith(`, "result_ir": {"witness": {"polarity": "negative", "argument": "x", "nodes_explored": 3e0}}`),
		resultWith(`, "result_ir": {"witness": {"polarity": "positive", "data": {"a": [null]}, "x": 1}}`),
		`{"kind": "REQUEST_INPUT", "interpretation": "", "approach": "", "body": "a\\nb", "expected_type": "t", "description": " "}`,
		`{"kind": "BLOCKED_BY_HIGHER_PRIORITY"}`, `[]`, `null`, `{"kind": {}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := jsonx.Parse(text, jsonx.Bounds{})
		if err != nil {
			return
		}
		normal, findings := CheckOutcome(v)
		for _, f := range findings {
			if !strings.HasPrefix(f.Path, "outcome") || f.Required == "" || f.Code != FindingOutputMalformed || len([]rune(f.Found)) > maxFound || f.Found == "" {
				t.Fatalf("%+v", f)
			}
		}
		if findings != nil {
			return
		}
		// What was accepted stays accepted. It stays as it is, but for a body, which is decoded at each reading.
		again, findings := CheckOutcome(normal)
		if findings != nil {
			t.Fatalf("the normal form is rejected: %+v", findings)
		}
		notBody := func(m jsonx.Member) bool { return m.Name == "body" || m.Name == "description" }
		if diff := cmp.Diff(slices.DeleteFunc(normal.Members, notBody), slices.DeleteFunc(again.Members, notBody)); diff != "" {
			t.Fatalf("the normal form changes: %s", diff)
		}
	})
}
