package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// wrappers are the methods that tests call on a transport themselves, and what is put around that transport.
var wrappers = map[string]string{
	"RoundTrip":     "ConfRoundTripper",
	"CancelRequest": "ConfCanceler",
}

// fewest is how many such calls there are in tests at least; less means that they are written in another way now.
var fewest = map[string]int{"RoundTrip": 20, "CancelRequest": 3}

// redirectTests rewrites the calls of wrappers in all tests.
func redirectTests(goroot string) error {
	found := map[string]int{}
	for _, p := range packages {
		files, err := filepath.Glob(filepath.Join(goroot, "src/net/http", p.dir, "*_test.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := redirectFile(file, found); err != nil {
				return err
			}
		}
	}
	for method, least := range fewest {
		if found[method] < least {
			return fmt.Errorf("%d calls of %s in tests, not %d or more: this Go release writes them in another way", found[method], method, least)
		}
	}
	return nil
}

func redirectFile(file string, found map[string]int) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	rewritten, err := redirect(file, source, found)
	if err != nil {
		return err
	}
	return os.WriteFile(file, rewritten, 0o644)
}

// redirect returns a test's source with each x.RoundTrip(req) made ConfRoundTripper(x).RoundTrip(req), and so on. It counts
// them by method. A RoundTrip method of a test's own double is left alone: it calls the transport inside of it.
func redirect(file string, source []byte, found map[string]int) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	qualifier, imported := qualifierOf(f)
	var calls []*ast.SelectorExpr
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && (fn.Recv == nil || fn.Name.Name != "RoundTrip") {
			calls = append(calls, callsIn(fn)...)
		}
	}
	// From the end of the file to its start, so that earlier places stay where they are.
	slices.SortFunc(calls, func(a, b *ast.SelectorExpr) int { return int(b.X.Pos() - a.X.Pos()) })
	for _, call := range calls {
		if !imported {
			return nil, fmt.Errorf("%s calls %s but does not import net/http", file, call.Sel.Name)
		}
		found[call.Sel.Name]++
		from, to := fset.Position(call.X.Pos()).Offset, fset.Position(call.X.End()).Offset
		source = slices.Insert(source, to, ')')
		source = slices.Insert(source, from, []byte(qualifier+wrappers[call.Sel.Name]+"(")...)
	}
	return source, nil
}

// callsIn returns what is called in fn and has a name of wrappers and one argument.
func callsIn(fn *ast.FuncDecl) []*ast.SelectorExpr {
	var calls []*ast.SelectorExpr
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return true
		}
		if method, ok := call.Fun.(*ast.SelectorExpr); ok && wrappers[method.Sel.Name] != "" {
			calls = append(calls, method)
		}
		return true
	})
	return calls
}

// qualifierOf returns what stands before a name of net/http in f.
func qualifierOf(f *ast.File) (qualifier string, imported bool) {
	if f.Name.Name == "http" {
		return "", true
	}
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		switch {
		case err != nil || path != "net/http":
		case spec.Name == nil:
			return "http.", true
		case spec.Name.Name == ".":
			return "", true
		default:
			return spec.Name.Name + ".", true
		}
	}
	return "", false
}
