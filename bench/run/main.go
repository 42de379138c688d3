// Command run measures the library beside other clients, and writes what it found to RESULTS.md.
//
//	go -C bench run ./run            everything: some ten minutes
//	go -C bench run ./run -short     the same, less often: one minute
//	go -C bench run ./run -report    measures nothing, and writes RESULTS.md from what is in out
//
// What was measured is left in out, for benchstat. Nothing else should run meanwhile.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/a-seed-e0941262/resilient/bench/report"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) > 2 && os.Args[1] == "child" {
		if err := child(os.Args[2], os.Args[3:]); err != nil {
			log.Fatal(err)
		}
		return
	}
	short := flag.Bool("short", false, "measure less often")
	only := flag.String("only", "", "some of the measurements, with commas between")
	rewrite := flag.Bool("report", false, "only write RESULTS.md, from what is in out")
	flag.Parse()
	home, err := folder()
	if err != nil {
		log.Fatal(err)
	}
	m := &meter{home: home, effort: full}
	if *short {
		m.effort = brief
	}
	if !*rewrite {
		if err := m.measure(*only); err != nil {
			log.Fatal(err)
		}
	}
	if err := report.Write(home); err != nil {
		log.Fatal(err)
	}
}

// folder is that of the module.
func folder() (string, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	home := filepath.Dir(strings.TrimSpace(string(mod)))
	if filepath.Base(home) != "bench" {
		return "", fmt.Errorf("%s is not the folder of the benchmarks: go -C bench run ./run", home)
	}
	return home, nil
}

// measure makes the measurements of these names, or all.
func (m *meter) measure(only string) error {
	if err := os.MkdirAll(m.out(""), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(m.out("effort.txt"), []byte(m.String()+"\n"), 0o644); err != nil {
		return err
	}
	for _, s := range m.steps() {
		if only != "" && !slices.Contains(strings.Split(only, ","), s.name) {
			continue
		}
		begun := time.Now()
		log.Printf("%s: %s", s.name, s.what)
		if err := m.into(s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		log.Printf("%s: %s", s.name, time.Since(begun).Round(time.Second))
	}
	return nil
}
