//go:build linux && cgo

package native

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/internal/cell"
)

func TestLargeTextIsTheFilesAndCannotBeWritten(t *testing.T) {
	p, err := findPack("../../bin/pack")
	if err != nil {
		t.Skip("no pack: ", err)
	}
	text, err := enlarge(p.Python)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer text.file.Close()
	f, err := elf.Open(p.Python)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, b := range text.blocks {
		have, want := make([]byte, cell.LargePage), make([]byte, cell.LargePage)
		if _, err := text.file.ReadAt(have, int64(b.Offset)); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, s := range f.Progs {
			if s.Type == elf.PT_LOAD && b.Address >= s.Vaddr && b.Address+cell.LargePage <= s.Vaddr+s.Filesz {
				found = s.Flags&elf.PF_W == 0 && (s.Flags&elf.PF_X != 0) == (b.Exec != 0)
				if _, err := s.ReadAt(want, int64(b.Address-s.Vaddr)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !found || !bytes.Equal(have, want) || b.Address%cell.LargePage != 0 {
			t.Errorf("block at %#x: read-only segment with its rights: %v; equal: %v", b.Address, found, bytes.Equal(have, want))
		}
	}
	if _, err := text.file.WriteAt([]byte{0xcc}, 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("write to the text: %v, want EPERM", err)
	}
	if _, err := unix.Mmap(int(text.file.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); !errors.Is(err, unix.EPERM) {
		t.Errorf("map the text for writing: %v, want EPERM", err)
	}
}

func TestAnExecutableThatIsLoadedAnywhereHasNoLargeText(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	kind := f.Type
	f.Close()
	for _, path := range []string{exe, "/bin/true"} {
		if path == exe && kind == elf.ET_EXEC {
			continue
		}
		if text, err := enlarge(path); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v, %v; want unsupported", path, text, err)
		}
	}
}

// Its file may be replaced while a server runs: the text of the old one over the new one would be neither.
func TestAHostsPythonKeepsTheTextOfItsFile(t *testing.T) {
	const host = "/usr/bin/python3"
	if _, err := os.Stat(host); err != nil {
		t.Skip(err)
	}
	for _, python := range []string{host, ""} {
		c, err := Open(confine.Options{Pack: "../../bin/pack", Python: python, Start: confine.StartZygote, Slots: 2})
		if err != nil {
			t.Skip(err)
		}
		_, err = c.Run(t.Context(), confine.Spec{Program: confine.Python([]byte("print(1)"))})
		n := c.(*confiner)
		n.busy.Wait() // what is made behind the caller's back is made
		tried := true
		n.enlarged.Do(func() { tried = false })
		if tried != (python == "") {
			t.Errorf("interpreter %q: its text was put on large pages, or that was tried: %v", python, tried)
		}
		if err := errors.Join(err, c.Close()); err != nil {
			t.Error(err)
		}
	}
}
