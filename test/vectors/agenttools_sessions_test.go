package vectors

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/provenance/sessions"
)

// sessionCase is a sessions folder and what is to be said about it.
type sessionCase struct {
	Name    string
	About   string
	Tree    map[string]struct{ Text, Symlink *string }
	Outside map[string]struct{ Text *string }
	Listing []sessions.Resource
	// Provenance of each listed turn, by <session>/<workspace>/<turn>.
	Provenance map[string]any
	Reads      []struct {
		URI      string
		Contents []struct {
			MIMEType string
			Text     *string
			JSON     any
		}
		Error int
	}
}

// build writes the case's tree and gives its folder.
func (c *sessionCase) build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	folder, outside := filepath.Join(dir, "live-sessions"), filepath.Join(dir, "outside")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, text string) {
		t.Helper()
		check(os.MkdirAll(filepath.Dir(path), 0o755))
		check(os.WriteFile(path, []byte(text), 0o644))
	}
	check(os.Mkdir(folder, 0o755))
	for name, f := range c.Outside {
		write(filepath.Join(outside, name), *f.Text)
	}
	for name, f := range c.Tree {
		path := filepath.Join(folder, name)
		if f.Symlink != nil {
			check(os.MkdirAll(filepath.Dir(path), 0o755))
			check(os.Symlink(strings.ReplaceAll(*f.Symlink, "@OUTSIDE@", outside), path))
			continue
		}
		write(path, *f.Text)
	}
	return folder
}

// said replaces the sentences of a record, whose wording is recommended only, by whether they are there.
func said(record any) any {
	r, _ := record.(map[string]any)
	if v, ok := r["verification"].(map[string]any); ok {
		for _, key := range []string{"unverified_reason", "caveat"} {
			v[key] = v[key] != nil
		}
	}
	return record
}

func decode(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	return v
}

func TestSessions(t *testing.T) {
	var file struct {
		About string
		Cases []sessionCase
	}
	shared(t, "agent-tools/sessions.json", &file)
	if len(file.Cases) == 0 {
		t.Fatal("found no cases")
	}
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			tree := sessions.Open(c.build(t))
			for range 2 { // the second time from what is remembered
				listing, next, err := tree.List("", 0)
				if err != nil || next != "" {
					t.Fatalf("found %v, next %q", err, next)
				}
				if diff := cmp.Diff(c.Listing, listing); diff != "" {
					t.Errorf("listing:\n%s", diff)
				}
			}
			for turn, want := range c.Provenance {
				got, err := tree.Read("pdlt://sessions/" + turn + "/provenance")
				if err != nil || len(got) != 1 {
					t.Fatalf("%s: found %v, %v", turn, got, err)
				}
				if diff := cmp.Diff(said(want), said(decode(t, got[0].Text))); diff != "" {
					t.Errorf("%s:\n%s", turn, diff)
				}
			}
			for _, r := range c.Reads {
				got, err := tree.Read(r.URI)
				if r.Error != 0 {
					if r.Error != -32002 || !errors.Is(err, sessions.ErrUnknownURI) {
						t.Errorf("%s: found %v; required: %d", r.URI, err, r.Error)
					}
					continue
				}
				if err != nil || len(got) != len(r.Contents) {
					t.Fatalf("%s: found %d items, %v; required: %d", r.URI, len(got), err, len(r.Contents))
				}
				for i, want := range r.Contents {
					if got[i].MIMEType != want.MIMEType || got[i].Blob != nil {
						t.Errorf("%s: item %d: found %s, %d bytes of blob; required: %s, none", r.URI, i, got[i].MIMEType, len(got[i].Blob), want.MIMEType)
					}
					if want.Text != nil && got[i].Text != *want.Text {
						t.Errorf("%s: item %d:\n%s", r.URI, i, cmp.Diff(*want.Text, got[i].Text))
					}
					if want.JSON != nil {
						if diff := cmp.Diff(said(want.JSON), said(decode(t, got[i].Text))); diff != "" {
							t.Errorf("%s: item %d:\n%s", r.URI, i, diff)
						}
					}
				}
				if got[0].URI != r.URI || len(got) == 2 && got[1].URI != r.URI[:strings.LastIndex(r.URI, "/")]+"/provenance" {
					t.Errorf("%s: found the URIs of %+v", r.URI, got)
				}
			}
		})
	}
}
