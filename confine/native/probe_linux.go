//go:build linux && cgo

package native

import (
	"context"

	"pdlt.dev/pdlt/confine"
)

// Probe implements confine.Confiner.
func (c *confiner) Probe(ctx context.Context) (confine.Diagnosis, error) {
	return confine.Diagnosis{}, nil
}
