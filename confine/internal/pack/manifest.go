package pack

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// entry is one line of a manifest: "SHA256 SIZE MODE PATH", and "- 0 MODE PATH" for a folder. The root's path is ".".
type entry struct {
	sum  string // hex; "-" for a folder
	size int64
	mode fs.FileMode // permission bits only
	path string      // slash-separated, relative to the root
}

// rootMode keeps names from coming and going by accident.
const rootMode = 0o555

func (e entry) dir() bool { return e.sum == "-" }

func (e entry) String() string {
	return fmt.Sprintf("%s %d %04o %s", e.sum, e.size, e.mode, e.path)
}

func parseManifest(text []byte) ([]entry, error) {
	if len(text) == 0 || text[len(text)-1] != '\n' {
		return nil, errors.New("a truncated manifest")
	}
	list := make([]entry, 0, bytes.Count(text, []byte{'\n'}))
	for line := range strings.Lines(string(text)) {
		e, ok := parseEntry(line[:len(line)-1])
		if !ok || len(list) > 0 && list[len(list)-1].path >= e.path {
			return nil, fmt.Errorf("line %d: %.120q", len(list)+1, line)
		}
		list = append(list, e)
	}
	if list[0].path != "." || !list[0].dir() {
		return nil, errors.New("no line for the root")
	}
	return list, nil
}

// parseEntry accepts exactly what [entry.String] writes. It is on the way of every start, so it makes no garbage.
func parseEntry(line string) (e entry, ok bool) {
	sum, rest, ok1 := strings.Cut(line, " ")
	size, rest, ok2 := strings.Cut(rest, " ")
	mode, name, ok3 := strings.Cut(rest, " ")
	n, err1 := strconv.ParseUint(size, 10, 63)
	m, err2 := strconv.ParseUint(mode, 8, 9)
	e = entry{sum, int64(n), fs.FileMode(m), name}
	return e, ok1 && ok2 && ok3 && err1 == nil && err2 == nil &&
		(sum == "-" && n == 0 || isDigest(sum)) && (size[0] != '0' || size == "0") && len(mode) == 4 &&
		fs.ValidPath(name) && name != ManifestName && !strings.ContainsAny(name, "\\\r\n")
}

// WriteManifest writes the manifest of the tree below root, makes the root read-only and returns the tree's digest, which is
// the name that the folder must get. Anything but files and folders is an error. Modes below the root are recorded as they are.
func WriteManifest(root string) (digest string, err error) {
	list, err := walk(root)
	if err != nil {
		return "", fmt.Errorf("write manifest: %w", err)
	}
	for _, e := range list {
		if e.path == ManifestName {
			return "", fmt.Errorf("write manifest: %s has one already", root)
		}
		if e.mode&^0o777 != 0 {
			return "", fmt.Errorf("write manifest: %s: found %v; required: a plain file or folder", e.path, e.mode)
		}
	}
	list[0].mode = rootMode
	if err := hash(root, list); err != nil {
		return "", fmt.Errorf("write manifest: %w", err)
	}
	var b bytes.Buffer
	for _, e := range list {
		fmt.Fprintln(&b, e)
	}
	if _, err := parseManifest(b.Bytes()); err != nil {
		return "", fmt.Errorf("write manifest: a name that a manifest cannot hold: %w", err)
	}
	name := filepath.Join(root, ManifestName)
	err = os.WriteFile(name, b.Bytes(), 0o444)
	if err = errors.Join(err, os.Chmod(name, 0o444), os.Chmod(root, rootMode)); err != nil {
		return "", fmt.Errorf("write manifest: %w", err)
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:]), nil
}

// walk lists the tree below root in the manifest's order, links and special files included, without hashes.
func walk(root string) ([]entry, error) {
	var list []entry
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		e := entry{path: filepath.ToSlash(rel), size: fi.Size(), mode: fi.Mode()}
		if fi.IsDir() {
			e.sum, e.size, e.mode = "-", 0, fi.Mode()&^fs.ModeDir
		}
		list = append(list, e)
		return nil
	})
	slices.SortFunc(list, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	return list, err
}

// hash fills in the sums and sizes of the files in list, on all processors.
func hash(root string, list []entry) error {
	var (
		wg   sync.WaitGroup
		next = make(chan *entry)
		errs = make([]error, runtime.GOMAXPROCS(0))
	)
	for i := range errs {
		wg.Go(func() {
			buf := make([]byte, 256<<10)
			for e := range next {
				if errs[i] == nil {
					errs[i] = hashFile(root, e, buf)
				}
			}
		})
	}
	for i := range list {
		if !list[i].dir() {
			next <- &list[i]
		}
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

func hashFile(root string, e *entry, buf []byte) error {
	f, err := os.Open(filepath.Join(root, filepath.FromSlash(e.path)))
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	// The struct hides ReadFrom and WriteTo, so that the buffer is used.
	if e.size, err = io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, buf); err != nil {
		return err
	}
	e.sum = hex.EncodeToString(h.Sum(nil))
	return nil
}

// Verify returns nil when the folder holds exactly what its manifest lists: every file and folder with its content and
// mode, nothing else, and no links. When full is false and the stamp agrees with every entry, nothing is read;
// otherwise everything is hashed. A difference is a [*Mismatch] for the first path that differs.
func (p *Pack) Verify(full bool) error {
	if !full && p.stamped() == nil {
		return nil
	}
	return p.verifyFull()
}

func (p *Pack) verifyFull() error {
	found, err := walk(p.Root)
	if err != nil {
		return fmt.Errorf("verify interpreter pack: %w", err)
	}
	mismatch := func(name, got, want string) error {
		return &Mismatch{filepath.Join(p.Root, filepath.FromSlash(name)), got, want}
	}
	// First shape and modes, so that nothing but files of the manifest is ever opened.
	found = slices.DeleteFunc(found, func(e entry) bool { return e.path == ManifestName && e.mode.IsRegular() })
	for i := 0; i < len(found) || i < len(p.entries); i++ {
		switch {
		case i == len(found) || i < len(p.entries) && found[i].path > p.entries[i].path:
			return mismatch(p.entries[i].path, "nothing", describe(p.entries[i]))
		case i == len(p.entries) || found[i].path < p.entries[i].path:
			return mismatch(found[i].path, kind(found[i].mode|dirBit(found[i])), "nothing: the manifest does not list it")
		}
		f, e := found[i], p.entries[i]
		if f.dir() != e.dir() || !f.dir() && !f.mode.IsRegular() {
			return mismatch(e.path, kind(f.mode|dirBit(f)), describe(e))
		}
		// Windows has no permission bits to compare.
		if f.mode != e.mode && runtime.GOOS != "windows" {
			return mismatch(e.path, fmt.Sprintf("mode %04o", f.mode), fmt.Sprintf("mode %04o", e.mode))
		}
		if f.size != e.size {
			return mismatch(e.path, fmt.Sprintf("%d bytes", f.size), fmt.Sprintf("%d bytes", e.size))
		}
	}
	if err := hash(p.Root, found); err != nil {
		return fmt.Errorf("verify interpreter pack: %w", err)
	}
	for i, f := range found {
		if f.sum != p.entries[i].sum {
			return mismatch(f.path, "sha256 "+f.sum, "sha256 "+p.entries[i].sum)
		}
	}
	return nil
}

func describe(e entry) string {
	if e.dir() {
		return "a folder"
	}
	return "a file with sha256 " + e.sum
}

func dirBit(e entry) fs.FileMode {
	if e.dir() {
		return fs.ModeDir
	}
	return 0
}

// parents reports whether every entry's folder is listed before it; a manifest made by [WriteManifest] always is.
func parents(list []entry) bool {
	dirs := map[string]bool{".": true}
	for _, e := range list {
		parent := "."
		if i := strings.LastIndexByte(e.path, '/'); i > 0 {
			parent = e.path[:i]
		}
		if !dirs[parent] {
			return false
		}
		if e.dir() {
			dirs[e.path] = true
		}
	}
	return true
}
