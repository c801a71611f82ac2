package verify

import (
	"slices"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/receipt"
)

// State is the answer of a signal; a closed set.
type State string

// The states.
const (
	Pass          State = "pass"
	Fail          State = "fail"
	NotApplicable State = "not_applicable"
	Error         State = "error" // the check could not be made: that is nobody's merit and nobody's failure
)

var states = []State{Pass, Fail, NotApplicable, Error}

// Signal is what one verifier answered. The zero Signal is none.
type Signal struct {
	State  State
	Detail jsonx.Value // an object; part of the evidence
}

// Evidence is the document that states a signal: specification §5.13.
func (s Signal) Evidence(id string) jsonx.Value {
	return provenance.Object(provenance.Member("evidence_version", provenance.String(receipt.EvidenceVersion)), provenance.Member("signal", provenance.String(id)), provenance.Member("state", provenance.String(string(s.State))), provenance.Member("detail", s.Detail))
}

// Wired says which contract a signal is scored under, and which implementation answers it. Either is "" when there is none.
type Wired struct {
	Contract       string
	Implementation string
}

// CheckSignal refuses, with [CodeSignalInvalid], what is no signal id.
func CheckSignal(id string) error {
	if !receipt.IsSignal(id) {
		return refuse(CodeSignalInvalid, "$.signals", said(id), "a lower-case letter, then at most 63 lower-case letters, digits and underscores")
	}
	return nil
}

// unscored are the signals that are in every verification and that nothing ever answers: specification §9.1.
var unscored = []string{"native", "oracle"}

func isUnscored(id string) bool { return slices.Contains(unscored, id) }

// reason is the detail that says why in one sentence.
func reason(text string, more ...jsonx.Member) jsonx.Value {
	return provenance.Object(append([]jsonx.Member{provenance.Member("reason", provenance.String(text))}, more...)...)
}

// given gives a member that is there and not null.
func given(v jsonx.Value, name string) (jsonx.Value, bool) {
	m, _ := v.Get(name)
	return m, m.Kind != jsonx.Null
}
