// Package e2e runs the command as a user meets it: scripts that could have been typed, in testdata. Those that confine need the native backend
// and the interpreter pack (made by "make pack"; PDLT_PACK names another); the others run everywhere.
package e2e

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the golden files in the scripts")

func TestMain(m *testing.M) {
	confine.Stage()
	testscript.Main(m, map[string]func(){
		"pdlt": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PDLT_PACK", packDir())
			env.Values[tKey{}] = env.T()
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits, "need": need, "big": big, "fifo": fifo},
	})
}

// packDir is the folder that holds the interpreter pack: that of the build, unless the environment names one.
func packDir() string {
	if dir := os.Getenv("PDLT_PACK"); dir != "" {
		return dir
	}
	dir, err := filepath.Abs("../../bin/pack")
	if err != nil {
		panic(err)
	}
	return dir
}

// native says why the native backend cannot run a program here, or nil.
var native = sync.OnceValue(func() error {
	c, err := confine.Open("native", confine.Options{Pack: packDir(), Start: confine.StartCold})
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = c.Run(ctx, confine.Spec{Program: confine.Python(nil)})
	return err
})

// skipper is what tests and scripts have in common.
type skipper interface {
	Skip(...any)
	Fatal(...any)
}

// needNative skips with the reason where there is no native backend; where CONFINE_REQUIRE asks for anything, that is a failure.
func needNative(t skipper) {
	if err := native(); err != nil {
		if os.Getenv("CONFINE_REQUIRE") != "" {
			t.Fatal("required by CONFINE_REQUIRE: native backend: " + err.Error())
		}
		t.Skip("no native backend: " + err.Error())
	}
}

type tKey struct{}

// need native|python|unix|unshare: skips the script, with the reason, where the machine lacks something.
func need(ts *testscript.TestScript, neg bool, args []string) {
	t := ts.Value(tKey{}).(testscript.T)
	if neg || len(args) != 1 {
		ts.Fatalf("usage: need native|python|unix|unshare")
	}
	switch args[0] {
	case "native":
		needNative(t)
	case "python":
		for _, p := range []string{"/usr/bin/python3", "/usr/local/bin/python3"} {
			if _, err := os.Stat(p); err == nil {
				ts.Setenv("PYTHON", p)
				return
			}
		}
		t.Skip("no python3 on this host")
	case "unix":
		if runtime.GOOS == "windows" {
			t.Skip("no such files on windows")
		}
	case "unshare":
		if out, err := exec.Command("unshare", "-Ur", "true").CombinedOutput(); err != nil {
			t.Skip("no user namespaces for unshare: " + err.Error() + " " + string(out))
		}
	default:
		ts.Fatalf("unknown need %q", args[0])
	}
}

// exits N COMMAND ARG…: runs a command that must end with exit status N.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N command [arg...]")
	}
	got := 0
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if want, err := strconv.Atoi(args[0]); err != nil || got != want {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// big FILE: makes a file of 1 GB that takes no room.
func big(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), nil, 0o644))
	ts.Check(os.Truncate(ts.MkAbs(args[0]), 1<<30))
}

// fifo FILE: makes a named pipe.
func fifo(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(ts.Exec("mkfifo", ts.MkAbs(args[0])))
}

// A signal to the command kills the program, prints what it had printed, and is the exit status.
func TestAnInterruptKillsTheProgram(t *testing.T) {
	needNative(t)
	for s, status := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		cmd := exec.Command("pdlt", "run", "-")
		cmd.Env = append(os.Environ(), "PDLT_PACK="+packDir())
		cmd.Stdin = strings.NewReader("print('started', flush=True)\nwhile True: pass\n")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || line != "started\n" {
			t.Errorf("read %q, %v", line, err)
		}
		began := time.Now()
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != status || !strings.HasPrefix(stderr.String(), "pdlt: interrupted by signal") || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%v: exit status %d, want %d, after %v; standard error %q", s, got, status, time.Since(began), stderr.String())
		}
	}
}

// A reader that leaves ends the run: nobody computes for nobody.
func TestAReaderThatLeavesEndsTheRun(t *testing.T) {
	needNative(t)
	cmd := exec.Command("pdlt", "run", "-")
	cmd.Env = append(os.Environ(), "PDLT_PACK="+packDir())
	cmd.Stdin = strings.NewReader("while True: print('x' * 100)\n")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	out.Close()
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 141 {
		t.Errorf("exit status %d, want 141", got)
	}
}
