package receipt

import (
	"slices"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

// The runner profiles: specification §5.14.
const (
	LocalProfile      = "residency.trusted-local.v1"
	SubmissionProfile = "traaviis.ors-submission.v1" // runs nothing: the candidate arrives already made
)

// sandboxes are the frozen objects of the profiles: a member more in one of them would move every episode.
var sandboxes = map[string]struct{ filesystem, network string }{
	LocalProfile:      {"observed", "unrestricted"},
	SubmissionProfile: {"not_applicable", "not_applicable"},
}

// Process is how a candidate's program ended.
type Process struct {
	Exit                             jsonx.Value // an integer; null if it ran out of time, or if nothing ran
	StdoutTruncated, StderrTruncated bool
}

// Failed reports whether nothing that a program left can be trusted, because of how it ended: specification §9.8. A profile that runs nothing has no such
// failure.
func (p Process) Failed(profile string, task jsonx.Value) bool {
	if profile == SubmissionProfile {
		return false
	}
	policy, _ := task.Get("agent_run_policy")
	allowed := []jsonx.Value{provenance.Int(0)}
	if m, given := policy.Get("allowed_exit_codes"); given && m.Kind == jsonx.Array {
		allowed = m.Elems
	}
	exit, ok := p.Exit.Int()
	expected := slices.ContainsFunc(allowed, func(v jsonx.Value) bool {
		code, isInt := v.Int()
		return isInt && code == exit
	})
	return !ok || !expected || p.StdoutTruncated || p.StderrTruncated
}

func (p Process) document(profile string) jsonx.Value {
	termination := "exited"
	if p.Exit.Kind == jsonx.Null {
		termination = "timed_out"
	}
	if profile == SubmissionProfile {
		termination, p = "not_executed", Process{}
	}
	return provenance.Object(
		provenance.Member("termination", provenance.String(termination)),
		provenance.Member("exit_code", p.Exit),
		provenance.Member("stdout_truncated", provenance.Bool(p.StdoutTruncated)),
		provenance.Member("stderr_truncated", provenance.Bool(p.StderrTruncated)))
}

func sandbox(profile string) (jsonx.Value, bool) {
	s, known := sandboxes[profile]
	return provenance.Object(provenance.Member("filesystem", provenance.String(s.filesystem)), provenance.Member("network", provenance.String(s.network))), known
}

// NoToolchain is the toolchain of an episode whose tools were not resolved.
func NoToolchain() jsonx.Value {
	return provenance.Object(provenance.Member("profile", jsonx.Value{}), provenance.Member("resolved", provenance.Object()))
}

// Facts makes the execution facts of a receipt: specification §5.14. platform is a label like linux-x86_64; toolchain has a profile and what was resolved.
func Facts(profile, platform string, toolchain jsonx.Value, p Process) jsonx.Value {
	box, _ := sandbox(profile)
	system, arch := Platform(platform)
	return provenance.Object(
		provenance.Member("execution_facts_version", provenance.String("residency.execution-facts.v1")),
		provenance.Member("runner", provenance.Object(provenance.Member("profile", provenance.String(profile)))),
		provenance.Member("platform", provenance.Object(provenance.Member("os", provenance.String(system)), provenance.Member("arch", provenance.String(arch)))),
		provenance.Member("toolchain", toolchain),
		provenance.Member("agent_process", p.document(profile)),
		provenance.Member("sandbox", box))
}

// Profile gives the runner profile that facts state.
func Profile(facts jsonx.Value) string {
	runner, _ := facts.Get("runner")
	profile, _ := provenance.Text(runner, "profile")
	return profile
}

// Rederive gives stored facts with what a replay derives again: how the process ended, and the sandbox of a profile that is known. The rest is attested by
// whoever ran it. Facts that are no object stay as they are.
func Rederive(stored jsonx.Value, p Process) jsonx.Value {
	if stored.Kind != jsonx.Object {
		return stored
	}
	profile := Profile(stored)
	stored = provenance.With(stored, "agent_process", p.document(profile))
	if box, known := sandbox(profile); known {
		stored = provenance.With(stored, "sandbox", box)
	}
	return stored
}

// Platform normalises a platform's label: specification §5.14. An empty label is unknown.
func Platform(label string) (system, arch string) {
	if label == "" {
		label = "unknown"
	}
	system, arch, found := strings.Cut(strings.ToLower(label), "-")
	if !found {
		arch = "unknown"
	}
	if other, ok := map[string]string{"macos": "darwin", "win32": "windows"}[system]; ok {
		system = other
	}
	if other, ok := map[string]string{"amd64": "x86_64", "aarch64": "arm64"}[arch]; ok {
		arch = other
	}
	return system, arch
}
