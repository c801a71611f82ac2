package law

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func lines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		list = append(list, sc.Text())
	}
	return list
}

func commands(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(root, "cmd", "*", "main.go"))
	if err != nil || len(list) == 0 {
		t.Fatalf("found no command: %v", err)
	}
	return list
}

func TestMainIsShort(t *testing.T) {
	for _, name := range commands(t) {
		if n := len(lines(t, name)); n >= 20 {
			t.Errorf("%s: found %d lines; required: fewer than 20", name, n)
		}
	}
}

func TestTheMakefileIsShort(t *testing.T) {
	if n := len(lines(t, filepath.Join(root, "Makefile"))); n >= 60 {
		t.Errorf("Makefile: found %d lines; required: fewer than 60", n)
	}
}

// top is what may stand at the top of the tree. More needs a decision record.
var top = []string{
	"confine", "runner", "mcp", "provenance", "cmd", "hack", "test", "internal", "docs", "go.mod", "go.sum", "Makefile", "README.md",
	"CHANGELOG.md", "LICENSE", "NOTICE",
	"bin", "dist", // made by the build, ignored by git
}

func TestNothingElseStandsAtTheTop(t *testing.T) {
	list, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		if !strings.HasPrefix(d.Name(), ".") && !below(d.Name(), top...) {
			t.Errorf("%s: not in the list of what stands at the top", d.Name())
		}
	}
}

// requireBlocks reads go.mod: the comment above each require block, and its modules.
func requireBlocks(t *testing.T) (comments []string, modules [][]string) {
	t.Helper()
	before, inside := "", false
	for _, line := range lines(t, filepath.Join(root, "go.mod")) {
		switch {
		case strings.HasPrefix(line, "require"):
			if line != "require (" {
				t.Errorf("go.mod: found %q; required: a line in one of the two blocks", line)
				continue
			}
			comments, modules, inside = append(comments, before), append(modules, nil), true
		case line == ")":
			inside = false
		case inside && strings.TrimSpace(line) != "":
			modules[len(modules)-1] = append(modules[len(modules)-1], strings.Fields(line)[0])
		}
		before = strings.TrimPrefix(line, "// ")
	}
	return comments, modules
}

func TestGoModSaysWhatShips(t *testing.T) {
	comments, modules := requireBlocks(t)
	if len(comments) != 2 || !strings.HasPrefix(comments[0], "What ships") || !strings.HasPrefix(comments[1], "Test only") {
		t.Fatalf("found require blocks with the comments %q; required: one that begins with \"What ships\" and one with \"Test only\"", comments)
	}
	for _, system := range systems {
		used := map[string]string{}
		for _, p := range list(t, system, "./cmd/...") {
			if p.Module != nil {
				used[p.Module.Path] = p.ImportPath
			}
		}
		for _, m := range modules[1] {
			if p := used[m]; p != "" {
				t.Errorf("%s: %s is in the block of the tests and a command contains %s", system, m, p)
			}
		}
	}
}

func TestACommandWithoutTheSeccompTagDoesNotBuild(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the tag means something on Linux only")
	}
	for _, c := range []struct{ name, tags, cgo string }{
		{"without the tag", "osusergo,netgo", "1"},
		{"without cgo", tags, "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range commands(t) {
				cmd := exec.Command("go", "build", "-o", os.DevNull, "-tags="+c.tags, ".")
				cmd.Dir = filepath.Dir(name)
				cmd.Env = append(os.Environ(), "CGO_ENABLED="+c.cgo, "GOFLAGS=-trimpath")
				out, err := cmd.CombinedOutput()
				if err == nil {
					t.Errorf("%s: builds; required: an error", filepath.Dir(name))
				} else if !bytes.Contains(out, []byte("run_make_build")) {
					t.Errorf("%s: the error does not say what to do:\n%s", filepath.Dir(name), out)
				}
			}
		})
	}
}

// Where a user's packages come from is the user's affair. The names are put together here so that this file passes.
func TestNoFileNamesARegistryHost(t *testing.T) {
	var hosts [][]byte
	for _, h := range [][]string{
		{"proxy", "golang", "org"}, {"sum", "golang", "org"}, {"pypi", "org"}, {"files", "pythonhosted", "org"}, {"registry", "npmjs", "org"},
		{"crates", "io"}, {"deb", "debian", "org"}, {"archive", "ubuntu", "com"}, {"registry-1", "docker", "io"}, {"rubygems", "org"},
	} {
		hosts = append(hosts, []byte(strings.Join(h, ".")))
	}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if r, _ := filepath.Rel(root, name); below(filepath.ToSlash(r), ".git", "bin", "dist") {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, h := range hosts {
			if bytes.Contains(text, h) {
				t.Errorf("%s: names %s", name, h)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
