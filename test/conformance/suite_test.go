package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// check is one entry of the suite's checks.json.
type check struct {
	ID, Status, Description, ErrorMessage string
}

// expected is one line of testdata/suite: how a scenario counts, its name, and for "excused" the reason.
type expected struct{ kind, scenario, reason string }

// TestOfficialSuite runs the conformance suite of the protocol against the fixture, in both eras, through the bridge. A scenario counts as
// passed when at least one of its checks succeeded and none failed: the suite itself also lets pass what it skipped.
func TestOfficialSuite(t *testing.T) {
	name := needNode(t)
	for _, s := range []struct {
		revision        string
		required, tasks int // issue B: 37, 30 and 9
	}{
		{"2026-07-28", 37, 9},
		{"2025-11-25", 30, 0},
	} {
		t.Run(s.revision, func(t *testing.T) {
			found := runSuite(t, name, s.revision)
			passed := map[string]int{}
			for _, e := range expectations(t, s.revision) {
				checks, ran := found[e.scenario]
				delete(found, e.scenario)
				t.Run(e.scenario, func(t *testing.T) {
					if !ran {
						t.Fatal("did not run")
					}
					ok, why := verdict(checks)
					switch {
					case ok && e.kind == "excused":
						t.Errorf("passed; required: no excuse for it in testdata/suite (%s)", e.reason)
					case ok:
						passed[e.kind]++
					case e.kind == "excused":
						t.Log("excused: " + e.reason)
					default:
						t.Error(why)
					}
				})
			}
			for scenario := range found {
				t.Errorf("scenario %s ran and is not in testdata/suite", scenario)
			}
			if passed["required"] != s.required || passed["tasks"] != s.tasks {
				t.Errorf("passed %d required scenarios and %d of tasks; required: %d and %d", passed["required"], passed["tasks"], s.required, s.tasks)
			}
		})
	}
}

// expectations reads testdata/suite/REVISION.txt.
func expectations(t *testing.T, revision string) (all []expected) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "suite", revision+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		kind, rest, _ := strings.Cut(line, " ")
		scenario, reason, _ := strings.Cut(rest, ": ")
		if !slices.Contains([]string{"required", "tasks", "extra", "excused"}, kind) || (kind == "excused") != (reason != "") {
			t.Fatalf("%s: found %q; required: required|tasks|extra SCENARIO, or excused SCENARIO: REASON", revision, line)
		}
		all = append(all, expected{kind, scenario, reason})
	}
	return all
}

// verdict says whether a scenario passed, and if not what failed.
func verdict(checks []check) (ok bool, why string) {
	var failed []string
	succeeded := 0
	for _, c := range checks {
		switch {
		case c.Status == "SUCCESS" && c.ID != wireCheck:
			succeeded++
		case c.Status == "FAILURE", c.Status == "WARNING", c.ID == wireCheck && c.Status != "SUCCESS":
			failed = append(failed, strings.ToLower(c.Status)+" "+c.ID+": "+c.Description+": "+c.ErrorMessage)
		}
	}
	if succeeded == 0 {
		failed = append(failed, "no check succeeded: what is skipped is not passed")
	}
	return len(failed) == 0, strings.Join(failed, "\n")
}

// wireCheck is the suite's own check of every message against the schema.
const wireCheck = "wire-schema-valid"

// runSuite runs all scenarios of a revision and gives their checks by name.
func runSuite(t *testing.T, name, revision string) map[string][]check {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	dir := t.TempDir()
	url := bridged(t, tool(t, "fixture"))
	out := filepath.Join(dir, "out")
	cmd := exec.CommandContext(ctx, name, filepath.Join(packages, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", url, "--requirements", revision, "-o", out)
	cmd.Env = append(os.Environ(), "HOME="+dir)
	said, err := cmd.CombinedOutput()
	if err != nil {
		// What failed is in the checks; this is for what never got there.
		t.Errorf("the suite: %v\n%s", err, tail(said))
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]check{}
	for _, e := range entries {
		// server-SCENARIO-2026-12-01T03-22-55-983Z
		const stamp = len("-2006-01-02T15-04-05-000Z")
		scenario, ok := strings.CutPrefix(e.Name(), "server-")
		if !ok || len(scenario) <= stamp {
			t.Fatalf("found %q in the suite's output; required: server-SCENARIO-TIME", e.Name())
		}
		text, err := os.ReadFile(filepath.Join(out, e.Name(), "checks.json"))
		if err != nil {
			t.Fatal(err)
		}
		var checks []check
		if err := json.Unmarshal(text, &checks); err != nil {
			t.Fatalf("%s: %v", e.Name(), err)
		}
		found[scenario[:len(scenario)-stamp]] = checks
	}
	return found
}

func tail(said []byte) []byte { return said[max(0, len(said)-4000):] }

// bridged starts the bridge before a server and gives its address.
func bridged(t *testing.T, server string, args ...string) string {
	t.Helper()
	port := filepath.Join(t.TempDir(), "port")
	cmd := exec.Command(tool(t, "bridge"), append([]string{"-port-file", port, server}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := <-ended; err != nil {
			t.Errorf("the bridge: %v\n%s", err, &stderr)
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if n, err := os.ReadFile(port); err == nil {
			return "http://127.0.0.1:" + string(n) + "/mcp"
		}
		if len(ended) > 0 || time.Now().After(deadline) {
			t.Fatalf("the bridge opens no port\n%s", &stderr)
		}
	}
}

// The lock pins what is installed, by digest; and it does not say where a user's packages come from.
func TestTheLockPinsDigestsAndNamesNoPlace(t *testing.T) {
	f, err := os.Open("node/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lock struct {
		Packages map[string]struct {
			Integrity, Resolved string
		}
	}
	if err := json.NewDecoder(bufio.NewReader(f)).Decode(&lock); err != nil {
		t.Fatal(err)
	}
	if len(lock.Packages) < 2 {
		t.Fatal("the lock is empty")
	}
	for name, p := range lock.Packages {
		if name != "" && p.Integrity == "" || p.Resolved != "" {
			t.Errorf("%s: integrity %q, resolved %q; required: a digest and no place", name, p.Integrity, p.Resolved)
		}
	}
}
