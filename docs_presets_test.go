package resilient_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// The tables of settings in the docs repeat defaults.go, and the comments of the fields, for readers. Neither may drift.
func TestDocsTablesShowThePresets(t *testing.T) {
	comments := fieldComments(t)
	shown := map[string]bool{}
	for _, p := range pages(t, "docs") {
		for _, table := range p.tables() {
			if !hasPresets(table) {
				continue
			}
			for _, row := range table.rows {
				setting := bare(row[0])
				shown[setting] = true
				t.Run(p.path+" "+setting, func(t *testing.T) {
					is := is.New(t)
					is.Equal(len(row), len(table.header))               // the row is whole
					is.Equal(row[len(row)-4:], presetCells(t, setting)) // None, Standard, Conservative, AI
					if i := slices.Index(table.header, "range"); i >= 0 && row[i] != "" {
						is.True(strings.Contains(comments[commented(setting)], row[i])) // it is what the field's comment says
					}
				})
			}
		}
	}
	for _, setting := range settings() {
		if !shown[setting] {
			t.Errorf("no table in docs shows %s", setting)
		}
	}
}

func hasPresets(t table) bool {
	n := len(t.header)
	return n > 4 && slices.Equal(t.header[n-4:], []string{"None", "Standard", "Conservative", "AI"})
}

// settings are all that a Config has, as Policy.Setting.
func settings() (all []string) {
	config := reflect.TypeFor[resilient.Config]()
	for i := range config.NumField() {
		f := config.Field(i)
		if f.Type.Kind() != reflect.Struct {
			all = append(all, f.Name)
			continue
		}
		for j := range f.Type.NumField() {
			all = append(all, f.Name+"."+f.Type.Field(j).Name)
		}
	}
	return all
}

func presetCells(t *testing.T, setting string) (cells []string) {
	t.Helper()
	if !slices.Contains(settings(), setting) {
		t.Fatalf("a Config has no %s", setting)
	}
	for _, p := range []resilient.Preset{resilient.None, resilient.Standard, resilient.Conservative, resilient.AI} {
		value := reflect.ValueOf(p.Config())
		policy, name, nested := strings.Cut(setting, ".")
		value = value.FieldByName(policy)
		if nested {
			off := value.IsZero() && policy != "Timeout" && policy != "Idempotency" // whose settings are each off by themselves
			value = value.FieldByName(name)
			if off {
				cells = append(cells, "off")
				continue
			}
		}
		cells = append(cells, cellOf(setting, value))
	}
	return cells
}

// nothing is what a setting means that has no value, where that is not plain.
var nothing = map[string]string{
	"Timeout.Total": "off", "Timeout.PerAttempt": "off", "Timeout.BodyIdle": "off",
	"Retry.BackoffCap": "none", "Retry.MaxRetryAfter": "what the total leaves", "Retry.Methods": "all",
	"Idempotency.AmbiguousStatuses": "the usual", "Budget.Name": "the client's",
}

// cellOf is how a value stands in a table.
func cellOf(setting string, v reflect.Value) string {
	if v.IsZero() && nothing[setting] != "" {
		return nothing[setting]
	}
	switch value := v.Interface().(type) {
	case time.Duration:
		if value > 0 {
			return regexp.MustCompile(`([ms])0s$`).ReplaceAllString(value.String(), "$1")
		}
	case bool:
		return map[bool]string{true: "yes", false: "no"}[value]
	case fmt.Stringer:
		return value.String()
	}
	if v.Kind() == reflect.Func || v.Kind() == reflect.Slice {
		return map[bool]string{true: "none", false: "set"}[v.IsNil()]
	}
	return fmt.Sprint(v.Interface())
}

// commented is the field that says what a setting is.
func commented(setting string) string {
	policy, name, _ := strings.Cut(setting, ".")
	field, _ := reflect.TypeFor[resilient.Config]().FieldByName(policy)
	return field.Type.Name() + "." + name
}

// fieldComments are the comments of all fields, by Type.Field.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	comments := map[string]string{}
	for _, path := range filesBelow(t, ".", ".go") {
		if strings.Contains(path, "/") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		is.New(t).NoErr(err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						comments[spec.Name.Name+"."+name.Name] = flat(f.Doc.Text())
					}
				}
			}
			return false
		})
	}
	return comments
}
