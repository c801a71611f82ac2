package vectors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/bundle"
	"pdlt.dev/pdlt/provenance/receipt"
	"pdlt.dev/pdlt/provenance/snapshot"
	"pdlt.dev/pdlt/provenance/tree"
	"pdlt.dev/pdlt/runner"
	"pdlt.dev/pdlt/runner/verify"
)

// judging asks the verifiers of a registry about an episode.
func judging(r verify.Registry) bundle.Judge {
	return func(ctx context.Context, q bundle.Question) (bundle.Answer, error) {
		in := verify.Inputs{Content: verify.Subject(q.Content), Finding: q.Finding, Patch: q.Patch, RunFailed: q.RunFailed, Tampered: q.Tampered}
		plan, err := r.Replay(q.Task, q.Reward, q.Sealed, in)
		if refusal := (*runner.Refusal)(nil); errors.As(err, &refusal) {
			return bundle.Answer{}, fmt.Errorf("%w: %w", bundle.ErrUnjudgeable, err)
		} else if err != nil {
			return bundle.Answer{}, err
		}
		res, err := plan.Run(ctx, in)
		if err != nil {
			return bundle.Answer{}, err
		}
		a := bundle.Answer{States: map[string]string{}, Evidence: map[string]jsonx.Value{}, Wired: map[string]receipt.Version{},
			Reward: res.Reward, Status: res.Status, Validity: res.Validity}
		for id, state := range res.Verification {
			a.States[id] = string(state)
		}
		for id, s := range res.Signals {
			a.Evidence[id] = s.Evidence(id)
		}
		for id, w := range plan.Wiring() {
			a.Wired[id] = receipt.Version{Contract: w.Contract, Implementation: w.Implementation}
		}
		return a, nil
	}
}

// registryFor wires what the vectors had, as far as an episode needs it.
func registryFor(t *testing.T, base string, worlds verify.Table) verify.Registry {
	t.Helper()
	r := verify.Registry{Python: verify.Tool{Version: "any"}, Identity: []verify.Lowerer{worlds}}
	if !strings.HasPrefix(base, "pn-") {
		r.Executor = confined(t)
	}
	return r
}

func episodeTrees(t *testing.T) map[string]listing {
	t.Helper()
	var file struct {
		Note     string
		Episodes json.RawMessage
		Trees    map[string]listing
	}
	shared(t, "residency/episodes/index.json", &file)
	return file.Trees
}

// plainReport is a report without its prose.
func plainReport(t *testing.T, doc jsonx.Value) string {
	t.Helper()
	checks, _ := doc.Get("checks")
	for _, m := range checks.Members {
		checks = provenance.With(checks, m.Name, provenance.Without(m.Value, "detail"))
	}
	return canonical(t, provenance.With(doc, "checks", checks))
}

func TestResidencyEpisodesClose(t *testing.T) {
	trees := episodeTrees(t)
	worlds := residencyWorlds(t)
	var file struct {
		Note     string
		Episodes []map[string]json.RawMessage
		Trees    json.RawMessage
	}
	shared(t, "residency/episodes/index.json", &file)
	closed := 0
	for _, e := range file.Episodes {
		var name string
		mustDo(t, json.Unmarshal(e["name"], &name))
		if e["verify"] == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := layOut(t, trees[name], "episodes", name)
			r, err := bundle.Verify(t.Context(), dir, judging(registryFor(t, name, worlds)))
			mustDo(t, err)
			if diff := cmp.Diff(plainReport(t, residencyDocument(t, e["verify"])), plainReport(t, r.Document())); diff != "" {
				t.Errorf("-want +got\n%s\n%+v", diff, r)
			}
			if without := e["verify_without_identity_verifier"]; without != nil {
				registry := registryFor(t, name, worlds)
				registry.Identity = nil
				r, err := bundle.Verify(t.Context(), dir, judging(registry))
				mustDo(t, err)
				if diff := cmp.Diff(plainReport(t, residencyDocument(t, without)), plainReport(t, r.Document())); diff != "" {
					t.Errorf("without identity: -want +got\n%s", diff)
				}
			}
			rewritten(t, dir, trees[name], judging(registryFor(t, name, worlds)))
		})
		closed++
	}
	if closed < 36 {
		t.Errorf("found %d episodes", closed)
	}
}

// rewritten keeps a closed episode once more from its parts: every file of it is the same, byte for byte and mode for mode. Its receipt is sealed anew.
func rewritten(t *testing.T, dir string, want listing, judge bundle.Judge) {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return b
	}
	document := func(name string) jsonx.Value { return residencyDocument(t, read(name)) }
	manifest, stored := document("episode-bundle.json"), document("receipt.json")
	e := bundle.Episode{
		Receipt: resealed(t, stored), Task: document("task.json"), Reward: document("reward.json"), Snapshot: document("snapshot.json"),
		Trace: document("evidence/trace.json"), Evidence: map[string]jsonx.Value{},
		Stdout: read("evidence/process/stdout.bin"), Stderr: read("evidence/process/stderr.bin"),
	}
	members, _ := manifest.Get("members")
	process, _ := members.Get("process")
	truncated, _ := process.Get("stdout_truncated")
	e.StdoutTruncated = truncated.Bool
	truncated, _ = process.Get("stderr_truncated")
	e.StderrTruncated = truncated.Bool
	mustDo(t, json.Unmarshal(read("evidence/process/policy-violations.json"), &e.Violations))
	verifiers, _ := members.Get("verifiers")
	for _, m := range verifiers.Members {
		e.Evidence[m.Name] = document(m.Value.Str)
	}
	if raw := read("evidence/finding.json"); raw != nil {
		v := residencyDocument(t, raw)
		e.Finding = &v
	}
	if raw := read("evidence/candidate.patch"); raw != nil {
		s := string(raw)
		e.Patch = &s
	}
	d, err := tree.Open(filepath.Join(dir, "subject"))
	mustDo(t, err)
	defer d.Close()
	e.Content, err = snapshot.Admit(d, e.Snapshot)
	mustDo(t, err)
	at, _ := provenance.Text(manifest, "created_at")
	now, err := time.Parse(time.RFC3339, at)
	mustDo(t, err)
	kept := filepath.Join(t.TempDir(), "episodes")
	for range 2 { // keeping it again is no error, and changes nothing
		again, err := bundle.Write(t.Context(), kept, e, judge, now)
		mustDo(t, err)
		k, err := tree.Open(again)
		mustDo(t, err)
		defer k.Close()
		got := listing{}
		mustDo(t, k.Walk(func(e tree.Entry) error {
			f, err := e.Read()
			got[e.Path] = struct{ SHA256, Mode string }{provenance.Hex(f.Data), f.Mode.String()}
			return err
		}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rewritten: -want +got\n%s", diff)
		}
	}
	if ids, err := bundle.List(kept); err != nil || len(ids) != 1 || ids[0] != e.Receipt.ID() {
		t.Errorf("listed are %v, %v", ids, err)
	}
}

// resealed states again what a receipt states, through the one builder.
func resealed(t *testing.T, stored jsonx.Value) receipt.Receipt {
	t.Helper()
	pointer := func(v jsonx.Value, name string) *string {
		m, _ := v.Get(name)
		if m.Kind == jsonx.Null {
			return nil
		}
		return &m.Str
	}
	text := func(v jsonx.Value, name string) string { s, _ := provenance.Text(v, name); return s }
	subject, _ := stored.Get("subject")
	outputs, _ := stored.Get("outputs")
	s := receipt.Statement{
		Substrate: text(stored, "substrate_profile"), TaskID: text(stored, "task_id"), RewardID: text(stored, "reward_id"), SnapshotID: text(subject, "snapshot_id"),
		TraceID: pointer(stored, "trace_id"), FindingID: pointer(outputs, "finding_id"), PatchID: pointer(outputs, "patch_id"),
		Verification: map[string]string{}, Evidence: map[string]string{}, Versions: map[string]receipt.Version{},
		Status: text(stored, "status"), Validity: text(stored, "validity"),
	}
	s.Facts, _ = stored.Get("execution_facts")
	if reward, _ := stored.Get("reward"); reward.Kind == jsonx.Number {
		mustDo(t, json.Unmarshal([]byte(reward.Num), &s.Reward))
	}
	states, _ := stored.Get("verification")
	for _, m := range states.Members {
		s.Verification[m.Name] = m.Value.Str
	}
	evidence, _ := stored.Get("verification_evidence")
	for _, m := range evidence.Members {
		s.Evidence[m.Name] = text(m.Value, "digest")
	}
	versions, _ := stored.Get("verifier_versions")
	for _, m := range versions.Members {
		s.Versions[m.Name] = receipt.Version{Contract: text(m.Value, "contract"), Implementation: text(m.Value, "implementation")}
	}
	r, err := receipt.Seal(s)
	mustDo(t, err)
	if canonical(t, r.Document()) != canonical(t, stored) {
		t.Errorf("resealed: -want +got\n%s", cmp.Diff(canonical(t, stored), canonical(t, r.Document())))
	}
	return r
}

func TestResidencyForgedEpisodes(t *testing.T) {
	trees := episodeTrees(t)
	worlds := residencyWorlds(t)
	var file struct {
		Note  string
		Cases []struct {
			Name, Base, Note string
			Edits            []residencyEdit
			Wiring           []string
			Outcome          bundle.Outcome
			Exit             int      `json:"exit_code"`
			Failed           []string `json:"failed_checks"`
			Report           json.RawMessage
			Exception        string `json:"original_exception"`
			Required         string `json:"required_of_a_new_implementation"`
		}
	}
	shared(t, "residency/forged/cases.json", &file)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			dir := layOut(t, trees[c.Base], "episodes", c.Base)
			edit(t, dir, provenance.Sorted, c.Edits)
			registry := registryFor(t, c.Base, worlds)
			switch {
			case slices.Contains(c.Wiring, "identity (other version)"):
				// What answers under another version: nobody knows what it would say of a source, and the vector's said nothing of any.
				registry.Identity = []verify.Lowerer{verify.Table{Name: "another.v1"}}
			case c.Wiring != nil:
				registry.Identity = nil
			}
			r, err := bundle.Verify(t.Context(), dir, judging(registry))
			mustDo(t, err)
			if c.Required != "" {
				if r.Outcome != bundle.Unavailable || !slices.Equal(r.Failed(), []string{"closure"}) {
					t.Errorf("%s: %v; want unavailable for want of an episode", r.Outcome, r.Failed())
				}
				return
			}
			if exits := map[bundle.Outcome]int{bundle.Closed: 0, bundle.Mismatch: 1, bundle.Unavailable: 2}; r.Outcome != c.Outcome || exits[r.Outcome] != c.Exit {
				t.Errorf("%s, want %s: %+v", r.Outcome, c.Outcome, r.Checks)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(c.Failed)), slices.Sorted(slices.Values(r.Failed()))); diff != "" && len(c.Failed)+len(r.Failed()) > 0 {
				t.Errorf("failed: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(plainReport(t, residencyDocument(t, c.Report)), plainReport(t, r.Document())); diff != "" && c.Wiring == nil {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	if len(file.Cases) < 73 {
		t.Errorf("found %d cases", len(file.Cases))
	}
}

func TestResidencyReceiptsAndTraces(t *testing.T) {
	for _, e := range residencyEpisodes(t) {
		t.Run(e.Name, func(t *testing.T) {
			stored := e.Receipt
			if e.Directory != "" {
				stored = sharedFile(t, e.Directory, "receipt.json")
			}
			r := resealed(t, residencyDocument(t, stored))
			if r.ID() != e.Summary.EpisodeID {
				t.Errorf("%s, want %s", r.ID(), e.Summary.EpisodeID)
			}
			if s := e.ProducedBy.Submission; s != nil && e.Summary.TraceID != nil {
				_, id, err := receipt.SubmissionTrace(residencyDocument(t, s.Finding))
				if err != nil || id != *e.Summary.TraceID {
					t.Errorf("the trace is %s, %v; want %s", id, err, *e.Summary.TraceID)
				}
				facts := receipt.Facts(receipt.SubmissionProfile, e.ProducedBy.Platform, r.Statement().Facts, receipt.Process{})
				system, _ := facts.Get("platform")
				stated, _ := r.Statement().Facts.Get("platform")
				if canonical(t, system) != canonical(t, stated) {
					t.Errorf("the platform is %s, want %s", canonical(t, system), canonical(t, stated))
				}
			}
			if facts := r.Statement().Facts; facts.Kind == jsonx.Object {
				toolchain, _ := facts.Get("toolchain")
				process, _ := facts.Get("agent_process")
				exit, _ := process.Get("exit_code")
				out, _ := process.Get("stdout_truncated")
				errs, _ := process.Get("stderr_truncated")
				p := receipt.Process{Exit: exit, StdoutTruncated: out.Bool, StderrTruncated: errs.Bool}
				made := receipt.Facts(receipt.Profile(facts), "Linux-AMD64", toolchain, p)
				if e.ProducedBy.Platform == "linux-x86_64" && canonical(t, made) != canonical(t, facts) {
					t.Errorf("facts: -want +got\n%s", cmp.Diff(canonical(t, facts), canonical(t, made)))
				}
			}
		})
	}
}

// A run that did nothing leaves a trace that needs no workspace to be made again.
func TestResidencyTraceOfNothing(t *testing.T) {
	raw := sharedFile(t, "episodes", "pn-run-nothing", "evidence", "trace.json")
	if raw == nil {
		absent(t, "the shared vectors are not beside the repository")
	}
	doc, id, err := receipt.LocalTrace(receipt.Run{Command: []string{"/usr/bin/python3", "/x/agent.py", "nothing", "a"}, EnvironmentKeys: []string{"LANG"}, Exit: provenance.Int(0)})
	mustDo(t, err)
	want := residencyDocument(t, raw)
	if stated, _ := provenance.Text(want, "trace_id"); id != stated || canonical(t, doc) != canonical(t, want) {
		t.Errorf("-want +got\n%s", cmp.Diff(canonical(t, want), canonical(t, doc)))
	}
}

func TestResidencySubmissions(t *testing.T) {
	raw := sharedFile(t, "ors", "plain-notes.json")
	if raw == nil {
		absent(t, "the shared vectors are not beside the repository")
	}
	var file struct {
		Exchanges []struct {
			Name    string
			Request struct {
				Path string
				Body json.RawMessage
			}
			Response json.RawMessage
		}
	}
	mustDo(t, json.Unmarshal(raw, &file))
	codes := map[string]int{}
	for _, x := range file.Exchanges {
		if !strings.HasSuffix(x.Request.Path, "/call_tool") {
			continue
		}
		response := residencyDocument(t, x.Response)
		failure, _ := response.Get("error")
		code, _ := provenance.Text(failure, "code")
		if !strings.HasPrefix(code, "ORS_SUBMISSION_") {
			continue
		}
		body, err := provenance.Parse(x.Request.Body)
		mustDo(t, err)
		arguments, _ := body.Get("arguments")
		_, err = receipt.ParseSubmission(arguments)
		got, detail := codeOf(t, err)
		want, _ := failure.Get("detail")
		if got != code || detail != canonical(t, want) {
			t.Errorf("%s: %s with %s; want %s with %s", x.Name, got, detail, code, canonical(t, want))
		}
		codes[code]++
	}
	if len(codes) != 4 {
		t.Errorf("seen are %v, want all four codes", slices.Sorted(maps.Keys(codes)))
	}
}
