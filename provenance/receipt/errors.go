package receipt

// The refusal codes of a submission: specification §13.3. A code is matched exactly.
const (
	CodeSubmissionMalformed = "ORS_SUBMISSION_MALFORMED"
	CodeSubmissionVersion   = "ORS_SUBMISSION_VERSION"
	CodeSubmissionField     = "ORS_SUBMISSION_FIELD"
	CodeSubmissionType      = "ORS_SUBMISSION_TYPE"
)
