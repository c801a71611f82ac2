package confine

import (
	"errors"
	"strings"
)

// The refusal codes of this package. A code is matched exactly.
const (
	CodeFacetUnavailable   = "CONFINE_FACET_UNAVAILABLE"   // a required facet cannot be enforced here
	CodeBackendUnavailable = "CONFINE_BACKEND_UNAVAILABLE" // no such backend, or it cannot work here
	CodeInterpreter        = "CONFINE_INTERPRETER"         // the interpreter is missing, changed or cannot be confined
	CodeProgramInvalid     = "CONFINE_PROGRAM_INVALID"
	CodePolicyInvalid      = "CONFINE_POLICY_INVALID"
	CodeLimitInvalid       = "CONFINE_LIMIT_INVALID"
	CodeStepsUnavailable   = "CONFINE_STEPS_UNAVAILABLE" // steps were asked for and cannot be counted
)

var (
	// ErrUnsupported is wrapped when this system has no such backend. It is errors.ErrUnsupported.
	ErrUnsupported = errors.ErrUnsupported
	// ErrClosed is returned by a Confiner that was closed.
	ErrClosed = errors.New("confiner is closed")
)

// Refusal is an answer that the caller can act on: nothing ran. Use errors.As to get it.
type Refusal struct {
	Code     string `json:"code"`           // stable, upper snake case, prefixed by the owning package
	Path     string `json:"path"`           // where, as a JSON path or a flag
	Found    string `json:"found"`          // what was there
	Required string `json:"required"`       // what would do
	Hint     string `json:"hint,omitempty"` // one next step
	// Unsupported makes errors.Is(r, ErrUnsupported) true.
	Unsupported bool `json:"-"`
}

// Error gives path, found and required in one line.
func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString(r.Path + ": found " + r.Found + "; required: " + r.Required)
	if r.Hint != "" {
		b.WriteString(" (" + r.Hint + ")")
	}
	b.WriteString(" [" + r.Code + "]")
	return b.String()
}

// Is makes a refusal for want of support match ErrUnsupported.
func (r *Refusal) Is(target error) bool { return target == ErrUnsupported && r.Unsupported }
