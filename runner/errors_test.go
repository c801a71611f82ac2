package runner

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// Codes are part of the contract with whoever branches on them. A change to the golden file is a line in the changelog.
func TestCodesAreTheOnesThatWerePublished(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			fmt.Fprintf(&b, "%s %s\n", spec.Names[0].Name, spec.Values[0].(*ast.BasicLit).Value)
		}
		return true
	})
	golden(t, "codes.txt", []byte(b.String()))
}
