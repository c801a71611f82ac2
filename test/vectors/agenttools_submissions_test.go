package vectors

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pdlt.dev/pdlt/runner"
)

// The members of a program's facts that a vector does not have are not compared: 3.14 counts other steps than 3.11 for the same program.
func TestSubmissions(t *testing.T) {
	var v struct {
		About string
		Cases []struct {
			Name            string
			WitnessRequired bool `json:"witness_required"`
			Tier            runner.Tier
			Outcome         json.RawMessage
			OK              bool
			Codes           []string
			Programs        []map[string]any
			Witness         map[string]any
		}
	}
	shared(t, "agent-tools/submissions.json", &v)
	x := confined(t)
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			if c.Tier == "" {
				c.Tier = runner.Standard
			}
			r := runner.New(x, runner.Options{Tier: c.Tier, Submissions: 1, WitnessRequired: c.WitnessRequired})
			deliverable, err := r.Deliverable(c.Outcome)
			if err != nil {
				t.Fatal(err)
			}
			got, err := deliverable.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got.OK != c.OK {
				t.Errorf("ok is %v, want %v: %+v", got.OK, c.OK, got)
			}
			if wantText := "accepted: the structural checks passed; nothing verifies the deliverable afterwards here"; c.OK && got.Result != wantText {
				t.Errorf("result %q, want %q", got.Result, wantText)
			}
			var codes []string
			for _, f := range got.Errors {
				codes = append(codes, f.Code)
			}
			if diff := cmp.Diff(c.Codes, codes, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("codes: -want +got\n%s%+v", diff, got.Errors)
			}
			facts := plain(t, got.Facts)
			programs := facts["programs"].([]any)
			if len(programs) != len(c.Programs) {
				t.Fatalf("%d programs, want %d", len(programs), len(c.Programs))
			}
			for i, want := range c.Programs {
				for name := range want {
					if diff := cmp.Diff(want[name], programs[i].(map[string]any)[name]); diff != "" {
						t.Errorf("program %d, %s: -want +got\n%s", i+1, name, diff)
					}
				}
			}
			if c.Witness != nil {
				if diff := cmp.Diff(c.Witness, facts["witness"]); diff != "" {
					t.Errorf("witness: -want +got\n%s", diff)
				}
			}
		})
	}
	if len(v.Cases) < 20 {
		t.Errorf("found %d submissions", len(v.Cases))
	}
}

// plain is a value as its JSON form reads.
func plain(t *testing.T, v any) map[string]any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
