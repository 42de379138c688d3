package resilient_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// A page is a Markdown file of the repository.
type page struct {
	path string // from the root, with slashes
	text string
}

// pages returns the Markdown files below a folder: all of them for ".".
func pages(t *testing.T, folder string) (all []page) {
	t.Helper()
	for _, path := range filesBelow(t, folder, ".md") {
		text, err := os.ReadFile(path)
		is.New(t).NoErr(err)
		all = append(all, page{filepath.ToSlash(path), string(text)})
	}
	return all
}

// wantRepository skips a test that needs all of the repository. A module that was downloaded lacks the modules below it,
// and its tests may be run all the same: by go test all.
func wantRepository(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("tools/go.mod"); err != nil {
		t.Skip("this is not all of the repository")
	}
}

// filesBelow returns the paths of files with a suffix. Hidden folders and test data are not looked into.
func filesBelow(t *testing.T, folder, suffix string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (len(name) > 1 && name[0] == '.' || name == "testdata" || name == "node_modules"):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, suffix):
			paths = append(paths, path)
		}
		return nil
	})
	is.New(t).NoErr(err)
	return paths
}

var fence = regexp.MustCompile("(?ms)^[ \t]*```(\\w*)\n(.*?)^[ \t]*```[ \t]*$")

// snippets are the blocks of code in a language.
func (p page) snippets(language string) (blocks []string) {
	for _, m := range fence.FindAllStringSubmatch(p.text, -1) {
		if m[1] == language {
			blocks = append(blocks, m[2])
		}
	}
	return blocks
}

// prose is the text without blocks of code.
func (p page) prose() string { return fence.ReplaceAllString(p.text, "") }

var quoted = regexp.MustCompile("`([^`\n]+)`")

// spans are what stands in back quotes in the prose.
func (p page) spans() (all []string) {
	for _, m := range quoted.FindAllStringSubmatch(p.prose(), -1) {
		all = append(all, m[1])
	}
	return all
}

// A table is one of Markdown: its header, and its rows without the line between.
type table struct {
	header []string
	rows   [][]string
}

func (p page) tables() (all []table) {
	var lines [][]string
	for _, line := range append(strings.Split(p.prose(), "\n"), "") {
		if cells, ok := cellsOf(line); ok {
			lines = append(lines, cells)
			continue
		}
		if len(lines) > 2 {
			all = append(all, table{lines[0], lines[2:]})
		}
		lines = nil
	}
	return all
}

func cellsOf(line string) ([]string, bool) {
	line, begins := strings.CutPrefix(strings.TrimSpace(line), "|")
	line, ends := strings.CutSuffix(line, "|")
	cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|"))
	}
	return cells, begins && ends
}

// column is the cells below a title.
func (t table) column(title string) (cells []string) {
	i := slices.Index(t.header, title)
	for _, row := range t.rows {
		if i >= 0 && i < len(row) {
			cells = append(cells, row[i])
		}
	}
	return cells
}

// bare is a cell without the back quotes around it.
func bare(cell string) string { return strings.Trim(cell, "`") }

func pageAt(t *testing.T, path string) page {
	t.Helper()
	text, err := os.ReadFile(path)
	is.New(t).NoErr(err)
	return page{path, string(text)}
}
