package vectors

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/environment"
	"pdlt.dev/pdlt/provenance/snapshot"
	"pdlt.dev/pdlt/provenance/tree"
	"pdlt.dev/pdlt/runner/verify"
)

type listing map[string]struct{ SHA256, Mode string }

type environmentIndex struct {
	Reports  map[string]json.RawMessage
	Sources  map[string]listing `json:"source_trees"`
	Packages map[string]listing `json:"package_trees"`
	Orders   json.RawMessage    `json:"evidence_residency_bundle_id_by_enumeration_order"`
	Note     string
}

func residencyEnvironments(t *testing.T) environmentIndex {
	t.Helper()
	var index environmentIndex
	shared(t, "residency/environments/index.json", &index)
	return index
}

// engine is a registry that knows the worlds of the vectors.
func engine(t *testing.T) verify.Registry {
	t.Helper()
	return verify.Registry{Identity: []verify.Lowerer{residencyWorlds(t)}}
}

// unknownWorld answers one source that the vectors break and that no table has.
type unknownWorld struct{ verify.Registry }

func (r unknownWorld) Lower(contract, source string) (string, error) {
	id, err := r.Registry.Lower(contract, source)
	if errors.Is(err, environment.ErrNoEngine) {
		err = errors.New("a line that is none")
	}
	return id, err
}

// codeOf gives the code of a refusal, and its detail as text.
func codeOf(t *testing.T, err error) (code, detail string) {
	t.Helper()
	if err == nil {
		return "", ""
	}
	r := (*provenance.Refusal)(nil)
	if !errors.As(err, &r) {
		t.Fatalf("%v is no refusal", err)
	}
	if r.Detail.Kind == jsonx.Null {
		r.Detail = provenance.Object()
	}
	return r.Code, canonical(t, r.Detail)
}

// placed gives the text of a report whose folder is called otherwise.
func placed(t *testing.T, report jsonx.Value, name string) string {
	t.Helper()
	return canonical(t, provenance.With(report, "directory", provenance.String(name)))
}

func TestResidencyEnvironmentsPack(t *testing.T) {
	index := residencyEnvironments(t)
	for _, name := range slices.Sorted(maps.Keys(index.Sources)) {
		t.Run(name, func(t *testing.T) {
			source := layOut(t, index.Sources[name], "environments", name, "source")
			dest := filepath.Join(t.TempDir(), "package")
			p, err := environment.Pack(source, dest, engine(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(canonical(t, residencyDocument(t, index.Reports[name])), placed(t, p.Packed(), "<dest>")); diff != "" {
				t.Errorf("report: -want +got\n%s", diff)
			}
			d, err := tree.Open(dest)
			mustDo(t, err)
			defer d.Close()
			got := listing{}
			mustDo(t, d.Walk(func(e tree.Entry) error {
				f, err := e.Read()
				if want := sharedFile(t, "environments", name, "package", filepath.FromSlash(e.Path)); string(f.Data) != string(want) {
					t.Errorf("%s: -want +got\n%s", e.Path, cmp.Diff(string(want), string(f.Data)))
				}
				got[e.Path] = struct{ SHA256, Mode string }{provenance.Hex(f.Data), f.Mode.String()}
				return err
			}))
			if diff := cmp.Diff(index.Packages[name], got); diff != "" {
				t.Errorf("files: -want +got\n%s", diff)
			}
		})
	}
}

func TestResidencyPackRefusesAndMoves(t *testing.T) {
	index := residencyEnvironments(t)
	var file struct {
		Note  string
		Cases []struct {
			Name, Base, Note, Destination, Code, Message string
			Edits                                        []residencyEdit
			Engine, OK, Runnable                         bool
			EnvID                                        string `json:"env_id"`
			BundleID                                     string `json:"bundle_id"`
			Detail                                       json.RawMessage
		}
	}
	shared(t, "residency/pack/cases.json", &file)
	worlds := engine(t)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			source := layOut(t, index.Sources[c.Base], "environments", c.Base, "source")
			edit(t, source, provenance.Authored, c.Edits)
			parent := t.TempDir()
			dest := filepath.Join(parent, "package")
			switch c.Destination {
			case "nonempty":
				mustDo(t, os.Mkdir(dest, 0o755))
				mustDo(t, os.WriteFile(filepath.Join(dest, "x"), nil, 0o644))
			case "file":
				mustDo(t, os.WriteFile(dest, nil, 0o644))
			}
			var lower environment.Lowerer
			if c.Engine {
				lower = unknownWorld{worlds}
			}
			p, err := environment.Pack(source, dest, lower)
			if c.OK {
				if err != nil || p.EnvID != c.EnvID || p.BundleID != c.BundleID || p.Runnable != c.Runnable {
					t.Errorf("%v: %s, %s, runnable %v; want %s, %s, %v", err, p.EnvID, p.BundleID, p.Runnable, c.EnvID, c.BundleID, c.Runnable)
				}
				return
			}
			code, detail := codeOf(t, err)
			if code != c.Code || detail != canonical(t, residencyDocument(t, c.Detail)) {
				t.Errorf("%v with %s; want %s with %s", err, detail, c.Code, c.Detail)
			}
			left, err := os.ReadDir(parent)
			mustDo(t, err)
			if want := map[string]int{"": 0, "nonempty": 1, "file": 1}[c.Destination]; len(left) != want {
				t.Errorf("%v is left, want %d entries", left, want)
			}
		})
	}
	if len(file.Cases) < 65 {
		t.Errorf("found %d cases", len(file.Cases))
	}
}

func TestResidencyPackagesVerify(t *testing.T) {
	index := residencyEnvironments(t)
	type verdict struct {
		OK            bool
		Report        json.RawMessage
		Code, Message string
		Detail        json.RawMessage
	}
	var file struct {
		Note  string
		Cases []struct {
			Name, Base, Note, Reseal string
			Edits                    []residencyEdit
			Full                     verdict
			PackageOnly              verdict `json:"package_only"`
		}
	}
	shared(t, "residency/bundle/cases.json", &file)
	worlds := engine(t)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			dir := layOut(t, index.Packages[c.Base], "environments", c.Base, "package")
			edit(t, dir, provenance.Authored, c.Edits)
			if c.Reseal != "" {
				reseal(t, dir, c.Reseal[:9] == "recompute")
			}
			var lower environment.Lowerer
			if c.Name == "world-engine" {
				lower = worlds
			}
			for packageOnly, want := range map[bool]verdict{false: c.Full, true: c.PackageOnly} {
				p, err := environment.Verify(dir, packageOnly, lower)
				code, detail := codeOf(t, err)
				if code != want.Code || !want.OK && detail != canonical(t, residencyDocument(t, want.Detail)) {
					t.Errorf("package only %v: %v with %s; want %s with %s", packageOnly, err, detail, want.Code, want.Detail)
				} else if want.OK {
					if diff := cmp.Diff(canonical(t, residencyDocument(t, want.Report)), placed(t, p.Verified(), "<dir>")); diff != "" {
						t.Errorf("package only %v: -want +got\n%s", packageOnly, diff)
					}
				}
			}
			if c.Base != "plain-notes" {
				return
			}
			// Reopening for evaluation checks both layers: the original's does not check that of the files.
			p, err := environment.Open(dir)
			if (err == nil) != c.Full.OK {
				t.Fatalf("opening for evaluation: %v; want what verification says: %s", err, c.Full.Code)
			}
			if err == nil {
				content, err := p.Content()
				if files, _ := p.Snapshot.Get("files"); err != nil || len(content) != len(files.Members) {
					t.Errorf("%d files were admitted: %v", len(content), err)
				}
			}
		})
	}
	if len(file.Cases) < 40 {
		t.Errorf("found %d cases", len(file.Cases))
	}
}

// reseal rebuilds the manifest of an edited package, as a forger would.
func reseal(t *testing.T, dir string, environmentToo bool) {
	t.Helper()
	at := filepath.Join(dir, "environment.json")
	text, err := os.ReadFile(at)
	mustDo(t, err)
	env := residencyDocument(t, text)
	if environmentToo {
		env, _, err = provenance.Environment.Seal(env)
		mustDo(t, err)
		text, err := provenance.Authored.Encode(env)
		mustDo(t, err)
		mustDo(t, os.WriteFile(at, text, 0o644))
	}
	id, _ := env.Get("env_id")
	members := map[string]jsonx.Value{}
	d, err := tree.Open(dir)
	mustDo(t, err)
	defer d.Close()
	mustDo(t, d.Walk(func(e tree.Entry) error {
		f, err := e.Read()
		if e.Path != environment.Manifest {
			members[e.Path] = provenance.Object(provenance.Member("path", provenance.String(e.Path)),
				provenance.Member("sha256", provenance.String(provenance.Hex(f.Data))), provenance.Member("mode", provenance.String(f.Mode.Canonical().String())))
		}
		return err
	}))
	list := provenance.Array()
	for _, name := range slices.Sorted(maps.Keys(members)) {
		list.Elems = append(list.Elems, members[name])
	}
	doc, _, err := provenance.Package.Seal(provenance.Object(provenance.Member("bundle_version", provenance.String("traaviis.bundle.v1")),
		provenance.Member("env_id", id), provenance.Member("members", list)))
	mustDo(t, err)
	text, err = provenance.Authored.Encode(doc)
	mustDo(t, err)
	mustDo(t, os.WriteFile(filepath.Join(dir, environment.Manifest), text, 0o644))
}

func TestResidencyArchive(t *testing.T) {
	index := residencyEnvironments(t)
	var want struct {
		Entries []struct {
			Name, Mode    string
			Date          [6]int `json:"date_time"`
			CreateSystem  int    `json:"create_system"`
			Compress      uint16 `json:"compress_type"`
			Size          uint64
			CRC           uint32
			Extra         string
			Flags         uint16 `json:"flag_bits"`
			CreateVersion int    `json:"create_version"`
			Version       uint16 `json:"extract_version"`
		} `json:"archive_entries"`
		Note  string
		Cases json.RawMessage
	}
	shared(t, "residency/cli/cases.json", &want)
	theirs := filepath.Join(root, "..", "shared", "vectors", "residency", "cli", "plain-notes.zip")
	p, err := environment.Verify(theirs, false, nil)
	mustDo(t, err)
	dir := layOut(t, index.Packages["plain-notes"], "environments", "plain-notes", "package")
	ours := filepath.Join(t.TempDir(), "ours.zip")
	a, err := environment.Archive(dir, ours, false, nil)
	mustDo(t, err)
	if a.BundleID != p.BundleID || a.Entries != len(want.Entries) {
		t.Errorf("archived %s with %d entries, want %s with %d", a.BundleID, a.Entries, p.BundleID, len(want.Entries))
	}
	// Theirs and ours are the same in all but the compressed bytes.
	for _, name := range []string{theirs, ours} {
		z, err := zip.OpenReader(name)
		mustDo(t, err)
		defer z.Close()
		for i, f := range z.File {
			w := want.Entries[i]
			mode := tree.Mode(f.ExternalAttrs >> 16)
			if f.Name != w.Name || mode.String() != w.Mode || f.ExternalAttrs&0xffff != 0 || f.CreatorVersion != uint16(w.CreateSystem<<8|w.CreateVersion) ||
				f.Method != w.Compress || f.UncompressedSize64 != w.Size || f.CRC32 != w.CRC || len(f.Extra) != 0 || f.Flags != w.Flags || f.ReaderVersion != w.Version ||
				f.ModifiedDate != 1<<5|1 || f.ModifiedTime != 0 || w.Date != [6]int{1980, 1, 1} {
				t.Errorf("%s: %+v\nwant %+v", name, f.FileHeader, w)
			}
			r, err := f.Open()
			mustDo(t, err)
			data, err := io.ReadAll(r)
			mustDo(t, err)
			if want := sharedFile(t, "environments", "plain-notes", "package", filepath.FromSlash(f.Name)); string(data) != string(want) {
				t.Errorf("%s: %s is not that of the package", name, f.Name)
			}
		}
	}
}

func TestResidencyPaths(t *testing.T) {
	var file struct {
		Cases []struct {
			Path       string
			AllowEmpty bool `json:"allow_empty"`
			Result     string
			Refused    bool
		}
	}
	shared(t, "residency/paths/cases.json", &file)
	for _, c := range file.Cases {
		f := tree.Path
		if c.AllowEmpty {
			f = tree.Below
		}
		if got, ok := f(c.Path); ok == c.Refused || ok && got != c.Result {
			t.Errorf("%q (empty allowed: %v) is %q, %v; want %q, refused %v", c.Path, c.AllowEmpty, got, ok, c.Result, c.Refused)
		}
	}
	if len(file.Cases) < 28 {
		t.Errorf("found %d paths", len(file.Cases))
	}
}

func TestResidencyGlobs(t *testing.T) {
	var file struct {
		Matches []struct {
			Pattern, Name string
			Match         bool
		} `json:"fnmatch"`
		Writable []struct {
			Path     string
			Patterns []string `json:"writable_paths"`
			Allowed  bool
		}
	}
	shared(t, "residency/globs/cases.json", &file)
	for _, c := range file.Matches {
		if got := tree.Match(c.Pattern, c.Name); got != c.Match {
			t.Errorf("%q matches %q: %v, want %v", c.Pattern, c.Name, got, c.Match)
		}
		if terms := (snapshot.Terms{Exclusions: []string{c.Pattern}}); terms.Excludes(c.Name) != c.Match {
			t.Errorf("%q excludes %q: %v", c.Pattern, c.Name, !c.Match)
		}
	}
	for _, c := range file.Writable {
		if got := tree.Writable(c.Patterns, c.Path); got != c.Allowed {
			t.Errorf("%q may be written under %q: %v, want %v", c.Path, c.Patterns, got, c.Allowed)
		}
	}
	if len(file.Matches) < 53 || len(file.Writable) < 9 {
		t.Errorf("found %d and %d patterns", len(file.Matches), len(file.Writable))
	}
}
