// Command apisnapshot prints the exported API of one Go package: a line for each constant, variable, type, field, method
// and function, sorted, without comments. The committed outputs in api/ make every change of the surface visible in a diff.
//
//	go -C tools run ./apisnapshot -dir .. > api/resilient.txt
//	go -C tools run ./apisnapshot -dir .. -check ../api/resilient.txt
//
// With -check it prints nothing when the file agrees with the package, and exits 1 with the differences when it does not.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// errDiffers is the one error whose text has already been told, line by line.
var errDiffers = errors.New("the exported API differs from its snapshot")

func main() {
	dir := flag.String("dir", ".", "folder of the package")
	check := flag.String("check", "", "compare with this `file` instead of printing")
	flag.Parse()
	if err := run(os.Stdout, *dir, *check); err != nil {
		fmt.Fprintln(os.Stderr, "apisnapshot:", err)
		os.Exit(1)
	}
}

// run prints the API of the package in dir to w, or what differs from the file check.
func run(w io.Writer, dir, check string) error {
	lines, err := load(dir)
	if err != nil {
		return err
	}
	if check == "" {
		_, err = fmt.Fprintln(w, strings.Join(lines, "\n"))
		return err
	}
	recorded, err := os.ReadFile(check)
	if err != nil {
		return err
	}
	differences := diff(strings.Split(strings.TrimSuffix(string(recorded), "\n"), "\n"), lines)
	if len(differences) == 0 {
		return nil
	}
	fmt.Fprintln(w, strings.Join(differences, "\n"))
	// The shell that redirects stands one folder higher than this program, which `go -C tools` started.
	file := strings.TrimPrefix(check, "../")
	fmt.Fprintf(w, "\n(- is in %s only, + in the code only.) If the change is meant, refresh the file and commit it:\n\n", file)
	fmt.Fprintf(w, "\tgo -C tools run ./apisnapshot -dir %s > %s\n\n", dir, file)
	return errDiffers
}

// load returns the sorted lines of the package in dir. A package that does not compile has no API.
func load(dir string) ([]string, error) {
	// Syntax makes the loader check this package from source; without dependencies in the mode, all others come as export data.
	const mode = packages.NeedTypes | packages.NeedSyntax | packages.NeedImports
	pkgs, err := packages.Load(&packages.Config{Mode: mode, Dir: dir}, ".")
	if err != nil {
		return nil, err
	}
	pkg := pkgs[0] // the pattern names one folder
	for _, e := range pkg.Errors {
		err = errors.Join(err, e)
	}
	if err != nil {
		return nil, err
	}
	return describe(pkg.Types), nil
}

// diff returns the lines of only one side, each with its sign, in the order of the snapshot. Both sides are sets, so
// that a longer algorithm would find nothing more.
func diff(recorded, found []string) []string {
	var out []string
	for _, l := range recorded {
		if !slices.Contains(found, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range found {
		if !slices.Contains(recorded, l) {
			out = append(out, "+ "+l)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	return out
}
