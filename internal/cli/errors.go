package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"pdlt.dev/pdlt/confine"
)

// The refusal codes of this package. A code is matched exactly.
const (
	codeFlag     = "CLI_FLAG_INVALID"     // a flag whose value cannot be read
	codeProgram  = "CLI_PROGRAM_INVALID"  // the file to run is missing, unreadable, no file or too large
	codeLog      = "CLI_LOG_INVALID"      // a call log that cannot be read
	codeEncoding = "CLI_PROGRAM_ENCODING" // the source is not UTF-8 and does not say what it is
)

// The exit statuses that are ours: sysexits.h, timeout(1) and the shell where they have a word for it.
const (
	exitOK      = 0
	exitGap     = 1 // doctor: a required facet does not hold
	exitLog     = 1 // serve: the call log cannot be opened
	exitRefusal = 2
	exitFault   = 70 // EX_SOFTWARE
	exitWall    = 124
	exitSteps   = 125
	exitSignal  = 128 // and the signal's number
	exitMemory  = 137
	exitCPU     = 152 // 128 and SIGXCPU, whether the kernel sent that or the supervisor killed first
)

func refuse(code, path, found, required string) error {
	return &confine.Refusal{Code: code, Path: path, Found: found, Required: required}
}

// flags names the flag behind a path of the library, for whoever typed it.
var flags = map[string]string{
	"$.tier": "--tier", "$.sandbox": "--sandbox", "$.policy.require": "--require",
	"$.options.start": "--start", "$.options.hash_seed": "--hash-seed",
	"$.limits.wall": "--wall", "$.limits.cpu": "--cpu", "$.limits.memory": "--memory", "$.limits.disk": "--disk",
	"$.limits.output": "--output", "$.limits.steps": "--steps",
}

// say prints lines of ours.
func (a *app) say(lines ...string) {
	for _, l := range lines {
		fmt.Fprintln(a.stderr, "pdlt: "+l)
	}
}

// failed says why nothing came of a command and gives its exit status. asJSON says it on standard output too.
func (a *app) failed(err error, asJSON bool) int {
	var (
		r   *confine.Refusal
		out *outletError
		sig interrupted
	)
	switch {
	case errors.As(err, &r):
		shown := *r
		if flag, ok := flags[r.Path]; ok {
			shown.Path = flag
		}
		hint := shown.Hint
		shown.Hint = ""
		a.say(shown.Error())
		if hint != "" {
			a.hint(hint)
		}
		shown.Hint = hint
		if asJSON {
			_ = encode(a.stdout, map[string]any{"refusal": shown})
		}
		return exitRefusal
	case errors.As(err, &out):
		if isBrokenPipe(err) { // as every filter ends whose reader is gone: without a word
			return exitSignal + brokenPipe
		}
	case errors.As(err, &sig):
		a.say(sig.Error() + " before the program started")
		return sig.status()
	}
	a.say(err.Error())
	if asJSON {
		_ = encode(a.stdout, map[string]any{"fault": map[string]string{"error": err.Error()}})
	}
	return exitFault
}

// hint prints a next step; further lines of it are indented below the first.
func (a *app) hint(text string) {
	a.say("hint: " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  "))
}

// encode prints one JSON object, without turning the characters that HTML minds into escapes.
func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return &outletError{err}
	}
	return nil
}
