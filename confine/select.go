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

// Known refuses a name that is none of a backend which is compiled in. "audit-only" is no backend: an unenforced policy is refused.
func Known(name string) error {
	if _, ok := backends[resolved(name)]; ok {
		return nil
	}
	names := make([]string, 0, len(backends)+1)
	for n := range backends {
		names = append(names, n)
	}
	sort.Strings(names)
	return &Refusal{Code: CodeBackendUnavailable, Path: "$.sandbox", Found: fmt.Sprintf("%q", name),
		Required: "one of " + strings.Join(append([]string{Auto}, names...), ", "), Unsupported: true}
}

func resolved(name string) string {
	if name == "" || name == Auto {
		return "native"
	}
	return name
}

// Open opens the backend of that name: "auto", "native" or "container".
func Open(name string, o Options) (Confiner, error) {
	if err := Known(name); err != nil {
		return nil, err
	}
	return backends[resolved(name)].Open(o)
}
