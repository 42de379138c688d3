package differential

import (
	"reflect"
	"slices"
)

// minimise returns the simplest session that it finds in which something differs:
// it leaves out what can be left out, for as long as it is worth it.
func minimise(s session, differs func(session) bool) session {
	tries := 500
	for again := true; again; {
		again = false
		for simpler := range simplified(reflect.ValueOf(s)) {
			c := simpler.Interface().(session)
			if slices.ContainsFunc(c.Exchanges, func(x exchange) bool { return !x.certain(c.Protocol) }) {
				continue
			}
			if tries--; tries == 0 {
				return s
			}
			if differs(c) {
				s, again = c, true
				break
			}
		}
	}
	return s
}

// simplified are copies of v that are simpler in one place, the boldest first: an
// element less, a field that is zero, or a number of half the size.
func simplified(v reflect.Value) func(yield func(reflect.Value) bool) {
	return func(yield func(reflect.Value) bool) {
		if v.Kind() == reflect.Slice {
			elements(v, yield)
			return
		}
		if v.Kind() == reflect.Struct {
			parts(v, yield)
			return
		}
		if !v.IsZero() && !yield(reflect.Zero(v.Type())) {
			return
		}
		if v.Kind() == reflect.Int && v.Int()/2 != 0 { // not a duration: then one might meet another
			half := reflect.New(v.Type()).Elem()
			half.SetInt(v.Int() / 2)
			yield(half)
		}
	}
}

func elements(v reflect.Value, yield func(reflect.Value) bool) {
	n := v.Len()
	for i := range n {
		only := v.Slice3(i, i+1, i+1)
		if n > 2 && !yield(only) {
			return
		}
	}
	for i := range n {
		rest := reflect.AppendSlice(v.Slice3(0, i, i), v.Slice(i+1, n))
		if !yield(rest) {
			return
		}
	}
	for i := range n {
		for e := range simplified(v.Index(i)) {
			c := reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, n), v)
			c.Index(i).Set(e)
			if !yield(c) {
				return
			}
		}
	}
}

func parts(v reflect.Value, yield func(reflect.Value) bool) {
	for i := range v.NumField() {
		for f := range simplified(v.Field(i)) {
			c := reflect.New(v.Type()).Elem()
			c.Set(v)
			c.Field(i).Set(f)
			if !yield(c) {
				return
			}
		}
	}
}
