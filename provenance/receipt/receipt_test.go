package receipt_test

import (
	"errors"
	"strings"
	"testing"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/receipt"
)

func document(t testing.TB, text string) jsonx.Value {
	t.Helper()
	v, err := provenance.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func text(t testing.TB, v jsonx.Value) string {
	t.Helper()
	b, err := provenance.Canonical.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAReceiptSaysNullAndNotNothing(t *testing.T) {
	r, err := receipt.Seal(receipt.Statement{Substrate: receipt.DefaultSubstrate, TaskID: "t", RewardID: "r", SnapshotID: "s",
		Verification: map[string]string{"identity": "not_applicable"}, Versions: map[string]receipt.Version{"identity": {Contract: "c.v1"}},
		Status: "invalid", Validity: "invalid"})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"execution_facts":null,"outputs":{"finding_id":null,"patch_id":null},"reward":null,"trace_id":null,"verification_evidence":{},` +
		`"verifier_versions":{"identity":{"contract":"c.v1","implementation":null}}}`
	if got := text(t, provenance.Only(r.Document(), "execution_facts", "outputs", "reward", "trace_id", "verification_evidence", "verifier_versions")); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if _, found := provenance.Unknown(r.Document(), "episode_version", "substrate_profile", "task_id", "reward_id", "subject", "trace_id", "outputs", "verification",
		"verification_evidence", "verifier_versions", "reward", "status", "validity", "replayability", "execution_facts", "episode_id"); found || len(r.Document().Members) != 16 {
		t.Errorf("the receipt has other members: %s", text(t, r.Document()))
	}
	if got := r.Outcome(); got != "episode "+r.ID()+" — status invalid, validity invalid, reward null" {
		t.Error(got)
	}
}

func TestARewardOfOneIsADouble(t *testing.T) {
	one := 1.0
	r, err := receipt.Seal(receipt.Statement{Reward: &one})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := r.Document().Get("reward"); got.Num != "1.0" || !strings.HasSuffix(r.Outcome(), "reward 1.0") {
		t.Errorf("%s, %s", got.Num, r.Outcome())
	}
}

func TestPlatforms(t *testing.T) {
	for label, want := range map[string][2]string{
		"linux-x86_64": {"linux", "x86_64"}, "macOS-aarch64": {"darwin", "arm64"}, "win32-AMD64": {"windows", "x86_64"}, "": {"unknown", "unknown"},
		"plan9": {"plan9", "unknown"}, "linux-riscv-64": {"linux", "riscv-64"},
	} {
		if system, arch := receipt.Platform(label); system != want[0] || arch != want[1] {
			t.Errorf("%q is %s on %s, want %v", label, system, arch, want)
		}
	}
}

func TestARunFailsByHowItEnded(t *testing.T) {
	task := document(t, `{"agent_run_policy":{"allowed_exit_codes":[0,3]}}`)
	exit := func(n int) receipt.Process { return receipt.Process{Exit: provenance.Int(n)} }
	for _, c := range []struct {
		name    string
		p       receipt.Process
		profile string
		task    jsonx.Value
		want    bool
	}{
		{"an allowed code", exit(3), receipt.LocalProfile, task, false},
		{"another code", exit(1), receipt.LocalProfile, task, true},
		{"a signal", exit(-9), receipt.LocalProfile, task, true},
		{"no code: out of time", receipt.Process{}, receipt.LocalProfile, task, true},
		{"no code where nothing runs", receipt.Process{}, receipt.SubmissionProfile, task, false},
		{"too much output", receipt.Process{Exit: provenance.Int(0), StderrTruncated: true}, receipt.LocalProfile, task, true},
		{"only 0 is allowed by default", exit(3), receipt.LocalProfile, document(t, `{}`), true},
		{"an unknown profile runs", exit(1), "mystery.v9", task, true},
	} {
		if got := c.p.Failed(c.profile, c.task); got != c.want {
			t.Errorf("%s: failed %v, want %v", c.name, got, c.want)
		}
	}
}

func TestFactsAreRederivedWhereTheyCanBe(t *testing.T) {
	p := receipt.Process{Exit: provenance.Int(7)}
	made := receipt.Facts(receipt.LocalProfile, "linux-x86_64", receipt.NoToolchain(), p)
	lie := provenance.With(provenance.With(made, "agent_process", jsonx.Value{}), "sandbox", provenance.String("none"))
	if got := receipt.Rederive(lie, p); text(t, got) != text(t, made) {
		t.Errorf("got %s\nwant %s", text(t, got), text(t, made))
	}
	lie = provenance.With(lie, "platform", provenance.String("attested"))
	platform, _ := receipt.Rederive(lie, p).Get("platform")
	if platform.Str != "attested" {
		t.Errorf("the platform became %s", text(t, platform))
	}
	if got := receipt.Rederive(jsonx.Value{}, p); got.Kind != jsonx.Null {
		t.Errorf("null facts became %s", text(t, got))
	}
	// Under the profile that runs nothing, nothing that happened to a process is said.
	facts := receipt.Facts(receipt.SubmissionProfile, "", receipt.NoToolchain(), p)
	process, _ := facts.Get("agent_process")
	if want := `{"exit_code":null,"stderr_truncated":false,"stdout_truncated":false,"termination":"not_executed"}`; text(t, process) != want {
		t.Errorf("got %s, want %s", text(t, process), want)
	}
}

func TestATraceHasNoHostsPaths(t *testing.T) {
	doc, _, err := receipt.LocalTrace(receipt.Run{Command: []string{"/opt/x/python3", "./a.py", "/", "b/c"}, EnvironmentKeys: []string{"Z", "A"}})
	if err != nil {
		t.Fatal(err)
	}
	events, _ := doc.Get("events")
	command, _ := events.Elems[0].Get("command")
	keys, _ := events.Elems[0].Get("environment_keys")
	if got, want := text(t, command)+text(t, keys), `["python3","./a.py","","b/c"]["A","Z"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if name, found := provenance.Unknown(events.Elems[0], provenance.EventMembers...); found || len(events.Elems[0].Members) != len(provenance.EventMembers) {
		t.Errorf("the event has the member %q, or lacks one", name)
	}
}

func TestSignalsThatLeaveEvidence(t *testing.T) {
	reward := document(t, `{"signals":{"patch":{},"citations":{}}}`)
	ids, ok := receipt.EvidenceSignals(document(t, `{"verifier_plan":{"required":["tests","patch"],"not_applicable":["native","oracle","identity"]}}`), reward)
	if want := "citations identity patch tests"; !ok || strings.Join(ids, " ") != want {
		t.Errorf("%v, %v; want %s", ids, ok, want)
	}
	for _, plan := range []string{`["../x"]`, `["A"]`, `[1]`, `[""]`, `["` + strings.Repeat("a", 65) + `"]`} {
		if ids, ok := receipt.EvidenceSignals(document(t, `{"verifier_plan":{"required":`+plan+`}}`), reward); ok {
			t.Errorf("%s gives %v", plan, ids)
		}
	}
}

func TestSubmissions(t *testing.T) {
	const version = `"submission_version":"traaviis.remote-submission.v1"`
	for _, c := range []struct{ name, text, want string }{
		{"all three", `{` + version + `,"finding":{},"patch":"x"}`, ""},
		{"nulls", `{` + version + `,"finding":null,"patch":null}`, ""},
		{"what is missing is null", `{` + version + `}`, ""},
		{"no object", `[]`, receipt.CodeSubmissionMalformed},
		{"the version comes before the members", `{"reward":1}`, receipt.CodeSubmissionVersion},
		{"what the server determines", `{` + version + `,"note":1,"reward":1}`, receipt.CodeSubmissionField},
		{"an unknown member", `{` + version + `,"note":1}`, receipt.CodeSubmissionField},
		{"a finding that is a text", `{` + version + `,"finding":"x"}`, receipt.CodeSubmissionType},
		{"a patch that is a number", `{` + version + `,"patch":1}`, receipt.CodeSubmissionType},
	} {
		s, err := receipt.ParseSubmission(document(t, c.text))
		r := (*provenance.Refusal)(nil)
		if errors.As(err, &r) != (c.want != "") || r != nil && r.Code != c.want {
			t.Errorf("%s: %+v, %v; want %q", c.name, s, err, c.want)
		}
	}
}
