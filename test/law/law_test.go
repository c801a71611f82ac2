// Package law holds the structural laws of this module: who may import whom, what every package must say about itself, and what the
// build must refuse. They hold for packages that appear later without being told about them. A law that must change is
// changed together with a decision record that says which clause expired and what must not.
//
// Structure is read from the go command and from syntax trees, never from a search of the text: a comment may name what the
// code deliberately does not do.
package law

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "pdlt.dev/pdlt"

// tags are those of the Makefile.
const tags = "seccomp,osusergo,netgo"

// root is the module's folder, as seen from here.
const root = "../.."

// systems are those that the laws are checked for.
var systems = []string{"linux", "darwin", "windows"}

// listed is what the go command says of a package.
type listed struct {
	ImportPath, Name string
	Standard         bool
	Imports, Deps    []string
	Module           *struct{ Path string }
}

// in reports whether the package is at or below one of the folders of this module.
func (p *listed) in(folders ...string) bool { return below(rel(p.ImportPath), folders...) }

// rel is the folder of an import path of this module, and "" for other packages.
func rel(importPath string) string {
	r, ok := strings.CutPrefix(importPath, module+"/")
	if !ok {
		return ""
	}
	return r
}

// below reports whether a slash-separated path is at or below one of the others.
func below(name string, folders ...string) bool {
	for _, f := range folders {
		if name == f || strings.HasPrefix(name, f+"/") {
			return true
		}
	}
	return false
}

// list asks the go command for the packages of the patterns and all that they depend on, as compiled for a system.
func list(t *testing.T, system string, patterns ...string) map[string]*listed {
	t.Helper()
	cgo := "0"
	if system == "linux" {
		cgo = "1"
	}
	args := append([]string{"list", "-deps", "-json=ImportPath,Name,Standard,Imports,Deps,Module", "-tags=" + tags}, patterns...)
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED="+cgo, "GOFLAGS=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, &stderr)
	}
	packages := map[string]*listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = p
	}
	return packages
}

// folder is a folder with Go files, read for all systems at once.
type folder struct {
	path  string // slash-separated, below the module's root
	name  string // of the package, as its files that are no tests have it; else as the tests have it
	files map[string]*ast.File
	tests map[string]*ast.File
}

// tool reports whether the folder holds a program that the build or a test runs. No shipped command can contain one, because a
// main package cannot be imported.
func (f *folder) tool() bool { return f.name == "main" && !below(f.path, "cmd") }

var fset = token.NewFileSet()

// folders parses every Go file of the module.
var folders = sync.OnceValues(func() (map[string]*folder, error) {
	all := map[string]*folder{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		r, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		r = filepath.ToSlash(r)
		if d.IsDir() {
			if base := d.Name(); r != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata") || below(r, "bin", "dist") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		// Through os, so that the go command's test cache sees what was read.
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(fset, r, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		at := path.Dir(r)
		f := all[at]
		if f == nil {
			f = &folder{path: at, files: map[string]*ast.File{}, tests: map[string]*ast.File{}}
			all[at] = f
		}
		if strings.HasSuffix(name, "_test.go") {
			f.tests[r] = file
			if f.name == "" {
				f.name = strings.TrimSuffix(file.Name.Name, "_test")
			}
		} else {
			f.files[r] = file
			f.name = file.Name.Name
		}
		return nil
	})
	return all, err
})

func parsed(t *testing.T) map[string]*folder {
	t.Helper()
	all, err := folders()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 3 {
		t.Fatalf("found %d folders with Go files below %s: the law would hold for want of subjects", len(all), root)
	}
	return all
}

// uses calls f for every pkg.Name in a file whose pkg is an import, with the import's path.
func uses(file *ast.File, f func(n *ast.SelectorExpr, importPath string)) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = p
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && imports[id.Name] != "" {
				f(sel, imports[id.Name])
			}
		}
		return true
	})
}

func at(n ast.Node) string {
	p := fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}
