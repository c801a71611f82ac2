package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHierarchiesAreFoundWhereTheyAreMounted(t *testing.T) {
	for _, c := range []struct {
		name, cgroup, mountinfo string
		want                    map[string]string
	}{
		{"v2 only", "0::/user.slice/app\n", "30 1 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n", map[string]string{"": "/sys/fs/cgroup/user.slice/app"}},
		{"hybrid, inside a memory group", "4:memory:/a/b\n8:pids:/\n2:cpu,cpuacct:/c\n0::/\n",
			"35 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n" +
				"33 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			map[string]string{"memory": "/sys/fs/cgroup/memory/a/b", "pids": "/sys/fs/cgroup/pids", "cpu": "/sys/fs/cgroup/cpu,cpuacct/c", "cpuacct": "/sys/fs/cgroup/cpu,cpuacct/c", "": "/sys/fs/cgroup/unified"}},
		{"a container that sees its own part", "4:memory:/docker/abc/x\n", "35 31 0:31 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			map[string]string{"memory": "/sys/fs/cgroup/memory/x"}},
		{"a mount that does not show this process", "4:memory:/other\n", "35 31 0:31 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n", map[string]string{}},
		{"a space in the mount point", "0::/\n", `30 1 0:26 / /cg\040roup rw - cgroup2 cgroup2 rw` + "\n", map[string]string{"": "/cg roup"}},
		{"nothing that can be read", "garbage\n1:2\n", "x\n - \n", map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, hierarchies(c.cgroup, c.mountinfo)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func FuzzHierarchies(f *testing.F) {
	f.Add("4:memory:/a\n0::/\n", "35 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")
	f.Add("0::/", `1 1 0:1 / /\134\ rw - cgroup2 c rw`)
	f.Fuzz(func(t *testing.T, a, b string) { hierarchies(a, b) })
}

// mode gives a usable mode, or skips with the reason.
func mode(t *testing.T) Mode {
	t.Helper()
	m := Probe()
	if !m.Usable() {
		t.Skip("no usable cgroup: " + m.Reason)
	}
	return m
}

func TestLimitsAreReadBackAndAProcessInTheGroupIsCharged(t *testing.T) {
	m := mode(t)
	s, err := Open(m)
	if err != nil {
		t.Fatal(err)
	}
	slot, err := s.Slot("slot-0")
	if err != nil {
		t.Fatal(err)
	}
	if m.Kind == V1 {
		if err := slot.SetLimits(32<<20, 8); err != nil {
			t.Error(err)
		}
		if err := slot.SetLimits(64<<20, 8); err != nil {
			t.Error("raise the limit:", err)
		}
		if err := slot.SetLimits(16<<20, 8); err != nil {
			t.Error("lower the limit:", err)
		}
		if err := slot.ResetPeaks(); err != nil {
			t.Error(err)
		}
	}
	cmd := exec.Command("/bin/sh", "-c", "read x; exec true")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := slot.Join(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if m.Kind == V1 && slot.Usage().MemoryPeak == 0 {
		t.Error("a process ran in the group and no memory was charged")
	}
	if err := slot.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, parent := range m.Dirs {
		if left, _ := filepath.Glob(filepath.Join(parent, s.name+"*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestSweepTakesTheDeadAndNothingElse(t *testing.T) {
	m := mode(t)
	live, err := Open(m)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	dead := exec.Command("/bin/true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	var parent string
	for _, parent = range m.Dirs {
	}
	// Servers that were started from a group beside ours.
	var beside []string
	for _, own := range m.Dirs {
		if above := filepath.Dir(own); isGroup(above) {
			dir := filepath.Join(above, "beside-"+strconv.Itoa(os.Getpid()))
			left := filepath.Join(dir, prefix+strconv.Itoa(dead.Process.Pid)+"-12345-1")
			if err := os.MkdirAll(left, 0o755); err != nil {
				t.Logf("no folder beside this process's group: %v", err)
				continue
			}
			defer os.Remove(dir)
			defer os.Remove(left)
			beside = append(beside, left)
		}
	}
	names := map[string]bool{ // name: must be gone
		prefix + strconv.Itoa(dead.Process.Pid) + "-12345-1":     true,  // its pid lives no more, or is another process's
		prefix + strconv.Itoa(os.Getpid()) + "-1-1":              true,  // this pid at another start time
		prefix + strconv.Itoa(dead.Process.Pid) + "-12-probe":    true,  // killed while it probed
		"foreign-" + strconv.Itoa(dead.Process.Pid) + "-12345-1": false, // not ours by name
	}
	for name := range names {
		if err := os.Mkdir(filepath.Join(parent, name), 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(filepath.Join(parent, name))
	}
	if _, err := Sweep(m); err != nil {
		t.Fatal(err)
	}
	for name, gone := range names {
		if _, err := os.Stat(filepath.Join(parent, name)); os.IsNotExist(err) != gone {
			t.Errorf("%s: gone is %v, want %v", name, !gone, gone)
		}
	}
	for _, dir := range beside {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("left in a group beside ours: %s", dir)
		}
	}
	if _, err := os.Stat(filepath.Join(parent, live.name)); err != nil || !strings.HasPrefix(live.name, prefix) {
		t.Errorf("the sweep took a live server's folder: %v", err)
	}
}
