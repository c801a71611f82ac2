package vectors

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/report"
)

// reported reads a report of the vectors, and the context that it names.
func reported(t *testing.T, name string) (jsonx.Value, report.Context) {
	t.Helper()
	raw := sharedFile(t, "reports", name+".json")
	if raw == nil {
		absent(t, "the shared vectors are not beside the repository")
	}
	doc := residencyDocument(t, raw)
	runtime, _ := doc.Get("runtime_context")
	c := report.Context{Versions: map[string]string{}}
	c.Registry, _ = provenance.Text(runtime, "registry_version")
	versions, _ := runtime.Get("verifier_versions")
	for _, m := range versions.Members {
		c.Versions[m.Name] = m.Value.Str
	}
	return doc, c
}

// written compares a report as a file with that of the vectors, byte for byte.
func written(t *testing.T, name string, got jsonx.Value) {
	t.Helper()
	text, err := provenance.Sorted.Encode(got)
	mustDo(t, err)
	if diff := cmp.Diff(string(sharedFile(t, "reports", name+".json")), string(text)); diff != "" {
		t.Errorf("%s: -want +got\n%s", name, diff)
	}
}

func TestResidencyComparison(t *testing.T) {
	_, c := reported(t, "comparison")
	receipt := func(name string) jsonx.Value {
		return residencyDocument(t, sharedFile(t, "episodes", name, "receipt.json"))
	}
	doc, err := report.Compare(receipt("pn-submit-perfect"), receipt("pn-submit-partial"), c)
	mustDo(t, err)
	written(t, "comparison", doc)
	_, err = report.Compare(receipt("pn-run-good"), receipt("pn-run-b-good"), c)
	if code, detail := codeOf(t, err); code != report.CodeTaskMismatch || len(detail) < 100 {
		t.Errorf("%v with %s; want %s with both tasks", err, detail, report.CodeTaskMismatch)
	}
}

// entriesOf reads the entries of an evaluation.
func entriesOf(t *testing.T, doc jsonx.Value) []report.Entry {
	t.Helper()
	text, err := provenance.Canonical.Encode(doc)
	mustDo(t, err)
	var file struct {
		Episodes []struct {
			TaskID      string  `json:"task_id"`
			EpisodeID   *string `json:"episode_id"`
			Status      string
			Validity    *string
			Reward      *float64
			Error       *string
			Persistence struct {
				Status        report.Kept
				Reason, Error *string
			}
		}
	}
	mustDo(t, json.Unmarshal(text, &file))
	var entries []report.Entry
	for _, e := range file.Episodes {
		entries = append(entries, report.Entry{TaskID: e.TaskID, EpisodeID: e.EpisodeID, Status: e.Status, Validity: e.Validity, Reward: e.Reward, Error: e.Error,
			Kept: e.Persistence.Status, Reason: e.Persistence.Reason, NotKept: e.Persistence.Error})
	}
	return entries
}

func TestResidencyEvaluations(t *testing.T) {
	for _, name := range []string{"evaluation", "evaluation-error", "evaluation-no-launch"} {
		doc, c := reported(t, name)
		text := func(member string) string { s, _ := provenance.Text(doc, member); return s }
		subject, _ := doc.Get("subject")
		snapshot, _ := provenance.Text(subject, "snapshot_id")
		written(t, name, report.Evaluation{EnvID: text("env_id"), Substrate: text("substrate_profile"), SnapshotID: snapshot, Split: text("split"), Context: c,
			Entries: entriesOf(t, doc)}.Document())
	}
}

func TestResidencyBatch(t *testing.T) {
	doc, c := reported(t, "batch")
	text, err := provenance.Canonical.Encode(doc)
	mustDo(t, err)
	var file struct {
		EnvID     string   `json:"env_id"`
		Substrate string   `json:"substrate_profile"`
		TaskIDs   []string `json:"task_ids"`
		Split     string
		Order     []string `json:"candidate_order"`
		Tasks     []struct {
			Episodes map[string]struct {
				EpisodeID *string `json:"episode_id"`
				Status    string
				Reward    *float64
			}
			Comparisons []struct {
				Left     string `json:"left_candidate"`
				Right    string `json:"right_candidate"`
				Relation json.RawMessage
			}
			Refusals []struct {
				Left         string `json:"left_candidate"`
				Right        string `json:"right_candidate"`
				Code, Detail string
			}
		}
	}
	mustDo(t, json.Unmarshal(text, &file))
	b := report.Batch{EnvID: file.EnvID, Substrate: file.Substrate, Split: file.Split, Context: c, TaskIDs: file.TaskIDs}
	task := file.Tasks[0]
	for _, key := range file.Order {
		e := task.Episodes[key]
		kept := report.Closed
		if e.EpisodeID == nil {
			kept = report.Unavailable
		}
		b.Candidates = append(b.Candidates, report.Judged{Key: key, Evaluation: report.Evaluation{
			Entries: []report.Entry{{TaskID: file.TaskIDs[0], EpisodeID: e.EpisodeID, Status: e.Status, Reward: e.Reward, Kept: kept}}}})
	}
	for _, p := range task.Refusals {
		b.Pairs = append(b.Pairs, report.Pair{TaskID: file.TaskIDs[0], Left: p.Left, Right: p.Right, Code: p.Code, Why: p.Detail})
	}
	for _, p := range task.Comparisons {
		b.Pairs = append(b.Pairs, report.Pair{TaskID: file.TaskIDs[0], Left: p.Left, Right: p.Right,
			Comparison: provenance.Object(provenance.Member("relation", residencyDocument(t, p.Relation)))})
	}
	written(t, "batch", b.Document())
}
