package receipt

import (
	"slices"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

// SubmissionVersion is the version of a submission.
const SubmissionVersion = "traaviis.remote-submission.v1"

var (
	submissionMembers = []string{"submission_version", "finding", "patch"}
	// determined are what the server determines. Sending one is refused as any other unknown member is; it gets a message of its own.
	determined = []string{
		"episode_id", "execution_facts", "exit_code", "policy_violations", "reward", "run_result", "status", "timed_out", "trace", "trace_id", "validity",
		"verification", "verifier_versions",
	}
)

// Submission is a candidate that arrived already made.
type Submission struct {
	Finding jsonx.Value // an object, or null
	Patch   *string
}

// ParseSubmission reads a submission, which has its three members and no other; the last two may be missing. An error is a *provenance.Refusal.
func ParseSubmission(v jsonx.Value) (Submission, error) {
	refuse := func(code, path, found, required string, detail ...jsonx.Member) (Submission, error) {
		return Submission{}, &provenance.Refusal{Code: code, Path: path, Found: found, Required: required, Detail: provenance.Object(detail...)}
	}
	if v.Kind != jsonx.Object {
		return refuse(CodeSubmissionMalformed, "$", v.Kind.String(), "an object")
	}
	version, _ := v.Get("submission_version")
	if version.Kind != jsonx.String || version.Str != SubmissionVersion {
		return refuse(CodeSubmissionVersion, "$.submission_version", version.Kind.String()+" "+version.Str, SubmissionVersion,
			provenance.Member("expected", provenance.String(SubmissionVersion)), provenance.Member("got", version))
	}
	var forbidden, unknown []string
	for _, m := range v.Members {
		switch {
		case slices.Contains(determined, m.Name):
			forbidden = append(forbidden, m.Name)
		case !slices.Contains(submissionMembers, m.Name):
			unknown = append(unknown, m.Name)
		}
	}
	allowed := provenance.Member("allowed", provenance.Strings(submissionMembers))
	if len(forbidden) > 0 {
		slices.Sort(forbidden)
		return refuse(CodeSubmissionField, "$."+forbidden[0], "what the server determines", "finding and patch only",
			provenance.Member("forbidden", provenance.Strings(forbidden)), allowed)
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return refuse(CodeSubmissionField, "$."+unknown[0], "an unknown member", "finding and patch only",
			provenance.Member("unknown", provenance.Strings(unknown)), allowed)
	}
	s := Submission{}
	s.Finding, _ = v.Get("finding")
	if s.Finding.Kind != jsonx.Object && s.Finding.Kind != jsonx.Null {
		return refuse(CodeSubmissionType, "$.finding", s.Finding.Kind.String(), "an object or null", provenance.Member("field", provenance.String("finding")))
	}
	patch, _ := v.Get("patch")
	switch patch.Kind {
	case jsonx.String:
		s.Patch = &patch.Str
	case jsonx.Null:
	default:
		return refuse(CodeSubmissionType, "$.patch", patch.Kind.String(), "a string or null", provenance.Member("field", provenance.String("patch")))
	}
	return s, nil
}
