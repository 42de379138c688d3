package sdks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	is.New(t).NoErr(err)
	return string(text)
}

func guide(t *testing.T) string {
	t.Helper()
	return read(t, "../../docs/guides/ai.md")
}

// flush is code without its indentation.
func flush(code string) string {
	var lines []string
	for line := range strings.Lines(code) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

// So each compiles, and is what a test runs.
func TestSnippetsOfThePageAreCodeOfTheseTests(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	is.New(t).NoErr(err)
	code := ""
	for _, file := range files {
		code += flush(read(t, file)) + "\n"
	}
	snippets := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(guide(t), -1)
	is.New(t).True(len(snippets) > 9) // they are found
	for _, snippet := range snippets {
		if !strings.Contains(code, flush(snippet[1])) {
			t.Errorf("stands in none of the tests, line by line:\n%s", snippet[1])
		}
	}
}

func TestPageTellsWhatTheTestsCount(t *testing.T) {
	page := guide(t)
	for _, e := range entries {
		row := fmt.Sprintf("\n| %s | %d | 3 | %d |\n", e.name, e.requests, 3*e.requests)
		if !strings.Contains(page, row) {
			t.Errorf("the page has no row %s", row)
		}
	}
}

func TestPageNamesTheVersionsThatAreTested(t *testing.T) {
	required := read(t, "go.mod")
	for _, version := range regexp.MustCompile("`(github\\.com/\\S+ v\\S+)`").FindAllStringSubmatch(guide(t), -1) {
		if !strings.Contains(required, "\t"+version[1]+"\n") {
			t.Errorf("go.mod does not require %s", version[1])
		}
	}
}
