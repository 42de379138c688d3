// Command evidence plays fleets of clients against a dependency that gets into trouble, and writes what came of it into
// docs/evidence: tables and plots. The clients are real ones, of this library and of others, and so are the requests: they
// go through net/http and a server in memory. Only the time is virtual, so that hours pass in minutes, and a run gives
// the same figures each time, byte for byte.
//
//	go -C evidence run .
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// folder is where the results go, seen from this folder.
const folder = "../docs/evidence"

// main runs it as a test, for virtual time (testing/synctest) belongs to tests.
func main() {
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "evidence", F: reproduce}}, nil, nil)
}

// reproduce plays everything, and then writes the tables into the page and the plots beside it.
func reproduce(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := playAll(t, scenarios())
	for name, table := range tables() {
		if page, err = replace(page, name, table(all)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "README.md", page)
	for name, plot := range plots() {
		drawn, err := plot(all)
		if err != nil {
			t.Fatal(err)
		}
		write(t, name+".svg", drawn)
	}
}

func write(t *testing.T, name string, content []byte) {
	if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
	fmt.Println("wrote", name)
}
