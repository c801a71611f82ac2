package bundle

import "errors"

// The refusal codes of publishing. A code is matched exactly.
const (
	CodeConflict  = "EPISODE_CONFLICT"   // something else stands where the episode is to be kept
	CodeNotClosed = "EPISODE_NOT_CLOSED" // the staged episode does not replay to its own receipt
)

// ErrUnjudgeable is what a [Judge] wraps when the documents of an episode are such that no verifier here can be bound to them.
var ErrUnjudgeable = errors.New("no verifier here can be bound to these documents")
