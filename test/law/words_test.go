package law

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestEveryPackageHasOnePackageComment(t *testing.T) {
	for _, f := range parsed(t) {
		files := f.files
		if len(files) == 0 {
			files = f.tests
		}
		var with []string
		for name, file := range files {
			if file.Doc.Text() != "" {
				with = append(with, name)
			}
		}
		slices.Sort(with)
		if len(with) != 1 {
			t.Errorf("%s: found package comments in %v; required: exactly one", f.path, with)
			continue
		}
		begin := "Package " + f.name + " "
		if f.name == "main" {
			begin = "Command " + path.Base(f.path) + " "
		}
		if doc := files[with[0]].Doc.Text(); !strings.HasPrefix(doc, begin) {
			t.Errorf("%s: the package comment begins with %.30q; required: %q", with[0], doc, begin)
		}
	}
}

func TestNoPackageIsADrawer(t *testing.T) {
	drawers := []string{"base", "common", "helper", "helpers", "lib", "misc", "shared", "util", "utils"}
	for _, f := range parsed(t) {
		if slices.Contains(drawers, f.name) || slices.Contains(drawers, path.Base(f.path)) {
			t.Errorf("%s: package %s: a package is named for the one sentence that it carries", f.path, f.name)
		}
	}
}

// Every exported name of a package that can be imported has a comment. That of a function, method or type starts with the
// name; constants and variables may share one.
func TestEveryExportedNameHasAComment(t *testing.T) {
	for _, f := range parsed(t) {
		if f.name == "main" {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(f.files)) {
			for _, d := range f.files[name].Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Name.IsExported() && exportedReceiver(d) {
						starts(t, d, d.Name.Name, d.Doc)
					}
				case *ast.GenDecl:
					generic(t, d)
				}
			}
		}
	}
}

func generic(t *testing.T, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if !spec.Name.IsExported() {
				continue
			}
			doc := spec.Doc
			if !d.Lparen.IsValid() {
				doc = d.Doc
			}
			starts(t, spec, spec.Name.Name, doc)
			if typ, ok := spec.Type.(*ast.InterfaceType); ok {
				for _, m := range typ.Methods.List {
					if len(m.Names) > 0 && m.Names[0].IsExported() && m.Doc.Text() == "" && m.Comment.Text() == "" {
						t.Errorf("%s: %s.%s says nothing to who implements it", at(m), spec.Name.Name, m.Names[0].Name)
					}
				}
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if name.IsExported() && d.Doc.Text() == "" && spec.Doc.Text() == "" && spec.Comment.Text() == "" {
					t.Errorf("%s: %s %s has no comment", at(spec), map[bool]string{true: "const", false: "var"}[d.Tok == token.CONST], name.Name)
				}
			}
		}
	}
}

// starts checks a comment. An article before the name is good English too.
func starts(t *testing.T, n ast.Node, name string, doc *ast.CommentGroup) {
	text := doc.Text()
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	if text == "" {
		t.Errorf("%s: %s has no comment", at(n), name)
	} else if !strings.HasPrefix(text, name) {
		t.Errorf("%s: the comment of %s begins with %.30q; required: the name", at(n), name, text)
	}
}

// exportedReceiver reports whether a function has no receiver or one that others can name.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}
