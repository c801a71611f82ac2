//go:build linux && cgo

package native

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"pdlt.dev/pdlt/confine"
)

// Unconfined, every trial's program must do what it tries on a development machine; else a proof would be vacuous there and nobody would notice.
func TestEveryFacetHasATrialThatCanHappen(t *testing.T) {
	python := hostPython(t)
	in := &interpreter{raw: python}
	proofs, err := probe(context.Background(), func(ctx context.Context, s confine.Spec) (confine.Result, error) {
		// A cell that confines nothing: the same program, run directly, reported as confined.
		out, err := in.unconfined(ctx, s.Program.Files[0].Data)
		res := confine.Result{Outcome: confine.Outcome{Stopped: confine.StoppedNone, Stdout: confine.Stream{Text: out}}}
		for _, f := range confine.Facets {
			res.Report.Facets = append(res.Report.Facets, confine.FacetReport{Facet: f, Enforced: true})
		}
		return res, err
	}, in.unconfined)
	if err != nil {
		t.Fatal(err)
	}
	var order []confine.Facet
	for _, p := range proofs {
		order = append(order, p.Facet)
		if p.Enforced || p.Vacuous {
			t.Errorf("%s: nothing confines the program, and the doctor says enforced %v, vacuous %v: %s", p.Facet, p.Enforced, p.Vacuous, p.Found)
		}
		t.Logf("%s: %s | %s", p.Facet, p.Found, p.Baseline)
	}
	if !slices.Equal(order, confine.Facets) {
		t.Errorf("facets %v, want each once, in order", order)
	}
}

func TestTheDoctorLeavesNothingBehind(t *testing.T) {
	c, err := setCanaries()
	if err != nil {
		t.Fatal(err)
	}
	c.close()
	for _, path := range []string{c.dir, c.shm} {
		if _, err := os.Lstat(path); path != "" && !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}

func TestACancelledDoctorSaysSo(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := probe(ctx, func(ctx context.Context, _ confine.Spec) (confine.Result, error) {
		<-ctx.Done()
		return confine.Result{}, ctx.Err()
	}, nil)
	if err == nil {
		t.Error("no error")
	}
}

func hostPython(t *testing.T) string {
	t.Helper()
	for _, p := range []string{"/usr/bin/python3", "/usr/local/bin/python3"} {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	t.Skip("no python3 on this host")
	return ""
}
