package confine

import (
	"fmt"
	"sort"
	"strings"
)

// Backend is a compiled-in way to confine. Backends register themselves when their package is imported.
type Backend struct {
	Name string
	// Open acquires what the backend needs and refuses on a gap; it must be able to answer on every system.
	Open func(Options) (Confiner, error)
	// Stage, when not nil, takes the process over if it was started as one of the backend's own stages.
	Stage func()
}

var backends = map[string]Backend{}

// Register adds a backend. It is called from init functions of backend packages and panics on a second one of the same name.
func Register(b Backend) {
	if _, dup := backends[b.Name]; dup {
		panic("confine: backend " + b.Name + " registered twice")
	}
	backends[b.Name] = b
}

// Auto is the name that Open resolves to the backend of choice: native. The container backend is used only when asked for by name.
const Auto = "auto"

// Open opens the backend of that name: "auto", "native" or "container". "audit-only" is no backend: an unenforced policy is refused.
func Open(name string, o Options) (Confiner, error) {
	if name == "" || name == Auto {
		name = "native"
	}
	b, ok := backends[name]
	if !ok {
		names := make([]string, 0, len(backends)+1)
		for n := range backends {
			names = append(names, n)
		}
		sort.Strings(names)
		return nil, &Refusal{Code: CodeBackendUnavailable, Path: "$.sandbox", Found: fmt.Sprintf("%q", name),
			Required: "one of " + strings.Join(append([]string{Auto}, names...), ", "), Unsupported: true}
	}
	return b.Open(o)
}
