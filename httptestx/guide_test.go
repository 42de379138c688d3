package httptestx

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// guide returns the blocks of the guide that are in a language.
func guide(t *testing.T, language string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile("../docs/guides/testing.md")
	is.New(t).NoErr(err) // it is there
	for _, s := range strings.Split(string(text), "\n```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(s, "\n```")
		blocks = append(blocks, block)
	}
	return blocks
}

// flat is s with single spaces for any white space.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestGuideShowsWhatIsCompiledAndRun(t *testing.T) {
	is := is.New(t)
	names, err := filepath.Glob("guide_*_test.go")
	is.NoErr(err)
	var code strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		is.NoErr(err)
		code.Write(text)
	}
	all := flat(code.String())
	snippets := guide(t, "go")
	is.Equal(len(snippets), 23) // none is missed
	for _, s := range snippets {
		if !strings.Contains(all, flat(s)) {
			t.Errorf("in no guide_*_test.go, so nobody knows whether it works:\n%s", s)
		}
	}
}

// A recipe a fault: each step, malformation and ready plan is in the guide.
func TestGuideHasEachFault(t *testing.T) {
	is := is.New(t)
	api, err := os.ReadFile("../api/httptestx.txt")
	is.NoErr(err)
	text, err := os.ReadFile("../docs/guides/testing.md")
	is.NoErr(err)
	faults := regexp.MustCompile(`(?m)^(?:var|func) (\w+)(?:\(.*\))? (?:\[\])?Step$|^const (\w+) (?:Malformation|Last)`)
	found := faults.FindAllStringSubmatch(string(api), -1)
	is.True(len(found) > 30) // the API was read
	for _, m := range found {
		if !regexp.MustCompile(`\b` + m[1] + m[2] + `\b`).Match(text) {
			t.Errorf("the guide does not show %s", m[1]+m[2])
		}
	}
}

// What is at the top of the guide is at the top of the package page as well.
func TestGuideAndPackageBeginWithTheSameLines(t *testing.T) {
	is := is.New(t)
	text, err := os.ReadFile("doc.go")
	is.NoErr(err)
	doc := strings.ReplaceAll(string(text), "//\t", "")
	is.True(strings.Contains(doc, guide(t, "go")[0])) // five lines
	is.Equal(strings.Count(guide(t, "go")[0], "\n"), 4)
}

func TestGuideShowsRulesThatCanBeLoaded(t *testing.T) {
	is := is.New(t)
	blocks := guide(t, "json")
	is.Equal(len(blocks), 3) // rules, steps, steps of a connection
	srv := NewServer(t, http.NotFoundHandler())
	is.NoErr(srv.LoadRules(strings.NewReader(blocks[0])))            // each rule can be meant
	is.Equal([]int{len(srv.rules), len(srv.connRules)}, []int{3, 1}) // and is at work
	shown := make(map[op]bool)
	for _, block := range blocks[1:] {
		var steps []Step
		is.NoErr(json.Unmarshal([]byte(block), &steps)) // each step is one
		for _, st := range steps {
			shown[st.op] = true
		}
	}
	for _, st := range forms {
		if !shown[st.op] {
			t.Errorf("the guide does not show %v", st)
		}
	}
}
