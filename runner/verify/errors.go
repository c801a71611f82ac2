package verify

import (
	"fmt"

	"pdlt.dev/pdlt/runner"
)

// The refusal codes of this package. A code is matched exactly.
const (
	CodeSignalInvalid = "VERIFY_SIGNAL_INVALID" // an id that is no signal id, or one that nobody answered
	CodeTaskInvalid   = "VERIFY_TASK_INVALID"   // a verifier plan or test plan that cannot be meant
	CodeRewardInvalid = "VERIFY_REWARD_INVALID" // a reward spec that cannot be added up
	CodePatchRefused  = "VERIFY_PATCH_REFUSED"  // a diff that does not apply
	CodeNotLowered    = "VERIFY_NOT_LOWERED"    // a source that has no identity, because it is broken
)

func refuse(code, path, found, required string) *runner.Refusal {
	return &runner.Refusal{Code: code, Path: path, Found: found, Required: required}
}

// said quotes what others wrote, cut to a length that a line can hold.
func said(s string) string {
	const most = 120
	if len(s) > most {
		return fmt.Sprintf("%.*q…", most, s)
	}
	return fmt.Sprintf("%q", s)
}
