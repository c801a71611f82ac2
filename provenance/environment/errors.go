package environment

import (
	"errors"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

// The refusal codes of this package: specification §7 and §8. A code is matched exactly.
const (
	// The source as a whole, and where the package is to go.
	CodeEnvMissing       = "ENV_MISSING"
	CodeEnvMalformed     = "ENV_MALFORMED"
	CodeEnvVersion       = "ENV_VERSION"
	CodeSourcePrebound   = "SOURCE_PREBOUND" // a source that states an identity, which packing derives
	CodeUnknownSubstrate = "UNKNOWN_SUBSTRATE"
	CodeNotEvaluable     = "SUBSTRATE_NOT_EVALUABLE"
	CodeDestNotDir       = "DEST_NOT_DIR"
	CodeDestNotEmpty     = "DEST_NOT_EMPTY"

	// The lists of a source.
	CodeTaskDuplicateRef   = "TASK_DUPLICATE_REF"
	CodeTaskDuplicateID    = "TASK_DUPLICATE_ID"
	CodeTaskMissing        = "TASK_MISSING"
	CodeTaskUnbound        = "TASK_UNBOUND"
	CodeRewardDuplicateRef = "REWARD_DUPLICATE_REF"
	CodeRewardDuplicateID  = "REWARD_DUPLICATE_ID"
	CodeRewardMissing      = "REWARD_MISSING"
	CodeSplitUnresolved    = "SPLIT_UNRESOLVED"
	CodeSplitDuplicate     = "SPLIT_DUPLICATE"
	CodeMemberCollision    = "MEMBER_COLLISION"

	// The subject.
	CodeSubjectMalformed   = "SUBJECT_MALFORMED"
	CodeSubjectKind        = "SUBJECT_KIND"
	CodeSubjectPrebound    = "SUBJECT_PREBOUND"
	CodeSubjectDef         = "SUBJECT_DEF"
	CodeSubjectRoot        = "SUBJECT_ROOT"
	CodeSubjectPath        = "SUBJECT_PATH"
	CodeSubjectMissing     = "SUBJECT_MISSING"
	CodeSubjectEmpty       = "SUBJECT_EMPTY"
	CodeSubjectDrift       = "SUBJECT_DRIFT"
	CodeSubjectMode        = "SUBJECT_MODE_NONCANONICAL"
	CodeSubjectNoProfile   = "SUBJECT_NO_PROFILE"
	CodeSubjectUnlowerable = "SUBJECT_UNLOWERABLE"
	CodePolicyTarget       = "POLICY_TARGET_MISSING"
	CodeEngineUnavailable  = "ENGINE_UNAVAILABLE"

	// What is shipped beside the environment.
	CodeDistributionMalformed  = "DISTRIBUTION_MALFORMED"
	CodeDistributionPathUnsafe = "DISTRIBUTION_PATH_UNSAFE"
	CodeDistributionCollision  = "DISTRIBUTION_COLLISION"
	CodeDistributionDuplicate  = "DISTRIBUTION_DUPLICATE"
	CodeDistributionMissing    = "DISTRIBUTION_MISSING"
	CodeDistributionEntrypoint = "DISTRIBUTION_ENTRYPOINT"

	// The package layer.
	CodeBundleMissing         = "BUNDLE_MISSING"
	CodeBundleMalformed       = "BUNDLE_MALFORMED"
	CodeBundleVersion         = "BUNDLE_VERSION"
	CodeBundleEnvID           = "BUNDLE_ENV_ID"
	CodeBundlePathUnsafe      = "BUNDLE_PATH_UNSAFE"
	CodeBundleSelfMember      = "BUNDLE_SELF_MEMBER"
	CodeBundleDuplicateMember = "BUNDLE_DUPLICATE_MEMBER"
	CodeBundleMode            = "BUNDLE_MODE"
	CodeBundleNoncanonical    = "BUNDLE_NONCANONICAL"
	CodeBundleIDMismatch      = "BUNDLE_ID_MISMATCH"
	CodeBundleSymlink         = "BUNDLE_SYMLINK"
	CodeBundleMemberMissing   = "BUNDLE_MEMBER_MISSING"
	CodeBundleMemberExtra     = "BUNDLE_MEMBER_EXTRA"
	CodeBundleMemberHash      = "BUNDLE_MEMBER_HASH"
	CodeBundleMemberMode      = "BUNDLE_MEMBER_MODE"
	CodeBundleTooLarge        = "BUNDLE_TOO_LARGE" // more than is read; the original has no bound

	// The environment layer.
	CodeBundleNoEnvironment   = "BUNDLE_NO_ENVIRONMENT"
	CodeBundleEnvMismatch     = "BUNDLE_ENV_MISMATCH"
	CodeManifestNoncanonical  = "MANIFEST_NONCANONICAL"
	CodeReopenBundleID        = "REOPEN_BUNDLE_ID"
	CodeReopenEnvID           = "REOPEN_ENV_ID"
	CodeReopenReward          = "REOPEN_REWARD"
	CodeReopenRewardID        = "REOPEN_REWARD_ID"
	CodeReopenTask            = "REOPEN_TASK"
	CodeReopenTaskID          = "REOPEN_TASK_ID"
	CodeReopenSubject         = "REOPEN_SUBJECT"
	CodeReopenSubjectID       = "REOPEN_SUBJECT_ID"
	CodeReopenSubjectBytes    = "REOPEN_SUBJECT_BYTES"
	CodeClosureSubject        = "CLOSURE_SUBJECT"
	CodeClosureReward         = "CLOSURE_REWARD"
	CodeClosureSubjectBinding = "CLOSURE_SUBJECT_BINDING"
	CodeClosureVerifier       = "CLOSURE_VERIFIER"
	CodeClosureRunPolicy      = "CLOSURE_RUN_POLICY"
	CodeClosureSplit          = "CLOSURE_SPLIT"

	// An evaluation bundle: the specification leaves these names free.
	CodeEvaluationMissing   = "EVALUATION_MISSING"
	CodeEvaluationMalformed = "EVALUATION_MALFORMED"
	CodeEvaluationVersion   = "EVALUATION_VERSION"
	CodeEvaluationMember    = "EVALUATION_MEMBER"

	// Archives.
	CodeArchiveUnsafe     = "BUNDLE_ARCHIVE_UNSAFE"
	CodeArchiveUnreadable = "BUNDLE_ARCHIVE_UNREADABLE"
	CodeArchiveRoundtrip  = "BUNDLE_ARCHIVE_ROUNDTRIP"
)

// ErrNoEngine is what a [Lowerer] returns when it cannot say.
var ErrNoEngine = errors.New("no engine can be reached, and the source is in no table")

func refuse(code, path, found, required string) *provenance.Refusal {
	return &provenance.Refusal{Code: code, Path: path, Found: found, Required: required}
}

func detailed(code, path, found, required string, detail jsonx.Value) *provenance.Refusal {
	r := refuse(code, path, found, required)
	r.Detail = detail
	return r
}

// differs refuses what a document declares and what was derived are not the same.
func differs(code, path, declared, recomputed string) *provenance.Refusal {
	return detailed(code, path, declared, recomputed, provenance.Differs(declared, recomputed))
}
