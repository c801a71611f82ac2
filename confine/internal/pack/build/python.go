package main

import (
	"archive/zip"
	"cmp"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// The interpreter's source: builds of python-build-standalone as a Go module. Version and checksum change together.
const (
	pythonVersion = "3.14.6"
	modulePath    = "github.com/kluctl/go-embed-python"
	moduleVersion = "v0.0.0-" + pythonVersion + "-20260610-1"
	moduleSum     = "h1:oGUS7++Wm3LgxUfD6AmJgKbKQD2wdQFO9PzyJv6T+E4="
)

// platforms are those the module has.
var platforms = []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64"}

// cellHome is where a cell sees the pack (struct cell_config, python_home). Byte code names files below it, so that the
// interpreter need not patch names when it loads a module there.
const cellHome = "/python"

// series is 3.14 for 3.14.6.
var series = pythonVersion[:strings.LastIndexByte(pythonVersion, '.')]

// epoch is the time of every entry: builds must not differ by the day they were made on.
var epoch = time.Unix(0, 0).UTC()

// dropped are folders and files of the standard library that a confined program has no use for: windows, editors, installers,
// tests. Globs below the standard library.
var dropped = []string{
	"tkinter", "idlelib", "turtle.py", "turtledemo", "ensurepip", "venv", "pydoc_data", "site-packages", "test", "lib2to3",
	"antigravity.py", "this.py", "__phello__", "config-*",
}

//go:embed notices
var notices embed.FS

// base returns the folder with this machine's pack as far as it does not depend on the helper, so that a change of a C file need
// not compile Python's library again. It is kept between builds.
func (b *builder) base() (string, error) {
	zone, err := zoneZip()
	if err != nil {
		return "", err
	}
	key, err := b.fingerprint([]string{"confine/internal/pack/build/python.go", "confine/internal/pack/build/notices/*", "LICENSE", zone}, native)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.out, ".base-"+key[:16])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	old, err := filepath.Glob(filepath.Join(b.out, ".base-*"))
	if err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(b.out, ".new-")
	if err != nil {
		return "", err
	}
	defer removeAll(tmp)
	if err := b.python(tmp, native, tmp); err != nil {
		return "", err
	}
	for _, name := range old {
		if err := removeAll(name); err != nil {
			return "", err
		}
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil { // not made by another build meanwhile
			return "", err
		}
	}
	return dir, nil
}

// python fills dir with the interpreter of a platform: trimmed, with byte code made by the interpreter in the folder host, time
// zones and notices.
func (b *builder) python(dir, platform, host string) error {
	data, licence, err := module()
	if err != nil {
		return err
	}
	windows := strings.HasPrefix(platform, "windows-")
	lib := "lib/python" + series
	if windows {
		lib = "Lib"
	}
	if err := unpack(filepath.Join(data, platform), dir, lib, windows); err != nil {
		return err
	}
	if !windows { // without the folder, the interpreter warns at every start
		if err := os.MkdirAll(filepath.Join(dir, lib, "lib-dynload"), 0o755); err != nil {
			return err
		}
	}
	if err := unzip(dir); err != nil {
		return err
	}
	if err := b.texts(dir, platform, data, licence); err != nil {
		return err
	}
	return compile(dir, lib, filepath.Join(host, "bin", "python"+series))
}

// module returns the data folder and the licence of the pinned module.
func module() (data, licence string, err error) {
	// Outside of any module: the pin stands here and not in go.mod, whose packages must not import it.
	cmd := exec.Command("go", "mod", "download", "-json", modulePath+"@"+moduleVersion)
	cmd.Dir, cmd.Env = os.TempDir(), append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	text, err := cmd.Output()
	var m struct{ Dir, Sum, Error string }
	if jerr := json.Unmarshal(text, &m); jerr != nil || err != nil || m.Error != "" {
		return "", "", fmt.Errorf("%s: %w", cmd, cmp.Or(err, jerr, errors.New(m.Error)))
	}
	if m.Sum != moduleSum {
		return "", "", fmt.Errorf("%s@%s: found checksum %s; required: %s", modulePath, moduleVersion, m.Sum, moduleSum)
	}
	return filepath.Join(m.Dir, "python", "internal", "data"), filepath.Join(m.Dir, "LICENSE"), nil
}

// unpack copies what the pack keeps of one platform's files.
func unpack(from, to, lib string, windows bool) error {
	var names []string
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, rerr := filepath.Rel(from, name)
			names, err = append(names, filepath.ToSlash(rel)), rerr
		}
		return err
	})
	if err != nil {
		return err
	}
	linked := false // is the interpreter's library linked into the executable?
	if fi, err := os.Stat(filepath.Join(from, "bin", "python"+series+".gz")); err == nil {
		linked = fi.Size() > 5_000_000 // packed: 12 MB when linked in, some KB when not
	}
	for _, name := range names {
		plain := strings.TrimSuffix(name, ".gz")
		if !keep(plain, lib, windows, linked) {
			continue
		}
		dst := filepath.Join(to, filepath.FromSlash(plain))
		if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
			return err
		}
		if err := copyFile(filepath.Join(from, filepath.FromSlash(name)), dst, plain != name, executable(plain)); err != nil {
			return err
		}
	}
	return nil
}

func executable(name string) bool { return name == "bin/python"+series || name == "python.exe" }

// keep decides about one file of the module. lib is the standard library's folder.
func keep(name, lib string, windows, linked bool) bool {
	if rest, ok := strings.CutPrefix(name, lib+"/"); ok {
		top, _, _ := strings.Cut(rest, "/")
		for _, glob := range dropped {
			if ok, _ := path.Match(glob, top); ok {
				return false
			}
		}
		return !strings.Contains(rest, "/test/") && top != "lib-dynload"
	}
	top, rest, _ := strings.Cut(name, "/")
	switch {
	case windows && top == "DLLs":
		for _, glob := range []string{"tcl*", "tk*", "_tkinter.pyd", "_ctypes_test.pyd", "_test*.pyd"} {
			if ok, _ := path.Match(glob, rest); ok {
				return false
			}
		}
		return true
	case windows:
		return rest == "" && name != "pythonw.exe" && name != "files.json"
	case top == "bin":
		return name == "bin/python"+series
	case top == "lib":
		return !linked && strings.HasPrefix(rest, "libpython"+series+".")
	}
	return false
}

func copyFile(from, to string, packed, executable bool) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	var r io.Reader = in
	if packed {
		if r, err = gzip.NewReader(in); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	mode := fs.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	return writeFile(to, r, mode)
}

func writeFile(to string, r io.Reader, mode fs.FileMode) error {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r)
	return errors.Join(err, out.Close())
}

func zoneZip() (string, error) {
	goroot, err := output("", "go", "env", "GOROOT")
	return filepath.Join(goroot, "lib", "time", "zoneinfo.zip"), err
}

// unzip puts the whole time zone database of the Go distribution into share/zoneinfo.
func unzip(dir string) error {
	name, err := zoneZip()
	if err != nil {
		return err
	}
	z, err := zip.OpenReader(name)
	if err != nil {
		return fmt.Errorf("time zones: %w", err)
	}
	defer z.Close()
	for _, f := range z.File {
		if !fs.ValidPath(strings.TrimSuffix(f.Name, "/")) {
			return fmt.Errorf("time zones: %s: a name that leaves the folder: %q", name, f.Name)
		}
		to := filepath.Join(dir, "share", "zoneinfo", filepath.FromSlash(f.Name))
		if strings.HasSuffix(f.Name, "/") {
			if err := os.MkdirAll(to, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		r, err := f.Open()
		if err != nil {
			return fmt.Errorf("time zones: %w", err)
		}
		err = writeFile(to, r, 0o644)
		if err = errors.Join(err, r.Close()); err != nil {
			return fmt.Errorf("time zones: %w", err)
		}
	}
	return nil
}

// texts writes the version, the platform and the licence notices.
func (b *builder) texts(dir, platform, data, licence string) error {
	to := filepath.Join(dir, "share", "licences")
	own, err := fs.Sub(notices, "notices")
	if err != nil {
		return err
	}
	if err := os.CopyFS(to, own); err != nil {
		return err
	}
	return errors.Join(
		// The same text on every platform; the builds for Windows lack it.
		copyFile(filepath.Join(data, "linux-amd64", "lib", "python"+series, "LICENSE.txt"), filepath.Join(to, "cpython.txt"), false, false),
		copyFile(licence, filepath.Join(to, "go-embed-python.txt"), false, false),
		copyFile(filepath.Join(b.root, "LICENSE"), filepath.Join(to, "pdlt.txt"), false, false),
		writeFile(filepath.Join(dir, "VERSION"), strings.NewReader(pythonVersion+"\n"), 0o644),
		writeFile(filepath.Join(dir, "PLATFORM"), strings.NewReader(platform+"\n"), 0o644),
	)
}

// compile adds byte code that is never checked against its source. One process per shard compiles its share in a fixed order,
// because what the interpreter compiled before shows in the references inside of byte code.
func compile(dir, lib, python string) error {
	var sources []string
	root := filepath.Join(dir, lib)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".py") && d.Type().IsRegular() {
			rel, rerr := filepath.Rel(dir, name)
			sources, err = append(sources, filepath.ToSlash(rel)), rerr
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(sources)
	const shards = 8 // fixed: the result must not depend on the number of processors
	if python, err = filepath.Abs(python); err != nil {
		return err
	}
	var (
		wg   sync.WaitGroup
		slot = make(chan struct{}, runtime.GOMAXPROCS(0))
		errs = make([]error, shards)
	)
	for i := range shards {
		var share []string
		for j := i; j < len(sources); j += shards {
			share = append(share, sources[j])
		}
		wg.Go(func() {
			slot <- struct{}{}
			defer func() { <-slot }()
			cmd := exec.Command(python, "-S", "-s", "-P", "-c", compiler314, cellHome)
			cmd.Dir = dir
			cmd.Env = []string{"PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1", "LC_ALL=C.UTF-8"}
			cmd.Stdin = strings.NewReader(strings.Join(share, "\n"))
			if out, err := cmd.CombinedOutput(); err != nil {
				errs[i] = fmt.Errorf("byte code: %w\n%s", err, out)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// compiler314 reads names from standard input. All of them must compile: what does not is dropped from the pack, not ignored.
const compiler314 = `
import gc, py_compile, sys
gc.disable()
home, mode = sys.argv[1], py_compile.PycInvalidationMode.UNCHECKED_HASH
for name in sys.stdin.read().split("\n"):
    if name:
        py_compile.compile(name, dfile=home + "/" + name, doraise=True, invalidation_mode=mode)
`

// normalise makes everything below dir read-only: 0555 for folders and executables, 0444 for other files.
func normalise(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o444)
		if fi.IsDir() || fi.Mode()&0o100 != 0 {
			mode = 0o555
		}
		return os.Chmod(name, mode)
	})
}

// age sets the times of dir and everything below.
func age(dir string) error {
	return filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(name, epoch, epoch)
	})
}
