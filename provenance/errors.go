package provenance

import "pdlt.dev/pdlt/internal/jsonx"

// Refusal is an answer that the caller can act on: a document or a folder is not what it must be. Use errors.As to get it. The packages below this one
// publish its codes, which are those of the specification; a code is matched exactly.
//
// It is a type of its own because this package knows nothing of confinement. Its fields mean what those of confine.Refusal mean.
type Refusal struct {
	Code     string // stable, upper snake case
	Path     string // where: a file, and what in it
	Found    string // what was there
	Required string // what would do
	// Detail are the members that the specification gives the code, for programs. Null is none.
	Detail jsonx.Value
}

// Error gives path, found and required in one line.
func (r *Refusal) Error() string {
	return r.Path + ": found " + r.Found + "; required: " + r.Required + " [" + r.Code + "]"
}

// Differs makes the detail of a refusal that compares what a document declares with what was derived.
func Differs(declared, recomputed string) jsonx.Value {
	return Object(Member("declared", String(declared)), Member("recomputed", String(recomputed)))
}
