package vectors

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/runner"
)

type outcomeVectors struct {
	About string
	Valid []struct {
		Name            string
		Outcome         json.RawMessage
		Normalized      map[string]json.RawMessage
		OriginalRejects bool `json:"original_rejects"`
	}
	Invalid []struct {
		Name            string
		Outcome         json.RawMessage
		Errors          []runner.Finding
		OriginalAccepts bool `json:"original_accepts"`
	}
	RefusedArguments          json.RawMessage `json:"refused_arguments"`            // of the tools, not of the model
	RefusedRunPythonArguments json.RawMessage `json:"refused_run_python_arguments"` // likewise
}

func TestOutcomesThatTheModelAccepts(t *testing.T) {
	var v outcomeVectors
	shared(t, "agent-tools/outcomes.json", &v)
	for _, c := range v.Valid {
		t.Run(c.Name, func(t *testing.T) {
			normal, findings := runner.CheckOutcome(parse(t, c.Outcome))
			if findings != nil {
				t.Fatalf("rejected: %+v", findings)
			}
			for path, want := range c.Normalized {
				got := at(normal, path)
				for _, m := range parse(t, want).Members { // of an object, the vectors list what matters
					if diff := cmp.Diff(m.Value, at(got, m.Name)); diff != "" {
						t.Errorf("%s.%s: -want +got\n%s", path, m.Name, diff)
					}
				}
				if w := parse(t, want); w.Kind != jsonx.Object {
					if diff := cmp.Diff(w, got); diff != "" {
						t.Errorf("%s: -want +got\n%s", path, diff)
					}
				}
			}
		})
	}
	if len(v.Valid) < 25 {
		t.Errorf("found %d outcomes", len(v.Valid))
	}
}

func TestOutcomesThatTheModelRejects(t *testing.T) {
	var v outcomeVectors
	shared(t, "agent-tools/outcomes.json", &v)
	for _, c := range v.Invalid {
		t.Run(c.Name, func(t *testing.T) {
			for i := range c.Errors {
				c.Errors[i].Code = runner.FindingOutputMalformed
			}
			_, findings := runner.CheckOutcome(parse(t, c.Outcome))
			if diff := cmp.Diff(c.Errors, findings); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	if len(v.Invalid) < 35 {
		t.Errorf("found %d outcomes", len(v.Invalid))
	}
}

func parse(t *testing.T, b []byte) jsonx.Value {
	t.Helper()
	v, err := jsonx.Parse(b, jsonx.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// at follows a dotted path; what is not there is null.
func at(v jsonx.Value, path string) jsonx.Value {
	for _, name := range strings.Split(path, ".") {
		if i, err := strconv.Atoi(name); err == nil && i < len(v.Elems) {
			v = v.Elems[i]
		} else {
			v, _ = v.Get(name)
		}
	}
	return v
}
