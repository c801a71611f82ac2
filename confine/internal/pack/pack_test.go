package pack

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// fake builds a small pack under its own digest in a folder "pack", as the build does, and returns the folder of the commands.
func fake(t testing.TB) (exeDir string) {
	t.Helper()
	exeDir = t.TempDir()
	tree := filepath.Join(exeDir, "pack", "new")
	for name, text := range map[string]string{
		"VERSION":                   "3.14.6\n",
		"PLATFORM":                  "linux-amd64\n",
		"bin/python3.14":            "#!interpreter",
		"lib/cell.so":               "helper",
		"lib/python3.14/os.py":      "import sys\n",
		"lib/python3.14/dynload/.k": "",
		"share/zoneinfo/UTC":        "TZif",
	} {
		name = filepath.Join(tree, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(text), 0o444))
	}
	must(t, os.Chmod(filepath.Join(tree, "bin", "python3.14"), 0o555))
	must(t, filepath.WalkDir(tree, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != tree {
			return os.Chmod(name, 0o555)
		}
		return err
	}))
	t.Cleanup(func() { unlock(t, exeDir) })
	digest, err := WriteManifest(tree)
	must(t, err)
	must(t, os.Rename(tree, filepath.Join(exeDir, "pack", digest)))
	must(t, os.WriteFile(filepath.Join(exeDir, "pack", "current"), []byte(digest+"\n"), 0o644))
	p := open(t, exeDir)
	if err := p.WriteStamp(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
	return exeDir
}

// unlock makes the folders below root writable, so that they can be changed or removed.
func unlock(t testing.TB, root string) {
	t.Helper()
	must(t, filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(name, 0o755)
		}
		return err
	}))
}

func open(t testing.TB, exeDir string) *Pack {
	t.Helper()
	dir, err := Find(exeDir)
	must(t, err)
	p, err := Open(dir)
	must(t, err)
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// onlyUnix skips where permission bits and stamps do not exist.
func onlyUnix(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("windows has neither permission bits nor stamps")
	}
}

func TestAPackKnowsItsPlaces(t *testing.T) {
	exeDir := fake(t)
	p := open(t, exeDir)
	in := func(name string) string { return filepath.Join(p.Root, filepath.FromSlash(name)) }
	for _, c := range []struct{ what, got, want string }{
		{"root", p.Root, filepath.Join(exeDir, "pack", p.Digest)},
		{"version", p.Version, "3.14.6"},
		{"platform", p.Platform, "linux-amd64"},
		{"python", p.Python, in("bin/python3.14")},
		{"stdlib", p.Stdlib, in("lib/python3.14")},
		{"helper", p.CellSO, in("lib/cell.so")},
		{"zoneinfo", p.Zoneinfo, in("share/zoneinfo")},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, c.got, c.want)
		}
	}
	must(t, p.Verify(false))
	must(t, p.Verify(true))
}

func TestAStampCoversEveryEntry(t *testing.T) {
	onlyUnix(t)
	p := open(t, fake(t))
	text, err := os.ReadFile(stampName(p.Root))
	must(t, err)
	got := stampPaths(text)
	if len(got) != len(p.entries)+1 || got[0] != ManifestName {
		t.Fatalf("got %q, want the manifest and all of %v", got, p.entries)
	}
	for i, e := range p.entries {
		if got[i+1] != e.path {
			t.Errorf("line %d: got %q, want %q", i+2, got[i+1], e.path)
		}
	}
}

func TestAStampedPackIsVerifiedWithoutReading(t *testing.T) {
	onlyUnix(t)
	p := open(t, fake(t))
	if err := p.stamped(); err != nil {
		t.Fatalf("the stamp that was written does not match: %v", err)
	}
}

// Every change of a tree is found, whether the stamp is there to notice it first or not, and is named with its path.
func TestEveryChangeIsFound(t *testing.T) {
	onlyUnix(t)
	cases := []struct {
		name   string
		change func(t *testing.T, root string)
		path   string // below the root
		found  string
	}{
		{"a flipped byte with size and times kept", func(t *testing.T, root string) {
			rewrite(t, filepath.Join(root, "lib/python3.14/os.py"), func(b []byte) []byte { b[0] ^= 1; return b })
		}, "lib/python3.14/os.py", "sha256 "},
		{"a longer file", func(t *testing.T, root string) {
			rewrite(t, filepath.Join(root, "VERSION"), func(b []byte) []byte { return append(b, '!') })
		}, "VERSION", "8 bytes"},
		{"an added file", func(t *testing.T, root string) {
			must(t, os.WriteFile(filepath.Join(root, "lib/python3.14/sitecustomize.py"), nil, 0o444))
		}, "lib/python3.14/sitecustomize.py", "a file"},
		{"an added folder", func(t *testing.T, root string) {
			must(t, os.Mkdir(filepath.Join(root, "lib/python3.14/zz"), 0o555))
		}, "lib/python3.14/zz", "a folder"},
		{"an added link", func(t *testing.T, root string) {
			must(t, os.Symlink("/etc", filepath.Join(root, "lib/etc")))
		}, "lib/etc", "a link"},
		{"a removed file", func(t *testing.T, root string) {
			must(t, os.Remove(filepath.Join(root, "lib/cell.so")))
		}, "lib/cell.so", "nothing"},
		{"a renamed file", func(t *testing.T, root string) {
			must(t, os.Rename(filepath.Join(root, "share/zoneinfo/UTC"), filepath.Join(root, "share/zoneinfo/GMT")))
		}, "share/zoneinfo/GMT", "a file"},
		{"a wider mode", func(t *testing.T, root string) {
			must(t, os.Chmod(filepath.Join(root, "bin/python3.14"), 0o755))
		}, "bin/python3.14", "mode 0755"},
		{"a set-user-id bit", func(t *testing.T, root string) {
			must(t, os.Chmod(filepath.Join(root, "bin/python3.14"), 0o555|os.ModeSetuid))
		}, "bin/python3.14", "mode "},
		{"a writable folder", func(t *testing.T, root string) {
			must(t, os.Chmod(filepath.Join(root, "lib/python3.14"), 0o777))
		}, "lib/python3.14", "mode 0777"},
		{"a file replaced by a link to the same bytes", func(t *testing.T, root string) {
			name := filepath.Join(root, "lib/cell.so")
			elsewhere := filepath.Join(t.TempDir(), "cell.so")
			must(t, os.Rename(name, elsewhere))
			must(t, os.Symlink(elsewhere, name))
		}, "lib/cell.so", "a link"},
		{"a folder replaced by a link to itself", func(t *testing.T, root string) {
			name := filepath.Join(root, "share/zoneinfo")
			elsewhere := filepath.Join(t.TempDir(), "zoneinfo")
			must(t, os.Rename(name, elsewhere))
			must(t, os.Symlink(elsewhere, name))
		}, "share/zoneinfo", "a link"},
		{"a file replaced by a folder", func(t *testing.T, root string) {
			name := filepath.Join(root, "lib/cell.so")
			must(t, os.Remove(name))
			must(t, os.Mkdir(name, 0o555))
		}, "lib/cell.so", "a folder"},
	}
	for _, c := range cases {
		for _, stamp := range []string{"with the stamp", "without a stamp"} {
			t.Run(c.name+"/"+stamp, func(t *testing.T) {
				p := open(t, fake(t))
				if stamp == "without a stamp" {
					must(t, os.Remove(stampName(p.Root)))
				}
				modes := writable(t, p.Root)
				c.change(t, p.Root)
				modes()
				err := p.Verify(false)
				var m *Mismatch
				if !errors.As(err, &m) {
					t.Fatalf("got %v, want a mismatch at %s", err, c.path)
				}
				if want := filepath.Join(p.Root, filepath.FromSlash(c.path)); m.Path != want || !strings.HasPrefix(m.Found, c.found) || m.Required == "" {
					t.Errorf("got %+v, want path %s and found %q", m, want, c.found)
				}
				if p.Verify(true) == nil {
					t.Error("a full verification accepts it")
				}
			})
		}
	}
}

// writable opens the folders for a change and returns what gives back the modes that are still as it set them.
func writable(t testing.TB, root string) func() {
	t.Helper()
	unlock(t, root)
	return func() {
		must(t, filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if fi, err := d.Info(); err != nil || fi.Mode().Perm() != 0o755 {
				return err
			}
			return os.Chmod(name, 0o555)
		}))
	}
}

// rewrite changes a file in place and gives it back its modification time.
func rewrite(t testing.TB, name string, edit func([]byte) []byte) {
	t.Helper()
	fi, err := os.Stat(name)
	must(t, err)
	text, err := os.ReadFile(name)
	must(t, err)
	must(t, os.Chmod(name, 0o644))
	must(t, os.WriteFile(name, edit(text), 0o644))
	must(t, os.Chmod(name, fi.Mode()))
	must(t, os.Chtimes(name, time.Time{}, fi.ModTime()))
}

func TestAManifestThatIsNotTheFoldersNameIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func([]byte) []byte
	}{
		{"truncated", func(b []byte) []byte { return b[:len(b)/2] }},
		{"empty", func(b []byte) []byte { return nil }},
		{"a line dropped", func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] }},
		{"a flipped byte", func(b []byte) []byte { b[0] ^= 1; return b }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, fake(t))
			name := filepath.Join(p.Root, ManifestName)
			rewrite(t, name, c.edit)
			_, err := Open(p.Root)
			var m *Mismatch
			if !errors.As(err, &m) || m.Path != name {
				t.Fatalf("got %v, want a mismatch at %s", err, name)
			}
			if p.Verify(false) == nil && p.stamped() == nil {
				t.Error("the stamp still matches")
			}
		})
	}
}

func TestAnOpenedPackNoticesThatItsManifestChanged(t *testing.T) {
	onlyUnix(t)
	p := open(t, fake(t))
	rewrite(t, filepath.Join(p.Root, ManifestName), func(b []byte) []byte { b[0] ^= 1; return b })
	if err := p.stamped(); err == nil {
		t.Error("the stamp still matches")
	}
}

// A copy is a good pack, and its stamp is worthless: it must be hashed, and then accepted.
func TestAStampCopiedElsewhereDoesNotMatch(t *testing.T) {
	onlyUnix(t)
	p := open(t, fake(t))
	elsewhere := filepath.Join(t.TempDir(), p.Digest)
	t.Cleanup(func() { unlock(t, elsewhere) })
	copyTree(t, p.Root, elsewhere)
	stamp, err := os.ReadFile(stampName(p.Root))
	must(t, err)
	must(t, os.WriteFile(stampName(elsewhere), stamp, 0o444))
	q, err := Open(elsewhere)
	must(t, err)
	if q.stamped() == nil {
		t.Error("the stamp of another folder matches")
	}
	must(t, q.Verify(false))

	must(t, os.Chmod(filepath.Join(elsewhere, "VERSION"), 0o644))
	if q.Verify(false) == nil {
		t.Error("a changed copy is accepted")
	}
}

// copyTree copies files and folders with their modes.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	var dirs []func()
	must(t, filepath.WalkDir(from, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, name)
		dst := filepath.Join(to, rel)
		if d.IsDir() {
			dirs = append(dirs, func() { must(t, os.Chmod(dst, fi.Mode().Perm())) })
			return os.Mkdir(dst, 0o755)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(dst, text, fi.Mode().Perm())
	}))
	for _, f := range dirs {
		f()
	}
}

func TestAStampIsOnlyWrittenForAGoodPack(t *testing.T) {
	onlyUnix(t)
	p := open(t, fake(t))
	must(t, os.Remove(stampName(p.Root)))
	modes := writable(t, p.Root)
	rewrite(t, filepath.Join(p.Root, "bin/python3.14"), func(b []byte) []byte { b[3] ^= 1; return b })
	modes()
	var m *Mismatch
	if err := p.WriteStamp(); !errors.As(err, &m) {
		t.Fatalf("got %v, want a mismatch", err)
	}
	if _, err := os.Stat(stampName(p.Root)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a stamp was written all the same (%v)", err)
	}
}

func TestFindSaysWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		name    string
		current *string
		found   string
	}{
		{"no file", nil, "nothing"},
		{"an empty file", new(""), `""`},
		{"a path instead of a digest", new("../../etc\n"), `"../../etc`},
		{"an upper-case digest", new(strings.Repeat("AB", 32)), `"ABAB`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.Mkdir(filepath.Join(dir, "pack"), 0o755))
			if c.current != nil {
				must(t, os.WriteFile(filepath.Join(dir, "pack", "current"), []byte(*c.current), 0o644))
			}
			_, err := Find(dir)
			var m *Mismatch
			if !errors.As(err, &m) || !strings.HasPrefix(m.Found, c.found) {
				t.Errorf("got %v, want a mismatch that found %s", err, c.found)
			}
		})
	}
}

func TestATreeThatAManifestCannotHoldIsAnError(t *testing.T) {
	onlyUnix(t)
	for name, make := range map[string]func(root string) error{
		"a link":           func(root string) error { return os.Symlink("x", filepath.Join(root, "l")) },
		"a line break":     func(root string) error { return os.WriteFile(filepath.Join(root, "a\nb"), nil, 0o444) },
		"a second writing": func(root string) error { return os.WriteFile(filepath.Join(root, ManifestName), nil, 0o444) },
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			must(t, make(root))
			if _, err := WriteManifest(root); err == nil {
				t.Error("got a digest, want an error")
			}
		})
	}
}

// The manifest's reader is strict: one text, one meaning.
func FuzzManifest(f *testing.F) {
	f.Add([]byte("- 0 0555 .\n"))
	f.Add([]byte("- 0 0555 .\n" + strings.Repeat("ab", 32) + " 7 0444 VERSION\n"))
	f.Add([]byte("- 0 0555 .\n- 0 0555 ../x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseManifest(text)
		if err != nil {
			return
		}
		var b bytes.Buffer
		for _, e := range list {
			b.WriteString(e.String() + "\n")
		}
		if !bytes.Equal(b.Bytes(), text) {
			t.Errorf("reads and writes differ:\n%q\n%q", text, b.Bytes())
		}
	})
}
