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

// Every function and method is used in an example that runs. Of the root package that holds for constants and variables
// as well, and for every kind of event and error; httptestx has many of one kind, of which its guide shows all. Types that
// only hold what others return or take are seen with those.
func TestEveryExportedNameIsInAnExample(t *testing.T) {
	for _, row := range []struct{ folder, record, named, types string }{
		{
			".", "api/resilient.txt", `^(?:const|func|var) (\w+)|^method \(\*?(?:Builder|Registry|Report)\) (\w+)`,
			`AttemptDone RetryScheduled RetryDenied Redispatched TransportReplay EndpointSkipped Rejected BreakerChanged
			Waited CallDone BodyCut RejectedError ConfigError Config Preset Event Endpoint Attempt Break`,
		},
		{
			"httptestx", "api/httptestx.txt", `^func (\w+)|^method \(\*?(?:Server|Rule|ConnRule|Ledger)\) (\w+)`,
			`Step Dist Quantile`,
		},
	} {
		used := usedInExamples(t, row.folder)
		text, err := os.ReadFile(row.record)
		is.New(t).NoErr(err)
		names := strings.Fields(row.types)
		for line := range strings.Lines(string(text)) {
			if m := regexp.MustCompile(row.named).FindStringSubmatch(line); m != nil && m[2] != "String" {
				names = append(names, m[1]+m[2])
			}
		}
		for _, name := range names {
			if !used[name] {
				t.Errorf("%s: no example uses %s: write one with an output in example_*_test.go", row.folder, name)
			}
		}
	}
}

// usedInExamples are the names of the package that examples with an output use, and those of the methods that they call.
func usedInExamples(t *testing.T, folder string) map[string]bool {
	t.Helper()
	is := is.New(t)
	paths, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
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
