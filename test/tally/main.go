// Command tally reads "go test -json" from its standard input and prints one line a package, the output of what failed, what
// was skipped with the reason, and last a line "N passed, N failed, N skipped". It exits with 1 when anything failed
// or nothing ran.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	if !tally(os.Stdin, os.Stdout) {
		os.Exit(1)
	}
}

// event is a line of "go test -json" (see "go doc test2json").
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// tally reports whether tests ran and none failed.
func tally(in io.Reader, out io.Writer) bool {
	var (
		passed, failed int
		skips          = map[string][]string{} // reason: tests
		outputs        = map[string][]string{} // of a test, a package or a build
		running        = map[string]bool{}     // tests that have not ended
		failedTests    = map[string]int{}      // in a package
	)
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if len(line) > 0 && json.Unmarshal(line, &e) != nil {
			out.Write(line) // not an event: a word of the go command
			e = event{}
		}
		name := cmp.Or(e.Package, e.ImportPath)
		if e.Test != "" {
			name += " " + e.Test
		}
		switch e.Action {
		case "run":
			running[name] = true
		case "output", "build-output":
			outputs[name] = append(outputs[name], e.Output)
		case "build-fail":
			fmt.Fprintf(out, "FAIL %s: does not build\n%s", name, strings.Join(outputs[name], ""))
			delete(outputs, name)
		case "pass", "fail", "skip":
			delete(running, name)
			switch {
			case e.Test != "" && e.Action == "pass":
				passed++
			case e.Test != "" && e.Action == "fail":
				failed++
				failedTests[e.Package]++
				fmt.Fprintf(out, "FAIL %s\n%s", name, strings.Join(outputs[name], ""))
			case e.Test != "":
				why := reason(outputs[name])
				skips[why] = append(skips[why], name)
			case e.Action == "pass":
				fmt.Fprintf(out, "ok   %s %.1fs\n", name, e.Elapsed)
			case e.Action == "fail":
				if failedTests[e.Package] == 0 { // a build, TestMain, a crash, a deadline
					failed++
					fmt.Fprintf(out, "FAIL %s\n%s", name, strings.Join(outputs[name], ""))
				}
				// A later run of the same package counts for itself.
				delete(failedTests, e.Package)
			}
			delete(outputs, name)
		}
		if err != nil {
			break
		}
	}
	for _, name := range slices.Sorted(maps.Keys(running)) {
		failed++
		fmt.Fprintf(out, "FAIL %s: did not end\n%s", name, strings.Join(outputs[name], ""))
	}
	skipped := 0
	for _, why := range slices.Sorted(maps.Keys(skips)) {
		skipped += len(skips[why])
		fmt.Fprintf(out, "skip %s\n", why)
		for _, name := range skips[why] {
			fmt.Fprintf(out, "     %s\n", name)
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return failed == 0 && passed > 0
}

// reason is the text that a test gave to Skip, without the place.
func reason(output []string) string {
	var text []string
	for _, s := range output {
		if t := strings.TrimSpace(s); !strings.HasPrefix(t, "=== ") && !strings.HasPrefix(t, "--- ") && t != "" {
			text = append(text, t)
		}
	}
	why := strings.Join(text, " ")
	if place, rest, ok := strings.Cut(why, ": "); ok && strings.Contains(place, ".go:") {
		why = rest
	}
	return cmp.Or(why, "no reason given")
}
