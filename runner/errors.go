package runner

// The refusal codes of this package. A code is matched exactly.
const (
	CodeTierUnknown = "RUNNER_TIER_UNKNOWN" // there is no tier of that name
	CodeLimitRaised = "RUNNER_LIMIT_RAISED" // a limit above the one it may only lower
)
