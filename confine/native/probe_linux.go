//go:build linux && cgo

package native

import (
	"context"

	"pdlt.dev/pdlt/confine"
)

// Probe implements confine.Confiner. It takes a few seconds, most of them spent at limits, and runs harmless programs unconfined to compare with.
func (c *confiner) Probe(ctx context.Context) (confine.Diagnosis, error) {
	d := confine.Diagnosis{Backend: Name, Rung: c.rung(), Kernel: c.kernel, Cgroup: c.cgMode}
	if !c.options.NoHints {
		d.Notes = append(d.Notes, "refusals were given as sentences of the interpreter: the errors found are not the kernel's own words")
	}
	var err error
	d.Facets, err = probe(ctx, c.Run, c.in.unconfined)
	return d, err
}
