package resilient_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// What comments link to, as [Builder.Build], is exported. (A link that leads nowhere is shown as it stands, brackets
// included.)
func TestCommentsLinkOnlyToWhatThereIs(t *testing.T) {
	links := regexp.MustCompile(`\[\*?([A-Z]\w*(?:\.[A-Z]\w*)?)\](?:\.([A-Z]\w*))?`)
	found := 0
	for folder, record := range map[string]string{".": "api/resilient.txt", "httptestx": "api/httptestx.txt"} {
		exported := api(t, record)
		paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
		is.New(t).NoErr(err)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			is.New(t).NoErr(err)
			for _, group := range file.Comments {
				for _, m := range links.FindAllStringSubmatch(group.Text(), -1) {
					if found++; !exported[m[1]] || m[2] != "" && !exported[m[1]+"."+m[2]] {
						t.Errorf("%s: there is no %s", path, m[0])
					}
				}
			}
		}
	}
	is.New(t).True(found > 100) // they are found
}
