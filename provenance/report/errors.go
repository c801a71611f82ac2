package report

// The refusal codes of this package: specification §16. A code is matched exactly.
const (
	CodeTaskMismatch            = "TASK_MISMATCH"
	CodeCandidateSetMalformed   = "CANDIDATE_SET_MALFORMED"
	CodeCandidateSetVersion     = "CANDIDATE_SET_VERSION"
	CodeCandidateSetEmpty       = "CANDIDATE_SET_EMPTY"
	CodeCandidateKeyInvalid     = "CANDIDATE_KEY_INVALID"
	CodeCandidateKeyDuplicate   = "CANDIDATE_KEY_DUPLICATE"
	CodeCandidateArgvInvalid    = "CANDIDATE_ARGV_INVALID"
	CodeEpisodeUnavailable      = "EPISODE_UNAVAILABLE"       // one side of a pair cannot be judged here
	CodeEpisodeEvidenceMismatch = "EPISODE_EVIDENCE_MISMATCH" // one side of a pair does not replay to its receipt
)
