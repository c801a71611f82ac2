package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"pdlt.dev/pdlt/confine"
)

// doctorCommand is "pdlt doctor".
type doctorCommand struct {
	JSON bool `name:"json" help:"Print the diagnosis as one JSON object."`

	confinementFlags
	interpreterFlags
}

// Help is printed below the usage line.
func (*doctorCommand) Help() string {
	return "It takes a few seconds, and runs the same harmless programs unconfined to compare with. " +
		"The exit status is 0 if every required facet holds, and 1 if not."
}

func (c *doctorCommand) run(a *app) int {
	required, err := confine.ParseFacets(c.Require)
	if err != nil {
		return a.failed(err, c.JSON)
	}
	ctx, _, done := a.work()
	defer done()
	d, err := c.diagnose(ctx, a)
	if err != nil {
		status := a.failed(because(ctx, err), c.JSON)
		var r *confine.Refusal
		if errors.As(err, &r) && (r.Code == confine.CodeBackendUnavailable || r.Code == confine.CodeFacetUnavailable) && c.Sandbox != "audit-only" {
			return exitGap // nothing is enforced here: that is an answer
		}
		return status
	}
	if c.JSON {
		err = encode(a.stdout, d)
	} else {
		err = printDiagnosis(a.stdout, d, required)
	}
	if err != nil {
		return a.failed(err, false)
	}
	if !d.Holds(required) {
		return exitGap
	}
	return exitOK
}

// diagnose opens the backend and has it try everything. Sentences inside the interpreter are off: the kernel is to answer.
func (c *doctorCommand) diagnose(ctx context.Context, a *app) (confine.Diagnosis, error) {
	confiner, err := c.backend(a, confine.Options{Start: confine.StartCold, Python: c.Python, Pack: c.Pack, NoHints: true})
	if err != nil {
		return confine.Diagnosis{}, err
	}
	d, err := confiner.Probe(ctx)
	if closed := confiner.Close(); err == nil && closed != nil {
		err = fmt.Errorf("clean up: %w", closed)
	}
	return d, err
}

// printDiagnosis prints a line for each facet, below each gap its fix, and a verdict.
func printDiagnosis(w io.Writer, d confine.Diagnosis, required confine.FacetSet) error {
	var b strings.Builder
	fmt.Fprintf(&b, "backend %s, rung %s, kernel %s, cgroup %s\n\n", d.Backend, d.Rung, d.Kernel, d.Cgroup)
	var gaps []string
	fixes := map[string]confine.Facet{} // each is printed once
	for _, p := range d.Facets {
		verdict := "enforced"
		switch {
		case p.Vacuous:
			verdict = "vacuous"
		case !p.Enforced:
			verdict = "NOT enforced"
		}
		by := p.By
		if by == "" {
			by = "nothing"
		}
		fmt.Fprintf(&b, "%-9s  %-12s  by %s; tried to %s; found %s\n", p.Facet, verdict, by, p.Tried, p.Found)
		if p.Vacuous {
			fmt.Fprintf(&b, "%11sunconfined it is the same, so this proves nothing: %s\n", "", p.Baseline)
		}
		if first, said := fixes[p.Fix]; said {
			fmt.Fprintf(&b, "%11sfix: as for %s\n", "", first)
		} else if p.Fix != "" {
			fixes[p.Fix] = p.Facet
			fmt.Fprintf(&b, "%11sfix: %s\n", "", strings.ReplaceAll(strings.TrimRight(p.Fix, "\n"), "\n", "\n"+strings.Repeat(" ", 16)))
		}
		if !p.Enforced && required.Has(p.Facet) {
			gaps = append(gaps, string(p.Facet))
		}
	}
	b.WriteString("\n")
	for _, n := range d.Notes {
		b.WriteString("note: " + n + "\n")
	}
	if len(gaps) == 0 {
		b.WriteString("every required facet holds\n")
	} else {
		b.WriteString("required and not proven: " + strings.Join(gaps, ", ") + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return &outletError{err}
	}
	return nil
}
