//go:build linux

// Command bench measures the engine beside a bare interpreter in one run and prints one line for each figure, "bench NAME VALUE".
// Every ratio has its own baseline, taken in turn with what it is compared to, so that a machine whose speed drifts does not decide it.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pdlt.dev/pdlt/confine"
	_ "pdlt.dev/pdlt/confine/native"
)

// hello is the program of every start figure, confined and bare.
const hello = "print(6*7)"

var (
	packDir = flag.String("pack", "bin/pack", "folder of the interpreter pack")
	pdlt    = flag.String("pdlt", "bin/pdlt", "the command that serves")
	bare    = flag.String("bare", "", "bare interpreter to compare with (default: the host's python3 outside any shim, else the pack's)")
	pairs   = flag.Int("n", 300, "pairs of runs for each start figure")
	window  = flag.Duration("window", 2*time.Second, "length of each throughput block")
)

func main() {
	confine.Stage()
	flag.Parse()
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure() error {
	dir, err := filepath.Abs(*packDir)
	if err != nil {
		return err
	}
	host := *bare
	if host == "" {
		if _, err := os.Stat("/usr/bin/python3"); err == nil {
			host = "/usr/bin/python3"
		}
	}
	python := host
	if python == "" {
		matches, _ := filepath.Glob(filepath.Join(dir, "*", "bin", "python3*"))
		if len(matches) == 0 {
			return fmt.Errorf("no bare interpreter and no pack in %s", dir)
		}
		python = matches[0]
	}
	fmt.Printf("# bare interpreter: %s; %d pairs\n", python, *pairs)
	bareRun := func() error { return exec.Command(python, "-I", "-S", "-c", hello).Run() }

	zygote, err := confine.Open("native", confine.Options{Pack: dir, Start: confine.StartZygote})
	if err != nil {
		return err
	}
	defer zygote.Close()
	a, b, err := paired(*pairs, run(zygote, hello), bareRun)
	if err != nil {
		return err
	}
	print("zygote_p50_ratio", quantile(a, 0.50)/quantile(b, 0.50))
	print("zygote_p95_ratio", quantile(a, 0.95)/quantile(b, 0.50))

	for _, m := range []struct {
		name string
		o    confine.Options
	}{{"warm_p50_ratio", confine.Options{Pack: dir, Start: confine.StartWarm}}, {"cold_p50_ratio", confine.Options{Pack: dir, Start: confine.StartCold, Python: host}}} {
		c, err := confine.Open("native", m.o)
		if err != nil {
			return err
		}
		a, b, err := paired(*pairs/2, run(c, hello), bareRun)
		c.Close()
		if err != nil {
			return err
		}
		print(m.name, quantile(a, 0.50)/quantile(b, 0.50))
	}

	var mine, theirs []float64
	for range 3 {
		n, err := throughput(run(zygote, hello))
		if err != nil {
			return err
		}
		m, err := throughput(bareRun)
		if err != nil {
			return err
		}
		mine, theirs = append(mine, n), append(theirs, m)
	}
	print("throughput_ratio", quantile(mine, 0.5)/quantile(theirs, 0.5))

	for _, s := range []struct{ name, source string }{
		{"steps_loop_ratio", "for i in range(10_000_000): pass"},
		{"steps_calls_ratio", "def fib(n):\n    return n if n < 2 else fib(n-1) + fib(n-2)\nfib(27)\n"},
	} {
		var counted, plain []float64
		for range 5 {
			for _, side := range []struct {
				steps uint64
				to    *[]float64
			}{{1 << 40, &counted}, {0, &plain}} {
				res, err := zygote.Run(context.Background(), confine.Spec{Program: confine.Python([]byte(s.source)), Limits: confine.Limits{Wall: time.Minute, Steps: side.steps}})
				if err != nil {
					return err
				}
				if !res.Outcome.Clean() {
					return fmt.Errorf("%s: ended by %s: %s", s.name, res.Outcome.Stopped, res.Outcome.Stderr.Text)
				}
				*side.to = append(*side.to, res.Outcome.Usage.CPUMS)
			}
		}
		print(s.name, quantile(counted, 0.5)/quantile(plain, 0.5))
	}
	a, b, parallel, err := overMCP(dir, bareRun)
	if err != nil {
		return err
	}
	print("mcp_p50_ratio", quantile(a, 0.50)/quantile(b, 0.50))
	print("mcp_p99_ratio", quantile(a, 0.99)/quantile(b, 0.50))
	print("mcp_parallel8_ratio", parallel)
	cell, idle := memory()
	print("cell_private_mb", cell)
	print("server_idle_mb", idle)
	return nil
}

func print(name string, v float64) { fmt.Printf("bench %s %.3f\n", name, v) }

// run gives a function that runs source once, completely, and checks its output.
func run(c confine.Confiner, source string) func() error {
	spec := confine.Spec{Program: confine.Python([]byte(source)), Limits: confine.Limits{Steps: 10_000_000}}
	return func() error {
		res, err := c.Run(context.Background(), spec)
		if err != nil {
			return err
		}
		if res.Outcome.Stdout.Text != "42\n" || !res.Outcome.Clean() {
			return fmt.Errorf("outcome %+v", res.Outcome)
		}
		return nil
	}
}

// paired times a and b in turn, n times after a warm-up, in milliseconds.
func paired(n int, a, b func() error) (ta, tb []float64, err error) {
	for i := range n + 10 {
		for _, side := range []struct {
			f  func() error
			to *[]float64
		}{{a, &ta}, {b, &tb}} {
			begin := time.Now()
			if err := side.f(); err != nil {
				return nil, nil, err
			}
			if i >= 10 {
				*side.to = append(*side.to, float64(time.Since(begin).Microseconds())/1000)
			}
		}
	}
	return ta, tb, nil
}

// throughput counts runs a second with two in flight.
func throughput(f func() error) (float64, error) {
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	begin := time.Now()
	for range 2 {
		wg.Go(func() {
			for time.Since(begin) < *window {
				if err := f(); err != nil {
					failed.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(begin).Seconds(), nil
}

func quantile(v []float64, q float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[min(len(v)-1, int(q*float64(len(v))))]
}

// overMCP pairs calls of run_python to a server, one after the other, with bare runs. parallel is the time of 8 calls that are sent at once over that of
// one, for a program that computes: 8 divided by the slots is what can be had.
func overMCP(pack string, bareRun func() error) (mine, theirs []float64, parallel float64, err error) {
	logs, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, nil, 0, err
	}
	defer os.RemoveAll(logs)
	server := exec.Command(*pdlt, "serve", "--pack", pack, "--work-calls", strconv.Itoa(*pairs+200), "--sessions", filepath.Join(logs, "none"), "--slots", "2")
	server.Stderr = os.Stderr
	in, err1 := server.StdinPipe()
	out, err2 := server.StdoutPipe()
	if err := errors.Join(err1, err2, server.Start()); err != nil {
		return nil, nil, 0, err
	}
	defer func() {
		in.Close()
		err = errors.Join(err, server.Wait())
	}()
	lines := bufio.NewReader(out)
	id := 0
	send := func(method, params string) error {
		id++
		_, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		return err
	}
	receive := func(want string) error {
		line, err := lines.ReadString('\n')
		if err == nil && !strings.Contains(line, want) {
			err = fmt.Errorf("the server answered %.500s", line)
		}
		return err
	}
	if err := errors.Join(send("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`), receive("serverInfo")); err != nil {
		return nil, nil, 0, err
	}
	calls := func(n int, source string) error {
		for range n {
			if err := send("tools/call", `{"name":"run_python","arguments":{"code":"`+source+`"}}`); err != nil {
				return err
			}
		}
		for range n {
			if err := receive(`standard output:\n42`); err != nil {
				return err
			}
		}
		return nil
	}
	if mine, theirs, err = paired(*pairs, func() error { return calls(1, hello) }, bareRun); err != nil {
		return nil, nil, 0, err
	}
	const busy = "sum(range(10_000_000)); " + hello
	eight, one, err := paired(5, func() error { return calls(8, busy) }, func() error { return calls(1, busy) })
	if err != nil {
		return nil, nil, 0, err
	}
	return mine, theirs, quantile(eight, 0.5) / quantile(one, 0.5), nil
}

// memory gives the private megabytes of one waiting cell (its init and its program process), and those of this process together with its
// launchers and waiting cells.
func memory() (cell, idle float64) {
	idle = rollup(os.Getpid(), "Pss:")
	for _, launcher := range children(os.Getpid()) {
		idle += rollup(launcher, "Pss:")
		for _, init := range children(launcher) {
			private := rollup(init, "Private_Clean:", "Private_Dirty:")
			idle += rollup(init, "Pss:")
			for _, program := range children(init) {
				private += rollup(program, "Private_Clean:", "Private_Dirty:")
				idle += rollup(program, "Pss:")
			}
			cell = max(cell, private)
		}
	}
	return cell, idle
}

func children(pid int) []int {
	var out []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, t := range tasks {
		b, _ := os.ReadFile(t)
		for _, f := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(f); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

func rollup(pid int, fields ...string) float64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	var kb float64
	for _, line := range strings.Split(string(b), "\n") {
		for _, f := range fields {
			if rest, ok := strings.CutPrefix(line, f); ok {
				n, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
				kb += n
			}
		}
	}
	return kb / 1024
}
