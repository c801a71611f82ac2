package vectors

import (
	"encoding/json"
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/runner/verify"
)

// texts makes a tree of text files.
func texts(files map[string]string) verify.Tree {
	tree := verify.Tree{}
	for name, data := range files {
		tree[name] = verify.File{Data: data}
	}
	return tree
}

// judged runs a plan of one signal over a tree.
func judged(t *testing.T, r verify.Registry, signal, contract string, in verify.Inputs) verify.State {
	t.Helper()
	reward := parse(t, []byte(`{"signals":{"`+signal+`":{"verifier":"`+contract+`","weight":1}}}`))
	plan, err := r.Plan(parse(t, []byte(`{}`)), reward)
	if err != nil {
		t.Fatal(err)
	}
	res, err := plan.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return res.Verification[signal]
}

func TestResidencyPatches(t *testing.T) {
	var file struct {
		Files map[string]string
		Cases []struct {
			Name, Diff, Note string
			OriginalMessage  string `json:"original_message"`
			Files            map[string]string
			Applies          bool
			Changed          map[string]string
			Removed          []string
		}
	}
	shared(t, "residency/patch/cases.json", &file)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			if c.Name == "python-int-forms" {
				c.Applies, c.Changed, c.Removed = false, nil, nil // specification §9.5, 5: digits only
			}
			files := maps.Clone(file.Files)
			maps.Copy(files, c.Files)
			before := texts(files)
			after, err := verify.Apply(before, c.Diff)
			if (err == nil) != c.Applies {
				t.Fatalf("%v; want it to apply: %t (%s)", err, c.Applies, c.OriginalMessage)
			}
			if r := (*confine.Refusal)(nil); err != nil && (!errors.As(err, &r) || r.Code != verify.CodePatchRefused) {
				t.Errorf("%v is no refusal of a patch", err)
			}
			var changed map[string]string
			var removed []string
			if err == nil {
				changed, removed = map[string]string{}, []string{}
				for name, f := range after {
					if f != before[name] {
						changed[name] = f.Data
					}
				}
				for name := range before {
					if _, ok := after[name]; !ok {
						removed = append(removed, name)
					}
				}
			}
			if diff := cmp.Diff(c.Changed, changed); diff != "" {
				t.Errorf("changed: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(c.Removed, removed); diff != "" {
				t.Errorf("removed: -want +got\n%s", diff)
			}
			if c.Diff == "" {
				return // a blank patch is none, one layer up
			}
			want := verify.Fail
			if c.Applies {
				want = verify.Pass
			}
			if got := judged(t, verify.Registry{}, "patch", "residency.patch.v1", verify.Inputs{Content: before, Patch: &c.Diff}); got != want {
				t.Errorf("the signal is %s, want %s", got, want)
			}
			// Under the strict contract the same diffs pass, less those that are none: section 19, D3.
			if maps.Equal(after, before) {
				want = verify.Fail
			}
			if got := judged(t, verify.Registry{}, "patch", verify.StrictPatchContract, verify.Inputs{Content: before, Patch: &c.Diff}); got != want {
				t.Errorf("the strict signal is %s, want %s", got, want)
			}
		})
	}
}

func TestResidencyFindings(t *testing.T) {
	var file struct {
		Content map[string]string
		Cases   []struct {
			Name, Note   string
			AgentResult  json.RawMessage `json:"agent_result"`
			Finding      json.RawMessage
			Citations    verify.State
			Completeness verify.State `json:"finding_completeness"`
		}
	}
	shared(t, "residency/findings/cases.json", &file)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			finding := verify.Finding(parse(t, c.AgentResult))
			if diff := cmp.Diff(parse(t, c.Finding), finding); diff != "" {
				t.Fatalf("the document: -want +got\n%s", diff)
			}
			in := verify.Inputs{Content: texts(file.Content), Finding: &finding}
			if got := judged(t, verify.Registry{}, "citations", "residency.citations.v1", in); got != c.Citations {
				t.Errorf("citations: %s, want %s", got, c.Citations)
			}
			if got := judged(t, verify.Registry{}, "finding_completeness", "residency.finding.v1", in); got != c.Completeness {
				t.Errorf("finding_completeness: %s, want %s", got, c.Completeness)
			}
		})
	}
}

func TestResidencyRewards(t *testing.T) {
	type verdict struct {
		Reward           *float64
		Status, Validity string
	}
	type one struct {
		Name, Note   string
		Verification map[string]verify.State
		Spec         json.RawMessage
		Required     []string
		Tampered     bool
		Document     verdict `json:"document_order"`
		Sorted       verdict `json:"sorted_order"`
		Agree        bool    `json:"orders_agree"`
		Result       *verdict
		Exception    string `json:"original_exception"`
	}
	var file struct {
		Note     string
		Document json.RawMessage `json:"document_order_spec"`
		Sorted   json.RawMessage `json:"sorted_order_spec"`
		Grid     []one
		Cases    []one
	}
	shared(t, "residency/rewards/cases.json", &file)
	score := func(t *testing.T, c one, spec json.RawMessage) verdict {
		t.Helper()
		v, err := verify.Score(c.Verification, parse(t, spec), c.Required, c.Tampered)
		if err != nil {
			t.Fatal(err)
		}
		return verdict{v.Reward, v.Status, v.Validity}
	}
	disagree := 0
	for _, c := range file.Grid {
		// Whatever order a document has, the sum is that of the sorted one: section 19, D1.
		for _, spec := range []json.RawMessage{file.Document, file.Sorted} {
			if diff := cmp.Diff(c.Sorted, score(t, c, spec)); diff != "" {
				t.Errorf("%v: -want +got\n%s", c.Verification, diff)
			}
		}
		if !c.Agree {
			disagree++
		}
	}
	if disagree == 0 {
		t.Error("no vector has two sums: the test shows nothing of the order")
	}
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			if c.Name == "weight-string" {
				c.Result = nil // nothing is coerced: architecture §9
			}
			if c.Result == nil {
				if _, err := verify.Score(c.Verification, parse(t, c.Spec), c.Required, c.Tampered); err == nil {
					t.Errorf("no refusal; the original has %s", c.Exception)
				}
				return
			}
			if diff := cmp.Diff(*c.Result, score(t, c, c.Spec)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
