package cli

import (
	"context"
	"fmt"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/runner"
)

// runCommand is "pdlt run". What follows FILE belongs to the program, whatever it looks like.
type runCommand struct {
	Program []string `arg:"" name:"file" passthrough:"partial" help:"The program's source, or - for standard input; then its arguments."`

	Tier   string `placeholder:"TIER" default:"STANDARD" help:"Budget: ${tiers}. Default: ${default}."`
	JSON   bool   `name:"json" help:"Print outcome and report as one JSON object instead of the program's output. A refusal is one object too: {\"refusal\": …}."`
	Wall   string `placeholder:"TIME" help:"Elapsed time, such as 5s or 500ms. This and the other limits can only lower those of the tier."`
	CPU    string `name:"cpu" placeholder:"TIME" help:"Processor time of all threads together."`
	Memory string `placeholder:"SIZE" help:"Memory, such as 64MiB, 64M or 67108864."`
	Disk   string `placeholder:"SIZE" help:"What the program may write to its private folders."`
	Output string `placeholder:"SIZE" help:"What --json keeps of each stream; the run ends at ${flood} times as much."`
	Steps  string `placeholder:"N|off" help:"Executed bytecode instructions; off does not count them, and says so."`

	Start      string `placeholder:"MODE" default:"cold" help:"How the interpreter starts: cold, warm or zygote. Default: ${default}, the fastest for a single program; the others prepare for the next one. What is enforced is the same."`
	HashSeed   string `placeholder:"N|random" default:"0" help:"Seed of Python's string hashes. Default: ${default}, so that runs repeat."`
	NativeCode bool   `help:"Allow ctypes, shared objects and new executable memory. Steps are then not to be trusted."`
	Processes  bool   `help:"Allow new processes, within the tier's limit. Steps then count the first process only."`

	confinementFlags
	interpreterFlags
}

// Help is printed below the usage line.
func (*runCommand) Help() string {
	return "The exit status is the program's own, or 128 and the number of the signal that ended it. " +
		"124: stopped by the wall clock. 125: by the step budget. 137: by the memory limit. 152: by the limit of processor time. " +
		"2: refused, nothing ran. 70: the fault is pdlt's."
}

func (c *runCommand) run(a *app) int {
	spec, options, err := c.spec(a)
	if err != nil {
		return a.failed(err, c.JSON)
	}
	ctx, cancel, done := a.work()
	defer done()
	confiner, err := c.backend(a, options)
	if err != nil {
		return a.failed(err, c.JSON)
	}
	status := c.confined(ctx, cancel, a, confiner, spec)
	if err := confiner.Close(); err != nil {
		return a.failed(fmt.Errorf("clean up: %w", err), false)
	}
	return status
}

// spec reads the flags and the source.
func (c *runCommand) spec(a *app) (spec confine.Spec, o confine.Options, err error) {
	tier, err := runner.ParseTier(c.Tier)
	if err != nil {
		return spec, o, err
	}
	if spec.Limits, err = c.limits(tier); err != nil {
		return spec, o, err
	}
	spec.Policy = tier.Policy()
	spec.Policy.NativeCode, spec.Policy.Processes = c.NativeCode, c.Processes
	required, err := confine.ParseFacets(c.Require)
	if err != nil {
		return spec, o, err
	}
	spec.Policy.Waive = confine.AllFacets &^ required
	o = confine.Options{Slots: 1, Python: c.Python, Pack: c.Pack}
	if o.Start, err = parseStart("--start", c.Start); err != nil {
		return spec, o, err
	}
	if o.HashSeed, err = parseHashSeed("--hash-seed", c.HashSeed); err != nil {
		return spec, o, err
	}
	if c.Program[0] == "--" { // kong leaves it to those who pass arguments through
		c.Program = c.Program[1:]
	}
	if len(c.Program) == 0 {
		return spec, o, refuse(codeProgram, "FILE", "nothing", "the path of a Python program, or - for standard input")
	}
	source, err := readSource(c.Program[0], a.stdin)
	if err != nil {
		return spec, o, err
	}
	spec.Program = confine.Python(source)
	spec.Program.Argv = c.Program[1:]
	return spec, o, nil
}

func (c *runCommand) limits(tier runner.Tier) (confine.Limits, error) {
	var lower confine.Limits
	var counted bool
	var errs [6]error
	lower.Wall, errs[0] = parseDuration("--wall", c.Wall)
	lower.CPU, errs[1] = parseDuration("--cpu", c.CPU)
	lower.MemoryBytes, errs[2] = parseSize("--memory", c.Memory)
	lower.DiskBytes, errs[3] = parseSize("--disk", c.Disk)
	lower.OutputBytes, errs[4] = parseSize("--output", c.Output)
	lower.Steps, counted, errs[5] = parseSteps("--steps", c.Steps)
	for _, err := range errs {
		if err != nil {
			return lower, err
		}
	}
	l, err := runner.Lower(tier.Limits(), lower)
	if !counted {
		l.Steps = 0
	}
	return l, err
}

// confined runs the program, passes its output on and gives the exit status.
func (c *runCommand) confined(ctx context.Context, cancel context.CancelCauseFunc, a *app, confiner confine.Confiner, spec confine.Spec) int {
	if c.JSON {
		result, err := confiner.Run(ctx, spec)
		if err != nil {
			return a.failed(because(ctx, err), true)
		}
		if err := encode(a.stdout, result); err != nil {
			return a.failed(err, false)
		}
		return statusOf(ctx, result.Outcome)
	}
	out := newOutlet(func(err error) { cancel(err) })
	stderr := &tap{o: out, to: a.stderr}
	spec.Stdout, spec.Stderr = &tap{o: out, to: a.stdout}, stderr
	result, err := confiner.Run(ctx, spec)
	// A reader that is slow gets everything; an interrupt that comes only now ends the wait for it.
	giveUp := ctx.Done()
	if ctx.Err() != nil {
		giveUp = nil
	}
	if broken := out.finish(giveUp); broken != nil {
		return a.failed(broken, false)
	}
	if err != nil {
		return a.failed(because(ctx, err), false)
	}
	if line := ending(ctx, result.Outcome, spec.Limits); line != "" {
		if stderr.last != 0 && stderr.last != '\n' {
			fmt.Fprintln(a.stderr) // our line is a line of its own
		}
		a.say(line)
	}
	return statusOf(ctx, result.Outcome)
}
