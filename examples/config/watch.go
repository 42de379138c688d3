package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/a-seed-e0941262/resilient"
	"github.com/fsnotify/fsnotify"
)

// watch applies a file to the clients of a registry, now and each time that it changes, until ctx ends. A file that is
// not valid changes nothing: the error is reported, and the next one counts. The folder is watched rather than the file,
// for editors and Kubernetes put a new file in its place.
func watch(ctx context.Context, registry *resilient.Registry, file string, report func(error)) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	if err := w.Add(filepath.Dir(file)); err != nil {
		return err
	}
	report(apply(registry, file))
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.Errors:
			report(err)
		case e := <-w.Events:
			if filepath.Clean(e.Name) == filepath.Clean(file) && !e.Has(fsnotify.Remove) {
				report(apply(registry, file))
			}
		}
	}
}

func apply(registry *resilient.Registry, file string) error {
	document, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return registry.Apply(document)
}
