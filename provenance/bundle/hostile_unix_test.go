//go:build unix

package bundle_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pdlt.dev/pdlt/provenance/bundle"
)

// hostile are things to do to a closed episode that no reader may be led by.
func TestHostileFolders(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("{}"), 0o644))
	manifest := func(old, new string) func(string) error {
		return func(dir string) error {
			at := filepath.Join(dir, "episode-bundle.json")
			text, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			return os.WriteFile(at, []byte(strings.ReplaceAll(string(text), old, new)), 0o644)
		}
	}
	exchange := func(name string, with func(string) error) func(string) error {
		return func(dir string) error {
			at := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.RemoveAll(at); err != nil {
				return err
			}
			return with(at)
		}
	}
	link := func(at string) error { return os.Symlink(secret, at) }
	fifo := func(at string) error { return unix.Mkfifo(at, 0o644) }
	folder := func(at string) error { return os.Mkdir(at, 0o755) }
	huge := func(at string) error {
		if err := os.WriteFile(at, nil, 0o644); err != nil {
			return err
		}
		return os.Truncate(at, 1<<40)
	}
	rename := func(from, to string) func(string) error {
		return func(dir string) error {
			return os.Rename(filepath.Join(dir, filepath.FromSlash(from)), filepath.Join(dir, filepath.FromSlash(to)))
		}
	}
	closure, tree := []string{"closure"}, []string{"tree"}
	for name, c := range map[string]struct {
		do      func(string) error
		outcome bundle.Outcome
		failed  []string // at least
	}{
		"a receipt that is a link":            {exchange("receipt.json", link), bundle.Unavailable, closure},
		"a receipt that is a FIFO":            {exchange("receipt.json", fifo), bundle.Unavailable, closure},
		"a receipt that is a folder":          {exchange("receipt.json", folder), bundle.Unavailable, closure},
		"a receipt of a terabyte":             {exchange("receipt.json", huge), bundle.Unavailable, closure},
		"a manifest that is a link":           {exchange("episode-bundle.json", link), bundle.Unavailable, closure},
		"evidence behind a link to a folder":  {exchange("evidence", func(at string) error { return os.Symlink(filepath.Dir(secret), at) }), bundle.Unavailable, closure},
		"a subject that is a link":            {exchange("subject", func(at string) error { return os.Symlink(filepath.Dir(secret), at) }), bundle.Unavailable, closure},
		"a subject that leads upwards":        {manifest(`"subject": "subject"`, `"subject": "../subject"`), bundle.Unavailable, closure},
		"a subject that is the whole episode": {manifest(`"subject": "subject"`, `"subject": "."`), bundle.Unavailable, closure},
		"a task with a backslash upwards":     {manifest(`"task": "task.json"`, `"task": "x\\..\\..\\task.json"`), bundle.Unavailable, closure},
		"a finding that is a link":            {exchange("evidence/finding.json", link), bundle.Mismatch, []string{"tree", "artifacts"}},
		"a stream that is a FIFO":             {exchange("evidence/process/stdout.bin", fifo), bundle.Mismatch, []string{"tree", "artifacts"}},
		"a stream of a terabyte":              {exchange("evidence/process/stdout.bin", huge), bundle.Mismatch, []string{"artifacts"}},
		"a file of the subject is a link":     {exchange("subject/water", link), bundle.Mismatch, []string{"tree", "closure"}},
		"a file of the subject is a FIFO":     {exchange("subject/water", fifo), bundle.Mismatch, []string{"tree", "closure"}},
		"a file of the subject is a terabyte": {exchange("subject/water", huge), bundle.Mismatch, closure},
		"a name in another case":              {rename("subject/water", "subject/Water"), bundle.Mismatch, []string{"tree", "closure"}},
		"a verifier's file in another case":   {rename("evidence/verifiers/said.json", "evidence/verifiers/SAID.json"), bundle.Mismatch, []string{"tree", "artifacts"}},
		"a second name of a file": {func(dir string) error {
			return os.Link(filepath.Join(dir, "receipt.json"), filepath.Join(dir, "r2.json"))
		}, bundle.Mismatch, tree},
		"a socket beside":                     {func(dir string) error { return unix.Mkfifo(filepath.Join(dir, "x"), 0o644) }, bundle.Mismatch, tree},
		"two members in one file":             {manifest(`"patch": "evidence/candidate.patch"`, `"patch": "evidence/finding.json"`), bundle.Mismatch, []string{"tree", "artifacts"}},
		"a folder that cannot hold its names": {manifest(`"trace": "evidence/trace.json"`, `"trace": "evidence/trace.json/x"`), bundle.Unavailable, closure},
		"a path with a zero byte":             {manifest(`"trace": "evidence/trace.json"`, `"trace": "evidence/trace.json\u0000"`), bundle.Unavailable, closure},
		"nothing at all":                      {func(dir string) error { return os.RemoveAll(filepath.Join(dir, "episode-bundle.json")) }, bundle.Unavailable, closure},
	} {
		t.Run(name, func(t *testing.T) {
			dir := keep(t, t.TempDir(), episode(1))
			must(t, c.do(dir))
			r := verified(t, dir)
			if r.Outcome != c.outcome {
				t.Errorf("%s, want %s: %+v", r.Outcome, c.outcome, r.Checks)
			}
			for _, check := range c.failed {
				if !slices.Contains(r.Failed(), check) {
					t.Errorf("failed are %v, want also %s", r.Failed(), check)
				}
			}
			if text, err := os.ReadFile(secret); err != nil || string(text) != "{}" {
				t.Errorf("what was outside is %q, %v", text, err)
			}
		})
	}
	if r := verified(t, filepath.Join(t.TempDir(), "nowhere")); r.Outcome != bundle.Unavailable {
		t.Errorf("a folder that is not there: %+v", r)
	}
	if r := verified(t, secret); r.Outcome != bundle.Unavailable {
		t.Errorf("a file: %+v", r)
	}
}
