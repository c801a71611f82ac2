package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// process is one process for all time: its number alone would be used again.
type process struct{ pid, began int }

// facts are what the kernel says of a process.
type facts struct {
	process
	parent int
	ticks  int // of processor time in user mode; 100 are a second
}

// stat fails for a process that is gone, and elsewhere than on Linux for all.
func stat(pid int) (f facts, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return f, err
	}
	// proc_pid_stat(5): the name, which may hold anything, ends with the last parenthesis; what follows begins with field 3.
	field := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if field[0] == "Z" {
		return f, os.ErrNotExist
	}
	f.pid = pid
	var errs [3]error
	f.parent, errs[0] = strconv.Atoi(field[4-3])
	f.ticks, errs[1] = strconv.Atoi(field[14-3])
	f.began, errs[2] = strconv.Atoi(field[22-3])
	return f, errors.Join(errs[:]...)
}

// descendants are a process and all that it started, as far as they were not given to another parent.
func descendants(pid int) (all []process) {
	known := map[int]facts{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			if f, err := stat(n); err == nil {
				known[n] = f
			}
		}
	}
	for _, f := range known {
		for up, ok := f, true; ok; up, ok = known[up.parent] {
			if up.pid == pid {
				all = append(all, f.process)
				break
			}
		}
	}
	return all
}

// working waits until something below a process is at work and not only starting, and gives what is.
func working(t *testing.T, pid int) (all []process) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("processes are counted in /proc")
	}
	for deadline := time.Now().Add(patience); len(all) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing works below process %d: %v", pid, descendants(pid))
		}
		for _, p := range descendants(pid) {
			// A start takes some 2 ticks.
			if f, err := stat(p.pid); err == nil && f.process == p && p.pid != pid && f.ticks > 50 {
				all = append(all, p)
			}
		}
	}
	return all
}

// waitGone waits until none of the processes is there any more, and says how long that took: issue B allows 2 s.
func waitGone(t *testing.T, family []process) {
	t.Helper()
	began := time.Now()
	left := slices.Clone(family)
	for {
		left = slices.DeleteFunc(left, func(p process) bool {
			now, err := stat(p.pid)
			return err != nil || now.process != p
		})
		switch {
		case len(left) == 0:
			t.Logf("%d processes were gone within %v", len(family), time.Since(began).Round(time.Millisecond))
			return
		case time.Since(began) > lifespan:
			t.Fatalf("of %d processes, %v live on", len(family), left)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// lifespan is far beyond the 2 s that a dying server has, on any machine, and short of the time that a program would sleep.
const lifespan = 15 * time.Second

// peak is the most memory that a process has had at once, and nothing where the kernel does not keep it.
func peak(t *testing.T, pid int) (bytes int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("no VmHWM in %s", b)
	return 0
}
