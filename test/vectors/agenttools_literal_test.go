package vectors

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pdlt.dev/pdlt/runner"
)

func TestLiteralWitnesses(t *testing.T) {
	var v struct {
		About string
		Cases []struct {
			Name, Program string
			Data          json.RawMessage
			Literal       bool
		}
	}
	shared(t, "agent-tools/literal_witness.json", &v)
	x := confined(t)
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			var data bytes.Buffer
			if err := json.Compact(&data, c.Data); err != nil {
				t.Fatal(err)
			}
			// As json.dumps prints it. No string of the vectors has a colon or a comma.
			line := "WITNESS: " + strings.NewReplacer(":", ": ", ",", ", ").Replace(data.String())
			got, err := runner.Literal(t.Context(), x, runner.Standard, c.Program, line)
			if err != nil {
				t.Fatal(err)
			}
			if got == nil || *got != c.Literal {
				t.Errorf("%s in %q: literal is %v, want %v", line, c.Program, got, c.Literal)
			}
		})
	}
	if len(v.Cases) < 13 {
		t.Errorf("found %d witnesses", len(v.Cases))
	}
}
