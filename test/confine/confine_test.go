// Package confine runs the suite of confinetest against every backend that is compiled in.
package confine

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/confinetest"
	"pdlt.dev/pdlt/confine/native"
)

// packs is where the build leaves the interpreter pack.
const packs = "../../bin/pack"

func TestMain(m *testing.M) {
	confine.Stage()
	mounts, files := mountLines(), len(confinetest.OpenFiles())
	code := m.Run()
	if code == 0 {
		code = leftovers(mounts, files)
	}
	os.Exit(code)
}

// leftovers says what the tests left on the machine.
func leftovers(mounts map[string]bool, files int) (code int) {
	complain := func(format string, a ...any) {
		fmt.Fprintf(os.Stderr, "left behind: "+format+"\n", a...)
		code = 1
	}
	left := confinetest.Descendants()
	for begin := time.Now(); len(left) > 0 && time.Since(begin) < 2*time.Second; left = confinetest.Descendants() {
		time.Sleep(10 * time.Millisecond)
	}
	if len(left) > 0 {
		complain("processes %v", left)
	}
	for line := range mountLines() {
		if !mounts[line] {
			complain("mount %s", line)
		}
	}
	if now := confinetest.OpenFiles(); len(now) > files+4 { // the runtime's poller and its pipes
		complain("descriptors: %d before, now %v", files, now)
	}
	_ = filepath.WalkDir("/sys/fs/cgroup", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.Contains(d.Name(), "pdlt") && strings.Contains(d.Name(), strconv.Itoa(os.Getpid())) {
			complain("cgroup %s", name)
		}
		return nil
	})
	return code
}

func mountLines() map[string]bool {
	lines := map[string]bool{}
	b, _ := os.ReadFile("/proc/self/mountinfo")
	for _, l := range strings.Split(string(b), "\n") {
		lines[l] = true
	}
	return lines
}

func nativeBackend(t *testing.T) confinetest.Backend {
	t.Helper()
	pack, err := filepath.Abs(packs)
	if err != nil {
		t.Fatal(err)
	}
	b := confinetest.Backend{Name: native.Name, Open: native.Open, Options: confine.Options{Pack: pack}}
	pythons, _ := filepath.Glob(filepath.Join(pack, "*", "bin", "python3.*"))
	if len(pythons) > 0 {
		// The interpreter of the pack itself, without anything around it.
		b.Bare = []string{slices.MaxFunc(pythons, newer), "-I", "-S"}
	}
	return b
}

func newer(a, b string) int {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	if errA != nil || errB != nil {
		return strings.Compare(a, b)
	}
	return x.ModTime().Compare(y.ModTime())
}

func TestNative(t *testing.T) { confinetest.Run(t, nativeBackend(t)) }

// A host's interpreter, where one is, passes the same suite. It starts cold only: the suite has tried the modes with the pack.
func TestNativeWithAHostInterpreter(t *testing.T) {
	found := map[string]bool{}
	for _, p := range []string{"/usr/bin/python3", "/usr/local/bin/python3"} {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			found[real] = true
		}
	}
	if len(found) == 0 {
		t.Skip("no Python on this host")
	}
	b := nativeBackend(t)
	b.Options.Python = slices.Min(slices.Collect(maps.Keys(found)))
	b.Modes = []confine.StartMode{confine.StartCold}
	confinetest.Run(t, b)
}
