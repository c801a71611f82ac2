// Command build makes the interpreter pack. It reads one pinned Go module with builds of CPython, trims it, adds byte code, the
// time zone database, licence notices and the native helper of confine/internal/cell, and puts the result into a
// folder named by its digest:
//
//	go run ./confine/internal/pack/build                                  # bin/pack/DIGEST for this machine
//	go run ./confine/internal/pack/build -os darwin -arch arm64 -archive x.tar.zst
//
// Equal inputs give equal digests. When nothing changed it does nothing.
//
// It lives here and not in hack/, because the build needs it, and below confine/, because nothing else may start
// processes. No shipped command contains it.
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"pdlt.dev/pdlt/confine/internal/pack"
)

func main() {
	b := builder{log: os.Stderr}
	flag.StringVar(&b.out, "out", "bin/pack", "folder of the packs")
	flag.StringVar(&b.os, "os", runtime.GOOS, "system the pack is for")
	flag.StringVar(&b.arch, "arch", runtime.GOARCH, "processor the pack is for")
	archive := flag.String("archive", "", "write this .tar.zst instead; unpacked into a folder called pack it is complete")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := b.run(*archive); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// native is the platform of this machine, whose pack gets the helper and beside whose commands the folder lies.
const native = runtime.GOOS + "-" + runtime.GOARCH

// cellSources are the C sources of the helper, by pattern below the module's root. The stage that is linked into the
// commands (stage.c) is none of them.
var cellSources = []string{"confine/internal/cell/launch.c", "confine/internal/cell/python/*.c"}

// cellFlags keep the compiler's output free of paths and ids.
var cellFlags = []string{"-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-fvisibility=hidden", "-Wl,-z,now", "-ffile-prefix-map=" + "./=", "-Wl,--build-id=none", "-s"}

// keyFiles are the files, by pattern, whose content decides what a pack holds.
var keyFiles = []string{
	"confine/internal/pack/*.go", "confine/internal/pack/build/*.go", "confine/internal/pack/build/notices/*",
	"confine/internal/cell/*.[ch]", "confine/internal/cell/python/*.[ch]",
}

type builder struct {
	os, arch string
	out      string // the folder of the packs
	root     string // of this module
	log      io.Writer
}

func (b *builder) platform() string { return b.os + "-" + b.arch }

func (b *builder) run(archive string) error {
	mod, err := output("", "go", "env", "GOMOD")
	if err != nil {
		return err
	}
	b.root = filepath.Dir(mod)
	if !slices.Contains(platforms, b.platform()) {
		return fmt.Errorf("%s: required: one of %s", b.platform(), strings.Join(platforms, ", "))
	}
	if archive == "" && b.platform() != native {
		return fmt.Errorf("%s is not this machine's platform: give -archive", b.platform())
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	if archive != "" {
		return b.archive(archive)
	}
	key, err := b.key()
	if err != nil {
		return err
	}
	keyName := filepath.Join(b.out, ".key")
	if stored, err := os.ReadFile(keyName); err == nil {
		if k, digest, ok := strings.Cut(strings.TrimSpace(string(stored)), " "); ok && k == key && b.intact(digest) {
			return nil
		}
	}
	start := time.Now()
	digest, err := b.install()
	if err != nil {
		return err
	}
	if err := replace(keyName, []byte(key+" "+digest+"\n")); err != nil {
		return err
	}
	fmt.Fprintf(b.log, "pack: %s CPython %s, made in %.1f s\n", filepath.Join(b.out, digest), pythonVersion, time.Since(start).Seconds())
	return nil
}

// intact reports whether the pack is in place, current and verified.
func (b *builder) intact(digest string) bool {
	dir, err := pack.Find(filepath.Dir(b.out))
	if filepath.Base(b.out) != "pack" || err != nil || filepath.Base(dir) != digest {
		return false
	}
	p, err := pack.Open(dir)
	return err == nil && p.Verify(false) == nil
}

// key names everything that decides what the pack holds.
func (b *builder) key() (string, error) {
	cc, err := output("", compiler(), "--version")
	if err != nil {
		return "", fmt.Errorf("%w (install gcc: make deps)", err)
	}
	zone, err := zoneZip()
	if err != nil {
		return "", err
	}
	return b.fingerprint(append(keyFiles, zone), native, moduleSum, compiler(), cc)
}

// fingerprint hashes words and the files that match the patterns, which are below the module's root unless absolute.
func (b *builder) fingerprint(patterns []string, words ...string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", words)
	for _, pattern := range patterns {
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(b.root, pattern)
		}
		names, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%s %d\n%s", filepath.Base(name), len(text), text)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// install makes the pack for this machine, moves it into place and makes it the current one.
func (b *builder) install() (digest string, err error) {
	tree, err := os.MkdirTemp(b.out, ".new-")
	if err != nil {
		return "", err
	}
	defer removeAll(tree)
	if digest, err = b.tree(tree); err != nil {
		return "", err
	}
	final := filepath.Join(b.out, digest)
	if p, err := pack.Open(final); err != nil || p.Verify(true) != nil {
		if _, err := os.Lstat(final); err == nil { // damaged: out of the way first, a folder cannot be replaced at once
			if err := os.Rename(final, tree+".old"); err != nil {
				return "", err
			}
			defer removeAll(tree + ".old")
		}
		if err := os.Rename(tree, final); err != nil {
			return "", err
		}
	}
	p, err := pack.Open(final)
	if err != nil {
		return "", err
	}
	if err := p.WriteStamp(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return "", err
	}
	previous, _ := os.ReadFile(filepath.Join(b.out, "current"))
	if err := replace(filepath.Join(b.out, "current"), []byte(digest+"\n")); err != nil {
		return "", err
	}
	return digest, b.prune(digest, strings.TrimSpace(string(previous)))
}

// prune removes the packs that are neither the current one nor the one before, which a running server may still use.
func (b *builder) prune(keep ...string) error {
	list, err := os.ReadDir(b.out)
	if err != nil {
		return err
	}
	for _, d := range list {
		name := strings.TrimSuffix(d.Name(), ".stamp")
		if len(name) != sha256.Size*2 || slices.Contains(keep, name) {
			continue
		}
		if err := removeAll(filepath.Join(b.out, d.Name())); err != nil {
			return err
		}
	}
	return nil
}

// tree fills the empty folder dir with the finished pack and returns its digest.
func (b *builder) tree(dir string) (digest string, err error) {
	base, err := b.base()
	if err != nil {
		return "", err
	}
	if b.platform() == native {
		err = os.CopyFS(dir, os.DirFS(base))
	} else {
		err = b.python(dir, b.platform(), base)
	}
	if err != nil {
		return "", err
	}
	if b.platform() == native && runtime.GOOS == "linux" {
		if err := b.compileCell(filepath.Join(dir, "lib", "cell.so")); err != nil {
			return "", err
		}
	}
	if err := normalise(dir); err != nil {
		return "", err
	}
	if digest, err = pack.WriteManifest(dir); err != nil {
		return "", err
	}
	return digest, age(dir)
}

// compileCell compiles the native helper.
func (b *builder) compileCell(to string) error {
	var sources []string
	for _, pattern := range cellSources {
		names, err := filepath.Glob(filepath.Join(b.root, pattern))
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return fmt.Errorf("native helper: no file matches %s", pattern)
		}
		for _, name := range names {
			rel, err := filepath.Rel(b.root, name)
			if err != nil {
				return err
			}
			sources = append(sources, "./"+filepath.ToSlash(rel))
		}
	}
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	args := append(slices.Clone(cellFlags), "-Iconfine/internal/cell", "-o", to)
	text, err := output(b.root, compiler(), append(args, sources...)...)
	if text != "" {
		fmt.Fprintln(b.log, text)
	}
	return err
}

func compiler() string {
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	return "gcc"
}

// archive writes the pack as a .tar.zst: what a folder called pack must hold, without stamp.
func (b *builder) archive(name string) error {
	work, err := os.MkdirTemp(b.out, ".new-")
	if err != nil {
		return err
	}
	defer removeAll(work)
	tree := filepath.Join(work, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return err
	}
	digest, err := b.tree(tree)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".archive-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	// One encoder goroutine: the bytes must not depend on the number of processors.
	z, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	current := []byte(digest + "\n")
	err = t.WriteHeader(&tar.Header{Name: "current", Mode: 0o644, Size: int64(len(current)), ModTime: epoch, Typeflag: tar.TypeReg})
	if err == nil {
		_, err = t.Write(current)
	}
	if err == nil {
		err = filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return addToTar(t, tree, path, digest, d)
		})
	}
	if err = errors.Join(err, t.Close(), z.Close(), f.Chmod(0o644), f.Sync()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	fmt.Fprintf(b.log, "pack: %s: %s CPython %s %s\n", name, b.platform(), pythonVersion, digest)
	return nil
}

func addToTar(t *tar.Writer, tree, path, digest string, d fs.DirEntry) error {
	fi, err := d.Info()
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(tree, path)
	if err != nil {
		return err
	}
	h := &tar.Header{
		Name: filepath.ToSlash(filepath.Join(digest, rel)), Mode: int64(fi.Mode().Perm()), ModTime: epoch, Format: tar.FormatPAX,
		Typeflag: tar.TypeReg, Size: fi.Size(),
	}
	if fi.IsDir() {
		h.Name, h.Typeflag, h.Size = h.Name+"/", tar.TypeDir, 0
		return t.WriteHeader(h)
	}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(t, f)
	return err
}

// output runs a command without the caller's standard input and returns what it wrote. A failure carries it.
func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	text := strings.TrimSpace(out.String())
	if err != nil {
		return text, fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	return text, nil
}

// replace writes a small file beside its name and renames it.
func replace(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".file-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// removeAll removes a tree whose folders are read-only.
func removeAll(root string) error {
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(name, 0o755)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, os.RemoveAll(root))
}
