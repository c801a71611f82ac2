package vectors

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	evidence "pdlt.dev/pdlt/provenance/receipt"
	"pdlt.dev/pdlt/runner"
	"pdlt.dev/pdlt/runner/verify"
)

// residencyEpisode is an entry of episodes/index.json.
type residencyEpisode struct {
	Name        string
	Environment *string
	ProducedBy  struct {
		Kind       string
		Submission *struct {
			Version string `json:"submission_version"`
			Finding json.RawMessage
			Patch   *string
		}
		Task, Reward        string
		Argv                []string
		Platform, Toolchain string
		Note                string
		TaskChanged         string `json:"task_changed"`
	} `json:"produced_by"`
	Summary struct {
		EpisodeID    string  `json:"episode_id"`
		TaskID       string  `json:"task_id"`
		RewardID     string  `json:"reward_id"`
		TraceID      *string `json:"trace_id"`
		Outputs      map[string]*string
		Reward       *float64
		Status       string
		Validity     string
		Verification map[string]verify.State
	} `json:"receipt_summary"`
	Persisted    bool
	Directory    string
	Verify       *residencyReport
	Unwired      *residencyReport `json:"verify_without_identity_verifier"`
	PublishError string           `json:"publish_error"`
	PublishNote  string           `json:"publish_note"`
	Receipt      json.RawMessage
}

// residencyReport is what replay reports, as far as verifiers decide it.
type residencyReport struct {
	OK        bool `json:"ok"`
	Outcome   string
	EpisodeID string `json:"episode_id"`
	Checks    struct {
		Tree, Closure, Artifacts, Reward, Receipt json.RawMessage
		Versions                                  struct {
			OK     bool
			Detail string
		} `json:"verifier_versions"`
		Signals map[string]struct {
			OK       bool
			Replayed *verify.State
			Receipt  *verify.State
			Evidence *bool `json:"evidence_match"`
		}
		SignalKeys json.RawMessage `json:"signal_keys"`
		EpisodeID  json.RawMessage `json:"episode_id"`
	}
	Facts json.RawMessage `json:"execution_facts"`
}

func residencyEpisodes(t *testing.T) []residencyEpisode {
	t.Helper()
	var file struct {
		Note     string
		Episodes []residencyEpisode
		Trees    json.RawMessage
	}
	shared(t, "residency/episodes/index.json", &file)
	return file.Episodes
}

// residencyWorlds is what the engine of the vectors says about their sources.
func residencyWorlds(t *testing.T) verify.Table {
	t.Helper()
	var file struct {
		Engine string `json:"engine_implementation_version"`
		Cases  []struct {
			Name, Source, Note string
			Digest             string `json:"source_sha256"`
			OK                 bool
			ID                 *string `json:"semantic_artifact_id"`
			Error              string
			Canonical          string
		}
	}
	shared(t, "residency/worlds/cases.json", &file)
	table := verify.Table{Name: file.Engine, Rows: map[string]verify.Lowered{}}
	for _, c := range file.Cases {
		row := verify.Lowered{Message: c.Error}
		if c.ID != nil {
			row.ID = *c.ID
		}
		table.Rows[c.Source] = row
	}
	// One source is not among the worlds. What the engine said about it is in the evidence of the episode that made it.
	in := replayInputs(t, "er-world-broken")
	patched, err := verify.Apply(in.Content, *in.Patch)
	if err != nil {
		t.Fatal(err)
	}
	detail, _ := parse(t, sharedFile(t, "episodes", "er-world-broken", "evidence", "verifiers", "identity.json")).Get("detail")
	reason, _ := detail.Get("reason")
	table.Rows[patched["world/frozen.wrl"].Data] = verify.Lowered{Message: strings.TrimPrefix(reason.Str, "lower error: ")}
	return table
}

// sharedFile reads a file of the vectors, or nothing if there is none.
func sharedFile(t *testing.T, elem ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{root, "..", "shared", "vectors", "residency"}, elem...)...))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return b
}

// sealedTree reads a subject as admission hands it on.
func sealedTree(t *testing.T, snapshot jsonx.Value, elem ...string) verify.Tree {
	t.Helper()
	tree := verify.Tree{}
	files, _ := snapshot.Get("files")
	binaries, _ := snapshot.Get("binary_paths")
	for _, m := range files.Members {
		binary := slices.ContainsFunc(binaries.Elems, func(v jsonx.Value) bool { return v.Str == m.Name })
		data := string(sharedFile(t, append(elem, filepath.FromSlash(m.Name))...))
		if !binary {
			data = strings.ReplaceAll(strings.ReplaceAll(data, "\r\n", "\n"), "\r", "\n")
		}
		tree[m.Name] = verify.File{Data: data, Binary: binary}
	}
	return tree
}

// replayInputs reads what a saved episode gives its verifiers.
func replayInputs(t *testing.T, dir string) verify.Inputs {
	t.Helper()
	get := func(elem ...string) []byte { return sharedFile(t, append([]string{"episodes", dir}, elem...)...) }
	in := verify.Inputs{Content: sealedTree(t, parse(t, get("snapshot.json")), "episodes", dir, "subject")}
	if raw := get("evidence", "finding.json"); raw != nil {
		finding := parse(t, raw)
		in.Finding = &finding
	}
	if raw := get("evidence", "candidate.patch"); raw != nil {
		diff := string(raw)
		in.Patch = &diff
	}
	var violations []string
	var trace struct {
		Events []struct {
			Exit *int `json:"exit_code"`
		}
	}
	var manifest struct {
		Members struct {
			Process struct {
				Out bool `json:"stdout_truncated"`
				Err bool `json:"stderr_truncated"`
			}
		}
	}
	var receipt struct {
		Facts struct {
			Runner struct{ Profile string }
		} `json:"execution_facts"`
	}
	var task struct {
		Policy struct {
			Allowed []int `json:"allowed_exit_codes"`
		} `json:"agent_run_policy"`
	}
	for _, f := range []struct {
		raw  []byte
		into any
	}{{get("evidence", "process", "policy-violations.json"), &violations}, {get("evidence", "trace.json"), &trace},
		{get("episode-bundle.json"), &manifest}, {get("receipt.json"), &receipt}, {get("task.json"), &task}} {
		if err := json.Unmarshal(f.raw, f.into); err != nil {
			t.Fatal(err)
		}
	}
	in.Tampered = len(violations) > 0
	if task.Policy.Allowed == nil {
		task.Policy.Allowed = []int{0}
	}
	exit := trace.Events[0].Exit
	in.RunFailed = receipt.Facts.Runner.Profile != "traaviis.ors-submission.v1" &&
		(exit == nil || !slices.Contains(task.Policy.Allowed, *exit) || manifest.Members.Process.Out || manifest.Members.Process.Err)
	return in
}

// receiptVerification is what a receipt says of verifiers.
type receiptVerification struct {
	Verification map[string]verify.State
	Evidence     map[string]struct{ Format, Digest string }            `json:"verification_evidence"`
	Versions     map[string]struct{ Contract, Implementation *string } `json:"verifier_versions"`
	Reward       *float64
	Status       string
	Validity     string
}

func readReceipt(t *testing.T, raw []byte) receiptVerification {
	t.Helper()
	var r receiptVerification
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r receiptVerification) sealed() map[string]string {
	versions := map[string]string{}
	for id, v := range r.Versions {
		if v.Implementation != nil {
			versions[id] = *v.Implementation
		}
	}
	return versions
}

// wiredAs reports whether a plan states what a receipt does.
func (r receiptVerification) wiredAs(p verify.Plan) bool {
	got := map[string][2]string{}
	for id, w := range p.Wiring() {
		got[id] = [2]string{w.Contract, w.Implementation}
	}
	want := map[string][2]string{}
	for id, v := range r.Versions {
		var w [2]string
		for i, s := range []*string{v.Contract, v.Implementation} {
			if s != nil {
				w[i] = *s
			}
		}
		want[id] = w
	}
	return maps.Equal(got, want)
}

func TestResidencyEpisodesReplay(t *testing.T) {
	worlds := residencyWorlds(t)
	for _, e := range residencyEpisodes(t) {
		if !e.Persisted {
			continue
		}
		for wiring, want := range map[string]*residencyReport{"wired": e.Verify, "without identity": e.Unwired} {
			if want == nil {
				continue
			}
			t.Run(e.Name+"/"+wiring, func(t *testing.T) {
				dir := filepath.Base(e.Directory)
				receipt := readReceipt(t, sharedFile(t, "episodes", dir, "receipt.json"))
				registry := verify.Registry{Python: verify.Tool{Version: "any"}}
				if _, tests := receipt.Versions["tests"]; tests {
					registry.Executor = confined(t)
				}
				if wiring == "wired" {
					registry.Identity = []verify.Lowerer{worlds}
				}
				in := replayInputs(t, dir)
				plan, err := registry.Replay(parse(t, sharedFile(t, "episodes", dir, "task.json")), parse(t, sharedFile(t, "episodes", dir, "reward.json")), receipt.sealed(), in)
				if err != nil {
					t.Fatal(err)
				}
				if got := receipt.wiredAs(plan); got != want.Checks.Versions.OK {
					t.Errorf("the versions agree: %t, want %t: %v", got, want.Checks.Versions.OK, plan.Wiring())
				}
				res, err := plan.Run(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				for id, signal := range want.Checks.Signals {
					if got := res.Verification[id]; got != *signal.Replayed {
						t.Errorf("%s: %s, want %s", id, got, *signal.Replayed)
					}
					if signal.Evidence == nil {
						continue
					}
					sealed := parse(t, sharedFile(t, "episodes", dir, "evidence", "verifiers", id+".json"))
					diff := cmp.Diff(canonical(t, sealed), canonical(t, res.Signals[id].Evidence(id)))
					if (diff == "") != *signal.Evidence {
						t.Errorf("%s: evidence agrees: %t, want %t: -sealed +got\n%s", id, diff == "", *signal.Evidence, diff)
					}
				}
				if len(res.Verification) != len(want.Checks.Signals) {
					t.Errorf("states of %v; want %d", res.Verification, len(want.Checks.Signals))
				}
				if want.OK {
					if diff := cmp.Diff(verify.Verdict{Reward: receipt.Reward, Status: receipt.Status, Validity: receipt.Validity}, res.Verdict); diff != "" {
						t.Errorf("-receipt +got\n%s", diff)
					}
				}
			})
		}
	}
}

// Submissions are scored anew from the package: every state, every piece of evidence and the reward is that of the original's receipt, except that the sum is
// always in sorted order.
func TestResidencySubmissionsScore(t *testing.T) {
	worlds := residencyWorlds(t)
	reordered := map[string]float64{"er-empty-summary": 0.9000000000000001, "er-world-moved": 0.8500000000000001} // specification §19, D1
	for _, e := range residencyEpisodes(t) {
		if e.ProducedBy.Submission == nil {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			raw := e.Receipt
			if e.Directory != "" {
				raw = sharedFile(t, "episodes", filepath.Base(e.Directory), "receipt.json")
			}
			receipt := readReceipt(t, raw)
			pkg := []string{"environments", *e.Environment, "package"}
			get := func(name string) []byte { return sharedFile(t, append(pkg, name)...) }
			snapshot := parse(t, get("snapshot.json"))
			subject, _ := parse(t, get("environment.json")).Get("subject")
			folder, _ := subject.Get("root")
			registry := verify.Registry{Python: verify.Tool{Version: "any"}}
			if _, tests := receipt.Versions["tests"]; tests {
				registry.Executor = confined(t)
			}
			if e.Name != "er-identity-unwired" {
				registry.Identity = []verify.Lowerer{worlds}
			}
			plan, err := registry.Plan(parse(t, get(e.ProducedBy.Task)), parse(t, get(e.ProducedBy.Reward)))
			if err != nil {
				t.Fatal(err)
			}
			if !receipt.wiredAs(plan) {
				t.Errorf("wired as %v, want %s", plan.Wiring(), raw)
			}
			if unresolved := plan.Unresolved(); len(unresolved) > 0 {
				if diff := cmp.Diff(slices.Sorted(maps.Keys(receipt.Verification)), unresolved); diff != "" || receipt.Status != verify.StatusInvalid {
					t.Errorf("unresolved: -want +got\n%s", diff)
				}
				return
			}
			result := jsonx.Value{}
			if f := e.ProducedBy.Submission.Finding; string(f) != "null" {
				result = parse(t, []byte(`{"finding":`+string(f)+`}`))
			}
			finding := verify.Finding(result)
			res, err := plan.Run(t.Context(), verify.Inputs{Content: sealedTree(t, snapshot, append(pkg, folder.Str)...), Finding: &finding, Patch: e.ProducedBy.Submission.Patch})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(receipt.Verification, res.Verification); diff != "" {
				t.Errorf("states: -receipt +got\n%s", diff)
			}
			want := verify.Verdict{Reward: receipt.Reward, Status: receipt.Status, Validity: receipt.Validity}
			if r, ok := reordered[e.Name]; ok {
				want.Reward = &r
			}
			if diff := cmp.Diff(want, res.Verdict); diff != "" {
				t.Errorf("-receipt +got\n%s", diff)
			}
			digests := map[string]string{}
			for id, s := range res.Signals {
				if digests[id], err = provenance.DigestOf(s.Evidence(id)); err != nil {
					t.Fatal(err)
				}
			}
			for id, pinned := range receipt.Evidence {
				if pinned.Format != evidence.EvidenceVersion || pinned.Digest != digests[id] {
					t.Errorf("%s: evidence %s, want %s: %v", id, digests[id], pinned.Digest, res.Signals[id])
				}
			}
			if len(digests) != len(receipt.Evidence) {
				t.Errorf("evidence of %v, want %v", digests, receipt.Evidence)
			}
			ids := map[string]*string{}
			if v, ok := finding.Get("finding_id"); ok {
				ids["finding_id"] = &v.Str
			}
			ids["patch_id"] = nil
			if p := e.ProducedBy.Submission.Patch; p != nil {
				if doc, ok := verify.Patch(*p); ok {
					v, _ := doc.Get("patch_id")
					ids["patch_id"] = &v.Str
				}
			}
			if diff := cmp.Diff(e.Summary.Outputs, ids); diff != "" {
				t.Errorf("outputs: -receipt +got\n%s", diff)
			}
		})
	}
}

func TestResidencyReportsStateTheRegistry(t *testing.T) {
	for _, name := range []string{"evaluation", "evaluation-error", "evaluation-no-launch"} {
		raw := sharedFile(t, "reports", name+".json")
		if raw == nil {
			absent(t, "the shared vectors are not beside the repository")
		}
		runtime, _ := parse(t, raw).Get("runtime_context")
		version, _ := runtime.Get("registry_version")
		versions, _ := runtime.Get("verifier_versions")
		want := map[string]string{}
		for _, m := range versions.Members {
			want[m.Name] = m.Value.Str
		}
		r := verify.Registry{Executor: runner.Unavailable(errors.New("nothing runs here"))}
		if diff := cmp.Diff(want, r.Available()); diff != "" || version.Str != verify.RegistryVersion {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// canonical writes a value as it is hashed.
func canonical(t *testing.T, v jsonx.Value) string {
	t.Helper()
	text, err := provenance.Canonical.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
