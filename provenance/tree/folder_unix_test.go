//go:build unix

package tree_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"pdlt.dev/pdlt/provenance/tree"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name, text string, mode fs.FileMode) {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(at), 0o755))
	must(t, os.WriteFile(at, []byte(text), 0o600))
	must(t, os.Chmod(at, mode))
}

func open(t *testing.T, dir string) *tree.Folder {
	t.Helper()
	d, err := tree.Open(dir)
	must(t, err)
	t.Cleanup(d.Close)
	return d
}

func TestWalkingIsInTheOrderOfBytesAndFilesComeFirst(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a/z", "a/b/c", "Z", "é", "a.txt"} {
		write(t, dir, name, name, 0o644)
	}
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	var seen []string
	must(t, open(t, dir).Walk(func(e tree.Entry) error {
		f, err := e.Read()
		if string(f.Data) != e.Path {
			t.Errorf("%s holds %q", e.Path, f.Data)
		}
		seen = append(seen, e.Path)
		return err
	}))
	if want := []string{"Z", "a.txt", "b", "é", "a/z", "a/b/c"}; !slices.Equal(seen, want) {
		t.Errorf("walked %q, want %q", seen, want)
	}
}

func TestNothingIsReachedThroughALink(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, "secret", "secret", 0o644)
	write(t, dir, "in/file", "text", 0o644)
	must(t, os.Symlink(outside, filepath.Join(dir, "out")))
	must(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "leak")))
	must(t, os.Symlink("in", filepath.Join(dir, "alias")))
	must(t, os.Symlink("in/file", filepath.Join(dir, "same")))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "broken")))
	d := open(t, dir)
	for _, name := range []string{"out/secret", "leak", "alias/file", "same", "broken"} {
		if f, err := d.Read(name); !errors.Is(err, tree.ErrLink) {
			t.Errorf("%s: %q, %v; want that it is a link", name, f.Data, err)
		}
	}
	if f, err := d.Read("in/file"); err != nil || string(f.Data) != "text" {
		t.Errorf("in/file: %q, %v", f.Data, err)
	}
	links := 0
	must(t, d.Walk(func(e tree.Entry) error {
		if e.Type&fs.ModeSymlink != 0 {
			links++
			if _, err := e.Read(); err == nil {
				t.Errorf("%s was read", e.Path)
			}
		}
		return nil
	}))
	if links != 5 {
		t.Errorf("walked over %d links, want 5", links)
	}
}

func TestAFIFOIsNoFileAndNothingWaitsForIt(t *testing.T) {
	dir := t.TempDir()
	must(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	if _, err := open(t, dir).Read("pipe"); !errors.Is(err, tree.ErrNotRegular) {
		t.Errorf("%v; want that it is no file", err)
	}
}

func TestALargeFileIsNotRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "huge", "", 0o644)
	must(t, os.Truncate(filepath.Join(dir, "huge"), 1<<40))
	if _, err := open(t, dir).Read("huge"); !errors.Is(err, tree.ErrTooLarge) {
		t.Errorf("%v; want that it is too large", err)
	}
}

func TestModesAreTwelveBits(t *testing.T) {
	dir := t.TempDir()
	for mode, want := range map[fs.FileMode]string{0o644: "0644", 0o700: "0700", fs.ModeSetuid | 0o755: "4755", fs.ModeSticky | 0o600: "1600"} {
		write(t, dir, "f", "", mode)
		f, err := open(t, dir).Read("f")
		if err != nil || f.Mode.String() != want {
			t.Errorf("%v reads as %s, %v; want %s", mode, f.Mode, err, want)
		}
	}
	for text, want := range map[string]bool{"0644": true, "0755": true, "0664": false, "0700": false} {
		if m, ok := tree.ParseMode(text); !ok || m.IsCanonical() != want {
			t.Errorf("%s is canonical: %v, %v", text, m.IsCanonical(), ok)
		}
	}
	for _, text := range []string{"", "644", "00644", "0o64", "0998", "-644"} {
		if m, ok := tree.ParseMode(text); ok {
			t.Errorf("%q is the mode %s", text, m)
		}
	}
}

func TestAStageIsNothingUntilItIsPublished(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	parent := t.TempDir()
	dest := filepath.Join(parent, "made")
	s, err := tree.NewStage(dest, ".tmp-")
	must(t, err)
	must(t, s.Put("a/b/run", []byte("x"), tree.Executable))
	must(t, s.Put("top", []byte("y"), tree.Plain))
	if err := s.Put("top", nil, tree.Plain); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file was put twice: %v", err)
	}
	if _, err := os.Lstat(dest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is there before it was published: %v", err)
	}
	must(t, s.Publish())
	s.Discard()
	for name, want := range map[string]fs.FileMode{"": 0o755, "a": 0o755, "a/b": 0o755, "a/b/run": 0o755, "top": 0o644} {
		if info, err := os.Stat(filepath.Join(dest, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	again, err := tree.NewStage(dest, ".tmp-")
	must(t, err)
	must(t, again.Put("other", nil, tree.Plain))
	if err := again.Publish(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("published over something: %v", err)
	}
	again.Discard()
	if list, err := os.ReadDir(parent); err != nil || len(list) != 1 {
		t.Errorf("left are %v, %v; want what was published", list, err)
	}
}
