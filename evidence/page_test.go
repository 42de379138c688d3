package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"
)

func readPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func TestPageHoldsAllTablesAndPlots(t *testing.T) {
	is := is.New(t)
	page := readPage(t)
	for name := range tables() {
		again, err := replace([]byte(page), name, "| table |\n")
		is.NoErr(err)                     // it has a place
		is.True(len(again) < len(page))   // where there is a table
		_, err = replace(again, name, "") // that can be replaced again
		is.NoErr(err)
	}
	for name := range plots() {
		file, err := os.Stat(filepath.Join(folder, name+".svg"))
		is.NoErr(err)                                                        // it was drawn
		is.True(file.Size() < 100<<10)                                       // and is small
		is.True(name == "front" || strings.Contains(page, "("+name+".svg)")) // the page shows it; front is the picture of the project
	}
}

// The whole takes minutes. One row of one table is enough to see that the page is of this code and not of another.
func TestPageIsWhatAPlayGives(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := dip(big())
	s.policies = []policy{conservative}
	r := result{s, []*record{s.play(t, conservative)}}
	row := strings.Split(troubleTable(r.figures()), "\n")[2]
	_, table, _ := strings.Cut(readPage(t), "<!-- table dip -->")
	table, _, _ = strings.Cut(table, "<!-- end of dip -->")
	is.True(strings.Contains(table, row+"\n")) // the command at the top of the page writes it anew
}

func TestPageNamesTheVersionsOfThePeers(t *testing.T) {
	is := is.New(t)
	pinned, err := os.ReadFile("go.mod")
	is.NoErr(err)
	for module, row := range map[string]string{
		"github.com/failsafe-go/failsafe-go":    "| failsafe-go with its budget | ",
		"github.com/hashicorp/go-retryablehttp": "| go-retryablehttp | ",
	} {
		_, version, _ := strings.Cut(string(pinned), module+" ")
		version, _, _ = strings.Cut(version, "\n")
		is.True(strings.Contains(readPage(t), row+version)) // what is compared is said, and is what runs
	}
}

func TestUnknownTableIsAnError(t *testing.T) {
	is := is.New(t)
	_, err := replace([]byte("# Page\n<!-- table one -->\n"), "one", "")
	is.True(err != nil) // its end is missing
	_, err = replace([]byte("# Page\n"), "two", "")
	is.Equal(err.Error(), `the page has no place for the table "two"`) // and so is all of it
}
