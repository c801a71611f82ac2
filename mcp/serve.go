package mcp

import (
	"cmp"
	"context"
	"io"

	"pdlt.dev/pdlt/mcp/internal/gate"
)

// Serve serves a profile until in ends and everything that was read is answered, and returns nil. When ctx ends or out breaks, all
// work is cancelled and Serve returns the reason within moments, or, with RunOn, when all work is done.
//
// Each message is one Write to out, which must belong to Serve alone: nothing else may write to it.
func Serve(ctx context.Context, p Profile, in io.Reader, out io.Writer) error {
	d, err := newDispatcher(p)
	if err != nil {
		return err
	}
	defer d.close()
	cfg := gate.Config{Modern: p.Modern, Legacy: p.Legacy, Changes: p.Changes, TooLong: cmp.Or(p.TooLong, CodeInvalid), AnyID: p.AnyID,
		SharedIDs: p.SharedIDs, RunOn: p.RunOn, Depth: p.Depth, Observer: p.Observer}
	if p.Resources != nil && p.Resources.Paged() {
		cfg.Paged = []string{"resources/list"}
	}
	d.gate = gate.New(ctx, cfg, d, out)
	return d.gate.Serve(in)
}
