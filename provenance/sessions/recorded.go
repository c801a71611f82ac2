package sessions

import (
	"encoding/json"
	"slices"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

// parseRecord reads the record that a host wrote. Nullable members may be missing; one of a wrong type or a word outside its set makes the
// whole record unreadable.
func parseRecord(text []byte) (r provenance.Record, ok bool) {
	top, ok := object(text)
	if !ok {
		return r, false
	}
	verification, ok := object(top.Get("verification"))
	if !ok {
		return r, false
	}
	p := members{left: top}
	r.Status = p.text("status")
	p.take("verification")
	r.DeliverableSHA256 = p.nullable("deliverable_sha256")
	r.Model = p.nullable("model")
	r.PDLTVersion = p.nullable("pdlt_version")
	r.ClosedAtUTC = p.nullable("closed_at_utc")
	p.take("source")
	r.Source = provenance.Recorded
	r.Extra = p.rest()

	v, q := &r.Verification, members{left: verification}
	level, err := provenance.ParseLevel(q.text("level"))
	v.Level = level
	v.ProblemClass = word(&q, "problem_class", provenance.VerifiedExecution, provenance.StandardExecution)
	v.WitnessForm = word(&q, "witness_form", provenance.Computed, provenance.Certificate, provenance.Argued, provenance.Negative)
	switch raw := q.take("host_reproduced"); {
	case is(raw, "true"), is(raw, "false"):
		v.HostReproduced = new(is(raw, "true"))
	case raw != nil && !is(raw, "null"):
		q.bad = true
	}
	v.UnverifiedReason = q.nullable("unverified_reason")
	v.Caveat = q.nullable("caveat")
	v.Extra = q.rest()
	return r, err == nil && !p.bad && !q.bad
}

// members are those of an object that nobody has taken yet.
type members struct {
	left jsonx.Fields
	bad  bool // one had a wrong type
}

func (m *members) take(name string) []byte {
	for i, f := range m.left {
		if f.Name == name {
			m.left = slices.Delete(m.left, i, i+1)
			return f.Raw
		}
	}
	return nil
}

func (m *members) text(name string) string {
	s, ok := str(m.take(name))
	m.bad = m.bad || !ok
	return s
}

func (m *members) nullable(name string) *string {
	raw := m.take(name)
	if raw == nil || is(raw, "null") {
		return nil
	}
	s, ok := str(raw)
	m.bad = m.bad || !ok
	return &s
}

func (m *members) rest() map[string]json.RawMessage {
	rest := map[string]json.RawMessage{}
	for _, f := range m.left {
		rest[f.Name] = f.Raw
	}
	return rest
}

// word takes a nullable member whose value is of a closed set.
func word[T ~string](m *members, name string, set ...T) *T {
	s := m.nullable(name)
	if s == nil {
		return nil
	}
	m.bad = m.bad || !slices.Contains(set, T(*s))
	return new(T(*s))
}

// reconcile lowers what a host recorded where the turn's files, or the record itself, contradict it: specification §12.2. It raises nothing.
func (f *files) reconcile(r *provenance.Record) {
	v := &r.Verification
	conflict := ""
	switch {
	case r.Status != f.status:
		conflict = "the record and the turn disagree about the status"
	case r.DeliverableSHA256 == nil:
		conflict = reasonNoHash
	case *r.DeliverableSHA256 != f.hash():
		conflict = reasonHash
	case v.Level == provenance.HostVerified && (v.HostReproduced == nil || !*v.HostReproduced):
		conflict = "the record says host_verified and does not say that the host reproduced the witness"
	case f.status == closedUnverified && v.Level != provenance.Unverified:
		conflict = reasonClosed
	}
	r.Status = f.status
	if conflict != "" {
		v.Level, v.UnverifiedReason = provenance.Unverified, &conflict
	}
	switch {
	case v.Level != provenance.Unverified:
		v.UnverifiedReason = nil
	case v.UnverifiedReason == nil:
		v.UnverifiedReason = new("the host recorded no reason")
	}
	switch {
	case v.Level != provenance.ContractChecked:
		v.Caveat = nil
	case v.Caveat == nil:
		v.Caveat = new(caveat)
	}
}
