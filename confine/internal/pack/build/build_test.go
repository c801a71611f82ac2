package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pdlt.dev/pdlt/confine/internal/pack"
)

func TestWhatThePackKeeps(t *testing.T) {
	for _, c := range []struct {
		name    string
		windows bool
		linked  bool
		want    bool
	}{
		{"bin/python3.14", false, true, true},
		{"bin/pip3", false, true, false},
		{"lib/libpython3.14.so.1.0", false, true, false},
		{"lib/libpython3.14.so.1.0", false, false, true},
		{"lib/libtcl9.0.so", false, false, false},
		{"lib/python3.14/os.py", false, true, true},
		{"lib/python3.14/unittest/mock.py", false, true, true},
		{"lib/python3.14/tkinter/__init__.py", false, true, false},
		{"lib/python3.14/config-3.14-x86_64-linux-gnu/Makefile", false, true, false},
		{"lib/python3.14/lib-dynload/_x.so", false, true, false},
		{"lib/python3.14/xml/test/x.py", false, true, false},
		{"files.json", false, true, false},
		{"python.exe", true, false, true},
		{"pythonw.exe", true, false, false},
		{"python314.dll", true, false, true},
		{"DLLs/_ssl.pyd", true, false, true},
		{"DLLs/_testcapi.pyd", true, false, false},
		{"DLLs/tcl86t.dll", true, false, false},
		{"Lib/os.py", true, false, true},
		{"Lib/idlelib/x.py", true, false, false},
		{"tcl/reg1.3/x", true, false, false},
	} {
		lib := "lib/python3.14"
		if c.windows {
			lib = "Lib"
		}
		if got := keep(c.name, lib, c.windows, c.linked); got != c.want {
			t.Errorf("%s (windows %v, linked %v): got %v, want %v", c.name, c.windows, c.linked, got, c.want)
		}
	}
}

// A second build, in another place and from nothing, must give the digest of the first. It needs what the first one left: the module
// in the cache and a compiler.
func TestEqualInputsGiveEqualDigests(t *testing.T) {
	const first = "../../../../bin/pack"
	b := builder{os: runtime.GOOS, arch: runtime.GOARCH, out: filepath.Join(t.TempDir(), "pack"), root: "../../../..", log: io.Discard}
	stored, err := os.ReadFile(filepath.Join(first, ".key"))
	if err != nil {
		t.Skip("there is no bin/pack: run make pack")
	}
	key, digest, _ := strings.Cut(strings.TrimSpace(string(stored)), " ")
	now, err := b.key()
	if err != nil {
		t.Skipf("no compiler: %v", err)
	}
	if now != key {
		t.Skip("bin/pack was made from other inputs: run make pack")
	}
	if err := os.Mkdir(b.out, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(b.out) })
	got, err := b.install()
	if err != nil {
		t.Fatal(err)
	}
	if got != digest {
		t.Errorf("got %s, want %s: compare the two MANIFEST files", got, digest)
	}
	if !b.intact(got) {
		t.Error("the pack that was installed is not intact")
	}
	p, err := pack.Open(filepath.Join(b.out, got))
	if err != nil {
		t.Fatal(err)
	}
	if p.Version != pythonVersion || p.Platform != native {
		t.Errorf("got %s for %s, want %s for %s", p.Version, p.Platform, pythonVersion, native)
	}
	if p.CellSO == "" && runtime.GOOS == "linux" {
		t.Error("the pack has no native helper")
	}
}
