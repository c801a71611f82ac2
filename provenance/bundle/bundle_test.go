package bundle_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/bundle"
	"pdlt.dev/pdlt/provenance/receipt"
	"pdlt.dev/pdlt/provenance/snapshot"
	"pdlt.dev/pdlt/provenance/tree"
)

// writer is what the test binary is called to keep episodes, one after the other, until it is killed.
const writer = "BUNDLE_TEST_WRITER"

func TestMain(m *testing.M) {
	if root := os.Getenv(writer); root != "" {
		fmt.Println("begins")
		go func() { // it does not outlive the test
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
		for i := 0; ; i++ {
			if _, err := bundle.Write(context.Background(), root, episode(i), judge, time.Unix(0, 0)); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// good is the panic of what cannot fail here.
func good[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func object(text string) jsonx.Value { return good(provenance.Parse([]byte(text))) }

// judge says that a finding is complete when it says anything.
func judge(_ context.Context, q bundle.Question) (bundle.Answer, error) {
	state, reward := "fail", 0.0
	if q.Finding != nil && len(q.Content) == 2 {
		if claim, _ := provenance.Text(*q.Finding, "claim"); claim != "" {
			state, reward = "pass", 1.0
		}
	}
	a := bundle.Answer{
		States:   map[string]string{"said": state, "native": "not_applicable", "oracle": "not_applicable"},
		Evidence: map[string]jsonx.Value{"said": provenance.Object(provenance.Member("state", provenance.String(state)))},
		Wired:    map[string]receipt.Version{"said": {Contract: "said.v1", Implementation: "said-impl.v1"}},
		Reward:   &reward, Status: "ok", Validity: "valid",
	}
	if q.Tampered {
		reward, a.Status, a.Validity = 0, "invalid", "invalid"
	}
	return a, nil
}

// episode makes the episode of a number: a submission whose claim is that number.
func episode(n int) bundle.Episode {
	e := bundle.Episode{Content: map[string]snapshot.File{
		"notes/day.txt": {Data: []byte("rain\n"), Mode: tree.Plain}, "water": {Data: []byte("#!\n"), Mode: tree.Executable},
	}}
	s := snapshot.Sealer{}
	for _, name := range []string{"water", "notes/day.txt"} {
		s.Add(name, tree.File{Data: e.Content[name].Data, Mode: e.Content[name].Mode})
	}
	st := receipt.Statement{Substrate: receipt.DefaultSubstrate, Facts: receipt.Facts(receipt.SubmissionProfile, "linux-amd64", receipt.NoToolchain(), receipt.Process{})}
	var err error
	if e.Snapshot, st.SnapshotID, err = s.Document(); err != nil {
		panic(err)
	}
	if e.Reward, st.RewardID, err = provenance.RewardSpec.Seal(object(`{"signals":{"said":{"verifier":"said.v1","weight":1.0}}}`)); err != nil {
		panic(err)
	}
	task := object(`{"verifier_plan":{"required":["said"],"not_applicable":["native","oracle"]}}`)
	task = provenance.With(task, "reward_id", provenance.String(st.RewardID))
	task = provenance.With(task, "subject", provenance.Object(provenance.Member("snapshot_id", provenance.String(st.SnapshotID))))
	if e.Task, st.TaskID, err = provenance.Task.Seal(task); err != nil {
		panic(err)
	}
	finding, id, err := provenance.Finding.Seal(provenance.Object(provenance.Member("claim", provenance.String(fmt.Sprint(n)))))
	if err != nil {
		panic(err)
	}
	patch := "--- a/x\r\n"
	patchID := good(bundle.PatchID(patch))
	trace, traceID, err := receipt.SubmissionTrace(finding)
	if err != nil {
		panic(err)
	}
	e.Finding, e.Patch, e.Trace = &finding, &patch, trace
	st.FindingID, st.PatchID, st.TraceID = &id, &patchID, &traceID
	a := good(judge(context.Background(), bundle.Question{Finding: e.Finding, Content: e.Content}))
	st.Verification, st.Versions, st.Reward, st.Status, st.Validity = a.States, a.Wired, a.Reward, a.Status, a.Validity
	e.Evidence = a.Evidence
	st.Evidence = map[string]string{}
	for id, doc := range e.Evidence {
		st.Evidence[id] = good(provenance.DigestOf(doc))
	}
	e.Receipt = good(receipt.Seal(st))
	return e
}

func keep(t testing.TB, root string, e bundle.Episode) string {
	t.Helper()
	dir, err := bundle.Write(t.Context(), root, e, judge, time.Unix(0, 0))
	must(t, err)
	return dir
}

func verified(t testing.TB, dir string) bundle.Report {
	t.Helper()
	r, err := bundle.Verify(t.Context(), dir, judge)
	must(t, err)
	return r
}

func TestAKeptEpisodeClosesWhereverItIs(t *testing.T) {
	dir := keep(t, filepath.Join(t.TempDir(), "deep", "er"), episode(1))
	elsewhere := filepath.Join(t.TempDir(), "another name")
	must(t, os.Rename(dir, elsewhere))
	if r := verified(t, elsewhere); r.Outcome != bundle.Closed || r.EpisodeID != episode(1).Receipt.ID() {
		t.Errorf("%+v", r)
	}
	if info, err := os.Stat(elsewhere); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the folder is %v, %v", info, err)
	}
}

func TestWhatDoesNotReplayIsNotKept(t *testing.T) {
	root := t.TempDir()
	e := episode(1)
	s := e.Receipt.Statement()
	half := 0.5
	s.Reward = &half
	e.Receipt = good(receipt.Seal(s))
	_, err := bundle.Write(t.Context(), root, e, judge, time.Now())
	if r := (*provenance.Refusal)(nil); !errors.As(err, &r) || r.Code != bundle.CodeNotClosed {
		t.Errorf("%v, want %s", err, bundle.CodeNotClosed)
	}
	broken := errors.New("a disk that failed")
	for name, judge := range map[string]bundle.Judge{
		"a fault": func(context.Context, bundle.Question) (bundle.Answer, error) { return bundle.Answer{}, broken },
		"a cancellation": func(context.Context, bundle.Question) (bundle.Answer, error) {
			return bundle.Answer{}, context.Canceled
		},
	} {
		if _, err := bundle.Write(t.Context(), root, episode(1), judge, time.Now()); !errors.Is(err, broken) && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestAnotherThingUnderTheNameIsAConflict(t *testing.T) {
	root := t.TempDir()
	dir := keep(t, root, episode(1))
	must(t, os.WriteFile(filepath.Join(dir, "receipt.json"), []byte("{}"), 0o644))
	_, err := bundle.Write(t.Context(), root, episode(1), judge, time.Now())
	if r := (*provenance.Refusal)(nil); !errors.As(err, &r) || r.Code != bundle.CodeConflict {
		t.Errorf("%v, want %s", err, bundle.CodeConflict)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "receipt.json")); err != nil || string(text) != "{}" {
		t.Errorf("what stood there was changed to %q, %v", text, err)
	}
}

func TestManyWritersOfOneEpisodeAllSucceed(t *testing.T) {
	root := t.TempDir()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if _, err := bundle.Write(t.Context(), root, episode(i%2), judge, time.Unix(int64(i), 0)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ids, err := bundle.List(root)
	left, _ := os.ReadDir(root)
	if err != nil || len(ids) != 2 || len(left) != 2 {
		t.Fatalf("kept are %v of %v, %v; want two episodes and nothing else", ids, left, err)
	}
	for _, id := range ids {
		if r := verified(t, filepath.Join(root, id)); r.Outcome != bundle.Closed || r.EpisodeID != id {
			t.Errorf("%s: %+v", id, r)
		}
	}
}

// A writer is killed at every step of keeping an episode: after each number of staged files in turn, and while it is being replayed, flushed and named.
// Whatever is listed then closes.
func TestAKilledWriterLeavesNoHalfEpisode(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 30
	}
	root := t.TempDir()
	self, err := os.Executable()
	must(t, err)
	staged := 0
	for i := range kills {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), writer+"="+root)
		out, err := cmd.StdoutPipe()
		must(t, err)
		in, err := cmd.StdinPipe()
		must(t, err)
		must(t, cmd.Start())
		_, err = bufio.NewReader(out).ReadString('\n')
		must(t, err)
		for files := i % 15; reached(t, root) < files; { // an episode has 14 files
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		_ = in.Close()
		ids, err := bundle.List(root)
		must(t, err)
		for _, id := range ids {
			if r := verified(t, filepath.Join(root, id)); r.Outcome != bundle.Closed {
				t.Fatalf("kill %d left %s: %+v", i, id, r)
			}
		}
		entries, err := os.ReadDir(root)
		must(t, err)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".tmp-") {
				staged++
				must(t, os.RemoveAll(filepath.Join(root, e.Name())))
			}
		}
		for _, id := range ids {
			must(t, os.RemoveAll(filepath.Join(root, id)))
		}
	}
	if staged < kills/4 {
		t.Errorf("%d of %d kills met a stage: the others show nothing", staged, kills)
	}
}

// reached counts the files of the stage that has most of them.
func reached(t *testing.T, root string) int {
	t.Helper()
	entries, err := os.ReadDir(root)
	must(t, err)
	most := 0
	for _, e := range entries {
		files := 0
		_ = filepath.WalkDir(filepath.Join(root, e.Name()), func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files++
			}
			return nil
		})
		most = max(most, files)
	}
	return most
}

// Whatever stands in a file of an episode, replaying it ends with a verdict, and it closes only as the episode that it states.
func FuzzVerify(f *testing.F) {
	e := episode(1)
	dir := keep(f, f.TempDir(), e)
	original := map[string][]byte{}
	d, err := tree.Open(dir)
	must(f, err)
	defer d.Close()
	must(f, d.Walk(func(e tree.Entry) error {
		file, err := e.Read()
		original[e.Path] = file.Data
		f.Add(e.Path, file.Data)
		return err
	}))
	for _, name := range []string{"episode-bundle.json", "receipt.json", "task.json", "reward.json", "snapshot.json", "evidence/trace.json"} {
		for _, text := range []string{`[]`, `{}`, `null`, `{"members":[],"episode_bundle_version":"traaviis.episode-bundle.v1"}`, `{"events":[1],"files":[],"signals":[]}`} {
			f.Add(name, []byte(text))
		}
	}
	f.Add("episode-bundle.json", []byte(`{"episode_bundle_version":"traaviis.episode-bundle.v1","members":{"receipt":"subject/../../x","task":"/etc/passwd"}}`))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		if _, known := original[name]; !known {
			return
		}
		at := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.WriteFile(at, text, 0o644))
		defer func() { must(t, os.WriteFile(at, original[name], 0o644)) }()
		r := verified(t, dir)
		if !slices.Contains([]bundle.Outcome{bundle.Closed, bundle.Mismatch, bundle.Unavailable}, r.Outcome) || len(r.Checks) == 0 {
			t.Errorf("%+v", r)
		}
		if r.Outcome == bundle.Closed && r.EpisodeID != e.Receipt.ID() {
			t.Errorf("one changed file closes as another episode: %+v", r)
		}
		if _, err := provenance.Report.Encode(r.Document()); err != nil && !errors.As(err, new(*provenance.JSONError)) {
			t.Error(err)
		}
	})
}
