package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// install copies the packages of a vendor folder to where the standard library has its own dependencies: nothing else can be
// imported there. A package that it brings itself (golang.org/x/text/…) stays what it is.
func install(vendor, goroot string) error {
	return filepath.WalkDir(vendor, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || dir == vendor { // the standard library has a modules.txt of its own
			return err
		}
		name, err := filepath.Rel(vendor, dir)
		if err != nil {
			return err
		}
		target := filepath.Join(goroot, "src/vendor", name)
		if there, err := filepath.Glob(filepath.Join(target, "*.go")); err != nil || len(there) > 0 {
			return err
		}
		return copyFiles(dir, target)
	})
}

// copyFiles copies the files of a folder, without its folders and without tests.
func copyFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
