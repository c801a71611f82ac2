package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"unicode/utf8"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/tree"
)

// Version is the version of the document.
const Version = "residency.snapshot.v1"

// Terms are what a snapshot says beside its files: what is left out of it, what is no text, and two members that are carried.
type Terms struct {
	Exclusions  []string    // globs
	BinaryPaths []string    // files that are hashed byte for byte
	Revision    jsonx.Value // base_revision
	Config      jsonx.Value // visible_config; null stands for an empty object
}

// ParseTerms reads the terms of a snapshot, or of a definition of one. It answers false if a list is no list of strings.
func ParseTerms(doc jsonx.Value) (Terms, bool) {
	t := Terms{}
	var ok, okBinary bool
	t.Exclusions, ok = List(doc, "exclusions")
	t.BinaryPaths, okBinary = List(doc, "binary_paths")
	t.Revision, _ = doc.Get("base_revision")
	t.Config, _ = doc.Get("visible_config")
	return t, ok && okBinary
}

// List reads a member that is a list of strings; one that is not there or null is an empty list.
func List(doc jsonx.Value, name string) ([]string, bool) {
	m, _ := doc.Get(name)
	if m.Kind != jsonx.Array && m.Kind != jsonx.Null {
		return nil, false
	}
	list := make([]string, 0, len(m.Elems))
	for _, e := range m.Elems {
		if e.Kind != jsonx.String {
			return nil, false
		}
		list = append(list, e.Str)
	}
	return list, true
}

// Excludes reports whether a path is left out.
func (t Terms) Excludes(path string) bool { return tree.MatchAny(t.Exclusions, path) }

// form gives the bytes of a file that are hashed: no content is looked at to tell what is a text.
func (t Terms) form(path string, data []byte) []byte {
	if slices.Contains(t.BinaryPaths, path) {
		return data
	}
	return provenance.LF(data)
}

// Sealer builds a snapshot file by file. The zero Sealer seals nothing under no terms.
type Sealer struct {
	Terms
	files, modes []jsonx.Member
}

// Add seals a file, unless it is excluded. The document lists files in the order in which they were added: [tree.Folder.Walk] is the one to follow.
func (s *Sealer) Add(path string, f tree.File) {
	if s.Excludes(path) {
		return
	}
	s.files = append(s.files, provenance.Member(path, provenance.String(provenance.Digest(s.form(path, f.Data)))))
	s.modes = append(s.modes, provenance.Member(path, provenance.String(f.Mode.String())))
}

// Document gives the sealed document and its id. It is the one builder of snapshots.
func (s *Sealer) Document() (doc jsonx.Value, id string, err error) {
	config := s.Config
	if config.Kind == jsonx.Null {
		config = provenance.Object()
	}
	doc, id, err = provenance.Snapshot.Seal(provenance.Object(
		provenance.Member("snapshot_version", provenance.String(Version)),
		provenance.Member("files", provenance.Object(s.files...)),
		provenance.Member("exclusions", provenance.Strings(slices.Sorted(slices.Values(s.Exclusions)))),
		provenance.Member("binary_paths", provenance.Strings(slices.Compact(slices.Sorted(slices.Values(s.BinaryPaths))))),
		provenance.Member("file_modes", provenance.Object(s.modes...)),
		provenance.Member("base_revision", s.Revision),
		provenance.Member("visible_config", config),
	))
	if err != nil {
		return jsonx.Value{}, "", fmt.Errorf("seal snapshot: %w", err)
	}
	return doc, id, nil
}

// Seal builds the snapshot of a folder. Links are left out, and so is what is neither a file nor a folder.
func Seal(d *tree.Folder, t Terms) (doc jsonx.Value, id string, err error) {
	s := Sealer{Terms: t}
	err = d.Walk(func(e tree.Entry) error {
		if e.Type != 0 || t.Excludes(e.Path) {
			return nil
		}
		f, err := e.Read()
		if err != nil {
			return fmt.Errorf("seal %s: %w", e.Path, err)
		}
		s.Add(e.Path, f)
		return nil
	})
	if err != nil {
		return jsonx.Value{}, "", err
	}
	return s.Document()
}

// Noncanonical gives the sealed modes that archives cannot keep, as the detail of a refusal, and whether there are any.
func Noncanonical(doc jsonx.Value) (detail jsonx.Value, found bool) {
	modes, _ := doc.Get("file_modes")
	paths := provenance.Object()
	for _, m := range modes.Members {
		mode, ok := tree.ParseMode(m.Value.Str)
		if ok && mode.IsCanonical() {
			continue
		}
		paths.Members = append(paths.Members, provenance.Member(m.Name, provenance.Object(
			provenance.Member("observed", provenance.String(m.Value.Str)), provenance.Member("required", provenance.String(mode.Canonical().String())))))
	}
	return provenance.Object(provenance.Member("paths", paths)), len(paths.Members) > 0
}

// File is a file of an admitted subject.
type File struct {
	Data   []byte // in LF form, unless it is binary
	Mode   tree.Mode
	Binary bool
}

// Admit reads a folder that is to be the subject of a snapshot, and gives its files: specification §12.4. What is excluded is not looked at, unless it is a
// link. An error that is a *provenance.Refusal has the code [CodeSubject].
func Admit(d *tree.Folder, doc jsonx.Value) (map[string]File, error) {
	terms, ok := ParseTerms(doc)
	if !ok {
		return nil, refuse("snapshot.json", "exclusions or binary_paths that are no lists", "lists of strings")
	}
	content := map[string]File{}
	digests := map[string]string{}
	err := d.Walk(func(e tree.Entry) error {
		if e.Type != 0 {
			return refuse(e.Path, "a link or a special file", "a regular file")
		}
		if terms.Excludes(e.Path) {
			return nil
		}
		f, err := e.Read()
		if err != nil {
			return readFailure(e.Path, err)
		}
		data := terms.form(e.Path, f.Data)
		binary := slices.Contains(terms.BinaryPaths, e.Path)
		if !binary && !utf8.Valid(data) {
			return refuse(e.Path, "bytes that are not UTF-8", "a text, or a mention in binary_paths")
		}
		content[e.Path] = File{Data: data, Mode: f.Mode, Binary: binary}
		digests[e.Path] = provenance.Digest(data)
		return nil
	})
	if err != nil {
		return nil, readFailure("subject", err)
	}
	return content, sealed(doc, content, digests)
}

// sealed compares what was read with what the document seals.
func sealed(doc jsonx.Value, content map[string]File, digests map[string]string) error {
	files, _ := doc.Get("files")
	modes, _ := doc.Get("file_modes")
	for _, m := range files.Members {
		got, ok := digests[m.Name]
		switch {
		case !ok:
			return refuse(m.Name, "nothing", "a file, because it is sealed")
		case m.Value.Kind != jsonx.String || m.Value.Str != got:
			return refuse(m.Name, got, "the sealed bytes")
		}
		delete(digests, m.Name)
	}
	if extra := slices.Sorted(maps.Keys(digests)); len(extra) > 0 {
		return refuse(extra[0], "a file", "nothing, because it is not sealed")
	}
	for _, m := range modes.Members {
		f, ok := content[m.Name]
		if !ok || m.Value.Kind != jsonx.String || m.Value.Str != f.Mode.String() {
			return refuse(m.Name, f.Mode.String(), "the sealed mode")
		}
	}
	return nil
}

func refuse(path, found, required string) error {
	return &provenance.Refusal{Code: CodeSubject, Path: path, Found: found, Required: required}
}

// readFailure turns what a hostile folder can cause into a refusal. What is left is a fault.
func readFailure(path string, err error) error {
	for _, cause := range []error{tree.ErrLink, tree.ErrNotRegular, tree.ErrTooLarge, fs.ErrNotExist, fs.ErrPermission} {
		if errors.Is(err, cause) {
			return refuse(path, cause.Error(), "a folder of regular files, and nothing else")
		}
	}
	return err
}
