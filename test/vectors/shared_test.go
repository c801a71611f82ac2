// Package vectors holds this module against vectors that other implementations share: ids, documents and verdicts must be equal to theirs.
package vectors

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/native"
	"pdlt.dev/pdlt/runner"
)

// root is the module's folder, as seen from here. The shared vectors lie beside it.
const root = "../.."

func TestMain(m *testing.M) {
	confine.Stage()
	os.Exit(m.Run())
}

// absent skips a test for want of something, or fails it when the machine is known to have it.
func absent(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CONFINE_REQUIRE") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// shared reads a JSON file of the shared vectors, by its path below their folder.
func shared(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "..", "shared", "vectors", filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		absent(t, "the shared vectors are not beside the repository: "+name)
	} else if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields() // a member that no test looks at is a vector that nobody checks
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// opened is one confiner for all tests, because each slot of one has an interpreter to start. It ends with the process.
var opened = sync.OnceValues(func() (confine.Confiner, error) {
	pack, err := filepath.Abs(filepath.Join(root, "bin", "pack"))
	if err != nil {
		return nil, err
	}
	return native.Open(confine.Options{Pack: pack})
})

// confined gives the executor of this machine.
func confined(t *testing.T) runner.Executor {
	t.Helper()
	c, err := opened()
	if err == nil {
		_, err = c.Run(t.Context(), confine.Spec{Program: confine.Python([]byte("pass"))})
	}
	if err != nil {
		absent(t, "no program can be confined here: "+err.Error())
	}
	return runner.NewLocal(c, 2, 100)
}
