package report

import (
	"maps"
	"slices"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

// Context says which verifiers judged.
type Context struct {
	Registry string            // the version of the registry; "" if a caller supplied the verifiers
	Versions map[string]string // those that answer only for tasks that declare them
}

func (c Context) document() jsonx.Value {
	version, wiring, versions := jsonx.Value{}, "caller_supplied", map[string]string{}
	if c.Registry != "" {
		version, wiring, versions = provenance.String(c.Registry), "registry", c.Versions
	}
	ids := slices.Sorted(maps.Keys(versions))
	each := provenance.Object()
	for _, id := range ids {
		each.Members = append(each.Members, provenance.Member(id, provenance.String(versions[id])))
	}
	return provenance.Object(
		provenance.Member("registry_version", version),
		provenance.Member("wiring", provenance.String(wiring)),
		provenance.Member("verifiers_available", provenance.Strings(ids)),
		provenance.Member("verifier_versions", each))
}

// Kept says whether an episode is on disk; a closed set.
type Kept string

// What became of an episode that was, or was not, to be kept.
const (
	NotRequested Kept = "not_requested"
	Closed       Kept = "closed"
	Failed       Kept = "error"       // it could not be written
	Unavailable  Kept = "unavailable" // there is nothing to keep
)

// Why an episode was not kept.
const (
	NoEpisode   = "no_episode"
	NoArtifacts = "no_artifacts"
	WriteFailed = "write_failed"
)

// Entry is what one task of a split came to. A nil pointer is null.
type Entry struct {
	TaskID          string
	EpisodeID       *string
	Status          string
	Validity        *string
	Reward          *float64
	Error           *string // why the task was not evaluated
	Kept            Kept
	Reason, NotKept *string // why the episode was not kept: one of the reasons, and for people
}

func (e Entry) document() jsonx.Value {
	directory := jsonx.Value{}
	if e.Kept == Closed {
		directory = provenance.OrNull(e.EpisodeID)
	}
	return provenance.Object(
		provenance.Member("task_id", provenance.String(e.TaskID)),
		provenance.Member("episode_id", provenance.OrNull(e.EpisodeID)),
		provenance.Member("status", provenance.String(e.Status)),
		provenance.Member("validity", provenance.OrNull(e.Validity)),
		provenance.Member("reward", double(e.Reward)),
		provenance.Member("bundle", directory),
		provenance.Member("error", provenance.OrNull(e.Error)),
		provenance.Member("persistence", provenance.Object(
			provenance.Member("requested", provenance.Bool(e.Kept != NotRequested)),
			provenance.Member("status", provenance.String(string(e.Kept))),
			provenance.Member("reason", provenance.OrNull(e.Reason)),
			provenance.Member("error", provenance.OrNull(e.NotKept)))))
}

func double(n *float64) jsonx.Value {
	if n == nil {
		return jsonx.Value{}
	}
	return provenance.Double(*n)
}

// Evaluation is what one candidate came to over a split: specification §5.19. Its entries are in the order of their tasks' ids.
type Evaluation struct {
	EnvID, Substrate, SnapshotID, Split string
	Context                             Context
	Entries                             []Entry
}

// Document is the one builder of evaluations.
func (e Evaluation) Document() jsonx.Value {
	entries := provenance.Array()
	for _, entry := range e.Entries {
		entries.Elems = append(entries.Elems, entry.document())
	}
	scored := e.scored()
	return provenance.Object(
		provenance.Member("evaluation_version", provenance.String("traaviis.evaluation.v1")),
		provenance.Member("env_id", provenance.String(e.EnvID)),
		provenance.Member("substrate_profile", provenance.String(e.Substrate)),
		provenance.Member("subject", provenance.Object(provenance.Member("snapshot_id", provenance.String(e.SnapshotID)))),
		provenance.Member("split", provenance.String(e.Split)),
		provenance.Member("aggregation_profile", provenance.Object(
			provenance.Member("profile", provenance.String("traaviis.aggregation.mean-over-scored.v1")),
			provenance.Member("statistic", provenance.String("arithmetic_mean")),
			provenance.Member("population", provenance.String("scored_episodes")),
			provenance.Member("unscored_policy", provenance.String("excluded")),
			provenance.Member("scored", provenance.Int(scored)),
			provenance.Member("unscored", provenance.Int(len(e.Entries)-scored)))),
		provenance.Member("runtime_context", e.Context.document()),
		provenance.Member("episodes", entries),
		provenance.Member("totals", e.totals()))
}

// count counts entries.
func (e Evaluation) count(is func(Entry) bool) int {
	n := 0
	for _, entry := range e.Entries {
		if is(entry) {
			n++
		}
	}
	return n
}

func (e Evaluation) scored() int { return e.count(func(e Entry) bool { return e.Reward != nil }) }

func (e Evaluation) totals() jsonx.Value {
	status := func(word string) jsonx.Value {
		return provenance.Int(e.count(func(e Entry) bool { return e.Status == word }))
	}
	kept := func(k Kept) jsonx.Value { return provenance.Int(e.count(func(e Entry) bool { return e.Kept == k })) }
	sum, mean := provenance.Int(0), jsonx.Value{}
	if scored := e.scored(); scored > 0 {
		// Plain, left to right: specification §19, D16.
		total := 0.0
		for _, entry := range e.Entries {
			if entry.Reward != nil {
				total += *entry.Reward
			}
		}
		sum, mean = provenance.Double(total), provenance.Double(total/float64(scored))
	}
	return provenance.Object(
		provenance.Member("tasks", provenance.Int(len(e.Entries))),
		provenance.Member("ok", status("ok")),
		provenance.Member("invalid", status("invalid")),
		provenance.Member("error", status("error")),
		provenance.Member("scored", provenance.Int(e.scored())),
		provenance.Member("reward_sum", sum),
		provenance.Member("reward_mean", mean),
		provenance.Member("persistence_closed", kept(Closed)),
		provenance.Member("persistence_error", kept(Failed)))
}
