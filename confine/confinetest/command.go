package confinetest

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pdlt.dev/pdlt/confine"
)

// commands: a host command runs cold, reads its roots only, under the same policy and report.
func (s *suite) commands(t *testing.T) {
	var roots []string
	for _, r := range []string{"/usr", "/bin", "/lib", "/lib64"} {
		if _, err := os.Lstat(r); err == nil {
			roots = append(roots, r)
		}
	}
	for _, need := range []string{"/bin/echo", "/bin/sh", "/bin/cat"} {
		if _, err := os.Stat(need); err != nil {
			t.Skipf("no %s: %v", need, err)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret")
	mark := "hidden-" + strconv.Itoa(os.Getpid())
	if err := os.WriteFile(secret, []byte(mark), 0o644); err != nil {
		t.Fatal(err)
	}
	command := func(argv ...string) *confine.Program {
		return &confine.Program{Argv: argv, Roots: roots, Files: []confine.File{{Name: "own.txt", Data: []byte("own\n")}}}
	}
	rows := []row{
		{name: "echo prints", program: command("/bin/echo", "hello", "a b"), stdout: "hello a b\n", check: func(t *testing.T, r confine.Result) {
			if r.Report.Interpreter.Origin != "none" || r.Outcome.Steps != nil {
				t.Errorf("interpreter %+v, steps %s; want none", r.Report.Interpreter, show(r.Outcome.Steps))
			}
		}},
		{name: "the exit status arrives", program: command("/bin/sh", "-c", "exit 42"), code: 42},
		{name: "a command that is not there answers as a shell would", program: command("/bin/no-such-command"), code: 127, errHas: []string{"/bin/no-such-command"}},
		{name: "it reads its own files in the work folder", program: command("/bin/cat", "own.txt", "/work/own.txt"), stdout: "own\nown\n"},
		{name: "it writes in its folders", program: command("/bin/sh", "-c", "echo x > f; echo y > /tmp/g; read a < f; read b < /tmp/g; echo $a $b"), stdout: "x y\n"},
		{name: "nothing outside its roots can be read", program: command("/bin/cat", secret), code: 1, hasNot: []string{mark}},
		{name: "no account of the host can be read", program: command("/bin/cat", "/etc/shadow", "/etc/hostname", "/root/.profile", "/proc/1/environ", "/proc/1/maps"), code: 1, check: func(t *testing.T, r confine.Result) {
			if r.Outcome.Stdout.Bytes != 0 {
				t.Errorf("stdout %.300q; want nothing", r.Outcome.Stdout.Text)
			}
		}},
		{name: "its roots cannot be written", program: command("/bin/sh", "-c", "echo x > /usr/pdlt-left; echo x > /usr/bin/pdlt-left; exit 0"), check: func(t *testing.T, r confine.Result) {
			for _, f := range []string{"/usr/pdlt-left", "/usr/bin/pdlt-left"} {
				if _, err := os.Lstat(f); err == nil {
					os.Remove(f)
					t.Errorf("%s was made on the host", f)
				}
			}
		}},
		{name: "it cannot fork with processes off", program: command("/bin/sh", "-c", "(echo forked); /bin/echo spawned; echo $(echo piped)"), signal: -1, hasNot: []string{"forked\n", "spawned\n", "piped\n"}, check: func(t *testing.T, r confine.Result) {
			if r.Outcome.Clean() {
				t.Error("the shell's failure to fork is no failure")
			}
		}},
		{name: "it forks with processes on", policy: families, program: command("/bin/sh", "-c", "(echo forked); /bin/echo spawned; sleep 60 & echo $(echo piped)"), within: 2 * time.Second, stdout: "forked\nspawned\npiped\n"},
		{name: "standard input is empty", program: command("/bin/cat"), within: 2 * time.Second, check: func(t *testing.T, r confine.Result) {
			if r.Outcome.Stdout.Bytes != 0 {
				t.Errorf("stdout %q; want nothing", r.Outcome.Stdout.Text)
			}
		}},
		{name: "the environment is fixed", program: command("/bin/sh", "-c", "echo $HOME $TMPDIR $TZ $LC_ALL $PATH; export -p"), has: []string{"/work /tmp UTC C.UTF-8 /usr/bin:/bin\n"}, hasNot: []string{"PDLT", "LD_PRELOAD", "GOPATH"}},
		{name: "the wall clock ends it", program: command("/bin/sleep", "60"), stopped: confine.StoppedWall, signal: 9, limits: confine.Limits{Wall: 300 * time.Millisecond}},
		{name: "a signal ends it", program: command("/bin/sh", "-c", "kill -9 $$"), stopped: confine.StoppedSignal, signal: 9},
	}
	for i := range rows {
		if rows[i].stopped == "" && rows[i].code != 0 {
			rows[i].stopped = confine.StoppedNone
		}
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if strings.HasPrefix(r.name, "it cannot fork") { // however a shell takes it
				res := s.run(t, s.hints, confine.Spec{Program: *r.program, Policy: minimal})
				r.stopped = res.Outcome.Stopped
				r.judge(t, res)
				if t.Failed() {
					explain(t, *r.program, res)
				}
				return
			}
			s.one(t, s.hints, r)
		})
	}
	for name, root := range map[string]string{"a root that is not there": "/no/such/root", "a relative root": "usr", "the whole file system": "/"} {
		t.Run("refused: "+name, func(t *testing.T) {
			p := *command("/bin/echo")
			p.Roots = append([]string{root}, p.Roots...)
			_, err := s.hints.Run(context.Background(), confine.Spec{Program: p, Policy: minimal})
			refusal(t, err, confine.CodeProgramInvalid)
		})
	}
}
