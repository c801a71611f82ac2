package conformance

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every reported failure of sections 2, 3 and 4 of the cases has a test, which is there, or a reason why it cannot occur.
func TestEveryReportedFailureHasATestOrAReason(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "failures.txt"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[int]bool{}
	tests := map[string]map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		number, rest, _ := strings.Cut(line, " ")
		folder, name, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(number)
		if err != nil || name == "" {
			t.Errorf("found %q; required: a number, a folder and a test, or a number, \"none\" and a reason", line)
			continue
		}
		told[n] = true
		if folder == "none" {
			continue
		}
		if tests[folder] == nil {
			tests[folder] = testsOf(t, folder)
		}
		if !tests[folder][name] {
			t.Errorf("%d: %s has no test %q", n, folder, name)
		}
	}
	cases, err := os.ReadFile(filepath.Join(root, "..", "shared", "cases", "failures.md"))
	if errors.Is(err, fs.ErrNotExist) {
		lack(t, "the cases are not beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	row, section := regexp.MustCompile(`^\| (\d+) \|`), ""
	for line := range bytes.Lines(cases) {
		if rest, ok := bytes.CutPrefix(line, []byte("## ")); ok {
			section = string(rest[:2])
		}
		if m := row.FindSubmatch(line); m != nil && strings.Contains("2. 3. 4.", section) {
			if n, _ := strconv.Atoi(string(m[1])); !told[n] {
				t.Errorf("case %d of section %s has neither a test nor a reason", n, section)
			}
		}
	}
}

// testsOf gives the names of the test functions of a folder, and the texts that stand in its code, which name the tests of tables.
func testsOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				names[n.Name.Name] = true
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					names[s] = true
				}
			}
			return true
		})
	}
	return names
}
