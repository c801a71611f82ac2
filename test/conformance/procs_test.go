package conformance

import (
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

// stat reads what the kernel says of a process. It fails for one that is gone, and elsewhere than on Linux for all.
func stat(pid int) (parent int, p process, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, p, err
	}
	// proc_pid_stat(5): the name, which may hold anything, ends with the last parenthesis; state is field 3.
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if f[0] == "Z" {
		return 0, p, os.ErrNotExist
	}
	parent, err = strconv.Atoi(f[1])
	if err != nil {
		return 0, p, err
	}
	began, err := strconv.Atoi(f[19])
	return parent, process{pid, began}, err
}

// descendants are a process and all that it started, as far as they were not given to another parent.
func descendants(pid int) (all []process) {
	parents, alive := map[int]int{}, map[int]process{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			if parent, p, err := stat(n); err == nil {
				parents[n], alive[n] = parent, p
			}
		}
	}
	for n, p := range alive {
		for up, known := n, true; known && up > 1; up, known = parents[up], parents[up] != 0 {
			if up == pid {
				all = append(all, p)
				break
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
			_, now, err := stat(p.pid)
			return err != nil || now != p
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
