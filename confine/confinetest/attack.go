package confinetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"pdlt.dev/pdlt/confine"
)

// way is the kind of cell that a probe runs in.
type way string

const (
	strict  way = "strict"    // the policy as it is: no native code, no processes
	native  way = "native"    // NativeCode: raw system calls through ctypes
	procs   way = "processes" // Processes and NativeCode
	command way = "command"   // a host command: the bare interpreter under roots of its own
	outside way = "outside"   // no program: what the host sees of one
)

// probe is one row of the catalogue: a small program that tries one thing and says what happened.
type probe struct {
	id   string // section of the catalogue, then a name
	what string
	way  way
	// body is the body of a Python function. What it returns is the answer: None, True and numbers are "OK", an empty list
	// is "none". An OSError is the name of its errno, another exception the name of its class.
	body string
	want string // the answers that hold, separated by "|"
	twin bool   // honest programs need it: it must work, and a baseline says nothing
	// spared says why it is never run unconfined. Such a row is vacuous.
	spared string
	// accepted says why the attempt may succeed. Such a row is never counted as passed.
	accepted string
	seconds  int            // until the alarm; 0 means 2
	alone    bool           // a cell of its own
	varies   bool           // the answer depends on the machine: left out of the matrix
	files    []confine.File // beside the program; implies alone
	only     string         // GOARCH
	limits   confine.Limits
}

// pair is two programs and what the second finds of the first, at the same time and afterwards.
type pair struct {
	id, what       string
	way            way
	writer, reader string
	want           string
	accepted       string
}

// The verdicts on a probe.
const (
	AttackPassed  = "pass"
	AttackVacuous = "vacuous" // the attempt fails unconfined too, or was not tried there: it proves nothing
	AttackFailed  = "FAIL"
)

// AttackResult is what one probe found in one start mode.
type AttackResult struct {
	ID, What, Way string
	Verdict       string
	Answer        string // in the cell
	Want          string // the answers that hold, separated by "|"
	Baseline      string // the same probe unconfined
	Reason        string // why vacuous
	varies        bool
}

// AttackBaseline is the catalogue run unconfined, once, and the canaries that confined programs must neither reach nor
// change. It is made by [NewAttackBaseline] and used by one goroutine.
type AttackBaseline struct {
	python   string
	command  string // python, where a host command may have it as a root
	dir      string
	canaries *canaries
	answers  map[string]string
}

var tokenPattern = regexp.MustCompile(`CANARY-[0-9a-f]{32}`)

func token(t testing.TB) string {
	t.Helper()
	b := make([]byte, 16)
	f, err := os.Open("/dev/urandom")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Read(b); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("CANARY-%x", b)
}

// NewAttackBaseline sets the canaries and runs every harmless probe unconfined with python, the path of the interpreter that
// the cells use. The canaries are checked and removed when t ends.
func NewAttackBaseline(t *testing.T, python string) *AttackBaseline {
	t.Helper()
	b := &AttackBaseline{python: python, dir: t.TempDir(), answers: map[string]string{}}
	b.canaries = setCanaries(t, b.dir)
	b.command = python
	for _, own := range []string{"/work/", "/tmp/", "/dev/shm/"} {
		if strings.HasPrefix(python, own) { // a cell has its own there, which would cover the root
			home := filepath.Dir(filepath.Dir(python))
			copied := filepath.Join(b.canaries.copies, "home")
			if err := os.CopyFS(copied, os.DirFS(home)); err != nil {
				t.Fatal(err)
			}
			b.command = copied + strings.TrimPrefix(python, home)
		}
	}
	var batch []probe
	for _, p := range catalogue() {
		switch {
		case p.spared != "" || p.way == outside:
		case len(p.files) > 0:
			b.unconfined(t, []probe{p})
		default:
			batch = append(batch, p)
		}
	}
	b.unconfined(t, batch)
	for _, p := range channels() {
		b.answers[p.id] = b.unconfinedPair(t, p)
	}
	b.canaries.hush()
	return b
}

// unconfined runs probes on the host: in forked children, each with an alarm, in a folder of its own.
func (b *AttackBaseline) unconfined(t *testing.T, ps []probe) {
	t.Helper()
	dir := t.TempDir()
	for _, p := range ps {
		for _, f := range p.files {
			writeFile(t, filepath.Join(dir, f.Name), f.Data)
		}
	}
	name := filepath.Join(dir, "program.py")
	writeFile(t, name, attackProgram(ps, false, true, b.canaries))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.python, name)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1", "PYTHONSTARTUP="+filepath.Join(dir, "startup.py"))
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	got := parseAnswers(out.String())
	for _, p := range ps {
		a, ok := got.answers[p.key()]
		if !ok {
			a = "no answer"
			if len(p.files) == 0 {
				t.Errorf("baseline of %s: no answer (%v)\n%s", p.key(), err, errs.String())
			}
		}
		b.answers[p.key()] = a
	}
}

func (b *AttackBaseline) unconfinedPair(t *testing.T, p pair) string {
	t.Helper()
	dir := t.TempDir()
	start := func(ctx context.Context, name, body string) (*exec.Cmd, *watchWriter) {
		file := filepath.Join(dir, name)
		writeFile(t, file, attackProgram([]probe{{id: p.id, way: p.way, body: body, seconds: 5}}, false, true, b.canaries))
		cmd := exec.CommandContext(ctx, b.python, file)
		cmd.Dir = dir
		cmd.WaitDelay = time.Second
		w := newWatchWriter("READY")
		cmd.Stdout = w
		return cmd, w
	}
	ctx, cancel := context.WithCancel(context.Background())
	w, seen := start(ctx, "writer.py", p.writer)
	if err := w.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	select {
	case <-seen.seen:
	case <-time.After(3 * time.Second):
	}
	r, out := start(context.Background(), "reader.py", p.reader)
	_ = r.Run()
	cancel()
	_ = w.Wait()
	return parseAnswers(out.String()).answers[probe{id: p.id, way: p.way}.key()]
}

func writeFile(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// catalogue is every probe for this processor. The sources are below, by section.
func catalogue() []probe {
	var all []probe
	for _, list := range [][]probe{callProbes(), strictCallProbes(), familyProbes(), twinProbes(), filterProbes(), fileProbes(), decoyProbes(), privilegeProbes(), procProbes(), socketProbes(), signalProbes()} {
		for _, p := range list {
			if p.only == "" || p.only == runtime.GOARCH {
				all = append(all, p)
			}
		}
	}
	return all
}

func (p probe) key() string {
	if p.way == strict {
		return p.id
	}
	return p.id + " (" + string(p.way) + ")"
}

// attackProgram writes the program that tries ps in turn.
func attackProgram(ps []probe, confined, fork bool, c *canaries) []byte {
	var b strings.Builder
	places, err := json.Marshal(c.places())
	if err != nil {
		panic("confinetest: encode canaries: " + err.Error())
	}
	ctypes := false
	for _, p := range ps {
		ctypes = ctypes || p.way == native || p.way == procs || p.way == command
	}
	py := map[bool]string{true: "True", false: "False"}
	fmt.Fprintf(&b, "CONFINED, FORK, NATIVE, PLACES = %s, %s, %s, %q\n%s\n", py[confined], py[fork], py[ctypes], places, attackPrelude)
	var list strings.Builder
	for i, p := range ps {
		fmt.Fprintf(&b, "def p%d():\n    %s\n", i, strings.ReplaceAll(strings.TrimSpace(p.body), "\n", "\n    "))
		seconds := p.seconds
		if seconds == 0 {
			seconds = 2
		}
		fmt.Fprintf(&list, "(%q, p%d, %d), ", p.key(), i, seconds)
	}
	fmt.Fprintf(&b, "every([%s])\n", list.String())
	return []byte(b.String())
}

type answers struct {
	answers map[string]string
	open    string // begun and not ended
}

func parseAnswers(out string) answers {
	a := answers{answers: map[string]string{}}
	sc := bufio.NewScanner(strings.NewReader(out))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var line struct{ ID, Begin, Answer string }
		if json.Unmarshal(sc.Bytes(), &line) != nil {
			continue
		}
		if line.Begin != "" {
			a.open = line.Begin
		} else if line.ID != "" {
			a.answers[line.ID] = tokenPattern.ReplaceAllString(line.Answer, "TOKEN")
			if a.open == line.ID {
				a.open = ""
			}
		}
	}
	return a
}

// attack is one pass over the catalogue in one start mode.
type attack struct {
	t        *testing.T
	c        confine.Confiner
	policy   confine.Policy
	mode     string
	baseline *AttackBaseline
	cgroup   bool // the reports of this confiner claim a cgroup

	mu      sync.Mutex
	results []AttackResult
}

// Attacks runs the catalogue against c under p, one result for each probe, and reports every probe that did not hold as an error of t. mode
// names the start mode in reports; one that ends in "hints" leaves out what needs native code. c must have at least two slots, and was
// opened without hints for the answers to be the kernel's.
func Attacks(t *testing.T, c confine.Confiner, p confine.Policy, mode string, b *AttackBaseline) []AttackResult {
	t.Helper()
	a := &attack{t: t, c: c, policy: p, mode: mode, baseline: b}
	hints := strings.HasSuffix(mode, "hints")
	batches := map[way][]probe{}
	for _, p := range catalogue() {
		switch {
		case hints && p.way != strict, p.way == command && mode != "cold":
			continue
		case p.alone || len(p.files) > 0 || p.limits != (confine.Limits{}):
			a.batch([]probe{p})
		default:
			batches[p.way] = append(batches[p.way], p)
		}
	}
	for _, w := range []way{strict, native, procs, command} {
		for ps := range slices.Chunk(batches[w], 80) {
			a.batch(ps)
		}
	}
	if !hints {
		for _, p := range channels() {
			a.pair(p)
		}
		a.whole()
		a.outside()
	}
	passed, vacuous, failed := 0, 0, 0
	for _, r := range a.results {
		switch r.Verdict {
		case AttackPassed:
			passed++
		case AttackVacuous:
			vacuous++
		default:
			failed++
			t.Errorf("%s %s: %s: found %s; required: %s (unconfined: %s)", mode, r.ID, r.What, r.Answer, r.Want, r.Baseline)
		}
		t.Logf("%-7s %s %s: %s; want %s; unconfined %s%s", r.Verdict, mode, r.ID, r.Answer, r.Want, r.Baseline, reasonText(r.Reason))
	}
	t.Logf("attacks %s: %d passed, %d vacuous, %d failed", mode, passed, vacuous, failed)
	return a.results
}

func reasonText(s string) string {
	if s == "" {
		return ""
	}
	return "; " + s
}

// record judges an answer. A probe counts only if the same attempt does something else unconfined.
func (a *attack) record(p probe, answer string) {
	base, ok := a.baseline.answers[p.key()]
	r := AttackResult{ID: p.key(), What: p.what, Way: string(p.way), Answer: answer, Want: p.want, Baseline: base, varies: p.varies, Verdict: AttackPassed}
	if !ok {
		r.Baseline = "not tried"
	}
	held := func(s string) bool { return slices.Contains(strings.Split(p.want, "|"), s) }
	switch {
	case !held(answer):
		r.Verdict = AttackFailed
	case p.twin || p.way == outside:
	case p.accepted != "":
		r.Verdict, r.Reason = AttackVacuous, "accepted: "+p.accepted
	case p.spared != "":
		r.Verdict, r.Reason = AttackVacuous, "no baseline: "+p.spared
	case base == answer || held(base):
		r.Verdict, r.Reason = AttackVacuous, "unconfined the answer is the same"
	case slices.Contains([]string{"ENOSYS", "EPERM", "EACCES", "EAFNOSUPPORT", "ESOCKTNOSUPPORT", "EPROTONOSUPPORT", "ENODEV", "ENOPKG", "no answer"}, base):
		r.Verdict, r.Reason = AttackVacuous, "unconfined it fails too: "+base
	}
	a.mu.Lock()
	a.results = append(a.results, r)
	a.mu.Unlock()
}

// spec makes the run of a program in a way.
func (a *attack) spec(w way, source []byte, files []confine.File, l confine.Limits) confine.Spec {
	s := confine.Spec{Program: confine.Python(source), Policy: a.policy, Limits: l}
	s.Program.Files = append(s.Program.Files, files...)
	switch w {
	case native:
		s.Policy.NativeCode = true
	case procs:
		s.Policy.NativeCode, s.Policy.Processes = true, true
	case command:
		s.Program.Entry = ""
		s.Program.Argv = []string{a.baseline.command, "-I", "-S", "/work/" + confine.PythonFile}
		s.Program.Roots = append(commandRoots(a.baseline.command), a.baseline.canaries.decoyDir)
	}
	return s
}

// commandRoots is what the bare interpreter needs to run as a host command.
func commandRoots(python string) []string {
	roots := []string{filepath.Dir(filepath.Dir(python))}
	for _, dir := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64"} {
		if _, err := os.Lstat(dir); err == nil {
			roots = append(roots, dir)
		}
	}
	return roots
}

func (a *attack) run(ctx context.Context, s confine.Spec) (confine.Result, error) {
	res, err := a.c.Run(ctx, s)
	if err == nil {
		a.mu.Lock()
		a.cgroup = strings.HasPrefix(res.Report.Cgroup, "v")
		a.mu.Unlock()
	}
	for _, text := range []string{res.Outcome.Stdout.Text, res.Outcome.Stderr.Text} {
		if found := tokenPattern.FindString(text); found != "" {
			a.t.Errorf("%s: the output of a cell holds a canary: %.2000s", a.mode, text)
		}
	}
	return res, err
}

// batch runs probes in one cell. When a probe ends the program, that is its answer, and the rest go on in another cell.
func (a *attack) batch(ps []probe) {
	a.t.Helper()
	for len(ps) > 0 {
		l := ps[0].limits
		if l.Wall == 0 {
			l.Wall = 60 * time.Second
		}
		// Steps are not counted: 100,000 are too few for the sweeps, and the filter does not know of them.
		res, err := a.run(context.Background(), a.spec(ps[0].way, attackProgram(ps, true, false, a.baseline.canaries), ps[0].files, l))
		if err != nil {
			for _, p := range ps {
				a.record(p, "no run: "+err.Error())
			}
			return
		}
		got := parseAnswers(res.Outcome.Stdout.Text)
		var rest []probe
		for _, p := range ps {
			if answer, ok := got.answers[p.key()]; ok {
				a.record(p, answer)
			} else if p.key() == got.open {
				a.record(p, ended(res.Outcome))
			} else {
				rest = append(rest, p)
			}
		}
		if len(rest) == len(ps) {
			for _, p := range ps {
				a.record(p, fmt.Sprintf("nothing ran: %s %.400s", ended(res.Outcome), res.Outcome.Stderr.Text))
			}
			return
		}
		ps = rest
	}
}

// ended names how a program ended.
func ended(o confine.Outcome) string {
	switch {
	case o.Signal != nil:
		return fmt.Sprintf("signal %d (%s)", *o.Signal, o.Stopped)
	case o.ExitCode != nil:
		return fmt.Sprintf("exit %d (%s)", *o.ExitCode, o.Stopped)
	}
	return string(o.Stopped)
}

// pair runs a writer, and a reader beside it and after it.
func (a *attack) pair(p pair) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	writer := a.spec(p.way, attackProgram([]probe{{id: p.id, way: p.way, body: p.writer, seconds: 10}}, true, false, a.baseline.canaries), nil, confine.Limits{})
	w := newWatchWriter("READY")
	writer.Stdout = w
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = a.run(ctx, writer)
	}()
	select {
	case <-w.seen:
	case <-done:
	case <-time.After(5 * time.Second):
	}
	read := func() string {
		s := a.spec(p.way, attackProgram([]probe{{id: p.id, way: p.way, body: p.reader, seconds: 5}}, true, false, a.baseline.canaries), nil, confine.Limits{})
		res, err := a.run(context.Background(), s)
		if err != nil {
			return "no run: " + err.Error()
		}
		if answer, ok := parseAnswers(res.Outcome.Stdout.Text).answers[(probe{id: p.id, way: p.way}).key()]; ok {
			return answer
		}
		return ended(res.Outcome)
	}
	during := read()
	cancel()
	<-done
	after := read()
	q := probe{id: p.id, what: p.what, way: strict, want: p.want, accepted: p.accepted}
	answer := during
	if slices.Contains(strings.Split(p.want, "|"), during) && !slices.Contains(strings.Split(p.want, "|"), after) {
		answer = "afterwards " + after
	}
	a.record(q, answer)
}

// watchWriter keeps what is written and says when a text was seen.
type watchWriter struct {
	mu   sync.Mutex
	b    bytes.Buffer
	text string
	seen chan struct{}
	once sync.Once
}

func newWatchWriter(text string) *watchWriter {
	return &watchWriter{text: text, seen: make(chan struct{})}
}

// Write implements io.Writer.
func (w *watchWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b.Write(p)
	if bytes.Contains(w.b.Bytes(), []byte(w.text)) {
		w.once.Do(func() { close(w.seen) })
	}
	return len(p), nil
}

// String gives everything written so far.
func (w *watchWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// AttackMatrix prints results as a table with a line for each probe and a column for each start mode. What depends on the machine is left out: the
// baseline, and with it whether a probe is vacuous; an answer marked as varying is "~".
func AttackMatrix(modes []string, results map[string][]AttackResult) string {
	cells := map[string]map[string]string{}
	what := map[string]string{}
	for _, mode := range modes {
		for _, r := range results[mode] {
			if cells[r.ID] == nil {
				cells[r.ID] = map[string]string{}
			}
			answer := r.Answer
			if r.varies && r.Verdict != AttackFailed {
				answer = "~"
			}
			if r.Verdict == AttackFailed {
				answer = "FAIL " + answer
			}
			cells[r.ID][mode], what[r.ID] = answer, r.What
		}
	}
	var ids []string
	for id := range cells {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	var b strings.Builder
	fmt.Fprintf(&b, "probe\twhat\t%s\n", strings.Join(modes, "\t"))
	for _, id := range ids {
		row := []string{id, what[id]}
		for _, mode := range modes {
			answer, ok := cells[id][mode]
			if !ok {
				answer = "-"
			}
			row = append(row, strings.ReplaceAll(answer, "\n", " "))
		}
		b.WriteString(strings.Join(row, "\t") + "\n")
	}
	return b.String()
}

// AttackDiff gives the lines of two matrices that differ, or "".
func AttackDiff(want, got string) string {
	have := map[string]bool{}
	for _, line := range strings.Split(got, "\n") {
		have[line] = true
	}
	var b strings.Builder
	for _, line := range strings.Split(want, "\n") {
		if !have[line] {
			b.WriteString("-" + line + "\n")
		}
		delete(have, line)
	}
	for _, line := range strings.Split(got, "\n") {
		if have[line] {
			b.WriteString("+" + line + "\n")
		}
	}
	return b.String()
}
