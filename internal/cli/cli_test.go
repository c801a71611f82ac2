package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/confine"
)

// fake is a Confiner whose answers a test chooses. It keeps what it was asked.
type fake struct {
	run       func(context.Context, confine.Spec) (confine.Result, error)
	diagnosis confine.Diagnosis
	spec      confine.Spec
	sandbox   string
	options   confine.Options
	opened    int
	closed    int
}

func (f *fake) Run(ctx context.Context, s confine.Spec) (confine.Result, error) {
	f.spec = s
	if f.run == nil {
		return confine.Result{Outcome: confine.Outcome{Stopped: confine.StoppedNone, ExitCode: ptr(0)}}, nil
	}
	return f.run(ctx, s)
}
func (f *fake) Probe(context.Context) (confine.Diagnosis, error) { return f.diagnosis, nil }
func (f *fake) Close() error                                     { f.closed++; return nil }

func ptr[T any](v T) *T { return &v }

// answer is how a command ended.
type answer struct {
	status         int
	stdout, stderr string
}

// pdlt runs a command line against the fake.
func (f *fake) pdlt(stdin string, args ...string) answer {
	return f.with(&app{stdin: strings.NewReader(stdin)}, args...)
}

func (f *fake) with(a *app, args ...string) answer {
	var out, err bytes.Buffer
	if a.stdout == nil {
		a.stdout = &out
	}
	a.stderr = &err
	a.open = func(name string, o confine.Options) (confine.Confiner, error) {
		f.opened++
		f.sandbox, f.options = name, o
		return f, nil
	}
	if a.interrupts == nil {
		a.interrupts = func() (<-chan os.Signal, func()) { return nil, func() {} }
	}
	status := a.main(args)
	return answer{status, out.String(), err.String()}
}

func ended(o confine.Outcome) func(context.Context, confine.Spec) (confine.Result, error) {
	return func(context.Context, confine.Spec) (confine.Result, error) { return confine.Result{Outcome: o}, nil }
}

func TestRunAsksForWhatTheFlagsSay(t *testing.T) {
	t.Setenv("PDLT_PYTHON", "")
	t.Setenv("PDLT_PACK", "")
	standard := confine.Limits{Wall: 30 * time.Second, CPU: 61 * time.Second, MemoryBytes: 256 << 20, Processes: 64, OpenFiles: 256, DiskBytes: 64 << 20,
		Inodes: 4096, FileBytes: 64 << 20, OutputBytes: 1 << 20, FloodBytes: 256 << 20, Steps: 10_000_000}
	type want struct {
		sandbox string
		options confine.Options
		policy  confine.Policy
		limits  confine.Limits
		argv    []string
	}
	def := func(f func(*want)) want {
		w := want{"auto", confine.Options{Start: confine.StartCold, Slots: 1, HashSeed: "0"}, confine.Policy{Name: "tier STANDARD"}, standard, []string{}}
		f(&w)
		return w
	}
	for _, c := range []struct {
		args string
		want want
	}{
		{"-", def(func(*want) {})},
		{"--json -", def(func(*want) {})},
		{"- a --json -- b", def(func(w *want) { w.argv = []string{"a", "--json", "--", "b"} })},
		{"-- - a", def(func(w *want) { w.argv = []string{"a"} })},
		{"--tier MINIMAL -", def(func(w *want) { w.policy.Name, w.limits.Steps = "tier MINIMAL", 100_000 })},
		{"--wall=500ms --memory=64MiB --disk=1M --output=65536 --steps=5 -", def(func(w *want) {
			w.limits.Wall, w.limits.CPU = 500*time.Millisecond, 2*time.Second
			w.limits.MemoryBytes, w.limits.DiskBytes, w.limits.FileBytes = 64<<20, 1<<20, 1<<20
			w.limits.OutputBytes, w.limits.FloodBytes, w.limits.Steps = 65536, 256*65536, 5
		})},
		{"--cpu 1s --steps off -", def(func(w *want) { w.limits.CPU, w.limits.Steps = time.Second, 0 })},
		{"--native-code --processes --start zygote --hash-seed random --sandbox native -", def(func(w *want) {
			w.policy.NativeCode, w.policy.Processes, w.sandbox = true, true, "native"
			w.options.Start, w.options.HashSeed = confine.StartZygote, "random"
		})},
		{"--hash-seed 007 --python /p --pack /k -", def(func(w *want) { w.options.HashSeed, w.options.Python, w.options.Pack = "7", "/p", "/k" })},
		{"--require fs-read,net -", def(func(w *want) { w.policy.Waive = confine.AllFacets &^ confine.FacetsOf(confine.FSRead, confine.Net) })},
	} {
		f := &fake{}
		if a := f.pdlt("print(1)", append([]string{"run"}, strings.Fields(c.args)...)...); a.status != 0 {
			t.Errorf("run %s: %+v", c.args, a)
			continue
		}
		got := want{f.sandbox, f.options, f.spec.Policy, f.spec.Limits, f.spec.Program.Argv}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("run %s: -want +got\n%s", c.args, diff)
		}
		if src := string(f.spec.Program.Files[0].Data); src != "print(1)" {
			t.Errorf("run %s: source %q", c.args, src)
		}
		if f.closed != 1 {
			t.Errorf("run %s: closed %d times", c.args, f.closed)
		}
	}
}

func TestTheEnvironmentNamesPythonAndPack(t *testing.T) {
	t.Setenv("PDLT_PYTHON", "/env/python")
	t.Setenv("PDLT_PACK", "/env/pack")
	f := &fake{}
	f.pdlt("", "run", "-")
	if f.options.Python != "/env/python" || f.options.Pack != "/env/pack" {
		t.Errorf("options %+v", f.options)
	}
	f.pdlt("", "run", "--python=/flag", "-")
	if f.options.Python != "/flag" {
		t.Errorf("a flag does not win over the environment: %+v", f.options)
	}
}

// Each of these is refused before anything is opened: one line, exit status 2, nothing on standard output unless it was asked for as JSON.
func TestBadFlagsAreRefused(t *testing.T) {
	const dur, size = "a duration above zero with its unit, such as 5s or 500ms", "a number of bytes above zero, such as 64MiB, 64M or 67108864"
	for _, c := range []struct{ flag, line string }{
		{"--tier=TINY", `--tier: found "TINY"; required: one of MINIMAL, STANDARD, HEAVY_COMPUTE [RUNNER_TIER_UNKNOWN]`},
		{"--wall=31s", "--wall: found 31s; required: at most 30s: a tier's limit can be lowered and not raised [RUNNER_LIMIT_RAISED]"},
		{"--memory=257MiB", "--memory: found 269484032; required: at most 268435456: a tier's limit can be lowered and not raised [RUNNER_LIMIT_RAISED]"},
		{"--steps=10000001", "--steps: found 10000001; required: at most 10000000: a tier's limit can be lowered and not raised [RUNNER_LIMIT_RAISED]"},
		{"--memory=1M", "--memory: found 1048576; required: 16 MiB to 16 TiB [CONFINE_LIMIT_INVALID]"},
		{"--wall=5", `--wall: found "5"; required: ` + dur + " [CLI_FLAG_INVALID]"},
		{"--wall=0s", `--wall: found "0s"; required: ` + dur + " [CLI_FLAG_INVALID]"},
		{"--cpu=-1s", `--cpu: found "-1s"; required: ` + dur + " [CLI_FLAG_INVALID]"},
		{"--disk=1MB", `--disk: found "1MB"; required: ` + size + " [CLI_FLAG_INVALID]"},
		{"--disk=M", `--disk: found "M"; required: ` + size + " [CLI_FLAG_INVALID]"},
		{"--output=0", `--output: found "0"; required: ` + size + " [CLI_FLAG_INVALID]"},
		{"--output=+1", `--output: found "+1"; required: ` + size + " [CLI_FLAG_INVALID]"},
		{"--output=99999999999G", `--output: found "99999999999G"; required: ` + size + " [CLI_FLAG_INVALID]"},
		{"--steps=0", `--steps: found "0"; required: a number of steps above zero, or "off" [CLI_FLAG_INVALID]`},
		{"--start=hot", `--start: found "hot"; required: cold, warm or zygote [CLI_FLAG_INVALID]`},
		{"--hash-seed=4294967296", `--hash-seed: found "4294967296"; required: a number from 0 to 4294967295, or random [CLI_FLAG_INVALID]`},
		{"--require=fs-read,nett", `--require: found "nett"; required: facet names out of ` + confine.AllFacets.String() + `, or all [CONFINE_POLICY_INVALID]`},
		{"--sandbox=audit-only", `--sandbox: found "audit-only"; required: a backend that enforces its policy: auto, native or container [CONFINE_BACKEND_UNAVAILABLE]` +
			"\npdlt: hint: run `pdlt doctor` to see what this machine enforces"},
	} {
		f := &fake{}
		if got, want := f.pdlt("", "run", c.flag, "-"), (answer{2, "", "pdlt: " + c.line + "\n"}); got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.flag, got, want)
		}
		if f.opened != 0 {
			t.Errorf("%s: a backend was opened", c.flag)
		}
		a := f.pdlt("", "run", "--json", c.flag, "-")
		var j struct{ Refusal confine.Refusal }
		if err := json.Unmarshal([]byte(a.stdout), &j); err != nil || j.Refusal.Code == "" || a.status != 2 || strings.Count(a.stdout, "\n") != 1 {
			t.Errorf("--json %s: %+v, %v", c.flag, a, err)
		}
	}
}

func TestBadCommandLinesAreRefused(t *testing.T) {
	for _, args := range [][]string{{}, {"run"}, {"run", "--"}, {"run", "--nonsense", "-"}, {"walk"}, {"doctor", "x"}, {"run", "--wall"}} {
		a := (&fake{}).pdlt("", args...)
		if a.status != 2 || a.stdout != "" || !strings.HasPrefix(a.stderr, "pdlt: ") {
			t.Errorf("%q: %+v", args, a)
		}
	}
}

func TestBadProgramsAreRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	big := file("big.py", "")
	if err := os.Truncate(big, 1<<30); err != nil {
		t.Fatal(err)
	}
	latin := file("latin.py", "# ok\nprint('caf\xe9')\n")
	for _, c := range []struct{ path, line string }{
		{filepath.Join(dir, "none.py"), "found no such file; required: a file with the source of a Python program, or - for standard input [CLI_PROGRAM_INVALID]"},
		{dir, "found a directory; required: a file with the source of a Python program, or - for standard input [CLI_PROGRAM_INVALID]"},
		{os.DevNull, "found a device; required: a file with the source of a Python program, or - for standard input [CLI_PROGRAM_INVALID]"},
		{big, "found 1073741824 bytes; required: at most 16777216 bytes of source [CLI_PROGRAM_INVALID]"},
		{latin, "found byte 0xe9 at offset 15, line 2, which is not UTF-8; required: UTF-8, or a coding cookie in the first two lines [CLI_PROGRAM_ENCODING]\n" +
			"pdlt: hint: if the file is Latin-1, begin it with `# -*- coding: latin-1 -*-`"},
	} {
		f := &fake{}
		if got, want := f.pdlt("", "run", c.path), (answer{2, "", "pdlt: " + c.path + ": " + c.line + "\n"}); got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.path, got, want)
		}
		if f.opened != 0 {
			t.Errorf("%s: a backend was opened", c.path)
		}
	}
	// Standard input has no size to look at: one byte more than the bound is read, and no more.
	in := &endless{}
	got := (&fake{}).with(&app{stdin: in}, "run", "-")
	if want := "pdlt: standard input: found more than 16777216 bytes; required: at most 16777216 bytes of source [CLI_PROGRAM_INVALID]\n"; got.stderr != want || got.status != 2 {
		t.Errorf("got %+v, want %s", got, want)
	}
	if in.read != maxSource+1 {
		t.Errorf("%d bytes were read of an endless source", in.read)
	}
}

type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) { e.read += len(p); return len(p), nil }

func TestEncodingsArePythons(t *testing.T) {
	const e = "\nprint('\xe9')\n"
	for source, accepted := range map[string]bool{
		"print('é')":                             true,
		"":                                       true,
		"# -*- coding: latin-1 -*-" + e:          true,
		"#!/usr/bin/python\n# coding=x" + e:      true,
		"\n# vim: set fileencoding=cp1252 :" + e: true,
		"#a\r# coding: latin-1" + e:              true,
		"#a\r\n#coding:latin-1" + e:              true,
		"\xef\xbb\xbf" + e:                       true,
		"\f \t# coding: latin-1" + e:             true,
		e:                                        false,
		"x = 1\n# coding: latin-1" + e:           false,
		"#\n#\n# coding: latin-1" + e:            false,
		"x = 1 # coding: latin-1" + e:            false,
		"# coding : latin-1" + e:                 false,
		"\xff\xfep\x00":                          false,
		"'\xed\xa0\x80'":                         false, // a surrogate
	} {
		_, err := readSource("-", strings.NewReader(source))
		var r *confine.Refusal
		if (err == nil) != accepted || err != nil && (!errors.As(err, &r) || r.Code != codeEncoding) {
			t.Errorf("%q: %v, accepted should be %v", source, err, accepted)
		}
	}
}

func TestTheExitStatusAndTheLineSayWhatEndedTheProgram(t *testing.T) {
	limit := func(s confine.Stopped, l, o int64) confine.Outcome {
		return confine.Outcome{Stopped: s, Limit: &l, Observed: &o}
	}
	exit := func(o confine.Outcome, code int) confine.Outcome { o.ExitCode = &code; return o }
	sig := func(o confine.Outcome, n int) confine.Outcome { o.Signal = &n; return o }
	for _, c := range []struct {
		o      confine.Outcome
		status int
		line   string
	}{
		{exit(confine.Outcome{Stopped: confine.StoppedNone}, 0), 0, ""},
		{exit(confine.Outcome{Stopped: confine.StoppedNone}, 137), 137, ""},
		{sig(limit(confine.StoppedWall, 30000, 30002), 9), 124, "stopped by the wall clock: limit 30000 ms, observed 30002 ms"},
		{sig(limit(confine.StoppedCPU, 1000, 1003), 24), 152, "stopped by the limit of processor time: limit 1000 ms, observed 1003 ms"},
		{sig(limit(confine.StoppedCPU, 1000, 1003), 9), 152, "stopped by the limit of processor time: limit 1000 ms, observed 1003 ms"},
		{sig(limit(confine.StoppedMemory, 100, 101), 9), 137, "stopped by the memory limit: limit 100 bytes, observed 101 bytes"},
		{exit(limit(confine.StoppedMemory, 100, 101), 1), 137, "stopped by the memory limit: limit 100 bytes, observed 101 bytes"},
		{exit(limit(confine.StoppedSteps, 100, 101), 125), 125, "stopped by the step budget: limit 100 steps, observed 101 steps"},
		{exit(limit(confine.StoppedPids, 64, 64), 1), 1, "stopped by the limit of processes and threads: limit 64, observed 64"},
		{exit(limit(confine.StoppedDisk, 64<<20, 64<<20), 1), 1, "stopped by the disk limit: limit 67108864 bytes, observed 67108864 bytes"},
		{exit(limit(confine.StoppedDisk, 4096, 4096), 1), 1, "stopped by the disk limit: limit 4096 inodes, observed 4096 inodes"},
		{sig(limit(confine.StoppedOutput, 10, 12), 9), 137, "stopped by the output limit: limit 10 bytes of one stream, observed 12 bytes of one stream"},
		{sig(confine.Outcome{Stopped: confine.StoppedSignal}, 11), 139, "ended by signal 11"},
		{exit(confine.Outcome{Stopped: confine.StoppedDenied}, 1), 1, "ended by a refusal of the policy"},
		{sig(confine.Outcome{Stopped: confine.StoppedDenied, Tamper: ptr("the counter was changed")}, 9), 137, "stopped for tampering with the step counter: the counter was changed"},
		{confine.Outcome{Stopped: confine.StoppedLost}, 70, "lost: the confinement died under the program, and nothing else is known of it"},
	} {
		f := &fake{run: ended(c.o)}
		want := answer{status: c.status}
		if c.line != "" {
			want.stderr = "pdlt: " + c.line + "\n"
		}
		if got := f.pdlt("", "run", "-"); got != want {
			t.Errorf("%+v:\n got %+v\nwant %+v", c.o, got, want)
		}
		if got := f.pdlt("", "run", "--json", "-"); got.status != c.status || got.stderr != "" {
			t.Errorf("--json %+v: %+v", c.o, got)
		}
	}
}

func TestOutputIsExactAndOurLineIsItsOwn(t *testing.T) {
	var want [2]bytes.Buffer
	f := &fake{run: func(_ context.Context, s confine.Spec) (confine.Result, error) {
		for i := range 10000 {
			for j, w := range []io.Writer{s.Stdout, s.Stderr} {
				p := []byte{byte(i), 0, 0xff, byte(j), '\n', 'x'}
				want[j].Write(p)
				_, _ = w.Write(p)
				clear(p) // a writer must not keep what it is given
			}
		}
		return confine.Result{Outcome: confine.Outcome{Stopped: confine.StoppedSignal, Signal: ptr(9)}}, nil
	}}
	a := f.pdlt("", "run", "-")
	if a.stdout != want[0].String() {
		t.Error("standard output differs")
	}
	if a.stderr != want[1].String()+"\npdlt: ended by signal 9\n" {
		t.Errorf("standard error ends %q", a.stderr[max(0, len(a.stderr)-40):])
	}
}

func TestASlowReaderDoesNotHoldTheSupervisor(t *testing.T) {
	r, w := io.Pipe()
	wrote := make(chan struct{})
	f := &fake{run: func(_ context.Context, s confine.Spec) (confine.Result, error) {
		for range 100 {
			_, _ = s.Stdout.Write(make([]byte, 1<<16))
		}
		close(wrote) // nothing has been read yet
		return confine.Result{Outcome: confine.Outcome{Stopped: confine.StoppedNone, ExitCode: ptr(3)}}, nil
	}}
	done := make(chan answer)
	go func() { done <- f.with(&app{stdin: strings.NewReader(""), stdout: w}, "run", "-") }()
	<-wrote
	if n, err := io.Copy(io.Discard, io.LimitReader(r, 100<<16)); n != 100<<16 || err != nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if a := <-done; a.status != 3 {
		t.Errorf("%+v", a)
	}
}

func TestAReaderThatLeftEndsTheRunQuietly(t *testing.T) {
	for err, want := range map[error]answer{
		syscall.EPIPE:  {141, "", ""},
		syscall.ENOSPC: {70, "", "pdlt: write output: no space left on device\n"},
	} {
		f := &fake{run: func(ctx context.Context, s confine.Spec) (confine.Result, error) {
			_, _ = s.Stdout.Write([]byte("x"))
			<-ctx.Done() // killed
			return confine.Result{Outcome: confine.Outcome{Stopped: confine.StoppedCancelled, Signal: ptr(9)}}, nil
		}}
		got := f.with(&app{stdin: strings.NewReader(""), stdout: &brokenWriter{err}}, "run", "-")
		if got != want || f.closed != 1 {
			t.Errorf("%v: got %+v, want %+v, closed %d", err, got, want, f.closed)
		}
		f.run = nil
		if got := f.with(&app{stdin: strings.NewReader(""), stdout: &brokenWriter{err}}, "run", "--json", "-"); got != want {
			t.Errorf("--json %v: got %+v, want %+v", err, got, want)
		}
	}
}

type brokenWriter struct{ err error }

func (w *brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestAnInterruptKillsAndPrintsWhatIsKnown(t *testing.T) {
	for s, status := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		c := make(chan os.Signal, 1)
		interrupts := func() (<-chan os.Signal, func()) { return c, func() {} }
		f := &fake{run: func(ctx context.Context, spec confine.Spec) (confine.Result, error) {
			if spec.Stdout != nil {
				_, _ = spec.Stdout.Write([]byte("so far"))
			}
			c <- s
			<-ctx.Done()
			return confine.Result{Outcome: confine.Outcome{Stopped: confine.StoppedCancelled, Signal: ptr(9)}}, nil
		}}
		got := f.with(&app{stdin: strings.NewReader(""), interrupts: interrupts}, "run", "-")
		if want := (answer{status, "so far", "pdlt: interrupted by signal: " + s.String() + "\n"}); got != want || f.closed != 1 {
			t.Errorf("got %+v, want %+v, closed %d", got, want, f.closed)
		}
		got = f.with(&app{stdin: strings.NewReader(""), interrupts: interrupts}, "run", "--json", "-")
		if got.status != status || !strings.Contains(got.stdout, `"stopped":"cancelled"`) {
			t.Errorf("--json: %+v", got)
		}
		f.run = func(ctx context.Context, spec confine.Spec) (confine.Result, error) {
			c <- s
			<-ctx.Done()
			return confine.Result{}, ctx.Err()
		}
		got = f.with(&app{stdin: strings.NewReader(""), interrupts: interrupts}, "run", "-")
		if want := (answer{status, "", "pdlt: interrupted by signal: " + s.String() + " before the program started\n"}); got != want {
			t.Errorf("before the start: got %+v, want %+v", got, want)
		}
	}
}

func TestAnInterruptEndsTheWaitForASlowReader(t *testing.T) {
	c := make(chan os.Signal, 1)
	r, w := io.Pipe()
	defer r.Close()
	f := &fake{run: func(_ context.Context, s confine.Spec) (confine.Result, error) {
		_, _ = s.Stdout.Write([]byte("nobody reads this"))
		go func() { c <- syscall.SIGINT }()
		return confine.Result{Outcome: confine.Outcome{Stopped: confine.StoppedNone, ExitCode: ptr(0)}}, nil
	}}
	got := f.with(&app{stdin: strings.NewReader(""), stdout: w, interrupts: func() (<-chan os.Signal, func()) { return c, func() {} }}, "run", "-")
	if got.status != 130 || f.closed != 1 {
		t.Errorf("%+v, closed %d", got, f.closed)
	}
}

func TestJSONIsOneObjectAndNotForHTML(t *testing.T) {
	f := &fake{run: ended(confine.Outcome{Stopped: confine.StoppedNone, ExitCode: ptr(0), Stdout: confine.Stream{Text: "<a&b>", Bytes: 5}})}
	a := f.pdlt("", "run", "--json", "-")
	if a.status != 0 || strings.Count(a.stdout, "\n") != 1 || !strings.Contains(a.stdout, "<a&b>") || a.stderr != "" {
		t.Errorf("%+v", a)
	}
	var got confine.Result
	if err := json.Unmarshal([]byte(a.stdout), &got); err != nil || got.Outcome.Stdout.Text != "<a&b>" {
		t.Errorf("%v %+v", err, got)
	}
	if f.spec.Stdout != nil || f.spec.Stderr != nil {
		t.Error("the program's output would be printed beside the object")
	}
}

func TestFaultsAreOurs(t *testing.T) {
	f := &fake{run: func(context.Context, confine.Spec) (confine.Result, error) {
		return confine.Result{}, errors.New("disk failed")
	}}
	if got, want := f.pdlt("", "run", "-"), (answer{70, "", "pdlt: disk failed\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := f.pdlt("", "run", "--json", "-"), (answer{70, `{"fault":{"error":"disk failed"}}` + "\n", "pdlt: disk failed\n"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDoctorPrintsALineForEachFacet(t *testing.T) {
	f := &fake{diagnosis: confine.Diagnosis{Backend: "native", Rung: "full", Kernel: "6.1", Cgroup: "v2", Notes: []string{"a note"}, Facets: []confine.Proof{
		{Facet: confine.FSRead, Enforced: true, By: "Landlock", Tried: "read a file", Found: "ENOENT"},
		{Facet: confine.Net, By: "seccomp", Tried: "connect", Found: "done", Fix: "do this\nand that"},
		{Facet: confine.IPC, By: "seccomp", Tried: "attach", Found: "done", Fix: "do this\nand that"},
		{Facet: confine.Env, Vacuous: true, Tried: "look", Found: "nothing", Baseline: "nothing"},
	}}}
	const want = `backend native, rung full, kernel 6.1, cgroup v2

fs-read    enforced      by Landlock; tried to read a file; found ENOENT
net        NOT enforced  by seccomp; tried to connect; found done
           fix: do this
                and that
ipc        NOT enforced  by seccomp; tried to attach; found done
           fix: as for net
env        vacuous       by nothing; tried to look; found nothing
           unconfined it is the same, so this proves nothing: nothing

note: a note
`
	if got := f.pdlt("", "doctor"); got != (answer{1, want + "required and not proven: net, ipc, env\n", ""}) {
		t.Errorf("got %+v\n%s", got, got.stdout)
	}
	if !f.options.NoHints {
		t.Error("sentences are on: the kernel is to answer")
	}
	if got := f.pdlt("", "doctor", "--require", "fs-read"); got != (answer{0, want + "every required facet holds\n", ""}) {
		t.Errorf("got %+v", got)
	}
	got := f.pdlt("", "doctor", "--json")
	var d confine.Diagnosis
	if err := json.Unmarshal([]byte(got.stdout), &d); err != nil || got.status != 1 || cmp.Diff(f.diagnosis, d) != "" {
		t.Errorf("%+v %v", got, err)
	}
}

func TestDoctorTellsAGapFromWrongUse(t *testing.T) {
	for err, want := range map[*confine.Refusal]int{
		{Code: confine.CodeBackendUnavailable, Path: "$.sandbox", Found: "x", Required: "y", Hint: "the fix"}: 1,
		{Code: confine.CodeFacetUnavailable, Path: "$.policy", Found: "step", Required: "y"}:                  1,
		{Code: confine.CodeInterpreter, Path: "/bin/false", Found: "x", Required: "y"}:                        2,
	} {
		var out, errs bytes.Buffer
		a := &app{stdout: &out, stderr: &errs, interrupts: func() (<-chan os.Signal, func()) { return nil, func() {} },
			open: func(string, confine.Options) (confine.Confiner, error) { return nil, err }}
		if got := a.main([]string{"doctor"}); got != want || out.Len() > 0 || !strings.Contains(errs.String(), err.Found) || !strings.Contains(errs.String(), err.Hint) {
			t.Errorf("%v: status %d, want %d\n%s", err, got, want, errs.String())
		}
	}
	if a := (&fake{}).pdlt("", "doctor", "--sandbox", "audit-only"); a.status != 2 {
		t.Errorf("%+v", a)
	}
}

func TestVersion(t *testing.T) {
	if a := (&fake{}).pdlt("", "version"); a.status != 0 || !strings.HasPrefix(a.stdout, "pdlt "+version+" go") {
		t.Errorf("%+v", a)
	}
}
