package vectors

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/tree"
)

// residencyEdit is a change to a tree of the vectors.
type residencyEdit struct {
	Op, File, Pointer, Text, Mode, Target, Old, New string
	Value                                           json.RawMessage
}

// layOut copies a tree of the vectors into a folder of its own, in a folder of its own, with the modes that its listing gives.
func layOut(t *testing.T, listing map[string]struct{ SHA256, Mode string }, from ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	for _, name := range slices.Sorted(maps.Keys(listing)) {
		at := filepath.Join(dir, filepath.FromSlash(name))
		mode, ok := tree.ParseMode(listing[name].Mode)
		if !ok {
			t.Fatalf("%s has the mode %q", name, listing[name].Mode)
		}
		data := sharedFile(t, append(slices.Clone(from), filepath.FromSlash(name))...)
		if provenance.Hex(data) != listing[name].SHA256 {
			t.Fatalf("%s is not the file that the vectors list", name)
		}
		mustDo(t, os.MkdirAll(filepath.Dir(at), 0o755))
		mustDo(t, os.WriteFile(at, data, 0o600))
		mustDo(t, os.Chmod(at, fs.FileMode(mode)))
	}
	return dir
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// edit applies changes in order. Documents are written again in a form of theirs.
func edit(t *testing.T, dir string, form provenance.Form, edits []residencyEdit) {
	t.Helper()
	for _, e := range edits {
		at := filepath.Join(dir, filepath.FromSlash(e.File))
		read := func() string {
			b, err := os.ReadFile(at)
			mustDo(t, err)
			return string(b)
		}
		write := func(text string) {
			mustDo(t, os.MkdirAll(filepath.Dir(at), 0o755))
			mustDo(t, os.WriteFile(at, []byte(text), 0o644))
		}
		switch e.Op {
		case "write":
			write(e.Text)
		case "append-text":
			write(read() + e.Text)
		case "replace-text":
			write(strings.ReplaceAll(read(), e.Old, e.New))
		case "delete":
			mustDo(t, os.RemoveAll(at))
		case "mkdir":
			mustDo(t, os.Mkdir(at, 0o755))
		case "symlink":
			_ = os.Remove(at)
			mustDo(t, os.Symlink(e.Target, at))
		case "chmod":
			mode, ok := tree.ParseMode(e.Mode)
			if !ok {
				t.Fatalf("the mode %q", e.Mode)
			}
			mustDo(t, os.Chmod(at, fs.FileMode(mode)))
		case "set", "append", "remove-key":
			var value jsonx.Value
			if e.Op != "remove-key" {
				value = residencyDocument(t, e.Value)
			}
			doc := pointed(t, residencyDocument(t, []byte(read())), strings.Split(e.Pointer, "/")[1:], e.Op, value)
			text, err := form.Encode(doc)
			mustDo(t, err)
			write(string(text))
		default:
			t.Fatalf("no edit is called %s", e.Op)
		}
	}
}

// pointed changes what a JSON pointer leads to.
func pointed(t *testing.T, v jsonx.Value, steps []string, op string, value jsonx.Value) jsonx.Value {
	t.Helper()
	if len(steps) == 0 {
		if op == "append" {
			return provenance.Array(append(slices.Clone(v.Elems), value)...)
		}
		return value
	}
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[0])
	if v.Kind == jsonx.Array {
		i, err := strconv.Atoi(name)
		mustDo(t, err)
		v.Elems = slices.Clone(v.Elems)
		v.Elems[i] = pointed(t, v.Elems[i], steps[1:], op, value)
		return v
	}
	if len(steps) == 1 && op == "remove-key" {
		return provenance.Without(v, name)
	}
	inner, _ := v.Get(name)
	return provenance.With(v, name, pointed(t, inner, steps[1:], op, value))
}
