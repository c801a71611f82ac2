package report

import (
	"slices"
	"strconv"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

// Compare says how two episodes of one task relate: specification §5.20. Both are receipts that were replayed and closed; the difference of rewards is right
// minus left. An error is a *provenance.Refusal: the episodes answer different tasks.
func Compare(left, right jsonx.Value, c Context) (jsonx.Value, error) {
	leftTask, _ := provenance.Text(left, provenance.Task.Member())
	rightTask, _ := provenance.Text(right, provenance.Task.Member())
	if leftTask != rightTask {
		return jsonx.Value{}, &provenance.Refusal{Code: CodeTaskMismatch, Path: "right: task_id", Found: rightTask, Required: leftTask, Detail: provenance.Object(
			provenance.Member("left_task_id", provenance.String(leftTask)), provenance.Member("right_task_id", provenance.String(rightTask)))}
	}
	doc := provenance.Object(provenance.Member("comparison_version", provenance.String("traaviis.comparison.v1")))
	for _, name := range []string{"substrate_profile", "task_id", "reward_id", "subject"} {
		doc.Members = append(doc.Members, taken(left, name))
	}
	doc.Members = append(doc.Members,
		provenance.Member("runtime_context", c.document()),
		provenance.Member("left", side(left)),
		provenance.Member("right", side(right)),
		provenance.Member("relation", relation(left, right)))
	differences := provenance.Object()
	for _, name := range []string{"outputs", "verification", "verification_evidence", "verifier_versions", "execution_facts"} {
		differences.Members = append(differences.Members, provenance.Member(name, difference(taken(left, name).Value, taken(right, name).Value)))
	}
	doc.Members = append(doc.Members, provenance.Member("differences", differences))
	return doc, nil
}

// taken gives a member of a document, and null for one that is not there.
func taken(doc jsonx.Value, name string) jsonx.Member {
	v, _ := doc.Get(name)
	return provenance.Member(name, v)
}

func side(receipt jsonx.Value) jsonx.Value {
	v := provenance.Object()
	for _, name := range []string{
		"episode_id", "status", "validity", "reward", "trace_id", "outputs", "verification", "verifier_versions", "execution_facts",
	} {
		v.Members = append(v.Members, taken(receipt, name))
	}
	return v
}

func relation(left, right jsonx.Value) jsonx.Value {
	l, okLeft := reward(left)
	r, okRight := reward(right)
	word, minus := "incomparable", jsonx.Value{}
	if okLeft && okRight {
		minus = provenance.Double(r - l)
		switch {
		case l > r:
			word = "left_higher"
		case l < r:
			word = "right_higher"
		default:
			word = "equal"
		}
	}
	return provenance.Object(
		provenance.Member("reward", provenance.String(word)),
		provenance.Member("right_minus_left", minus),
		provenance.Member("same_episode", provenance.Bool(same(taken(left, "episode_id").Value, taken(right, "episode_id").Value))),
		provenance.Member("same_trace", provenance.Bool(same(taken(left, "trace_id").Value, taken(right, "trace_id").Value))))
}

// reward gives the reward of a receipt as a double, and false if it has none.
func reward(receipt jsonx.Value) (float64, bool) {
	v := taken(receipt, "reward").Value
	n, err := strconv.ParseFloat(v.Num, 64)
	return n, v.Kind == jsonx.Number && err == nil
}

// same reports whether two values have one canonical text. What cannot be written is like nothing.
func same(a, b jsonx.Value) bool {
	x, errX := provenance.Canonical.Encode(a)
	y, errY := provenance.Canonical.Encode(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// difference is null for equal values, an object of what differs for two objects, and both values for others.
func difference(left, right jsonx.Value) jsonx.Value {
	pair := func(l, r jsonx.Value) jsonx.Value {
		return provenance.Object(provenance.Member("left", l), provenance.Member("right", r))
	}
	switch {
	case same(left, right):
		return jsonx.Value{}
	case left.Kind != jsonx.Object || right.Kind != jsonx.Object:
		return pair(left, right)
	}
	var names []string
	for _, m := range slices.Concat(left.Members, right.Members) {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	v := provenance.Object()
	for _, name := range slices.Compact(names) {
		l, okLeft := left.Get(name)
		r, okRight := right.Get(name)
		if okLeft != okRight || !same(l, r) {
			v.Members = append(v.Members, provenance.Member(name, pair(l, r)))
		}
	}
	return v
}
