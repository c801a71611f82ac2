package confine

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/confinetest"
)

// holdings is everything that a run could leave behind and that can be counted from here.
type holdings struct {
	files, processes, mounts, cgroups int
	rss                               int64 // kilobytes
}

func holdingsNow(t *testing.T) holdings {
	t.Helper()
	h := holdings{files: len(confinetest.OpenFiles()), processes: len(confinetest.Descendants()), mounts: len(mountLines()), cgroups: len(cgroupsOf(t, os.Getpid()))}
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			_, _ = fmt.Sscan(rest, &h.rss)
		}
	}
	return h
}

// cgroupsOf lists the cgroup folders that a server of that pid made; 0 means any server.
func cgroupsOf(t *testing.T, pid int) []string {
	t.Helper()
	prefix := "pdlt-"
	if pid > 0 {
		prefix += strconv.Itoa(pid) + "-"
	}
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), prefix) {
			found = append(found, name)
		}
		return nil
	})
	return found
}

// most is the larger of each.
func (h holdings) most(o holdings) holdings {
	return holdings{files: max(h.files, o.files), processes: max(h.processes, o.processes), mounts: max(h.mounts, o.mounts), cgroups: max(h.cgroups, o.cgroups), rss: max(h.rss, o.rss)}
}

func TestThousandsOfRunsLeaveNothingAndMemoryIsFlat(t *testing.T) {
	confinetest.Offer(nativeBackend(t))
	confinetest.Need(t, confine.FSRead)
	for mode, runs := range map[confine.StartMode]int{confine.StartZygote: 10_000, confine.StartWarm: 300, confine.StartCold: 300} {
		t.Run(string(mode), func(t *testing.T) {
			if testing.Short() {
				runs /= 10
			}
			b := nativeBackend(t)
			b.Options.Start = mode
			before := holdingsNow(t)
			c, err := b.Open(b.Options)
			if err != nil {
				t.Fatal(err)
			}
			var early, late holdings
			for i := range runs {
				res, err := c.Run(context.Background(), confine.Spec{Program: confine.Python([]byte("print(6*7)")), Limits: confine.Limits{Steps: 1000}})
				if err != nil {
					t.Fatalf("run %d: %v", i, err)
				}
				if !res.Outcome.Clean() || res.Outcome.Stdout.Text != "42\n" || res.Outcome.Steps == nil || *res.Outcome.Steps > 20 {
					t.Fatalf("run %d: %+v", i, res.Outcome)
				}
				if i <= runs/5 && i%max(1, runs/100) == 0 {
					early = early.most(holdingsNow(t)) // not one moment: a zygote may just be making room for the next
				}
			}
			late = holdingsNow(t)
			if late.rss > early.rss+16<<10 {
				t.Errorf("memory grew from %d kB after %d runs to %d kB after %d", early.rss, runs/5, late.rss, runs)
			}
			if late.files > early.files+4 || late.mounts != early.mounts || late.processes > early.processes+6 || late.cgroups > early.cgroups+6 {
				t.Errorf("after %d runs %+v, after %d %+v", runs/5, early, runs, late)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			after := holdingsNow(t)
			for begin := time.Now(); after.processes > before.processes && time.Since(begin) < 2*time.Second; after = holdingsNow(t) {
				time.Sleep(10 * time.Millisecond)
			}
			if after.files > before.files+2 || after.processes != before.processes || after.mounts != before.mounts || after.cgroups != before.cgroups {
				t.Errorf("before %+v, after closing %+v", before, after)
			}
		})
	}
}

// kills is how often a process is killed in each way: 50 in all.
const kills = 25

func TestNothingOutlivesAKilledServer(t *testing.T) {
	b := nativeBackend(t)
	confinetest.Offer(b)
	confinetest.Need(t, confine.FSRead)
	victim := filepath.Join(t.TempDir(), "victim")
	if out, err := exec.Command("go", "build", "-o", victim, "./victim").CombinedOutput(); err != nil {
		t.Fatalf("build victim: %v\n%s", err, out)
	}
	pdlt, err := filepath.Abs("../../bin/pdlt")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "sleep.py")
	if err := os.WriteFile(program, []byte("import time\ntime.sleep(60)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	modes := []string{"cold", "warm", "zygote"}
	// What loses its parent becomes a child of this process and can be counted, whoever else uses the engine meanwhile.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	// What a stranger's group holds is no business of the sweep, and of this test only what appears during it.
	mounts, before, groups, seen := mountLines(), confinetest.Descendants(), cgroupsOf(t, 0), 0
	for i := range 2 * kills {
		cmd := exec.Command(victim, b.Options.Pack, modes[i%3])
		if i%2 == 1 {
			cmd = exec.Command(pdlt, "run", "--start", modes[i%3], program)
			cmd.Env = append(os.Environ(), "PDLT_PACK="+b.Options.Pack)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Half of them while they set up, half while programs run.
		wait := time.Duration(rand.Int64N(int64(40 * time.Millisecond)))
		if i%4 >= 2 {
			wait += 150 * time.Millisecond
		}
		time.Sleep(wait)
		seen = max(seen, len(confinetest.Descendants())-len(before))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		alive := orphans(before)
		for begin := time.Now(); len(alive) > 0 && time.Since(begin) < 2*time.Second; alive = orphans(before) {
			time.Sleep(5 * time.Millisecond)
		}
		if len(alive) > 0 {
			t.Fatalf("2 s after kill %d (%v in): still there: %v", i, wait, alive)
		}
	}
	if seen < 3 {
		t.Errorf("no victim was seen with more than %d processes: nothing was tested", seen)
	}
	for line := range mountLines() {
		if !mounts[line] {
			t.Errorf("a mount is left: %s", line)
		}
	}
	// The next server's start takes away what only a living process can: the folders of the control groups.
	c, err := b.Open(b.Options)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range cgroupsOf(t, 0) {
		pid, _ := strconv.Atoi(strings.Split(filepath.Base(dir), "-")[1])
		if slices.Contains(groups, dir) {
			continue
		}
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
			t.Errorf("a cgroup is left after the sweep: %s", dir)
		}
	}
}

// orphans lists what a killed server left alive. Its processes become this one's, which is their reaper.
func orphans(before map[int]string) map[int]string {
	left := map[int]string{}
	for pid, name := range confinetest.Descendants() {
		if _, old := before[pid]; old {
			continue
		}
		if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err == nil && got == pid {
			continue // was dead
		}
		left[pid] = name
	}
	return left
}
