package confinetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pdlt.dev/pdlt/confine"
)

// Backend is what the suite runs against.
type Backend struct {
	// Name is what reports call it.
	Name string
	// Open opens it.
	Open func(confine.Options) (confine.Confiner, error)
	// Options are those of every confiner; the suite sets Start, HashSeed, Slots and NoHints.
	Options confine.Options
	// Modes are the start modes to test. Empty means all three.
	Modes []confine.StartMode
	// Bare is a command that runs a Python file without confinement when its path is added: the baseline. Empty means
	// that there is none, and that rows which must fail inside are reported as unproven.
	Bare []string
}

// Require is the environment variable that turns skips into failures: facet names with commas, or "all".
const Require = "CONFINE_REQUIRE"

var enforced = struct {
	sync.Mutex
	done   bool
	set    confine.FacetSet
	reason string
}{}

// Offer tells [Need] what the backend under test can enforce. [Run] calls it; other tests call it first. It runs one program that does
// without every facet, and believes the report.
func Offer(b Backend) {
	enforced.Lock()
	defer enforced.Unlock()
	if enforced.done {
		return
	}
	enforced.done = true
	c, err := b.Open(b.Options)
	if err != nil {
		enforced.reason = err.Error()
		return
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	res, err := c.Run(ctx, confine.Spec{Program: confine.Python(nil), Policy: confine.Policy{Waive: confine.AllFacets}})
	if err != nil {
		enforced.reason = err.Error()
		return
	}
	enforced.set, enforced.reason = res.Report.Enforced(), "the report of a trial run says that it is not enforced here (rung "+res.Report.Rung+", cgroup "+res.Report.Cgroup+")"
	d, err := c.Probe(ctx)
	if err != nil {
		enforced.reason += "; the probe failed: " + err.Error()
		return
	}
	for _, p := range d.Facets {
		if !p.Enforced {
			enforced.set &^= confine.FacetsOf(p.Facet)
			enforced.reason += fmt.Sprintf("; %s: %s: %s %s", p.Facet, p.Tried, p.Found, p.Fix)
		}
	}
}

// Need skips the test when one of the facets is not enforced on this machine, and fails it instead when [Require] lists that facet.
func Need(t testing.TB, facets ...confine.Facet) {
	t.Helper()
	enforced.Lock()
	have, reason, done := enforced.set, enforced.reason, enforced.done
	enforced.Unlock()
	if !done {
		t.Fatal("confinetest.Need before confinetest.Offer")
	}
	var required confine.FacetSet
	if text := os.Getenv(Require); text != "" {
		var err error
		if required, err = confine.ParseFacets(text); err != nil {
			t.Fatalf("%s: %v", Require, err)
		}
	}
	for _, f := range facets {
		switch {
		case have.Has(f):
		case required.Has(f):
			t.Fatalf("%s requires facet %s: %s", Require, f, reason)
		default:
			t.Skipf("facet %s: %s", f, reason)
		}
	}
}

// suite is one backend in one start mode.
type suite struct {
	Backend
	mode         confine.StartMode
	hints, plain confine.Confiner // the sentences are no boundary: many rows run both ways
	rows         map[string]bool  // ids declared so far
}

// Run runs the suite.
func Run(t *testing.T, b Backend) {
	Offer(b)
	for _, f := range confine.Facets {
		if f != confine.Mem && f != confine.CPU && f != confine.Pids { // these have lesser forms: see row.cgroup
			Need(t, f)
		}
	}
	b = filled(b)
	inEachMode(t, b, func(t *testing.T, s *suite) {
		t.Run("honest programs", s.honest)
		t.Run("stop reasons", s.stops)
		t.Run("limits", s.limits)
		t.Run("output", s.output)
		t.Run("steps", s.steps)
		t.Run("process trees", s.trees)
		t.Run("host commands", s.commands)
		t.Run("specification", s.specification)
	})
	t.Run("one program gives the same bytes and steps", func(t *testing.T) { determinism(t, b) })
}

// open opens another confiner in the suite's mode, to be closed with the test.
func (s *suite) open(t *testing.T, change func(*confine.Options)) confine.Confiner {
	t.Helper()
	o := s.Options
	o.Start = s.mode
	change(&o)
	c, err := s.Open(o)
	if err != nil {
		t.Fatalf("open %s: %v", s.Name, err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// minimal is the policy of most rows: nothing is allowed.
var minimal = confine.Policy{Name: "tier MINIMAL"}

// families allows processes.
var families = confine.Policy{Name: "a policy with processes", Processes: true}

// run runs a spec to its end and checks what holds of every answer.
func (s *suite) run(t *testing.T, c confine.Confiner, spec confine.Spec) confine.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	res, err := c.Run(ctx, spec)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	s.sane(t, spec, res)
	return res
}

func (s *suite) python(t *testing.T, c confine.Confiner, source string, l confine.Limits) confine.Result {
	t.Helper()
	return s.run(t, c, confine.Spec{Program: confine.Python([]byte(source)), Policy: minimal, Limits: l})
}

// sane checks what is true of every answer, whatever ran.
func (s *suite) sane(t *testing.T, spec confine.Spec, res confine.Result) {
	t.Helper()
	o, r := res.Outcome, res.Report
	if (o.ExitCode == nil) == (o.Signal == nil) && o.Stopped != confine.StoppedLost {
		t.Errorf("exit code %s and signal %s; required: exactly one of them", show(o.ExitCode), show(o.Signal))
	}
	if (o.Steps != nil) != (spec.Limits.Steps > 0) {
		t.Errorf("steps %s with a budget of %d; required: a number exactly when they are counted", show(o.Steps), spec.Limits.Steps)
	}
	if (o.Limit == nil) != (o.Observed == nil) {
		t.Errorf("limit %s, observed %s; required: both or neither", show(o.Limit), show(o.Observed))
	}
	if o.Usage.WallMS <= 0 {
		t.Errorf("wall %v ms; required: more than 0", o.Usage.WallMS)
	}
	for i, f := range r.Facets {
		if i >= len(confine.Facets) || f.Facet != confine.Facets[i] {
			t.Errorf("facet %d of the report is %s; required: the order of confine.Facets", i, f.Facet)
		}
		if f.Asked && !f.Enforced {
			t.Errorf("facet %s was asked for and not enforced, and the program ran", f.Facet)
		}
		if f.Enforced && (f.By == "" || f.Version == "") {
			t.Errorf("facet %s is enforced by %q, version %q; required: both named", f.Facet, f.By, f.Version)
		}
	}
	if len(r.Facets) != len(confine.Facets) {
		t.Errorf("the report has %d facets; required: %d", len(r.Facets), len(confine.Facets))
	}
	mode := s.mode
	if spec.Program.Entry == "" {
		mode = confine.StartCold
	} else if r.Interpreter.Version == "" || !strings.HasPrefix(r.Interpreter.Digest, "sha256:") {
		t.Errorf("interpreter %+v; required: version and digest", r.Interpreter)
	}
	if r.Backend != s.Name || r.Start != mode || r.Kernel == "" || r.Cgroup == "" || r.Rung == "" || r.PolicyDigest == "" {
		t.Errorf("report: backend %q, start %q, kernel %q, cgroup %q, rung %q, policy %q; required: %s, %s and none empty", r.Backend, r.Start, r.Kernel, r.Cgroup, r.Rung, r.PolicyDigest, s.Name, mode)
	}
	if res.Program != spec.Program.ID() {
		t.Errorf("program %+v; required: %+v", res.Program, spec.Program.ID())
	}
}

// show prints what a pointer points at.
func show[T any](p *T) string {
	if p == nil {
		return "null"
	}
	return fmt.Sprint(*p)
}

// row is one program and what must be said of it. Zero fields are: the policy minimal, exit 0, stopped none, any output.
type row struct {
	name    string
	source  string
	program *confine.Program // instead of source
	policy  confine.Policy
	limits  confine.Limits
	cgroup  bool // needs more than rlimits can do
	both    bool // with and without hints
	stopped confine.Stopped
	code    int
	signal  int           // instead of code; -1: whichever way it ended
	limit   int64         // what Outcome.Limit must be, when not 0
	stdout  string        // exact, when not empty
	has     []string      // in stdout
	hasNot  []string      // neither in stdout nor in stderr
	errHas  []string      // in stderr
	within  time.Duration // Outcome.Usage.WallMS
	check   func(*testing.T, confine.Result)
}

// needCgroup skips a row that rlimits alone cannot give, or fails it where the machine is known to have cgroups.
func (s *suite) needCgroup(t *testing.T, c confine.Confiner) {
	t.Helper()
	res := s.run(t, c, confine.Spec{Program: confine.Python(nil), Policy: minimal})
	if reason, none := strings.CutPrefix(res.Report.Cgroup, "none"); none {
		if required, err := confine.ParseFacets(os.Getenv(Require)); err == nil && required.Has(confine.Mem) {
			t.Fatalf("%s requires facet mem in full: no cgroup%s", Require, reason)
		}
		t.Skipf("rlimits alone cannot: no cgroup%s", reason)
	}
}

// table runs rows, each as a subtest.
func (s *suite) table(t *testing.T, rows []row) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if !r.both {
				s.one(t, s.hints, r)
				return
			}
			t.Run("with hints", func(t *testing.T) { s.one(t, s.hints, r) })
			t.Run("without hints", func(t *testing.T) { s.one(t, s.plain, r) })
		})
	}
}

func (s *suite) one(t *testing.T, c confine.Confiner, r row) confine.Result {
	t.Helper()
	if r.cgroup {
		s.needCgroup(t, c)
	}
	p := confine.Python([]byte(r.source))
	if r.program != nil {
		p = *r.program
	}
	if r.policy == (confine.Policy{}) {
		r.policy = minimal
	}
	res := s.run(t, c, confine.Spec{Program: p, Policy: r.policy, Limits: r.limits})
	r.judge(t, res)
	if t.Failed() {
		explain(t, p, res)
	}
	return res
}

func (r row) judge(t *testing.T, res confine.Result) {
	t.Helper()
	o := res.Outcome
	want := r.stopped
	if want == "" {
		want = confine.StoppedNone
	}
	if o.Stopped != want {
		t.Errorf("stopped %q (limit %s, observed %s, tamper %s); want %q", o.Stopped, show(o.Limit), show(o.Observed), show(o.Tamper), want)
	}
	switch {
	case r.signal > 0:
		if o.Signal == nil || *o.Signal != r.signal {
			t.Errorf("signal %s, exit code %s; want signal %d", show(o.Signal), show(o.ExitCode), r.signal)
		}
	case r.signal == 0:
		if o.ExitCode == nil || *o.ExitCode != r.code {
			t.Errorf("exit code %s, signal %s; want exit code %d", show(o.ExitCode), show(o.Signal), r.code)
		}
	}
	if r.limit != 0 && (o.Limit == nil || *o.Limit != r.limit) {
		t.Errorf("limit %s; want %d", show(o.Limit), r.limit)
	}
	if r.stdout != "" && o.Stdout.Text != r.stdout {
		t.Errorf("stdout\n%.2000q\nwant\n%.2000q", o.Stdout.Text, r.stdout)
	}
	for _, w := range r.has {
		if !strings.Contains(o.Stdout.Text, w) {
			t.Errorf("stdout lacks %q", w)
		}
	}
	for _, w := range r.errHas {
		if !strings.Contains(o.Stderr.Text, w) {
			t.Errorf("stderr lacks %q", w)
		}
	}
	for _, w := range r.hasNot {
		if strings.Contains(o.Stdout.Text, w) || strings.Contains(o.Stderr.Text, w) {
			t.Errorf("the output has %q", w)
		}
	}
	if r.within > 0 && o.Usage.WallMS > float64(r.within.Milliseconds()) {
		t.Errorf("took %v ms; want at most %v", o.Usage.WallMS, r.within)
	}
	if r.check != nil {
		r.check(t, res)
	}
}

// explain logs what one needs to repeat a failure by hand.
func explain(t *testing.T, p confine.Program, res confine.Result) {
	t.Helper()
	for _, f := range p.Files {
		t.Logf("file %s:\n%.1500s", f.Name, f.Data)
	}
	o := res.Outcome
	t.Logf("stopped %s, exit code %s, signal %s, steps %s, usage %+v\nstdout (%d bytes): %.1500s\nstderr (%d bytes): %.3000s", o.Stopped, show(o.ExitCode), show(o.Signal), show(o.Steps), o.Usage,
		o.Stdout.Bytes, o.Stdout.Text, o.Stderr.Bytes, o.Stderr.Text)
}

// baseline runs the source bare and logs that a row is vacuous when what it prints lacks the mark of success.
func (s *suite) baseline(t *testing.T, source string, marks ...string) {
	t.Helper()
	if len(s.Bare) == 0 {
		t.Log("unproven: no bare interpreter for a baseline")
		return
	}
	dir := t.TempDir()
	name := filepath.Join(dir, confine.PythonFile)
	if err := os.WriteFile(name, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Bare[0], append(slices.Clone(s.Bare[1:]), name)...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	for _, m := range marks {
		if !strings.Contains(string(out), m) {
			t.Logf("vacuous: bare it does not print %q either (%v): %.500s", m, err, out)
		}
	}
}

// refusal fails the test unless err is a *confine.Refusal of that code that names path, found and required.
func refusal(t *testing.T, err error, code string) *confine.Refusal {
	t.Helper()
	var r *confine.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("error %v (%T); want a refusal %s", err, err, code)
	}
	if r.Code != code || r.Path == "" || r.Found == "" || r.Required == "" {
		t.Errorf("refusal %+v; want %s with path, found and required", r, code)
	}
	return r
}

// filled gives a backend two slots, and all start modes unless it names some.
func filled(b Backend) Backend {
	if len(b.Modes) == 0 {
		b.Modes = []confine.StartMode{confine.StartCold, confine.StartWarm, confine.StartZygote}
	}
	b.Options.Slots = 2
	return b
}

// inEachMode opens a suite in each start mode of a backend, with the sentences and without.
func inEachMode(t *testing.T, b Backend, f func(*testing.T, *suite)) {
	for _, mode := range b.Modes {
		t.Run("start "+string(mode), func(t *testing.T) {
			s := &suite{Backend: b, mode: mode, rows: map[string]bool{}}
			s.hints = s.open(t, func(*confine.Options) {})
			s.plain = s.open(t, func(o *confine.Options) { o.NoHints = true })
			f(t, s)
		})
	}
}
