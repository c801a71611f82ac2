package provenance

import (
	"encoding/json"
	"maps"
	"slices"
)

// Record is the statement about one turn. A nil pointer is null on the wire and means "not recorded".
type Record struct {
	Status            string       `json:"status"` // of the turn, as its host closed it
	Verification      Verification `json:"verification"`
	DeliverableSHA256 *string      `json:"deliverable_sha256"` // as recorded: never computed in its place
	Model             *string      `json:"model"`
	PDLTVersion       *string      `json:"pdlt_version"`
	ClosedAtUTC       *string      `json:"closed_at_utc"`
	Source            Source       `json:"source"`

	// Extra are members that this version does not know. They are passed through.
	Extra map[string]json.RawMessage `json:"-"`
}

// Verification is what was checked of a turn's result.
type Verification struct {
	Level            Level        `json:"level"`
	ProblemClass     *Class       `json:"problem_class"`
	WitnessForm      *WitnessForm `json:"witness_form"`
	HostReproduced   *bool        `json:"host_reproduced"`
	UnverifiedReason *string      `json:"unverified_reason"` // a sentence, exactly when the level is Unverified
	Caveat           *string      `json:"caveat"`            // a sentence, when the level is ContractChecked

	// Extra are members that this version does not know. They are passed through.
	Extra map[string]json.RawMessage `json:"-"`
}

// Class says whether a turn's result had to be verified by running programs.
type Class string

// The problem classes.
const (
	VerifiedExecution Class = "VERIFIED_EXECUTION"
	StandardExecution Class = "STANDARD_EXECUTION"
)

// WitnessForm says what kind of witness a result has.
type WitnessForm string

// The forms of a witness: specification §12.1.
const (
	Computed    WitnessForm = "computed"    // positive, reproduced by a program that did not just state it
	Certificate WitnessForm = "certificate" // any other positive witness: stated data that a reader can check
	Argued      WitnessForm = "argued"      // a proof in words
	Negative    WitnessForm = "negative"    // an exhausted search
)

// Source says where a record comes from.
type Source string

// The sources of a record.
const (
	Recorded Source = "recorded" // written by the host when it closed the turn
	Derived  Source = "derived"  // worked out later, from the turn's own files
)

// MarshalJSON writes the known members in their order, then the others sorted by name.
func (r Record) MarshalJSON() ([]byte, error) {
	type known Record
	return marshal(known(r), r.Extra)
}

// MarshalJSON writes the known members in their order, then the others sorted by name.
func (v Verification) MarshalJSON() ([]byte, error) {
	type known Verification
	return marshal(known(v), v.Extra)
}

func marshal(known any, extra map[string]json.RawMessage) ([]byte, error) {
	text, err := json.Marshal(known)
	if err != nil || len(extra) == 0 {
		return text, err
	}
	text = text[:len(text)-1]
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		text = append(append(append(append(text, ','), quoted...), ':'), extra[name]...)
	}
	return append(text, '}'), nil
}
