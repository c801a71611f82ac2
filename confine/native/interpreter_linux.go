//go:build linux && cgo

package native

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/internal/cell"
	"pdlt.dev/pdlt/confine/internal/pack"
)

// Where an interpreter lies inside the root, whatever it is called outside.
const (
	pythonHome = "/python"
	readOnly   = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV
)

// interpreter is a Python resolved to what its cells need of it.
type interpreter struct {
	about  confine.Interpreter
	exe    string // inside the root
	stdlib string // inside the root
	loader string // the ELF loader, inside the root
	mounts []cell.Mount
	host   bool
	native []string // files inside the root to cover unless native code is allowed
	raw    string   // the executable outside, for baselines
	home   string   // PYTHONHOME outside, for baselines
}

func interpreterRefusal(path, found, required string) error {
	return &confine.Refusal{Code: confine.CodeInterpreter, Path: path, Found: found, Required: required}
}

// findPack opens and verifies the interpreter pack.
func findPack(dir string) (*pack.Pack, error) {
	if dir == "" {
		exe, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find own executable: %w", err)
		}
		if exe, err = filepath.EvalSymlinks(exe); err != nil {
			return nil, fmt.Errorf("find own executable: %w", err)
		}
		dir = filepath.Join(filepath.Dir(exe), "pack")
	}
	root := dir // a pack itself, unless the folder says which of its packs is current
	var err error
	if exists(filepath.Join(dir, "current")) || !exists(filepath.Join(dir, pack.ManifestName)) {
		root, err = pack.FindIn(dir)
	}
	var p *pack.Pack
	if err == nil {
		p, err = pack.Open(root)
	}
	if err == nil {
		err = p.Verify(false)
	}
	var m *pack.Mismatch
	if errors.As(err, &m) {
		return nil, &confine.Refusal{Code: confine.CodeInterpreter, Path: m.Path, Found: m.Found, Required: m.Required, Hint: "make pack"}
	}
	if err != nil {
		return nil, fmt.Errorf("open interpreter pack: %w", err)
	}
	if p.CellSO == "" {
		return nil, interpreterRefusal(p.Root, "a pack for "+p.Platform, "a pack for this system, with lib/cell.so")
	}
	return p, nil
}

// resolve finds the interpreter that o asks for and everything its root needs.
func resolve(o confine.Options) (*interpreter, error) {
	p, err := findPack(o.Pack)
	if err != nil {
		return nil, err
	}
	in := &interpreter{}
	if o.Python == "" {
		in.about = confine.Interpreter{Origin: "pack", Version: p.Version, Digest: "sha256:" + p.Digest}
		in.exe = pythonHome + strings.TrimPrefix(p.Python, p.Root)
		in.stdlib = pythonHome + strings.TrimPrefix(p.Stdlib, p.Root)
		in.raw, in.home = p.Python, p.Root
		in.mounts = append(in.mounts, cell.Mount{Kind: cell.MountBind, Flags: readOnly, Source: p.Root, Target: pythonHome})
	} else if err := in.fromHost(o.Python); err != nil {
		return nil, err
	}
	in.mounts = append(in.mounts,
		cell.Mount{Kind: cell.MountBind, Flags: readOnly, Source: p.CellSO, Target: cell.SO},
		cell.Mount{Kind: cell.MountBind, Flags: readOnly | unix.MS_NOEXEC, Source: p.Zoneinfo, Target: "/etc/zoneinfo"})
	// The C library's only UTF-8 locale that every system has: without it setlocale(LC_ALL, "") is an error in every program.
	for _, dir := range []string{"/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8"} {
		if _, err := os.Stat(dir); err == nil {
			in.mounts = append(in.mounts, cell.Mount{Kind: cell.MountBind, Flags: readOnly | unix.MS_NOEXEC, Source: dir, Target: dir})
			break
		}
	}
	return in, in.addLibraries(p.CellSO)
}

// hostFacts is what a host's Python says of itself.
type hostFacts struct {
	Exe, Prefix, ExecPrefix, Stdlib, Platstdlib, Version, Implementation string
	FreeThreaded                                                         bool
}

const askHost = `import sys, sysconfig, json
print(json.dumps(dict(Exe=getattr(sys, "_base_executable", sys.executable), Prefix=sys.base_prefix, ExecPrefix=sys.base_exec_prefix,
  Stdlib=sysconfig.get_path("stdlib", vars={"base": sys.base_prefix, "installed_base": sys.base_prefix}),
  Platstdlib=sysconfig.get_path("platstdlib", vars={"platbase": sys.base_exec_prefix, "installed_platbase": sys.base_exec_prefix}),
  Version="%d.%d.%d" % sys.version_info[:3], Implementation=sys.implementation.name, FreeThreaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")))))`

// fromHost resolves a host's Python: shims and virtual environments lead to the base interpreter, which is then confined by itself.
func (in *interpreter) fromHost(path string) error {
	required := "the path of a CPython 3.10 … 3.14 for glibc"
	fi, err := os.Stat(path)
	if err != nil {
		return interpreterRefusal(path, "nothing that can be opened: "+err.Error(), required)
	}
	if fi.IsDir() || fi.Mode()&0o111 == 0 {
		return interpreterRefusal(path, "no executable file", required)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-I", "-S", "-c", askHost)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8"}
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var f hostFacts
	if err == nil {
		err = json.Unmarshal(out, &f)
	}
	if err != nil {
		return interpreterRefusal(path, fmt.Sprintf("no Python: %v %.200q", err, stderr.String()), required)
	}
	var major, minor int
	_, _ = fmt.Sscanf(f.Version, "%d.%d", &major, &minor)
	if f.Implementation != "cpython" || major != 3 || minor < 10 || minor > 14 || f.FreeThreaded {
		what := f.Implementation + " " + f.Version
		if f.FreeThreaded {
			what += " without the GIL, where steps cannot be counted exactly"
		}
		return interpreterRefusal(path, what, required)
	}
	exe, err := filepath.EvalSymlinks(f.Exe)
	if err != nil {
		return interpreterRefusal(path, "a base interpreter that is missing: "+err.Error(), required)
	}
	series := fmt.Sprintf("python%d.%d", major, minor)
	in.host = true
	in.exe = pythonHome + "/bin/" + series
	in.stdlib = pythonHome + "/lib/" + series
	in.raw, in.home = exe, f.Prefix
	in.mounts = append(in.mounts,
		cell.Mount{Kind: cell.MountBind, Flags: readOnly, Source: exe, Target: in.exe},
		cell.Mount{Kind: cell.MountBind, Flags: readOnly, Source: f.Stdlib, Target: in.stdlib})
	dynload := filepath.Join(f.Platstdlib, "lib-dynload")
	if f.Platstdlib != f.Stdlib {
		if _, err := os.Stat(dynload); err == nil {
			in.mounts = append(in.mounts, cell.Mount{Kind: cell.MountBind, Flags: readOnly, Source: dynload, Target: in.stdlib + "/lib-dynload"})
		}
	}
	modules, _ := filepath.Glob(filepath.Join(dynload, "*.so"))
	for _, m := range modules {
		base := filepath.Base(m)
		name, _, _ := strings.Cut(base, ".")
		if dangerous[name] {
			in.native = append(in.native, in.stdlib+"/lib-dynload/"+base)
		}
	}
	if err := in.addLibraries(append([]string{exe}, modules...)...); err != nil {
		return err
	}
	// glibc opens it when a thread ends by pthread_exit, as CPython's daemon threads do at the end of a program.
	for _, d := range libraryDirs() {
		if lib := filepath.Join(d, "libgcc_s.so.1"); exists(lib) {
			in.mounts = append(in.mounts, cell.Mount{Kind: cell.MountBind, Flags: readOnly, Source: lib, Target: lib})
			break
		}
	}
	digest, err := in.digestHost(exe)
	if err != nil {
		return err
	}
	in.about = confine.Interpreter{Origin: "host", Version: f.Version, Digest: digest}
	return nil
}

// dangerous are the extension modules through which a program could call native code or leave the step counter. The pack drops them from its
// table of built-in modules; a host's are files, which are covered.
var dangerous = map[string]bool{"_ctypes": true, "_ctypes_test": true, "_testcapi": true, "_testinternalcapi": true, "_testlimitedcapi": true,
	"_testbuffer": true, "_testclinic": true, "_testclinic_limited": true, "_testimportmultiple": true, "_testmultiphase": true, "_testsinglephase": true,
	"_testexternalinspection": true, "_remote_debugging": true,
	"_xxsubinterpreters": true, "_xxinterpchannels": true, "_interpreters": true, "_interpchannels": true, "_interpqueues": true, "xxlimited": true, "xxlimited_35": true}

// digestHost names a host's interpreter by the executable and the libpython it links.
func (in *interpreter) digestHost(exe string) (string, error) {
	h := sha256.New()
	for _, name := range append([]string{exe}, in.sourcesOf("libpython")...) {
		f, err := os.Open(name)
		if err != nil {
			return "", fmt.Errorf("digest interpreter: %w", err)
		}
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return "", fmt.Errorf("digest interpreter: %w", err)
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

func (in *interpreter) sourcesOf(prefix string) []string {
	var names []string
	for _, m := range in.mounts {
		if strings.HasPrefix(filepath.Base(m.Target), prefix) {
			names = append(names, m.Source)
		}
	}
	return names
}

// addLibraries binds the ELF loader and every shared library that the files need, each where the loader looks by default. Only
// files are bound, never a folder of the host.
func (in *interpreter) addLibraries(files ...string) error {
	have := map[string]bool{}
	for _, m := range in.mounts {
		have[m.Target] = true
	}
	if in.raw != "" {
		files = append(files, in.raw)
	}
	dirs := libraryDirs()
	for len(files) > 0 {
		name := files[0]
		files = files[1:]
		f, err := elf.Open(name)
		if err != nil {
			return interpreterRefusal(name, "no ELF file: "+err.Error(), "a shared object or executable for this system")
		}
		needed, _ := f.ImportedLibraries()
		runpath := runpaths(f, name)
		interp := ""
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				b, _ := io.ReadAll(p.Open())
				interp = string(bytes.TrimRight(b, "\x00"))
			}
		}
		f.Close()
		if interp != "" && !have[interp] {
			if strings.Contains(interp, "musl") {
				return interpreterRefusal(name, "an executable for musl", "one for glibc")
			}
			have[interp] = true
			in.loader = interp
			in.mounts = append(in.mounts, cell.Mount{Kind: cell.MountBind, Flags: readOnly, Source: interp, Target: interp})
		}
		for _, lib := range needed {
			from, to := "", ""
			for _, d := range dirs {
				if _, err := os.Stat(filepath.Join(d, lib)); err == nil {
					from, to = filepath.Join(d, lib), filepath.Join(d, lib)
					break
				}
			}
			// A library of the interpreter's own folder goes where the loader looks when that folder does not exist.
			for _, d := range runpath {
				if _, err := os.Stat(filepath.Join(d, lib)); err == nil {
					from, to = filepath.Join(d, lib), "/lib/"+lib
					break
				}
			}
			if from == "" {
				if strings.HasPrefix(filepath.Base(name), "_") { // an optional extension module that would not load outside either
					continue
				}
				return interpreterRefusal(name, "a need of "+lib+", which is in no library folder", "the interpreter's shared libraries installed")
			}
			if have[to] || to == in.loader {
				continue
			}
			have[to] = true
			in.mounts = append(in.mounts, cell.Mount{Kind: cell.MountBind, Flags: readOnly, Source: from, Target: to})
			files = append(files, from)
		}
	}
	return nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func runpaths(f *elf.File, name string) []string {
	var dirs []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		list, _ := f.DynString(tag)
		for _, s := range list {
			for _, d := range strings.Split(s, ":") {
				d = strings.NewReplacer("$ORIGIN", filepath.Dir(name), "${ORIGIN}", filepath.Dir(name)).Replace(d)
				if filepath.IsAbs(d) {
					dirs = append(dirs, filepath.Clean(d))
				}
			}
		}
	}
	return dirs
}

// libraryDirs are the folders in which glibc's loader looks by itself, then those of ld.so.conf. Without a cache in the root only the first
// kind is searched inside, so a library of the second kind is found only through its full path.
func libraryDirs() []string {
	var dirs []string
	for _, triplet := range []string{"x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu"} {
		for _, d := range []string{"/lib/" + triplet, "/usr/lib/" + triplet} {
			if _, err := os.Stat(d); err == nil {
				dirs = append(dirs, d)
			}
		}
	}
	return append(dirs, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
}
