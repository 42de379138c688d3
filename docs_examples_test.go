package resilient_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// Every function, constant, variable and method of the package is used in an example that runs, and so is every kind of
// event and error. Types that only hold what others return or take are seen with those.
func TestEveryExportedNameIsInAnExample(t *testing.T) {
	used := usedInExamples(t)
	text, err := os.ReadFile("api/resilient.txt")
	is.New(t).NoErr(err)
	named := regexp.MustCompile(`^(?:const|func|var) (\w+)|^method \(\*?(?:Builder|Registry|Report)\) (\w+)`)
	for line := range strings.Lines(string(text)) {
		if m := named.FindStringSubmatch(line); m != nil && !used[m[1]+m[2]] && m[1]+m[2] != "String" {
			t.Errorf("no example uses %s: write one with an output in example_*_test.go", m[1]+m[2])
		}
	}
	for name := range strings.FieldsSeq(`AttemptDone RetryScheduled RetryDenied Redispatched TransportReplay EndpointSkipped
		Rejected BreakerChanged CallDone RejectedError ConfigError Config Preset Event Endpoint Attempt Break`) {
		if !used[name] {
			t.Errorf("no example uses %s: write one with an output in example_*_test.go", name)
		}
	}
}

// usedInExamples are the names of the package that examples with an output use, and those of the methods that they call.
func usedInExamples(t *testing.T) map[string]bool {
	t.Helper()
	is := is.New(t)
	paths, err := filepath.Glob("*_test.go")
	is.NoErr(err)
	var files []*ast.File
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		is.NoErr(err)
		files = append(files, file)
	}
	used := map[string]bool{}
	for _, example := range doc.Examples(files...) {
		if example.Output == "" {
			t.Errorf("Example%s has no output, and is not run", example.Name)
		}
		ast.Inspect(example.Code, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				used[s.Sel.Name] = true
			}
			return true
		})
	}
	return used
}
