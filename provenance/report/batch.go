package report

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

// CandidateSetVersion is the version of a candidate set.
const CandidateSetVersion = "traaviis.candidate-set.v1"

// Candidate is a program of a batch: the key under which it is filed, and what to run.
type Candidate struct {
	Key  string
	Argv []string
}

// candidateKey is what a key looks like. It becomes the name of a folder, and two of them with "--" between that of a file.
var candidateKey = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// ParseCandidates reads a candidate set, which is closed at both levels: specification §5.21. The candidates are sorted by key. An error is a
// *provenance.Refusal.
func ParseCandidates(text []byte) ([]Candidate, error) {
	refuse := func(code, path, found, required string) ([]Candidate, error) {
		return nil, &provenance.Refusal{Code: code, Path: path, Found: found, Required: required}
	}
	doc, err := provenance.Parse(text)
	if err != nil || doc.Kind != jsonx.Object {
		found := doc.Kind.String()
		if err != nil {
			found = err.Error()
		}
		return refuse(CodeCandidateSetMalformed, "$", found, "a JSON object")
	}
	if name, found := provenance.Unknown(doc, "candidate_set_version", "candidates"); found {
		return refuse(CodeCandidateSetMalformed, "$", "the member "+name, "candidate_set_version and candidates only")
	}
	if version, _ := provenance.Text(doc, "candidate_set_version"); version != CandidateSetVersion {
		return refuse(CodeCandidateSetVersion, "$.candidate_set_version", version, CandidateSetVersion)
	}
	entries, _ := doc.Get("candidates")
	switch {
	case entries.Kind != jsonx.Array:
		return refuse(CodeCandidateSetMalformed, "$.candidates", entries.Kind.String(), "an array")
	case len(entries.Elems) == 0:
		return refuse(CodeCandidateSetEmpty, "$.candidates", "nothing", "a candidate")
	}
	var list []Candidate
	for i, e := range entries.Elems {
		at := "$.candidates[" + strconv.Itoa(i) + "]"
		if e.Kind != jsonx.Object {
			return refuse(CodeCandidateSetMalformed, at, e.Kind.String(), "an object")
		}
		if name, found := provenance.Unknown(e, "candidate_key", "argv"); found {
			return refuse(CodeCandidateSetMalformed, at, "the member "+name, "candidate_key and argv only")
		}
		key, _ := provenance.Text(e, "candidate_key")
		if !candidateKey.MatchString(key) || strings.Contains(key, "--") {
			return refuse(CodeCandidateKeyInvalid, at+".candidate_key", key, "letters, digits, _ . and -, at most 64, not -- and first a letter or digit")
		}
		if slices.ContainsFunc(list, func(c Candidate) bool { return c.Key == key }) {
			return refuse(CodeCandidateKeyDuplicate, at+".candidate_key", key+" twice", "each key once")
		}
		argv, _ := e.Get("argv")
		c := Candidate{Key: key}
		for _, token := range argv.Elems {
			if token.Kind != jsonx.String {
				return refuse(CodeCandidateArgvInvalid, at+".argv", token.Kind.String(), "strings")
			}
			c.Argv = append(c.Argv, token.Str)
		}
		if len(c.Argv) == 0 {
			return refuse(CodeCandidateArgvInvalid, at+".argv", argv.Kind.String(), "a list of words, the program first")
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Candidate) int { return strings.Compare(a.Key, b.Key) })
	return list, nil
}

// Judged is a candidate's evaluation in a batch.
type Judged struct {
	Key        string
	Evaluation Evaluation
}

// Pair is what comparing two candidates on a task came to: a comparison, or the code of a refusal and why, in words that name no path.
type Pair struct {
	TaskID, Left, Right string
	Comparison          jsonx.Value
	Code, Why           string
}

// Member is where a comparison is filed in a batch.
func (p Pair) Member() string {
	return "comparisons/" + p.TaskID + "/" + p.Left + "--" + p.Right + ".json"
}

// Batch is what several candidates came to over one split: specification §5.21.
type Batch struct {
	EnvID, Substrate, Split string
	Context                 Context
	TaskIDs                 []string // ascending
	Candidates              []Judged // by key
	Pairs                   []Pair   // by keys
}

// Document is the one builder of batches.
func (b Batch) Document() jsonx.Value {
	keys, candidates, tasks := provenance.Array(), provenance.Array(), provenance.Array()
	episodes, scored := 0, 0
	for _, c := range b.Candidates {
		ids := provenance.Array()
		for _, e := range c.Evaluation.Entries {
			ids.Elems = append(ids.Elems, provenance.OrNull(e.EpisodeID))
		}
		episodes += len(c.Evaluation.Entries)
		scored += c.Evaluation.scored()
		keys.Elems = append(keys.Elems, provenance.String(c.Key))
		candidates.Elems = append(candidates.Elems, provenance.Object(
			provenance.Member("candidate_key", provenance.String(c.Key)),
			provenance.Member("evaluation", provenance.String(EvaluationMember(c.Key))),
			provenance.Member("episode_ids", ids),
			provenance.Member("totals", c.Evaluation.totals())))
	}
	compared := 0
	for _, p := range b.Pairs {
		if p.Code == "" {
			compared++
		}
	}
	for _, id := range b.TaskIDs {
		tasks.Elems = append(tasks.Elems, b.task(id))
	}
	return provenance.Object(
		provenance.Member("batch_version", provenance.String("traaviis.serial-batch.v1")),
		provenance.Member("substrate_profile", provenance.String(b.Substrate)),
		provenance.Member("env_id", provenance.String(b.EnvID)),
		provenance.Member("split", provenance.String(b.Split)),
		provenance.Member("task_ids", provenance.Strings(b.TaskIDs)),
		provenance.Member("runtime_context", b.Context.document()),
		provenance.Member("candidate_order", keys),
		provenance.Member("candidates", candidates),
		provenance.Member("tasks", tasks),
		provenance.Member("totals", provenance.Object(
			provenance.Member("candidate_count", provenance.Int(len(b.Candidates))),
			provenance.Member("task_count", provenance.Int(len(b.TaskIDs))),
			provenance.Member("episode_count", provenance.Int(episodes)),
			provenance.Member("scored_count", provenance.Int(scored)),
			provenance.Member("unscored_count", provenance.Int(episodes-scored)),
			provenance.Member("comparison_count", provenance.Int(compared)),
			provenance.Member("refusal_count", provenance.Int(len(b.Pairs)-compared)))))
}

// EvaluationMember is where the evaluation of a candidate is filed in a batch.
func EvaluationMember(key string) string { return "candidates/" + key + "/evaluation.json" }

func (b Batch) task(id string) jsonx.Value {
	episodes, comparisons, refusals := provenance.Object(), provenance.Array(), provenance.Array()
	for _, c := range b.Candidates {
		for _, e := range c.Evaluation.Entries {
			if e.TaskID == id {
				episodes.Members = append(episodes.Members, provenance.Member(c.Key, provenance.Object(
					provenance.Member("episode_id", provenance.OrNull(e.EpisodeID)),
					provenance.Member("status", provenance.String(e.Status)),
					provenance.Member("reward", double(e.Reward)))))
			}
		}
	}
	for _, p := range b.Pairs {
		if p.TaskID != id {
			continue
		}
		pair := provenance.Object(provenance.Member("left_candidate", provenance.String(p.Left)), provenance.Member("right_candidate", provenance.String(p.Right)))
		if p.Code != "" {
			pair.Members = append(pair.Members, provenance.Member("code", provenance.String(p.Code)), provenance.Member("detail", provenance.String(p.Why)))
			refusals.Elems = append(refusals.Elems, pair)
			continue
		}
		pair.Members = append(pair.Members, taken(p.Comparison, "relation"), provenance.Member("comparison_member", provenance.String(p.Member())))
		comparisons.Elems = append(comparisons.Elems, pair)
	}
	return provenance.Object(
		provenance.Member("task_id", provenance.String(id)),
		provenance.Member("episodes", episodes),
		provenance.Member("comparisons", comparisons),
		provenance.Member("refusals", refusals))
}
