package native

import (
	"errors"
	"strings"
	"testing"

	"pdlt.dev/pdlt/confine"
)

func reportOf(f confine.Facet, enforced bool) confine.Report {
	return confine.Report{Facets: []confine.FacetReport{{Facet: f, Enforced: enforced, By: "a mechanism", Version: "1"}}}
}

func TestAFacetHoldsOnlyIfNothingHappenedThatHappensUnconfined(t *testing.T) {
	attempts := trial{facet: confine.FSRead, tried: "read"}
	stops := trial{facet: confine.Mem, tried: "use", stop: confine.StoppedMemory}
	printed := func(text string) confine.Outcome {
		return confine.Outcome{Stopped: confine.StoppedNone, ExitCode: new(int), Stdout: confine.Stream{Text: text}}
	}
	for _, c := range []struct {
		name              string
		trial             trial
		outcome           confine.Outcome
		arrived, baseline string
		reported          bool
		enforced, vacuous bool
		found             string
	}{
		{"refused here, done there", attempts, printed("a\tEPERM\nb\tENOENT\nend\t-\n"), "", "a\tdone\nb\tdone\n", true, true, false, "a: EPERM, b: ENOENT"},
		{"one of them would fail anyway", attempts, printed("a\tEPERM\nb\tENOENT\nend\t-\n"), "", "a\tdone\nb\tENOENT\n", true, true, false, "a: EPERM, b: ENOENT (unconfined too)"},
		{"all of them would fail anyway", attempts, printed("a\tEPERM\nend\t-\n"), "", "a\tEPERM\n", true, false, true, "a: EPERM (unconfined too)"},
		{"the baseline said nothing", attempts, printed("a\tEPERM\nend\t-\n"), "", "", true, false, true, "a: EPERM (unconfined too)"},
		{"one was done", attempts, printed("a\tEPERM\nb\tdone\nend\t-\n"), "", "a\tdone\nb\tdone\n", true, false, false, "a: EPERM, b: done"},
		{"refused, and it arrived all the same", attempts, printed("a\tEPERM\nend\t-\n"), "1 connection", "a\tdone\n", true, false, false, "a: EPERM, outside: 1 connection"},
		{"refused, by nothing that the report knows", attempts, printed("a\tEPERM\nend\t-\n"), "", "a\tdone\n", false, false, false, "a: EPERM"},
		{"died under way", attempts, printed("a\tEPERM\n"), "", "a\tdone\n", true, false, false, "a: EPERM, and then ended, exit status 0"},
		{"stopped as it must", stops, confine.Outcome{Stopped: confine.StoppedMemory}, "", "a\tdone\n", true, true, false, "stopped: memory"},
		{"stopped by something else", stops, confine.Outcome{Stopped: confine.StoppedWall}, "", "a\tdone\n", true, false, false, "stopped: wall"},
		{"stopped, and unconfined too", stops, confine.Outcome{Stopped: confine.StoppedMemory}, "", "a\tMemoryError\n", true, false, true, "stopped: memory"},
	} {
		p := c.trial.judge(observation{result: confine.Result{Outcome: c.outcome, Report: reportOf(c.trial.facet, c.reported)}, arrived: c.arrived, baseline: c.baseline})
		if p.Enforced != c.enforced || p.Vacuous != c.vacuous || p.Found != c.found || p.By != "a mechanism (1)" {
			t.Errorf("%s: enforced %v, vacuous %v, found %q", c.name, p.Enforced, p.Vacuous, p.Found)
		}
		if wantFix := !c.enforced && !c.vacuous; (p.Fix != "") != wantFix {
			t.Errorf("%s: fix %q", c.name, p.Fix)
		}
	}
}

func TestWithoutACellNothingHolds(t *testing.T) {
	tr := trial{facet: confine.Net, tried: "reach"}
	p := tr.judge(observation{err: &confine.Refusal{Found: "mount proc: EPERM", Hint: "the fix"}})
	if p.Enforced || p.Vacuous || p.Found != "no cell: mount proc: EPERM" || p.Fix != "the fix" {
		t.Errorf("%+v", p)
	}
	if p = tr.judge(observation{err: errors.New("disk failed")}); p.Enforced || !strings.Contains(p.Found, "disk failed") {
		t.Errorf("%+v", p)
	}
}

func TestABaselineThatCannotRunProvesNothing(t *testing.T) {
	tr := trial{facet: confine.Net}
	p := tr.judge(observation{result: confine.Result{Report: reportOf(confine.Net, true), Outcome: confine.Outcome{Stdout: confine.Stream{Text: "a\tEPERM\nend\t-\n"}}},
		baselineErr: errors.New("no interpreter")})
	if p.Enforced || !p.Vacuous || !strings.Contains(p.Baseline, "no interpreter") {
		t.Errorf("%+v", p)
	}
}
