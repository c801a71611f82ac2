package native

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pdlt.dev/pdlt/confine"
)

// trial is how one facet is put to the test: a program that tries what the facet forbids, and what must come of it.
type trial struct {
	facet  confine.Facet
	tried  string // completes "tried to …"
	source string // without the prelude
	native bool   // with native code allowed, to reach the layers below the interpreter
	limits confine.Limits
	// stop is what must end the program. When it is "", the program tries several things, prints an answer for each, and none of them may be "done".
	stop confine.Stopped
	// arrived says what reached a canary outside since it was last asked, "" if nothing did. Answers can be wrong about effects; canaries cannot.
	arrived func() string
}

// trialPrelude gives every program the function that tries one thing and prints what came of it, a line of name, tab and answer: "done", another word that the
// attempt returned, or the refusal. An errno in reached means that the kernel looked at the arguments, so nothing refused the call itself.
const trialPrelude = `import errno, os, sys
def attempt(name, f, *reached):
    try:
        answer = f() or "done"
    except OSError as e:
        answer = "done" if e.errno in reached else errno.errorcode.get(e.errno, str(e))
    except BaseException as e:
        answer = type(e).__name__
    print(name + "\t" + answer, flush=True)
def use(x): pass
`

// trialEnd is printed last, so that a program that died under way is told from one whose attempts all failed.
const trialEnd = `print("end\t-", flush=True)
`

const done = "done"

// answers are what a trial's program printed, in order.
type answers []struct{ name, answer string }

func parseAnswers(stdout string) (a answers, complete bool) {
	for _, line := range strings.Split(stdout, "\n") {
		name, answer, ok := strings.Cut(line, "\t")
		if ok && name == "end" {
			return a, true
		}
		if ok {
			a = append(a, struct{ name, answer string }{name, answer})
		}
	}
	return a, false
}

func (a answers) done(name string) bool {
	return slices.ContainsFunc(a, func(x struct{ name, answer string }) bool { return x.name == name && x.answer == done })
}

func (a answers) anyDone() bool {
	return slices.ContainsFunc(a, func(x struct{ name, answer string }) bool { return x.answer == done })
}

func (a answers) String() string {
	var parts []string
	for _, x := range a {
		parts = append(parts, x.name+": "+x.answer)
	}
	if len(parts) == 0 {
		return "no answer"
	}
	return strings.Join(parts, ", ")
}

// observation is what a trial showed, confined and not.
type observation struct {
	result          confine.Result
	err             error  // the cell could not be had
	arrived         string // at a canary, from the cell
	baseline        string // what the same program printed unconfined
	baselineErr     error
	baselineArrived string
}

// judge turns an observation into a proof. A facet counts as enforced when the run's report says that something enforces it, nothing that was
// forbidden happened, and at least one of those things does happen to the same program unconfined. Otherwise the trial proved nothing.
func (t *trial) judge(o observation) confine.Proof {
	p := confine.Proof{Facet: t.facet, Tried: t.tried}
	if o.err != nil {
		p.Found = "no cell: " + o.err.Error()
		var r *confine.Refusal
		if errors.As(o.err, &r) {
			p.Found, p.Fix = "no cell: "+r.Found, r.Hint
		}
		return p
	}
	reported := false
	for _, f := range o.result.Report.Facets {
		if f.Facet == t.facet {
			reported, p.By = f.Enforced, f.By
			// The diagnosis names the kernel once.
			version := strings.TrimPrefix(f.Version, "Linux "+o.result.Report.Kernel)
			if version = strings.TrimPrefix(version, ", "); version != "" {
				p.By += " (" + version + ")"
			}
		}
	}
	base, _ := parseAnswers(o.baseline)
	p.Baseline = base.String()
	if o.baselineErr != nil {
		p.Baseline = "could not be run: " + o.baselineErr.Error()
	}
	if o.baselineArrived != "" {
		p.Baseline += "; outside: " + o.baselineArrived
	}
	got, complete := parseAnswers(o.result.Outcome.Stdout.Text)
	var held, real bool
	if t.stop != "" {
		held, real = o.result.Outcome.Stopped == t.stop, base.anyDone()
		p.Found = describe(o.result.Outcome)
	} else {
		held = complete && !got.anyDone() && o.arrived == ""
		var parts []string
		for _, x := range got {
			s := x.name + ": " + x.answer
			if x.answer != done && !base.done(x.name) {
				s += " (unconfined too)"
			} else if x.answer != done {
				real = true
			}
			parts = append(parts, s)
		}
		if !complete {
			parts = append(parts, "and then "+describe(o.result.Outcome)+lastLine(o.result.Outcome.Stderr.Text))
		}
		if o.arrived != "" {
			parts = append(parts, "outside: "+o.arrived)
		}
		p.Found = strings.Join(parts, ", ")
	}
	p.Enforced = held && real && reported
	p.Vacuous = held && !real
	if !p.Enforced && !p.Vacuous {
		p.Fix = fixForFacet(t.facet, o.result.Report)
	}
	return p
}

func describe(o confine.Outcome) string {
	s := "ended"
	if o.Stopped != confine.StoppedNone {
		s = "stopped: " + string(o.Stopped)
	}
	if o.Limit != nil && o.Observed != nil {
		s += fmt.Sprintf(", limit %d, observed %d", *o.Limit, *o.Observed)
	}
	if o.ExitCode != nil {
		s += fmt.Sprintf(", exit status %d", *o.ExitCode)
	}
	if o.Signal != nil {
		s += fmt.Sprintf(", signal %d", *o.Signal)
	}
	return s
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + last
	}
	return ""
}

// The limits of the trials that are to be stopped, and how far past them the programs go. Unconfined they are harmless: at most 64 MiB, 3 s of processor
// time, 24 threads, 64 descriptors, 4 MiB of disk.
var trialLimits = confine.Limits{Wall: 10 * time.Second, MemoryBytes: 64 << 20, OutputBytes: 64 << 10}

func limited(change func(*confine.Limits)) confine.Limits {
	l := trialLimits
	change(&l)
	return l
}

// limitTrials are those whose programs need nothing of the host.
func limitTrials() []trial {
	return []trial{
		{facet: confine.Mem, tried: "use 64 MiB where 32 MiB are allowed", stop: confine.StoppedMemory,
			limits: limited(func(l *confine.Limits) { l.MemoryBytes = 32 << 20 }), source: `
kept = []
attempt("use 64 MiB", lambda: kept.extend(b"x" * (1 << 20) for _ in range(64)))
`},
		// RLIMIT_CPU was seen to come 0.8 s late under emulation.
		{facet: confine.CPU, tried: "compute for 3 s where 1 s is allowed", stop: confine.StoppedCPU,
			limits: limited(func(l *confine.Limits) { l.CPU = time.Second }), source: `
import time
def spin():
    while time.process_time() < 3: pass
attempt("compute for 3 s", spin)
`},
		{facet: confine.Wall, tried: "sleep for 1 s where 300 ms are allowed", stop: confine.StoppedWall,
			limits: limited(func(l *confine.Limits) { l.Wall = 300 * time.Millisecond }), source: `
import time
attempt("sleep for 1 s", lambda: time.sleep(1))
`},
		{facet: confine.Pids, tried: "start 24 threads where 8 are allowed",
			limits: limited(func(l *confine.Limits) { l.Processes = 8 }), source: `
import threading
end = threading.Event()
def start():
    for i in range(24):
        try: threading.Thread(target=end.wait, daemon=True).start()
        except RuntimeError: return "refused after %d" % i
attempt("start 24 threads", start)
end.set()
`},
		{facet: confine.FDs, tried: "open 64 files where 32 are allowed",
			limits: limited(func(l *confine.Limits) { l.OpenFiles = 32 }), source: `
held = []
attempt("open 64 files", lambda: held.extend(open("/dev/null") for _ in range(64)))
del held
`},
		{facet: confine.Disk, tried: "write 4 MiB where 1 MiB is allowed, and 256 files where 64 are",
			limits: limited(func(l *confine.Limits) { l.DiskBytes, l.Inodes = 1<<20, 64 }), source: `
import tempfile
def fill():
    with tempfile.TemporaryFile(buffering=0) as f:
        for _ in range(64): f.write(bytes(1 << 16))
def litter():
    with tempfile.TemporaryDirectory() as d:
        for i in range(256): os.close(os.open(d + "/%d" % i, os.O_CREAT | os.O_WRONLY))
attempt("write 4 MiB", fill)
attempt("make 256 files", litter)
`},
		{facet: confine.Output, tried: "print 1 MiB where 64 KiB are allowed", stop: confine.StoppedOutput,
			limits: limited(func(l *confine.Limits) { l.OutputBytes, l.FloodBytes = 4<<10, 64<<10 }), source: `
def flood():
    for _ in range(256): os.write(2, b"x" * 4096)
attempt("print 1 MiB", flood)
`},
	}
}

// inOrder sorts proofs as reports list facets.
func inOrder(proofs []confine.Proof) {
	slices.SortFunc(proofs, func(a, b confine.Proof) int {
		return cmp.Compare(slices.Index(confine.Facets, a.Facet), slices.Index(confine.Facets, b.Facet))
	})
}
