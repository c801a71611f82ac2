package provenance_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Codes are part of the contract with whoever branches on them. A change to the golden file is a line in the changelog.
func TestCodesAreTheOnesThatWerePublished(t *testing.T) {
	var b strings.Builder
	for _, folder := range []string{"bundle", "environment", "receipt", "report", "snapshot"} {
		file, err := parser.ParseFile(token.NewFileSet(), path.Join(folder, "errors.go"), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Code") {
				fmt.Fprintf(&b, "%s.%s %s\n", folder, spec.Names[0].Name, spec.Values[0].(*ast.BasicLit).Value)
			}
			return true
		})
	}
	const golden = "testdata/codes.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("-published +now\n%s", diff)
	}
}
