package verify_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance/environment"
	"pdlt.dev/pdlt/provenance/snapshot"
	"pdlt.dev/pdlt/runner"
	"pdlt.dev/pdlt/runner/verify"
)

func parse(t testing.TB, text string) jsonx.Value {
	t.Helper()
	v, err := jsonx.Parse([]byte(text), jsonx.Bounds{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// code gives the code of a refusal, or "".
func code(err error) string {
	var r *runner.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

var content = verify.Tree{
	"doc.md":   {Data: "one\ntwo\nthree\n"},
	"src/a.py": {Data: "return 1\n"},
	"blob.bin": {Data: "one\ntwo\n", Binary: true},
}

const (
	goodPatch = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,1 +1,1 @@\n-return 1\n+return 2\n"
	noPatch   = "nothing to do\n"
	reward    = `{"signals":{"citations":{"verifier":"residency.citations.v1","weight":0.25},"patch":{"verifier":"residency.patch.v1","weight":0.5},
		"finding_completeness":{"verifier":"residency.finding.v1","weight":0.1}},"caps":[{"when":{"signal":"patch","state":"fail"},"reward_max":0.2}]}`
	task = `{"verifier_plan":{"required":["citations"],"not_applicable":["native","oracle"]}}`
)

func goodFinding(t testing.TB) *jsonx.Value {
	f := verify.Finding(parse(t, `{"finding":{"summary":"s","citations":[{"path":"doc.md","start_line":2,"end_line":3,"quote":"two\nthree"}]}}`))
	return &f
}

func plan(t testing.TB, r verify.Registry, task, reward string) verify.Plan {
	t.Helper()
	p, err := r.Plan(parse(t, task), parse(t, reward))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func run(t testing.TB, p verify.Plan, in verify.Inputs) verify.Result {
	t.Helper()
	res, err := p.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func ptr[T any](v T) *T { return &v }

func TestAPlanGivesTheSameToWhoeverAsks(t *testing.T) {
	p := plan(t, verify.Registry{}, task, reward)
	in := verify.Inputs{Content: content, Finding: goodFinding(t), Patch: ptr(goodPatch)}
	before := maps.Clone(content)
	want := run(t, p, in)
	if diff := cmp.Diff(verify.Verdict{Reward: ptr(0.85), Status: "ok", Validity: "valid"}, want.Verdict); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(map[string]verify.State{"citations": "pass", "patch": "pass", "finding_completeness": "pass", "native": "not_applicable",
		"oracle": "not_applicable"}, want.Verification); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if res, err := p.Run(t.Context(), in); err != nil || !cmp.Equal(res, want) {
				t.Errorf("another answer: %v, %v", res, err)
			}
		})
	}
	all.Wait()
	if !maps.Equal(before, content) {
		t.Error("the subject was changed")
	}
}

func TestAFailedRunIsAnErrorThatKeepsItsEvidence(t *testing.T) {
	p := plan(t, verify.Registry{}, `{"verifier_plan":{"required":["citations"],"not_applicable":["tests"]}}`, reward)
	res := run(t, p, verify.Inputs{Content: content, Finding: goodFinding(t), RunFailed: true})
	if diff := cmp.Diff(verify.Verdict{Status: "error", Validity: "invalid"}, res.Verdict); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for id, s := range res.Signals {
		if s.State != verify.Error {
			t.Errorf("%s is %s", id, s.State)
		}
	}
	if r, _ := res.Signals["patch"].Detail.Get("reason"); r.Str != "no patch" {
		t.Errorf("the evidence of the patch is %v", res.Signals["patch"])
	}
	if len(res.Signals) != 4 || res.Verification["native"] != verify.NotApplicable {
		t.Errorf("states of %v", res.Verification)
	}
	tampered := run(t, p, verify.Inputs{Content: content, Finding: goodFinding(t), RunFailed: true, Tampered: true})
	if diff := cmp.Diff(verify.Verdict{Reward: ptr(0.0), Status: "invalid", Validity: "invalid"}, tampered.Verdict); diff != "" {
		t.Errorf("tampering comes first: -want +got\n%s", diff)
	}
}

func TestABinaryFileIsNeitherCitedNorPatched(t *testing.T) {
	f := verify.Finding(parse(t, `{"finding":{"summary":"s","citations":[{"path":"blob.bin","start_line":1,"end_line":1,"quote":"one"}]}}`))
	res := run(t, plan(t, verify.Registry{}, task, reward), verify.Inputs{Content: content, Finding: &f,
		Patch: ptr("--- a/blob.bin\n+++ b/blob.bin\n@@ -1 +1 @@\n-one\n+1\n")})
	if res.Verification["citations"] != verify.Fail || res.Verification["patch"] != verify.Fail {
		t.Errorf("%v", res.Verification)
	}
}

func TestADamagedBundleHasNoFinding(t *testing.T) {
	res := run(t, plan(t, verify.Registry{}, task, reward), verify.Inputs{Content: content})
	for _, id := range []string{"citations", "finding_completeness"} {
		if r, _ := res.Signals[id].Detail.Get("reason"); res.Signals[id].State != verify.Fail || r.Str != "no finding" {
			t.Errorf("%s: %v", id, res.Signals[id])
		}
	}
}

func TestTheStrictContractTakesPatchesOnly(t *testing.T) {
	strict := strings.Replace(reward, "residency.patch.v1", verify.StrictPatchContract, 1)
	loose := plan(t, verify.Registry{}, task, reward)
	p := plan(t, verify.Registry{}, task, strict)
	if a, b := loose.Wiring()["patch"].Implementation, p.Wiring()["patch"].Implementation; a == b || b == "" {
		t.Fatalf("both contracts are answered by %q and %q", a, b)
	}
	for _, c := range []struct {
		name, diff    string
		loose, strict verify.State
	}{
		{"a patch", goodPatch, "pass", "pass"},
		{"prose", noPatch, "pass", "fail"},
		{"context only", "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,1 +1,1 @@\n return 1\n", "pass", "fail"},
		{"the same line again", "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,1 +1,1 @@\n-return 1\n+return 1\n", "pass", "fail"},
		{"a file where a folder is", "--- /dev/null\n+++ b/src\n@@ -0,0 +1 @@\n+x\n", "pass", "fail"},
		{"a file below a file", "--- /dev/null\n+++ b/doc.md/x\n@@ -0,0 +1 @@\n+x\n", "pass", "fail"},
		{"a line that is not there", strings.Replace(goodPatch, "-return 1", "-return 0", 1), "fail", "fail"},
		{"blanks", " \n\t\x1c", "fail", "fail"},
	} {
		in := verify.Inputs{Content: content, Finding: goodFinding(t), Patch: &c.diff}
		if got := run(t, loose, in).Verification["patch"]; got != c.loose {
			t.Errorf("%s: %s, want %s", c.name, got, c.loose)
		}
		if got := run(t, p, in).Verification["patch"]; got != c.strict {
			t.Errorf("%s: strictly %s, want %s", c.name, got, c.strict)
		}
	}
}

func TestAPatchIsRefusedWithItsLine(t *testing.T) {
	for _, c := range []struct{ diff, path string }{
		{"prose\n--- a/doc.md\n+++ b/other.md\n", "$.patch:3"},
		{"--- a/doc.md\n+++ b/doc.md\n@@ -1 +1 @@\n-two\n+2\n", "$.patch:4"},
		{"--- a/doc.md\n+++ b/doc.md\n@@ -1,2 +1 @@\n-one\n", "$.patch:3"},
		{"--- a/doc.md", "$.patch:1"},
	} {
		_, err := verify.Apply(content, c.diff)
		var r *runner.Refusal
		if !errors.As(err, &r) || r.Code != verify.CodePatchRefused || r.Path != c.path || r.Found == "" || r.Required == "" {
			t.Errorf("%q: %v, want a refusal at %s", c.diff, err, c.path)
		}
	}
}

const pinTask = `{"identity_policy":{"must_remain":{"b":{"path":"doc.md","profile":"p","before_id":"%b"},"a":{"path":"src/a.py","profile":"p","before_id":"%a"}}}}`

func pinned(t *testing.T, r verify.Registry, contract, task string, in verify.Inputs) verify.Signal {
	t.Helper()
	p := plan(t, r, task, `{"signals":{"identity":{"verifier":"`+contract+`","weight":1}}}`)
	return run(t, p, in).Signals["identity"]
}

func TestAPinHoldsBytes(t *testing.T) {
	idA, _ := verify.Pin{}.Lower("return 1\n")
	idB, _ := verify.Pin{}.Lower("one\ntwo\nthree\n")
	filled := strings.NewReplacer("%a", idA, "%b", idB).Replace(pinTask)
	if s := pinned(t, verify.Registry{}, verify.PinContract, filled, verify.Inputs{Content: content, Patch: ptr(noPatch)}); s.State != verify.Pass {
		t.Errorf("untouched: %v", s)
	}
	s := pinned(t, verify.Registry{}, verify.PinContract, filled, verify.Inputs{Content: content, Patch: ptr(goodPatch)})
	moved, _ := s.Detail.Get("moved")
	if s.State != verify.Fail || len(moved.Elems) != 1 || moved.Elems[0].Str != "a" {
		t.Errorf("one moved: %v", s)
	}
	if s := pinned(t, verify.Registry{}, verify.PinContract, filled, verify.Inputs{Content: content}); s.State != verify.Error {
		t.Errorf("without a patch there is nothing to look at: %v", s)
	}
}

func TestASubjectIsWhatWasAdmitted(t *testing.T) {
	got := verify.Subject(map[string]snapshot.File{"a": {Data: []byte("x\n"), Mode: 0o755}, "b": {Data: []byte{0xff}, Binary: true}})
	if diff := cmp.Diff(verify.Tree{"a": {Data: "x\n"}, "b": {Data: "\xff", Binary: true}}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestPackingBindsWhatScoringCompares(t *testing.T) {
	var r environment.Lowerer = verify.Registry{}
	pin, _ := verify.Pin{}.Lower("return 1\n")
	if id, err := r.Lower(verify.PinContract, "return 1\n"); id != pin || err != nil {
		t.Errorf("%s, %v; want %s", id, err, pin)
	}
	if _, err := r.Lower("residency.identity.v1", "return 1\n"); !errors.Is(err, environment.ErrNoEngine) {
		t.Errorf("%v; want that nobody knows", err)
	}
	r = verify.Registry{Identity: []verify.Lowerer{verify.Table{Rows: map[string]verify.Lowered{"a": {ID: "sem-a"}, "b": {Message: "no b"}}}, verify.Pin{}}}
	if id, err := r.Lower("residency.identity.v1", "a"); id != "sem-a" || err != nil {
		t.Errorf("%s, %v; want what the first one says", id, err)
	}
	if _, err := r.Lower("residency.identity.v1", "b"); err == nil || err.Error() != "no b" {
		t.Errorf("%v; want the words of the engine", err)
	}
	if _, err := r.Lower("", "c"); !errors.Is(err, environment.ErrNoEngine) {
		t.Errorf("%v; want that nobody knows, and no guess of the second one", err)
	}
}

// The labels are taken in sorted order, and so two defective ones give one answer live and on replay: specification §9.7.
func TestTheFirstDefectInSortedOrderIsTold(t *testing.T) {
	for _, c := range []struct{ policy, reason string }{
		{`{"z":{"path":"../x","before_id":"sem-1"},"y":7}`, "bad binding 'y'"},
		{`{"y":{"path":"doc.md"}}`, "bad binding 'y'"},
		{`{"z":{"path":"../x","before_id":"sem-1"}}`, "unsafe path: '../x'"},
		{`{"z":{"path":"gone","before_id":"sem-1"}}`, "bound source missing: gone"},
	} {
		s := pinned(t, verify.Registry{}, verify.PinContract, `{"identity_policy":{"must_remain":`+c.policy+`}}`, verify.Inputs{Content: content, Patch: ptr(noPatch)})
		if r, _ := s.Detail.Get("reason"); s.State != verify.Error || r.Str != c.reason {
			t.Errorf("%s: %v, want %s", c.policy, s, c.reason)
		}
	}
	if s := pinned(t, verify.Registry{}, verify.PinContract, `{"identity_policy":{"must_remain":{}}}`, verify.Inputs{Content: content}); s.State != verify.NotApplicable {
		t.Errorf("nothing must remain: %v", s)
	}
}

func TestATableNeverGuesses(t *testing.T) {
	table := verify.Table{Name: "engine-1", Rows: map[string]verify.Lowered{"return 1\n": {ID: "sem-a"}, "one\ntwo\nthree\n": {ID: "sem-b"}, "return 3\n": {Message: "no 3"}}}
	filled := strings.NewReplacer("%a", "sem-a", "%b", "sem-b").Replace(pinTask)
	r := verify.Registry{Identity: []verify.Lowerer{verify.Pin{}, table}}
	three := strings.Replace(goodPatch, "+return 2", "+return 3", 1)
	rewardDoc, taskDoc := parse(t, `{"signals":{"identity":{"verifier":"residency.identity.v1","weight":1}}}`), parse(t, filled)
	for _, c := range []struct {
		name, sealed, patch string
		wired               string
		state               verify.State
	}{
		{"sources that are in the table", "engine-1", noPatch, "engine-1", verify.Pass},
		{"one that is known to be broken", "engine-1", three, "engine-1", verify.Error},
		{"one that is not in the table", "engine-1", goodPatch, "", verify.NotApplicable},
		{"another version is sealed", "engine-2", noPatch, verify.Pin{}.Version(), verify.Fail},
		{"null is sealed", "", noPatch, "", verify.NotApplicable},
	} {
		in := verify.Inputs{Content: content, Patch: &c.patch}
		p, err := r.Replay(taskDoc, rewardDoc, map[string]string{"identity": c.sealed}, in)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Wiring()["identity"].Implementation; got != c.wired {
			t.Errorf("%s: answered by %q, want %q", c.name, got, c.wired)
		}
		if got := run(t, p, in).Verification["identity"]; got != c.state {
			t.Errorf("%s: %s, want %s", c.name, got, c.state)
		}
	}
	live := verify.Registry{Identity: []verify.Lowerer{table}}
	// The words are hashed: other words are another version.
	const words = "forge down: no engine here, and the source is in no table"
	s := pinned(t, live, "residency.identity.v1", filled, verify.Inputs{Content: content, Patch: ptr(goodPatch)})
	if why, _ := s.Detail.Get("reason"); s.State != verify.Error || why.Str != words {
		t.Errorf("a source that nobody knows is %v", s)
	}
	if s := pinned(t, live, "residency.identity.v1", filled, verify.Inputs{Content: content, Patch: &three}); s.State != verify.Error || !strings.Contains(s.Detail.Members[0].Value.Str, "no 3") {
		t.Errorf("a source that does not lower is %v", s)
	}
}

func TestWhatIsRequiredAndUnansweredIsNamed(t *testing.T) {
	const both = `{"verifier_plan":{"required":["zebra","tests","native","identity","citations"]},"test_plan":{},"identity_policy":{"must_remain":{}}}`
	var r verify.Registry
	if diff := cmp.Diff([]string{"identity", "tests", "zebra"}, plan(t, r, both, reward).Unresolved()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"identity", "tests"}, r.Lacks(parse(t, both))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	r = verify.Registry{Executor: runner.Unavailable(errors.New("x")), Identity: []verify.Lowerer{verify.Pin{}}}
	if got := r.Lacks(parse(t, both)); got != nil {
		t.Errorf("lacks %v", got)
	}
	if diff := cmp.Diff([]string{"zebra"}, plan(t, r, both, reward).Unresolved()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"identity", "tests"}, slices.Sorted(maps.Keys(r.Available()))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestWhatCannotBeMeantIsRefused(t *testing.T) {
	for _, c := range []struct{ task, reward, code string }{
		{task, `{}`, verify.CodeRewardInvalid},
		{task, `{"signals":{"../x":{"weight":1}}}`, verify.CodeSignalInvalid},
		{task, `{"signals":{"a":{"weight":"1"}}}`, verify.CodeRewardInvalid},
		{task, `{"signals":{"a":{"weight":true}}}`, verify.CodeRewardInvalid},
		{task, `{"signals":{"a":{"weight":1e999}}}`, verify.CodeRewardInvalid},
		{task, `{"signals":{"a":{"verifier":7,"weight":1}}}`, verify.CodeRewardInvalid},
		{task, `{"signals":{},"caps":{}}`, verify.CodeRewardInvalid},
		{task, `{"signals":{},"caps":[{"when":{},"reward_max":1}]}`, verify.CodeRewardInvalid},
		{task, `{"signals":{},"caps":[{"when":{"signal":"a","state":"fail"}}]}`, verify.CodeRewardInvalid},
		{`{"verifier_plan":{"required":["A"]}}`, reward, verify.CodeSignalInvalid},
		{`{"verifier_plan":{"not_applicable":["a/b"]}}`, reward, verify.CodeSignalInvalid},
		{`{"verifier_plan":{"required":"citations"}}`, reward, verify.CodeTaskInvalid},
		{`{"verifier_plan":{"required":[1]}}`, reward, verify.CodeTaskInvalid},
	} {
		if _, err := (verify.Registry{}).Plan(parse(t, c.task), parse(t, c.reward)); code(err) != c.code {
			t.Errorf("%s, %s: %v, want %s", c.task, c.reward, err, c.code)
		}
	}
}

// spy is an Executor that counts, and answers with an error.
type spy struct {
	err  error
	jobs *[]runner.Job
}

func (s spy) Execute(_ context.Context, j runner.Job) (confine.Result, error) {
	*s.jobs = append(*s.jobs, j)
	return confine.Result{}, s.err
}

// ending is an Executor whose every program is stopped in that way, after it called back.
type ending struct {
	stopped confine.Stopped
	before  func()
}

func (e ending) Execute(context.Context, runner.Job) (confine.Result, error) {
	e.before()
	return confine.Result{Outcome: confine.Outcome{Stopped: e.stopped}}, nil
}

func TestACellThatEndsWithoutItsCommandsHasNoVerdict(t *testing.T) {
	for _, stopped := range []confine.Stopped{confine.StoppedCancelled, confine.StoppedLost} {
		for _, cancels := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			e := ending{stopped, func() {}}
			if cancels {
				e.before = cancel
			}
			r := verify.Registry{Executor: e, Python: verify.Tool{Version: "any"}}
			p := plan(t, r, `{"test_plan":`+testPlan(`["-c","pass"]`)+`}`, `{"signals":{"tests":{"weight":1}}}`)
			if res, err := p.Run(ctx, verify.Inputs{Content: content}); err == nil || errors.Is(err, context.Canceled) != cancels {
				t.Errorf("%s, cancelled %t: %v, %v", stopped, cancels, res, err)
			}
			cancel()
		}
	}
}

func TestNoVerdictWithoutConfinement(t *testing.T) {
	var jobs []runner.Job
	refusal := &runner.Refusal{Code: runner.CodeConfinementUnavailable}
	r := verify.Registry{Executor: spy{refusal, &jobs}, Python: verify.Tool{Version: "any"}}
	p := plan(t, r, `{"test_plan":`+testPlan(`["-c","pass"]`)+`}`, `{"signals":{"tests":{"weight":1}}}`)
	if _, err := p.Run(t.Context(), verify.Inputs{Content: content}); code(err) != refusal.Code {
		t.Errorf("%v, want the executor's refusal", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Run(ctx, verify.Inputs{Content: content}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the error of the context", err)
	}
	if len(jobs) != 1 {
		t.Fatalf("%d jobs, want one", len(jobs))
	}
	if got := jobs[0].Limits.Wall; got >= verify.DefaultLimits.Wall || got < 30e9 {
		t.Errorf("the cell may take %v; want the command's own 30 s and little more", got)
	}
	for _, f := range jobs[0].Program.Files {
		if f.Mode != 0 {
			t.Errorf("%s has the mode %v: modes are not restored", f.Name, f.Mode)
		}
	}
}

func TestATestPlanThatCannotBeMeantRunsNothing(t *testing.T) {
	const command = `{"tool":"python3"}`
	for _, c := range []struct{ name, plan, contract, reason string }{
		{"no commands", `{"commands":[]}`, "", "bad test_plan: "},
		{"no argv", `{"commands":[{"argv":[]}]}`, "", "bad test_plan: "},
		{"argv with a number", `{"commands":[{"argv":["x",1]}]}`, "", "bad test_plan: "},
		{"a timeout in words", `{"commands":[{"argv":["x"],"timeout_seconds":"1"}]}`, "", "bad test_plan: "},
		{"a folder that is a number", `{"commands":[{"argv":["x"],"cwd":1}]}`, "", "bad test_plan: "},
		{"no tool", `{"test_plan_version":"traaviis.test-plan.v2","toolchain_profile":"p","commands":[{"argv":["x"]}]}`, "", "bad test_plan: "},
		{"no profile", `{"test_plan_version":"traaviis.test-plan.v2","commands":[` + command + `]}`, "", "bad test_plan: "},
		{"no exit codes", `{"test_plan_version":"traaviis.test-plan.v2","toolchain_profile":"p","commands":[{"tool":"x","patched":{"allowed_exit_codes":[]}}]}`, "", "bad test_plan: "},
		{"true is no exit code", `{"test_plan_version":"traaviis.test-plan.v2","toolchain_profile":"p","commands":[{"tool":"x","baseline":{"allowed_exit_codes":[true]}}]}`, "", "bad test_plan: "},
		{"an environment of numbers", `{"commands":[{"argv":["x"]}],"run_policy":{"environment":{"A":1}}}`, "", "bad test_plan: "},
		{"another runner", `{"commands":[{"argv":["x"]}],"run_policy":{"runner_profile":"zzz"}}`, "", "unsupported test run_policy: "},
		{"no network, which the host profile does not give", `{"commands":[{"argv":["x"]}],"run_policy":{"network":"none"}}`, "", "unsupported test run_policy: "},
		{"a network, which no cell gives", `{"commands":[{"argv":["x"]}],"run_policy":{"network":"unrestricted"}}`, verify.TestsContract, "unsupported test run_policy: "},
		{"another toolchain", `{"test_plan_version":"traaviis.test-plan.v2","toolchain_profile":"zzz","commands":[` + command + `]}`, "", "toolchain resolution failed: "},
		{"another tool", `{"test_plan_version":"traaviis.test-plan.v2","toolchain_profile":"residency.python-host.v1","commands":[{"tool":"make"}]}`, "", "toolchain resolution failed: "},
	} {
		var jobs []runner.Job
		r := verify.Registry{Executor: spy{errors.New("ran"), &jobs}, Python: verify.Tool{Version: "any"}}
		taskDoc, rewardDoc := `{"test_plan":`+c.plan+`}`, `{"signals":{"tests":{"verifier":"`+c.contract+`","weight":1}}}`
		s := run(t, plan(t, r, taskDoc, rewardDoc), verify.Inputs{Content: content}).Signals["tests"]
		if why, _ := s.Detail.Get("reason"); s.State != verify.Error || !strings.HasPrefix(why.Str, c.reason) || len(jobs) > 0 {
			t.Errorf("%s: %v after %d jobs, want %s", c.name, s, len(jobs), c.reason)
		}
		if err := verify.CheckTests(parse(t, taskDoc), parse(t, rewardDoc)); code(err) != verify.CodeTaskInvalid {
			t.Errorf("%s: packing it: %v", c.name, err)
		}
	}
	if err := verify.CheckTests(parse(t, `{"test_plan":{"commands":[{"argv":["x"],"cwd":"../x"}]}}`), parse(t, reward)); code(err) != verify.CodeTaskInvalid {
		t.Errorf("packing an unsafe folder: %v", err)
	}
	for _, good := range []string{`{}`, `{"test_plan":` + testPlan(`["-c","pass"]`) + `}`} {
		if err := verify.CheckTests(parse(t, good), parse(t, reward)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

func TestTheToolchainIsWhatThePlanNames(t *testing.T) {
	r := verify.Registry{Python: verify.Tool{Version: "Python 3.99.1", Digest: "sha256:0"}}
	none := parse(t, `{"profile":null,"resolved":{}}`)
	want := parse(t, `{"profile":"residency.python-host.v1","resolved":{"python3":{"version":"Python 3.99.1","executable_digest":"sha256:0"}}}`)
	if diff := cmp.Diff(want, r.Toolchain(parse(t, `{"test_plan":`+testPlan(`[]`, `["-V"]`)+`}`))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, text := range []string{`{}`, `{"test_plan":{"commands":[{"argv":["python3"]}]}}`, `{"test_plan":7}`} {
		if diff := cmp.Diff(none, r.Toolchain(parse(t, text))); diff != "" {
			t.Errorf("%s: -want +got\n%s", text, diff)
		}
	}
}

// testPlan makes a plan of form 2 in which python3 is run with each of these lists of arguments.
func testPlan(args ...string) string {
	var commands []string
	for _, a := range args {
		commands = append(commands, `{"tool":"python3","args":`+a+`,"timeout_seconds":30}`)
	}
	return `{"test_plan_version":"traaviis.test-plan.v2","toolchain_profile":"residency.python-host.v1","commands":[` + strings.Join(commands, ",") + `]}`
}

// Versions, contracts and codes are part of the contract with sealed episodes and with whoever branches on codes. A change here is a line in the changelog.
func TestNamesAreTheOnesThatWerePublished(t *testing.T) {
	const declares = `{"test_plan":{},"identity_policy":{}}`
	r := verify.Registry{Executor: runner.Unavailable(errors.New("x")), Identity: []verify.Lowerer{verify.Pin{}}}
	got := map[string]string{}
	for signal, contracts := range map[string][]string{"citations": {"any"}, "finding_completeness": {"any"}, "patch": {"any", verify.StrictPatchContract},
		"tests": {"any", verify.TestsContract}, "identity": {verify.PinContract}} {
		for _, contract := range contracts {
			p := plan(t, r, declares, `{"signals":{"`+signal+`":{"verifier":"`+contract+`","weight":1}}}`)
			got[signal+" "+contract] = p.Wiring()[signal].Implementation
		}
	}
	want := map[string]string{
		"citations any":              "traaviis.citations-impl.v1",
		"finding_completeness any":   "traaviis.finding-completeness-impl.v1",
		"patch any":                  "traaviis.patch-impl.v1",
		"patch pdlt.patch-strict.v1": "pdlt.patch-strict-impl.v1",
		"tests any":                  "traaviis.tests-impl.v1",
		"tests pdlt.tests.v1":        "pdlt.tests-impl.v1",
		"identity pdlt.byte-pin.v1":  "pdlt.byte-pin-impl.v1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	codes := []string{verify.CodeSignalInvalid, verify.CodeTaskInvalid, verify.CodeRewardInvalid, verify.CodePatchRefused, verify.CodeNotLowered}
	if diff := cmp.Diff([]string{"VERIFY_SIGNAL_INVALID", "VERIFY_TASK_INVALID", "VERIFY_REWARD_INVALID", "VERIFY_PATCH_REFUSED", "VERIFY_NOT_LOWERED"}, codes); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
