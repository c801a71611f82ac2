package verify

import (
	"cmp"
	"errors"
	"slices"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/environment"
	"pdlt.dev/pdlt/provenance/tree"
	"pdlt.dev/pdlt/runner"
)

// Lowerer gives the identity of a source. It is what the identity signal and packing ask.
type Lowerer interface {
	// Version is the implementation version that episodes are sealed under. It names everything that the answers depend on.
	Version() string
	// Lower gives the identity of a source: the same for the same bytes, always. An error is [ErrUnknownSource] when this Lowerer cannot say, or a
	// *Refusal with [CodeNotLowered] when it can say that the source has none; Found is then the message that evidence holds. Any other is a fault.
	Lower(source string) (string, error)
}

// ErrUnknownSource says that a [Lowerer] knows nothing of a source. It is never a verdict.
var ErrUnknownSource = errors.New("no engine here, and the source is in no table")

// PinContract is the contract under which a bound file may not change at all. [Pin] answers it in every registry.
const PinContract = "pdlt.byte-pin.v1"

// Pin is the Lowerer that needs no engine: the identity of a source is the hash of its bytes.
type Pin struct{}

// Version implements [Lowerer].
func (Pin) Version() string { return "pdlt.byte-pin-impl.v1" }

// Lower implements [Lowerer]. It knows every source.
func (Pin) Lower(source string) (string, error) {
	return provenance.World.Prefix() + "-" + provenance.Hex([]byte(source)), nil
}

// Lowered is a row of a [Table]: what an engine said about a source.
type Lowered struct {
	ID      string // the identity
	Message string // or why there is none
}

// Table is the Lowerer that remembers what an engine answered, by the exact source. It says nothing about any other source. Name is its version: that of
// the engine, if the table is there to replay what the engine judged; for anything else a name of its own, because an engine that can be asked would know
// more. Rows are keyed by source. A Table is read only.
type Table struct {
	Name string
	Rows map[string]Lowered
}

// Version implements [Lowerer].
func (t Table) Version() string { return t.Name }

// Lower implements [Lowerer].
func (t Table) Lower(source string) (string, error) {
	row, ok := t.Rows[source]
	switch {
	case !ok:
		return "", ErrUnknownSource
	case row.ID == "":
		return "", refuse(CodeNotLowered, "$.source", row.Message, "a source that lowers")
	}
	return row.ID, nil
}

// lowerers gives those that answer the identity signal under a contract. The first one scores.
func (r Registry) lowerers(contract string) []Lowerer {
	if contract == PinContract {
		return []Lowerer{Pin{}}
	}
	return r.Identity
}

// Lower gives the identity of a source under a contract, as the identity signal will see it. It implements [environment.Lowerer], so that packing binds what
// scoring compares.
func (r Registry) Lower(contract, source string) (string, error) {
	id, err := "", ErrUnknownSource
	if list := r.lowerers(contract); len(list) > 0 {
		id, err = list[0].Lower(source)
	}
	if errors.Is(err, ErrUnknownSource) {
		return "", environment.ErrNoEngine
	}
	if why, ok := notLowered(err); ok {
		return "", errors.New(why)
	}
	return id, err
}

// notLowered gives why a source has no identity, if that is what an error says.
func notLowered(err error) (string, bool) {
	r := (*runner.Refusal)(nil)
	if !errors.As(err, &r) || r.Code != CodeNotLowered {
		return "", false
	}
	return r.Found, true
}

// binding is a file whose identity must remain.
type binding struct {
	label, path, before string
	bad                 string // why it is none, as evidence says it
}

// bindings reads an identity policy, sorted by label: the order of the document is lost on replay (specification §9.7).
func bindings(policy jsonx.Value) []binding {
	labels, _ := policy.Get("must_remain")
	var list []binding
	for _, m := range labels.Members {
		b := binding{label: m.Name}
		path, okPath := provenance.Text(m.Value, "path")
		before, okBefore := provenance.Text(m.Value, "before_id")
		clean, safe := tree.Path(path)
		switch {
		case !okPath || !okBefore:
			b.bad = "bad binding '" + m.Name + "'"
		case !safe:
			b.bad = "unsafe path: '" + path + "'"
		}
		b.path, b.before = clean, before
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b binding) int { return cmp.Compare(a.label, b.label) })
	return list
}

// identity checks that the bound sources of a patched tree have the identities that they had: specification §9.7. patched is nil when there is no such
// tree.
func identity(policy jsonx.Value, patched Tree, l Lowerer) (Signal, error) {
	list := bindings(policy)
	switch {
	case len(list) == 0:
		return Signal{NotApplicable, provenance.Object()}, nil
	case patched == nil:
		return Signal{Error, reason("no patched tree to re-lower")}, nil
	}
	bound, moved := provenance.Object(), provenance.Array()
	for _, b := range list {
		f, exists := patched[b.path]
		switch {
		case b.bad != "":
			return Signal{Error, reason(b.bad)}, nil
		case !exists:
			return Signal{Error, reason("bound source missing: " + b.path)}, nil
		}
		after, err := l.Lower(f.Data)
		if why, ok := notLowered(err); ok {
			return Signal{Error, reason("lower error: " + why)}, nil
		} else if errors.Is(err, ErrUnknownSource) {
			return Signal{Error, reason("forge down: " + ErrUnknownSource.Error())}, nil
		} else if err != nil {
			return Signal{}, err
		}
		if after != b.before {
			moved.Elems = append(moved.Elems, provenance.String(b.label))
		}
		bound.Members = append(bound.Members, jsonx.Member{Name: b.label,
			Value: provenance.Object(provenance.Member("path", provenance.String(b.path)), provenance.Member("before_id", provenance.String(b.before)), provenance.Member("after_id", provenance.String(after)))})
	}
	if len(moved.Elems) > 0 {
		return Signal{Fail, provenance.Object(provenance.Member("moved", moved), provenance.Member("bindings", bound))}, nil
	}
	return Signal{Pass, provenance.Object(provenance.Member("bindings", bound))}, nil
}

// knows reports whether a Lowerer has an answer for every bound source that there is.
func knows(l Lowerer, policy jsonx.Value, patched Tree) bool {
	for _, b := range bindings(policy) {
		if f, exists := patched[b.path]; exists && b.bad == "" {
			if _, err := l.Lower(f.Data); errors.Is(err, ErrUnknownSource) {
				return false
			}
		}
	}
	return true
}
