// Command patchgo turns a copy of a Go tree into one in which the tests of net/http run through a wrapper.
//
//	patchgo -goroot DIR -vendor DIR -adapter IMPORTPATH
//
// The packages in the vendor folder become part of the standard library; the one with the import path of the adapter makes
// the wrappers. A Go release whose source does not look as this program expects is an error, so that no test can run
// unwrapped unnoticed.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	goroot := flag.String("goroot", "", "the copied Go tree, which is changed")
	vendor := flag.String("vendor", "", "a vendor folder with the adapter and all it imports")
	adapter := flag.String("adapter", "", "import path of the adapter")
	flag.Parse()
	if err := run(*goroot, *vendor, *adapter); err != nil {
		fmt.Fprintln(os.Stderr, "patchgo:", err)
		os.Exit(1)
	}
}

func run(goroot, vendor, adapter string) error {
	if err := hook(goroot); err != nil {
		return err
	}
	if err := redirectTests(goroot); err != nil {
		return err
	}
	if err := plugIn(goroot, adapter); err != nil {
		return err
	}
	return install(vendor, goroot)
}
