package resilient

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
)

// What editors know a document by: docs/schema/client.json is the form of one for Builder.JSON, clients.json that of one
// for Registry.Apply. They are made from the code and its comments; to write them again:
//
//	UPDATE_SCHEMA=1 go test -run TestSchemaFiles .
func TestSchemaFilesAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	client := clientSchema(t)
	for file, schema := range map[string]any{
		"client.json": client,
		"clients.json": map[string]any{
			"$schema": draft2020, "title": "Settings of resilient clients, by client name", "type": "object",
			"properties":           map[string]any{schemaKey: map[string]any{"type": "string"}},
			"additionalProperties": map[string]any{"$ref": "client.json"},
		},
	} {
		is := is.New(t)
		want, err := json.MarshalIndent(schema, "", "  ")
		is.NoErr(err)
		want = append(want, '\n')
		path := filepath.Join("docs", "schema", file)
		if os.Getenv("UPDATE_SCHEMA") != "" {
			is.NoErr(os.WriteFile(path, want, 0o644))
		}
		got, err := os.ReadFile(path)
		is.NoErr(err)
		is.Equal(string(got), string(want)) // UPDATE_SCHEMA=1 go test -run TestSchemaFiles . writes it
	}
}

const draft2020 = "https://json-schema.org/draft/2020-12/schema"

func clientSchema(t *testing.T) map[string]any {
	comments := policyComments(t)
	properties := map[string]any{}
	d := &draft{}
	for _, s := range schema(d) {
		settings := map[string]any{}
		for _, known := range s.settings {
			settings[known.key] = described(kindOf(t, known.value), comments[s.key+"."+known.key])
		}
		properties[s.key] = described(map[string]any{"oneOf": []any{
			map[string]any{"const": "off"},
			map[string]any{"type": "object", "additionalProperties": false, "properties": settings},
		}}, comments[s.key])
	}
	for _, s := range switches(d) {
		properties[s.key] = described(kindOf(t, s.value), comments[s.key])
	}
	properties[schemaKey] = map[string]any{"type": "string"}
	return map[string]any{
		"$schema": draft2020, "title": "Settings of a resilient client", "type": "object",
		"additionalProperties": false, "properties": properties,
	}
}

func described(s map[string]any, comment string) map[string]any {
	s["description"] = comment
	return s
}

func kindOf(t *testing.T, target any) map[string]any {
	list := func(items map[string]any) map[string]any { return map[string]any{"type": "array", "items": items} }
	switch target.(type) {
	case *time.Duration:
		return map[string]any{"type": "string", "examples": []string{"30s", "1m30s", "00:00:30"}}
	case *int:
		return map[string]any{"type": "integer"}
	case *float64:
		return map[string]any{"type": "number"}
	case *bool:
		return map[string]any{"type": "boolean"}
	case *string:
		return map[string]any{"type": "string"}
	case *Jitter:
		return map[string]any{"enum": []string{"decorrelated", "full", "none"}}
	case *Routing:
		return map[string]any{"enum": []string{"roundRobin", "ordered", "weighted"}}
	case *[]string:
		return list(map[string]any{"type": "string"})
	case *[]int:
		return list(map[string]any{"type": "integer"})
	case *[]Endpoint:
		return list(map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"url"},
			"properties": map[string]any{
				"url": map[string]any{"type": "string"}, "name": map[string]any{"type": "string"}, "weight": map[string]any{"type": "integer"},
			},
		})
	}
	t.Fatalf("a document has no form for a %T", target)
	return nil
}

// policyComments are the comments on the fields of Config and its policies, by the keys of a document.
func policyComments(t *testing.T) map[string]string {
	comments := map[string]string{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			prefix, policy := strings.CutSuffix(spec.Name.Name, "Policy")
			fields, isStruct := spec.Type.(*ast.StructType)
			if !isStruct || !policy && spec.Name.Name != "Config" {
				return true
			}
			path := ""
			if policy {
				path = keyed(map[string]string{"Endpoint": "Endpoints"}[prefix], prefix) + "."
			}
			for _, f := range fields.Fields.List {
				comments[path+keyed(f.Names[0].Name)] = oneLine(f.Doc.Text())
			}
			return true
		})
	}
	return comments
}

// keyed is the first name that is one, in lower camel case.
func keyed(names ...string) string {
	for _, n := range names {
		if n != "" {
			return strings.ToLower(n[:1]) + n[1:]
		}
	}
	return ""
}

// oneLine is a doc comment without its line breaks and links.
func oneLine(doc string) string {
	return strings.NewReplacer("[", "", "]", "").Replace(strings.Join(strings.Fields(doc), " "))
}
