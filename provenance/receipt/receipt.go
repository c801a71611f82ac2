package receipt

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

const (
	// EpisodeVersion is the version of a receipt.
	EpisodeVersion = "traaviis.episode.v1"
	// EvidenceVersion is both the version of evidence documents and the format that a receipt names for them.
	EvidenceVersion = "traaviis.verifier-evidence.v1"
	// DefaultSubstrate is that of a task that names none.
	DefaultSubstrate = "residency.repository.v1"
)

// unscored are the signals that every verification has and that nothing answers: specification §9.1.
var unscored = []string{"native", "oracle"}

// signalID is what a signal id looks like. It becomes part of a file name: specification §9.1.
var signalID = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// IsSignal reports whether a text is a signal id.
func IsSignal(id string) bool { return signalID.MatchString(id) }

// Version says under which contract a signal is scored, and which implementation answered. Either is "" when there is none.
type Version struct{ Contract, Implementation string }

// Statement is what a receipt says. A nil pointer is null.
type Statement struct {
	Substrate, TaskID, RewardID, SnapshotID string
	TraceID, FindingID, PatchID             *string
	Verification                            map[string]string // the state of each signal
	Evidence                                map[string]string // the digest of each evidence document
	Versions                                map[string]Version
	Reward                                  *float64
	Status, Validity                        string
	Facts                                   jsonx.Value // see [Facts]; null if nothing was to run
}

// Receipt is a sealed receipt. The zero Receipt is none.
type Receipt struct {
	doc       jsonx.Value
	id        string
	statement Statement
}

// Document gives the receipt as it is written, its id last.
func (r Receipt) Document() jsonx.Value { return r.doc }

// ID gives the id of the episode.
func (r Receipt) ID() string { return r.id }

// Statement gives what the receipt says. It is not to be changed.
func (r Receipt) Statement() Statement { return r.statement }

// Outcome is the line that says what an episode came to: specification §5.22.
func (r Receipt) Outcome() string {
	s := r.statement
	reward := "null"
	if s.Reward != nil {
		reward = provenance.Double(*s.Reward).Num
	}
	return "episode " + r.id + " — status " + s.Status + ", validity " + s.Validity + ", reward " + reward
}

// Seal makes a receipt. It is the one builder of receipts, for those who score and for those who replay.
func Seal(s Statement) (Receipt, error) {
	reward := jsonx.Value{}
	if s.Reward != nil {
		reward = provenance.Double(*s.Reward)
	}
	doc, id, err := provenance.Episode.Seal(provenance.Object(
		provenance.Member("episode_version", provenance.String(EpisodeVersion)),
		provenance.Member("substrate_profile", provenance.String(s.Substrate)),
		provenance.Member("task_id", provenance.String(s.TaskID)),
		provenance.Member("reward_id", provenance.String(s.RewardID)),
		provenance.Member("subject", provenance.Object(provenance.Member("snapshot_id", provenance.String(s.SnapshotID)))),
		provenance.Member("trace_id", provenance.OrNull(s.TraceID)),
		provenance.Member("outputs", provenance.Object(
			provenance.Member("finding_id", provenance.OrNull(s.FindingID)),
			provenance.Member("patch_id", provenance.OrNull(s.PatchID)))),
		provenance.Member("verification", byName(s.Verification, provenance.String)),
		provenance.Member("verification_evidence", byName(s.Evidence, func(digest string) jsonx.Value {
			return provenance.Object(provenance.Member("format", provenance.String(EvidenceVersion)), provenance.Member("digest", provenance.String(digest)))
		})),
		provenance.Member("verifier_versions", Versions(s.Versions)),
		provenance.Member("reward", reward),
		provenance.Member("status", provenance.String(s.Status)),
		provenance.Member("validity", provenance.String(s.Validity)),
		provenance.Member("replayability", provenance.String("verification")),
		provenance.Member("execution_facts", s.Facts),
	))
	if err != nil {
		return Receipt{}, fmt.Errorf("seal receipt: %w", err)
	}
	return Receipt{doc: doc, id: id, statement: s}, nil
}

// Versions writes versions as a receipt has them.
func Versions(versions map[string]Version) jsonx.Value {
	orNull := func(s string) jsonx.Value {
		if s == "" {
			return jsonx.Value{}
		}
		return provenance.String(s)
	}
	return byName(versions, func(v Version) jsonx.Value {
		return provenance.Object(provenance.Member("contract", orNull(v.Contract)), provenance.Member("implementation", orNull(v.Implementation)))
	})
}

// byName makes an object of a map, sorted.
func byName[V any](m map[string]V, value func(V) jsonx.Value) jsonx.Value {
	v := provenance.Object()
	for _, id := range slices.Sorted(maps.Keys(m)) {
		v.Members = append(v.Members, provenance.Member(id, value(m[id])))
	}
	return v
}

// EvidenceSignals gives, sorted, the signals of a task and its reward that leave evidence: specification §9.1. It answers false if one of them, or of those
// that leave none, is no signal id.
func EvidenceSignals(task, reward jsonx.Value) ([]string, bool) {
	var ids []string
	signals, _ := reward.Get("signals")
	for _, m := range signals.Members {
		ids = append(ids, m.Name)
	}
	plan, _ := task.Get("verifier_plan")
	for _, name := range []string{"required", "not_applicable"} {
		list, _ := plan.Get(name)
		for _, e := range list.Elems {
			ids = append(ids, e.Str) // "" for what is no string, and no id either
		}
	}
	if slices.ContainsFunc(ids, func(id string) bool { return !IsSignal(id) }) {
		return nil, false
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return slices.Contains(unscored, id) })
	slices.Sort(ids)
	return slices.Compact(ids), true
}
