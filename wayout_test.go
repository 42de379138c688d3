package resilient_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// Whatever a configuration is refused for, there is a way out of it. The rules are looked for where they are written, for
// a table of cases could miss one; that what is written is what is said is for those tables to show, each of which refuses
// an error without a way out.
func TestEveryRuleHasAWayOut(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*.go")
	is.New(t).NoErr(err)
	rules := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		is.New(t).NoErr(err)
		ast.Inspect(file, func(n ast.Node) bool {
			if way, found := wayOut(n); found {
				if rules++; way == nil || isEmptyText(way) {
					t.Errorf("%v: there is no way out", files.Position(n.Pos()))
				}
			}
			return true
		})
	}
	is.New(t).True(rules > 50) // they are found
}

// wayOut is what stands for the way out where a rule is written, nil if it is left out.
func wayOut(n ast.Node) (way ast.Expr, found bool) {
	switch n := n.(type) {
	case *ast.CallExpr:
		called, _ := n.Fun.(*ast.SelectorExpr)
		if called == nil || called.Sel.Name != "refuse" && called.Sel.Name != "refuseElement" {
			return nil, false
		}
		return n.Args[len(n.Args)-1], true
	case *ast.CompositeLit:
		if named, _ := n.Type.(*ast.Ident); named == nil || named.Name != "ConfigError" {
			return nil, false
		}
		for _, element := range n.Elts {
			if field, _ := element.(*ast.KeyValueExpr); field != nil && field.Key.(*ast.Ident).Name == "Fix" {
				return field.Value, true
			}
		}
		return nil, true
	}
	return nil, false
}

func isEmptyText(e ast.Expr) bool {
	text, _ := e.(*ast.BasicLit)
	return text != nil && text.Value == `""`
}
