// Command runner runs tests, each in a process of its own, and compares what fails with what may.
//
//	runner -goroot DIR -bin DIR -variant NAME -out DIR [-baseline FILE -expected FILE] [-only RE] PACKAGE...
//	runner -goroot DIR -bin DIR -variant MUTANT -out DIR -baseline FILE -only RE -mutant PACKAGE...
//	runner -mutants
//
// The second form succeeds if a test fails, the third lists the mutants, each with the test that has to notice it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/a-seed-e0941262/resilient/conformance/mutant"
)

type options struct {
	suite
	out      string // folder of the report, the logs and the counts
	baseline string // report of the run without a wrapper; "": this is it
	expected string // file of the failures that are allowed
	mutant   bool   // a failure is what is wanted
}

// errFailed is the error whose text has been told.
var errFailed = errors.New("failed")

func main() {
	o := options{suite: suite{limit: 5 * time.Second, workers: 8, tries: 3}}
	flag.StringVar(&o.goroot, "goroot", "", "Go tree that the tests are of")
	flag.StringVar(&o.bin, "bin", "", "folder of the test binaries")
	flag.StringVar(&o.variant, "variant", "", "what is wrapped around the transports")
	flag.StringVar(&o.out, "out", "", "folder for report.json and logs")
	flag.StringVar(&o.baseline, "baseline", "", "report.json of the run without a wrapper")
	flag.StringVar(&o.expected, "expected", "", "file of the failures that are allowed")
	flag.BoolVar(&o.mutant, "mutant", false, "a test has to fail")
	flag.Func("only", "run the top-level tests that match", pattern(&o.only))
	flag.Func("skip", "leave out the top-level tests that match", pattern(&o.skip))
	list := flag.Bool("mutants", false, "list the mutants")
	flag.Parse()
	if *list {
		for _, m := range mutant.All() {
			fmt.Println(m.Name, m.Seen)
		}
		return
	}
	o.packages = flag.Args()
	switch err := o.run(); {
	case errors.Is(err, errFailed):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "runner:", err)
		os.Exit(2)
	}
}

func pattern(re **regexp.Regexp) func(string) error {
	return func(s string) (err error) {
		*re, err = regexp.Compile(s)
		return err
	}
}

func (o *options) run() error {
	base := newReport()
	var rules []rule
	if o.baseline != "" {
		var err error
		if base, err = loadReport(o.baseline); err != nil {
			return err
		}
		if o.expected != "" {
			if rules, err = loadRules(o.expected, o.variant); err != nil {
				return err
			}
		}
	}
	o.seconds = base.Seconds
	o.settled = func(id string) bool { return o.mutant || allows(rules, id) }
	o.logs, o.counts = filepath.Join(o.out, "logs"), filepath.Join(o.out, "counts")
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	for _, dir := range []string{o.logs, o.counts} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	began := time.Now()
	report, err := o.runAll()
	if err != nil {
		return err
	}
	if err := report.save(filepath.Join(o.out, "report.json")); err != nil {
		return err
	}
	v := judge(report, base, rules)
	if o.mutant {
		return noticed(os.Stdout, o.variant, v)
	}
	v.print(os.Stdout, o.variant, o.logs, time.Since(began))
	if o.baseline != "" && !v.ok() { // whatever fails without the library is not its fault
		return errFailed
	}
	return nil
}
