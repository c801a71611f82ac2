package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"pdlt.dev/pdlt/confine"
	_ "pdlt.dev/pdlt/confine/native" // the backend "native"
	"pdlt.dev/pdlt/runner"
)

// app is what commands are given.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	open           func(string, confine.Options) (confine.Confiner, error)
	// interrupts gives the signals that ask this process to end, until stop.
	interrupts func() (c <-chan os.Signal, stop func())
}

// command is a subcommand whose flags are read.
type command interface{ run(*app) int }

type grammar struct {
	Run     runCommand     `cmd:"" help:"Run one Python program, confined."`
	Doctor  doctorCommand  `cmd:"" help:"Try the forbidden things in throw-away cells and say what is enforced here."`
	Serve   serveCommand   `cmd:"" help:"Serve the agent tools over MCP on standard input and output."`
	Log     logCommand     `cmd:"" help:"Print call logs for people."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

const about = "Runs programs that nobody trusts: confined by the operating system, within a stated budget, with a true report."

// Main runs the command that args name and gives the exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, open: confine.Open, interrupts: interrupts}
	return a.main(args)
}

func (a *app) main(args []string) int {
	exited := -1
	var g grammar
	k, err := kong.New(&g, kong.Name("pdlt"), kong.Description(about), kong.Writers(a.stdout, a.stderr),
		kong.Exit(func(status int) { exited = status }), // --help, which has printed; parsing goes on and its error is none
		kong.Vars{"tiers": join(runner.Tiers), "facets": join(confine.Facets), "flood": strconv.Itoa(confine.FloodFactor), "outcomes": join(outcomes)},
		kong.Help(help), kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 100, FlagsLast: true}))
	if err != nil {
		return a.failed(err, false) // cannot happen: the grammar is a constant
	}
	c, err := k.Parse(args)
	if exited >= 0 {
		return exited
	}
	if err != nil {
		help := "pdlt --help"
		var pe *kong.ParseError
		if errors.As(err, &pe) && pe.Context.Selected() != nil {
			help = pe.Context.Selected().FullPath() + " --help"
		}
		a.say(err.Error())
		a.hint("run `" + help + "`")
		return exitRefusal
	}
	return c.Selected().Target.Addr().Interface().(command).run(a)
}

// help prints kong's help with a usage line that says where flags end: what follows FILE belongs to the program.
func help(o kong.HelpOptions, ctx *kong.Context) error {
	var text strings.Builder
	out := ctx.Stdout
	ctx.Stdout = &text
	err := kong.DefaultHelpPrinter(o, ctx)
	ctx.Stdout = out
	if err == nil {
		_, err = io.WriteString(out, strings.Replace(text.String(), "run <file> ... [flags]", "run [flags] FILE|- [ARG...]", 1))
	}
	return err
}

func join[T ~string](names []T) string {
	s := make([]string, len(names))
	for i, n := range names {
		s[i] = string(n)
	}
	return strings.Join(s, ", ")
}

// interpreterFlags choose the Python.
type interpreterFlags struct {
	Python string `placeholder:"PATH" env:"PDLT_PYTHON" help:"Use this CPython 3.10 … 3.14 instead of the interpreter pack."`
	Pack   string `placeholder:"DIR" env:"PDLT_PACK" help:"Folder of the interpreter pack. Default: pack, beside this command."`
}

// confinementFlags choose the backend and what it must hold.
type confinementFlags struct {
	Sandbox string `placeholder:"NAME" default:"auto" help:"Backend: auto, native or container. Default: ${default}."`
	Require string `placeholder:"FACETS" default:"all" help:"Facets that must be enforced, comma-separated: ${facets}. Default: ${default}."`
}

// backend opens the backend that the flags name.
func (f confinementFlags) backend(a *app, o confine.Options) (confine.Confiner, error) {
	if err := f.known(); err != nil {
		return nil, err
	}
	return a.open(f.Sandbox, o)
}

// known refuses what is no backend, before anything is opened.
func (f confinementFlags) known() error {
	if f.Sandbox == "audit-only" {
		return &confine.Refusal{Code: confine.CodeBackendUnavailable, Path: "--sandbox", Found: `"audit-only"`,
			Required: "a backend that enforces its policy: auto, native or container", Hint: "run `pdlt doctor` to see what this machine enforces"}
	}
	return confine.Known(f.Sandbox)
}

// interrupted is the signal that ended a command.
type interrupted struct{ signal os.Signal }

// Error names the signal.
func (i interrupted) Error() string { return "interrupted by signal: " + i.signal.String() }

func (i interrupted) status() int {
	if s, ok := i.signal.(syscall.Signal); ok {
		return exitSignal + int(s)
	}
	return exitSignal
}

// work gives a context that the first signal cancels, with the signal as its cause. A second one ends this process at once, and the kernel
// ends what it confined with it. done frees what work took.
func (a *app) work() (ctx context.Context, cancel context.CancelCauseFunc, done func()) {
	signals, stop := a.interrupts()
	ctx, cancel = context.WithCancelCause(context.Background())
	ended := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			stop()
			cancel(interrupted{s})
		case <-ended:
		}
	}()
	return ctx, cancel, func() { close(ended); stop(); cancel(nil) }
}

// because gives the reason why ctx ended, when that is why err came.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// interrupts listens for the signals that end a command. What was ignored when we were started, as nohup does, stays ignored. SIGPIPE is
// caught so that a reader that went away shows as an error of the write, and the run is cleaned up.
func interrupts() (<-chan os.Signal, func()) {
	c, pipe := make(chan os.Signal, 1), make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	signal.Notify(pipe, syscall.SIGPIPE)
	return c, func() { signal.Stop(c) }
}
