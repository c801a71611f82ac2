package runner

import "pdlt.dev/pdlt/confine"

// The refusal codes of this package. A code is matched exactly.
const (
	CodeTierUnknown            = "RUNNER_TIER_UNKNOWN"            // there is no tier of that name
	CodeLimitRaised            = "RUNNER_LIMIT_RAISED"            // a limit above the one it may only lower
	CodeWorkBudgetSpent        = "RUNNER_WORK_BUDGET_SPENT"       // every work call is used up, or reserved by one that runs
	CodeSubmissionsSpent       = "RUNNER_SUBMISSIONS_SPENT"       // every submission is used up
	CodeCodeTooLong            = "RUNNER_CODE_TOO_LONG"           // a source above the bound
	CodeOutcomeInvalid         = "RUNNER_OUTCOME_INVALID"         // what was submitted is no JSON object
	CodeQueueFull              = "RUNNER_QUEUE_FULL"              // too many programs wait for a slot already
	CodeConfinementUnavailable = "RUNNER_CONFINEMENT_UNAVAILABLE" // no program can run here, whatever is asked
)

// The finding codes: specification §9.3. They stand in the errors of a [Submission].
const (
	FindingOutputMalformed    = "OUTPUT_MALFORMED"
	FindingSandboxUnavailable = "SANDBOX_UNAVAILABLE"
	FindingStepBudgetExceeded = "STEP_BUDGET_EXCEEDED"
	FindingWallClockExceeded  = "WALL_CLOCK_EXCEEDED"
	FindingMemoryExceeded     = "MEMORY_EXCEEDED"
	FindingProgramFailed      = "PROGRAM_FAILED"
	FindingWitnessNotPrinted  = "WITNESS_NOT_PRINTED"
	FindingWitnessInvalid     = "WITNESS_INVALID"
)

// Refusal is what a caller can act on. It is [confine.Refusal], for those who may not know that package.
type Refusal = confine.Refusal
