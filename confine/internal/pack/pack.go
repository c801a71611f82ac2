package pack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names inside a pack that code relies on.
const (
	ManifestName = "MANIFEST" // at the pack's root; its SHA-256 is the pack's digest
	versionName  = "VERSION"  // one line: CPython's version
	platformName = "PLATFORM" // one line: GOOS-GOARCH that the interpreter runs on
	currentName  = "current"  // beside the packs: the digest of the one to use
)

// Mismatch says that a pack is not what its name says. Callers get it with errors.As.
type Mismatch struct {
	Path     string // the file or folder
	Found    string // what was there
	Required string // what should be there
}

// Error gives path, found and required in one line.
func (m *Mismatch) Error() string {
	return fmt.Sprintf("interpreter pack: %s: found %s; required: %s", m.Path, m.Found, m.Required)
}

// Pack is an opened interpreter pack. All paths are absolute. It is safe for concurrent use.
type Pack struct {
	Digest   string // hex SHA-256 of the manifest; the folder's name
	Root     string // the folder
	Version  string // CPython's version, such as "3.14.6"
	Platform string // such as "linux-amd64"
	Python   string // the interpreter
	Stdlib   string // the standard library's folder
	CellSO   string // the native helper; empty where the platform has none
	Zoneinfo string // the time zone database

	entries []entry
}

// Find returns the folder of the pack that belongs to the commands in exeDir: the one that exeDir/pack/current names.
// It does not open it. When there is none, the error is a [*Mismatch].
func Find(exeDir string) (string, error) { return FindIn(filepath.Join(exeDir, "pack")) }

// FindIn is [Find] for a folder of packs, whatever it is called.
func FindIn(packs string) (string, error) {
	name := filepath.Join(packs, currentName)
	text, err := os.ReadFile(name)
	if err != nil {
		return "", &Mismatch{name, reason(err), `the digest of an interpreter pack (made by "make pack")`}
	}
	digest := strings.TrimSuffix(string(text), "\n")
	if !isDigest(digest) {
		return "", &Mismatch{name, fmt.Sprintf("%.80q", text), "64 hexadecimal digits"}
	}
	return filepath.Join(packs, digest), nil
}

// Open reads the manifest of the pack in dir and checks that its digest is the folder's name. It does not look at the
// files that the manifest lists: call [Pack.Verify] before trusting them. When dir is not a pack the error is a [*Mismatch].
func Open(dir string) (*Pack, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open interpreter pack: %w", err)
	}
	fi, err := os.Lstat(root)
	if err != nil {
		return nil, &Mismatch{root, reason(err), "the folder of an interpreter pack"}
	}
	if !fi.IsDir() {
		return nil, &Mismatch{root, kind(fi.Mode()), "a folder"}
	}
	name := filepath.Join(root, ManifestName)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, &Mismatch{name, reason(err), "the pack's manifest"}
	}
	p := &Pack{Root: root, Digest: filepath.Base(root)}
	sum := sha256.Sum256(text)
	if got := hex.EncodeToString(sum[:]); got != p.Digest {
		return nil, &Mismatch{name, "sha256 " + got, "sha256 " + p.Digest + ", the folder's name"}
	}
	if p.entries, err = parseManifest(text); err != nil {
		return nil, &Mismatch{name, err.Error(), "sorted lines of digest, size, mode and path"}
	}

	has := func(name string) bool {
		_, ok := slices.BinarySearchFunc(p.entries, name, func(e entry, name string) int { return strings.Compare(e.path, name) })
		return ok
	}
	for _, f := range []struct {
		to   *string
		name string
	}{{&p.Version, versionName}, {&p.Platform, platformName}} {
		text, err := os.ReadFile(filepath.Join(root, f.name))
		if err != nil || !has(f.name) {
			return nil, &Mismatch{filepath.Join(root, f.name), reason(err), "one line of text, listed in the manifest"}
		}
		*f.to = strings.TrimSuffix(string(text), "\n")
	}
	series := p.Version // 3.14.6 -> 3.14
	if i := strings.LastIndexByte(series, '.'); i > 0 {
		series = series[:i]
	}
	python, stdlib := "bin/python"+series, "lib/python"+series
	if strings.HasPrefix(p.Platform, "windows-") {
		python, stdlib = "python.exe", "Lib"
	}
	for _, f := range []struct {
		to       *string
		name     string
		optional bool
	}{
		{&p.Python, python, false},
		{&p.Stdlib, stdlib, false},
		{&p.Zoneinfo, "share/zoneinfo", false},
		{&p.CellSO, "lib/cell.so", true},
	} {
		if !has(f.name) {
			if f.optional {
				continue
			}
			return nil, &Mismatch{name, "no " + f.name, "a complete pack"}
		}
		*f.to = filepath.Join(root, filepath.FromSlash(f.name))
	}
	return p, nil
}

// reason is what a reader must know of a failed file operation: its path stands beside it already.
func reason(err error) string {
	switch {
	case err == nil:
		return "an unlisted file"
	case os.IsNotExist(err):
		return "nothing"
	}
	if pe, ok := err.(*os.PathError); ok {
		err = pe.Err
	}
	return err.Error()
}

func kind(m os.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a folder"
	case m&os.ModeSymlink != 0:
		return "a link"
	}
	return "a special file"
}

func isDigest(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == sha256.Size*2
}
