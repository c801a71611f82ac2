package vectors

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pdlt.dev/pdlt/runner"
)

// The broken programs depend on the line that the parser reports. The vectors were made with 3.11; the interpreter of the pack gives the same answers.
func TestProgramsOfBodies(t *testing.T) {
	var v struct {
		About string
		Cases []struct {
			Name, Body       string
			Programs         []string
			OriginalPrograms []string `json:"original_programs"`
		}
	}
	shared(t, "agent-tools/bodies.json", &v)
	x := confined(t)
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			got, err := runner.Extract(t.Context(), x, runner.Standard, c.Body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.Programs, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	if len(v.Cases) < 25 {
		t.Errorf("found %d bodies", len(v.Cases))
	}
}
