package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/mcp"
	"pdlt.dev/pdlt/mcp/agenttools"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/sessions"
	"pdlt.dev/pdlt/runner"
)

// serveCommand is "pdlt serve".
type serveCommand struct {
	Tier            string `placeholder:"TIER" default:"STANDARD" help:"Budget of every program: ${tiers}. Default: ${default}."`
	WitnessRequired bool   `help:"A submission must contain a program that prints a WITNESS line."`
	WorkCalls       int    `placeholder:"N" default:"6" help:"How many times run_python answers. Default: ${default}; 0 is never."`
	Submissions     int    `placeholder:"N" default:"3" help:"How many submissions are checked. Default: ${default}; 0 is none."`
	Sessions        string `placeholder:"DIR" help:"Folder of the recorded sessions that are served, read-only. Default: .pdlt/runs/live-sessions in the home folder."`
	Log             string `placeholder:"FILE" help:"Call log, appended to. Default: a new file in mcp-server, beside the sessions folder."`
	Slots           int    `placeholder:"N" help:"How many programs run at once. Default: one for each processor, at least two."`
	Start           string `placeholder:"MODE" default:"zygote" help:"How interpreters start: cold, warm or zygote. Default: ${default}, the fastest. What is enforced is the same."`

	confinementFlags
	interpreterFlags
}

// Help is printed below the usage line.
func (*serveCommand) Help() string {
	return "Messages are lines of JSON. Standard output carries nothing else; what is to be said to people goes to standard error. " +
		"When standard input ends, what was read is answered, and the server ends with status 0. When nobody reads its output any more, or a signal comes, everything is ended at once. " +
		"2: refused. 1: the call log cannot be opened. 70: the fault is pdlt's."
}

// waiting is how many programs may wait for a slot: what a client sends in one burst, and no flood.
const waiting = 64

func (c *serveCommand) run(a *app) int {
	settings, start, required, err := c.settings()
	if err != nil {
		return a.failed(err, false)
	}
	out, err := guard(a.stdout)
	if err != nil {
		return a.failed(fmt.Errorf("keep standard output: %w", err), false)
	}
	log, err := c.openLog(out)
	if err != nil {
		a.say(err.Error())
		return exitLog
	}
	defer log.Close()
	ctx, cancel, done := a.work()
	defer done()

	x, err := c.executor(a, start, required)
	if err != nil {
		return a.failed(err, false)
	}
	hungUp(ctx, out, func() { cancel(errNoReader) })
	err = mcp.Serve(ctx, agenttools.Profile(agenttools.Options{Version: version, Interpreter: x.interpreter, Unavailable: x.unavailable,
		Runner: runner.New(x, settings), Settings: settings,
		Sessions: sessions.Open(c.Sessions), Log: log,
		Fault: func(id string, err error) { a.say("fault " + id + ": " + err.Error()) }}), a.stdin, out)
	if closed := x.close(); err == nil && closed != nil {
		err = fmt.Errorf("clean up: %w", closed)
	}
	return a.served(because(ctx, err))
}

// errNoReader is why a server ends whose output nobody reads.
var errNoReader = errors.New("nobody reads standard output any more")

// served gives the exit status of a server that ended for a reason, or for none.
func (a *app) served(reason error) int {
	var sig interrupted
	switch {
	case reason == nil:
		return exitOK
	case errors.As(reason, &sig):
		return sig.status()
	case errors.Is(reason, errNoReader), isBrokenPipe(reason):
		return exitSignal + brokenPipe
	}
	return a.failed(reason, false)
}

// settings reads the flags. Whatever is refused is refused before anything is opened.
func (c *serveCommand) settings() (s runner.Options, start confine.StartMode, required confine.FacetSet, err error) {
	if s.Tier, err = runner.ParseTier(c.Tier); err != nil {
		return s, "", 0, err
	}
	for _, n := range []struct {
		flag  string
		value int
	}{{"--work-calls", c.WorkCalls}, {"--submissions", c.Submissions}, {"--slots", c.Slots}} {
		if n.value < 0 {
			return s, "", 0, refuse(codeFlag, n.flag, strconv.Itoa(n.value), "a number of 0 or more")
		}
	}
	s.WorkCalls, s.Submissions, s.WitnessRequired = c.WorkCalls, c.Submissions, c.WitnessRequired
	if start, err = parseStart("--start", c.Start); err != nil {
		return s, "", 0, err
	}
	if required, err = confine.ParseFacets(c.Require); err != nil {
		return s, "", 0, err
	}
	if err := c.known(); err != nil {
		return s, "", 0, err
	}
	if c.Sessions == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return s, "", 0, refuse(codeFlag, "--sessions", "no home folder", "a folder of sessions")
		}
		c.Sessions = filepath.Join(home, ".pdlt", "runs", "live-sessions")
	}
	return s, start, required, nil
}

// openLog opens the call log, which must not be where the messages go: each would be written over the other.
func (c *serveCommand) openLog(out io.Writer) (log *provenance.Log, err error) {
	if c.Log == "" {
		log, err = provenance.CreateLog(c.Sessions)
	} else {
		log, err = provenance.OpenLog(c.Log)
	}
	if f, ok := out.(*os.File); ok && err == nil {
		messages, err1 := f.Stat()
		records, err2 := os.Stat(log.Path())
		if err1 == nil && err2 == nil && os.SameFile(messages, records) {
			err = fmt.Errorf("open call log: found standard output at %s; required: a file of its own", log.Path())
			_ = log.Close()
		}
	}
	return log, err
}

// executor is where the programs of a server run.
type executor struct {
	runner.Executor
	interpreter string // "" if it is not known
	unavailable bool   // nothing runs
	close       func() error
}

// executor opens the confinement. Where the machine has none, the server serves what it has recorded, and every tool says why nothing runs; an
// interpreter that was named and cannot be used is refused.
func (c *serveCommand) executor(a *app, start confine.StartMode, required confine.FacetSet) (executor, error) {
	slots := c.Slots
	if slots == 0 {
		slots = max(2, runtime.NumCPU())
	}
	confiner, err := c.backend(a, confine.Options{Start: start, Slots: slots, Python: c.Python, Pack: c.Pack})
	var r *confine.Refusal
	if errors.As(err, &r) && r.Code == confine.CodeInterpreter && c.Python != "" {
		return executor{}, err
	}
	if err != nil {
		a.say("nothing can be run: " + err.Error())
		return executor{Executor: runner.Unavailable(err), unavailable: true, close: func() error { return nil }}, nil
	}
	x := executor{Executor: requiring{runner.NewLocal(confiner, slots, waiting), confine.AllFacets &^ required}, close: confiner.Close}
	if d, ok := confiner.(confine.Describer); ok {
		x.interpreter = "CPython " + d.Interpreter().Version
	}
	return x, nil
}

// requiring is an Executor whose jobs may do without the facets that the operator waived.
type requiring struct {
	runner.Executor
	waived confine.FacetSet
}

// Execute implements runner.Executor.
func (r requiring) Execute(ctx context.Context, j runner.Job) (confine.Result, error) {
	j.Policy.Waive = r.waived
	return r.Executor.Execute(ctx, j)
}

// guard keeps a standard output to messages: whatever else writes to it, a library or the runtime, writes to standard error from now on.
func guard(w io.Writer) (io.Writer, error) {
	f, ok := w.(*os.File)
	if !ok || f != os.Stdout {
		return w, nil
	}
	kept, err := divert(f)
	if err != nil {
		return nil, err
	}
	os.Stdout = os.Stderr
	return kept, nil
}
