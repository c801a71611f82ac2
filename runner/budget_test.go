package runner

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/confine"
)

func TestTheTableOfTiersIsTheSpecifications(t *testing.T) {
	common := confine.Limits{Processes: 64, OpenFiles: 256, DiskBytes: 64 << 20, Inodes: 4096, FileBytes: 64 << 20, OutputBytes: 1 << 20, FloodBytes: 256 << 20}
	for _, c := range []struct {
		name      string
		steps     uint64
		wall, cpu time.Duration
		memory    int64
	}{
		{"MINIMAL", 100_000, 30 * time.Second, 61 * time.Second, 256 << 20},
		{"STANDARD", 10_000_000, 30 * time.Second, 61 * time.Second, 256 << 20},
		{"HEAVY_COMPUTE", 100_000_000, 120 * time.Second, 241 * time.Second, 512 << 20},
	} {
		tier, err := ParseTier(c.name)
		if err != nil {
			t.Fatal(err)
		}
		want := common
		want.Steps, want.Wall, want.CPU, want.MemoryBytes = c.steps, c.wall, c.cpu, c.memory
		if diff := cmp.Diff(want, tier.Limits()); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
		if got, err := tier.Limits().Filled(); err != nil || got != tier.Limits() {
			t.Errorf("%s: Filled changes the limits (%v, %v): a tier sets every field", c.name, got, err)
		}
		if got, want := tier.Policy(), (confine.Policy{Name: "tier " + c.name}); got != want {
			t.Errorf("%s: policy %+v, want %+v", c.name, got, want)
		}
	}
	if len(Tiers) != len(budgets) {
		t.Errorf("Tiers lists %d of %d tiers", len(Tiers), len(budgets))
	}
	if got := Tier("OTHER").Limits(); got != (confine.Limits{}) {
		t.Errorf("limits of no tier: %+v", got)
	}
}

func TestATierIsNamedExactly(t *testing.T) {
	for _, name := range []string{"", "minimal", "MINIMAL ", "HEAVY", "tier MINIMAL"} {
		_, err := ParseTier(name)
		var r *confine.Refusal
		if !errors.As(err, &r) || r.Code != CodeTierUnknown || r.Required != "one of MINIMAL, STANDARD, HEAVY_COMPUTE" {
			t.Errorf("ParseTier(%q): %v", name, err)
		}
	}
}

func TestLowerOnlyLowers(t *testing.T) {
	base := Standard.Limits()
	changed := func(f func(*confine.Limits)) confine.Limits { l := base; f(&l); return l }
	for _, c := range []struct {
		name  string
		lower confine.Limits
		want  confine.Limits
	}{
		{"nothing asked changes nothing", confine.Limits{}, base},
		{"the same values change nothing", base, base},
		{"processor time follows the wall clock", confine.Limits{Wall: 5 * time.Second},
			changed(func(l *confine.Limits) { l.Wall, l.CPU = 5*time.Second, 11*time.Second })},
		{"in whole seconds", confine.Limits{Wall: 600 * time.Millisecond},
			changed(func(l *confine.Limits) { l.Wall, l.CPU = 600*time.Millisecond, 3*time.Second })},
		{"but not when it is asked for itself", confine.Limits{Wall: 5 * time.Second, CPU: 20 * time.Second},
			changed(func(l *confine.Limits) { l.Wall, l.CPU = 5*time.Second, 20*time.Second })},
		{"one file follows the disk", confine.Limits{DiskBytes: 1 << 20},
			changed(func(l *confine.Limits) { l.DiskBytes, l.FileBytes = 1<<20, 1<<20 })},
		{"the flood follows the kept output", confine.Limits{OutputBytes: 1000},
			changed(func(l *confine.Limits) { l.OutputBytes, l.FloodBytes = 1000, 256_000 })},
		{"steps", confine.Limits{Steps: 7}, changed(func(l *confine.Limits) { l.Steps = 7 })},
		{"each field by itself", confine.Limits{CPU: time.Second, MemoryBytes: 32 << 20, Processes: 2, OpenFiles: 16, Inodes: 32, FileBytes: 4096, FloodBytes: 2 << 20},
			changed(func(l *confine.Limits) {
				l.CPU, l.MemoryBytes, l.Processes, l.OpenFiles, l.Inodes, l.FileBytes, l.FloodBytes = time.Second, 32<<20, 2, 16, 32, 4096, 2<<20
			})},
	} {
		got, err := Lower(base, c.lower)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

func TestLowerRefusesEveryRaise(t *testing.T) {
	base := Minimal.Limits()
	v := reflect.ValueOf(base)
	for i := range v.NumField() {
		var lower confine.Limits
		f := reflect.ValueOf(&lower).Elem().Field(i)
		if f.CanUint() {
			f.SetUint(v.Field(i).Uint() + 1)
		} else {
			f.SetInt(v.Field(i).Int() + 1)
		}
		_, err := Lower(base, lower)
		var r *confine.Refusal
		if !errors.As(err, &r) || r.Code != CodeLimitRaised {
			t.Errorf("raising %s: %v, want a refusal", v.Type().Field(i).Name, err)
		}
	}
}

func TestCountingIsLessThanNotCounting(t *testing.T) {
	base := Minimal.Limits()
	base.Steps = 0
	if got, err := Lower(base, confine.Limits{Steps: 5}); err != nil || got.Steps != 5 {
		t.Errorf("steps %d, %v; want 5", got.Steps, err)
	}
}

func TestLowerRefusesWhatCannotBeMeant(t *testing.T) {
	for _, c := range []struct {
		path  string
		lower confine.Limits
	}{
		{"$.limits.wall", confine.Limits{Wall: -time.Second}},
		{"$.limits.wall", confine.Limits{Wall: time.Microsecond}},
		{"$.limits.memory", confine.Limits{MemoryBytes: 1 << 20}},
		{"$.limits.output", confine.Limits{OutputBytes: -1}},
	} {
		_, err := Lower(Minimal.Limits(), c.lower)
		var r *confine.Refusal
		if !errors.As(err, &r) || r.Path != c.path || r.Code != confine.CodeLimitInvalid {
			t.Errorf("%+v: %v, want a refusal at %s", c.lower, err, c.path)
		}
	}
}

func TestARaiseNamesPathFoundAndRequired(t *testing.T) {
	_, err := Lower(Minimal.Limits(), confine.Limits{Wall: 31 * time.Second, Steps: 5_000_000})
	const want = "$.limits.wall: found 31s; required: at most 30s: a tier's limit can be lowered and not raised [RUNNER_LIMIT_RAISED]"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
