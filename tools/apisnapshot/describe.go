package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// describe returns a line for every exported thing in pkg, sorted. Names of other packages keep their short qualifier,
// as in source code.
func describe(pkg *types.Package) []string {
	d := describer{qualify: func(p *types.Package) string {
		if p == pkg {
			return ""
		}
		return p.Name()
	}}
	scope := pkg.Scope()
	for _, name := range scope.Names() {
		if obj := scope.Lookup(name); obj.Exported() {
			d.object(obj)
		}
	}
	slices.Sort(d.lines)
	return d.lines
}

type describer struct {
	qualify types.Qualifier
	lines   []string
}

func (d *describer) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *describer) text(t types.Type) string { return types.TypeString(t, d.qualify) }

// signature returns the parameters and results of a function type, without the leading "func".
func (d *describer) signature(t types.Type) string {
	return strings.TrimPrefix(d.text(t), "func")
}

func (d *describer) object(obj types.Object) {
	switch obj := obj.(type) {
	case *types.Const:
		d.add("const %s %s = %s", obj.Name(), d.text(obj.Type()), obj.Val().ExactString())
	case *types.Var:
		d.add("var %s %s", obj.Name(), d.text(obj.Type()))
	case *types.Func:
		d.add("func %s%s", obj.Name(), d.signature(obj.Type()))
	case *types.TypeName:
		d.typeName(obj)
	}
}

func (d *describer) typeName(obj *types.TypeName) {
	if alias, ok := obj.Type().(*types.Alias); ok {
		d.add("type %s = %s", d.text(alias), d.text(alias.Rhs()))
		return
	}
	head := "type " + d.text(obj.Type()) // with its type parameters, if any
	switch u := obj.Type().Underlying().(type) {
	case *types.Struct:
		d.add("%s struct", head)
		d.fields(head, u)
	case *types.Interface:
		d.add("%s interface", head)
		d.elements(head, u)
		return // its methods are elements already
	default:
		d.add("%s %s", head, d.text(u))
	}
	d.methods(obj.Type().(*types.Named)) // not an alias, and a package-level type: always named
}

// fields lists the exported fields. Those of an embedded struct without an exported name belong to the outer type, for
// nobody else can name them.
func (d *describer) fields(head string, s *types.Struct) {
	for i := range s.NumFields() {
		f := s.Field(i)
		if inner, ok := deref(f.Type()).Underlying().(*types.Struct); ok && f.Embedded() && !f.Exported() {
			d.fields(head, inner)
		}
		if !f.Exported() {
			continue
		}
		line := fmt.Sprintf("%s struct, %s %s", head, f.Name(), d.text(f.Type()))
		if f.Embedded() {
			line = fmt.Sprintf("%s struct, embedded %s", head, d.text(f.Type()))
		}
		if tag := s.Tag(i); tag != "" { // a tag names the field in documents, so it is part of the API
			line += " `" + tag + "`"
		}
		d.lines = append(d.lines, line)
	}
}

// elements lists what an interface asks for. One unexported method closes it to other packages: that is said, not named.
func (d *describer) elements(head string, t *types.Interface) {
	closed := false
	for m := range t.ExplicitMethods() {
		if m.Exported() {
			d.add("%s interface, %s%s", head, m.Name(), d.signature(m.Type()))
		}
		closed = closed || !m.Exported()
	}
	for e := range t.EmbeddedTypes() {
		d.add("%s interface, %s", head, d.text(e))
	}
	if closed {
		d.add("%s interface, unexported methods", head)
	}
}

// methods lists the methods a user can call: the declared ones, and those promoted through unexported embedded fields.
// What an exported embedded field promotes is said by that field's line.
func (d *describer) methods(t *types.Named) {
	value := types.NewMethodSet(t)
	for sel := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if !sel.Obj().Exported() || throughExported(t, sel.Index()) {
			continue
		}
		recv := d.text(t)
		if value.Lookup(sel.Obj().Pkg(), sel.Obj().Name()) == nil {
			recv = "*" + recv
		}
		d.add("method (%s) %s%s", recv, sel.Obj().Name(), d.signature(sel.Type()))
	}
}

// throughExported reports whether the path to a method, as in [types.Selection.Index], leads through a field that has a
// line of its own.
func throughExported(t types.Type, path []int) bool {
	for _, i := range path[:len(path)-1] {
		f := deref(t).Underlying().(*types.Struct).Field(i) // only structs promote
		if f.Exported() {
			return true
		}
		t = f.Type()
	}
	return false
}

func deref(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}
