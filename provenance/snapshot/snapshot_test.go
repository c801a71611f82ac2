package snapshot_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/snapshot"
	"pdlt.dev/pdlt/provenance/tree"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(at), 0o755))
	must(t, os.WriteFile(at, []byte(text), 0o644))
	must(t, os.Chmod(at, 0o644))
}

var terms = snapshot.Terms{Exclusions: []string{"tmp/*"}, BinaryPaths: []string{"b.bin"}}

// folder makes a subject: two texts, a binary file and one that is left out.
func folder(t *testing.T) (string, *tree.Folder) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "one\ntwo\n", "in/c.txt": "c\n", "b.bin": "\xff\r\n", "tmp/x": "\xfe"} {
		write(t, dir, name, text)
	}
	d, err := tree.Open(dir)
	must(t, err)
	t.Cleanup(d.Close)
	return dir, d
}

func TestASubjectIsAdmittedAsItWasSealed(t *testing.T) {
	dir, d := folder(t)
	doc, id, err := snapshot.Seal(d, terms)
	must(t, err)
	if again, err := provenance.Snapshot.ID(doc); err != nil || again != id {
		t.Errorf("sealed as %s, which derives %s, %v", id, again, err)
	}
	write(t, dir, "a.txt", "one\r\ntwo\r") // the ends of lines are not part of a text
	write(t, dir, "tmp/more", "left out")
	content, err := snapshot.Admit(d, doc)
	must(t, err)
	if len(content) != 3 || string(content["a.txt"].Data) != "one\ntwo\n" || string(content["b.bin"].Data) != "\xff\r\n" || !content["b.bin"].Binary {
		t.Errorf("admitted %v", content)
	}
}

func TestWhatIsNotTheSealedSubject(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"a byte":                     func(dir string) error { return os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo"), 0o644) },
		"a byte of a binary file":    func(dir string) error { return os.WriteFile(filepath.Join(dir, "b.bin"), []byte("\xff\n"), 0o644) },
		"a file less":                func(dir string) error { return os.Remove(filepath.Join(dir, "in", "c.txt")) },
		"a file more":                func(dir string) error { return os.WriteFile(filepath.Join(dir, "new"), nil, 0o644) },
		"a mode":                     func(dir string) error { return os.Chmod(filepath.Join(dir, "a.txt"), 0o755) },
		"a link":                     func(dir string) error { return os.Symlink("a.txt", filepath.Join(dir, "l")) },
		"a link in what is left out": func(dir string) error { return os.Symlink("x", filepath.Join(dir, "tmp", "l")) },
		"a text that is none":        func(dir string) error { return os.WriteFile(filepath.Join(dir, "a.txt"), []byte("\xff"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, d := folder(t)
			doc, _, err := snapshot.Seal(d, terms)
			must(t, err)
			must(t, change(dir))
			content, err := snapshot.Admit(d, doc)
			if r := (*provenance.Refusal)(nil); !errors.As(err, &r) || r.Code != snapshot.CodeSubject {
				t.Errorf("admitted %v, %v; want %s", content, err, snapshot.CodeSubject)
			}
		})
	}
}

func TestModesThatArchivesCannotKeepAreNamed(t *testing.T) {
	dir, d := folder(t)
	must(t, os.Chmod(filepath.Join(dir, "a.txt"), 0o700))
	must(t, os.Chmod(filepath.Join(dir, "tmp", "x"), 0o600)) // left out, and so not sealed
	doc, _, err := snapshot.Seal(d, terms)
	must(t, err)
	detail, found := snapshot.Noncanonical(doc)
	text, err := provenance.Canonical.Encode(detail)
	must(t, err)
	if want := `{"paths":{"a.txt":{"observed":"0700","required":"0755"}}}`; !found || string(text) != want {
		t.Errorf("%s, %v; want %s", text, found, want)
	}
}
