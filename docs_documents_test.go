package resilient_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// The documents of the guides can be read: each is one of a client, or one of several by name.
func TestDocsDocumentsAreAccepted(t *testing.T) {
	found := 0
	for _, path := range []string{"docs/guides/configuration.md", "docs/guides/from-dotnet.md"} {
		for _, s := range pageAt(t, path).snippets("json") {
			found++
			if err := accept([]byte(s)); err != nil {
				t.Errorf("%s: %v in\n%s", path, err, s)
			}
		}
	}
	is.New(t).True(found > 1) // they are found
}

func accept(document []byte) error {
	registry := resilient.NewRegistry()
	_, err := resilient.New("x").Registry(registry).JSON(document).Build()
	if err == nil {
		return nil
	}
	var byName map[string]json.RawMessage
	if json.Unmarshal(document, &byName) != nil {
		return err
	}
	clients := map[string]*http.Client{} // the registry itself keeps none alive
	for name := range byName {
		clients[name] = resilient.New(name).Registry(registry).MustBuild()
	}
	other := registry.Apply(document)
	runtime.KeepAlive(clients)
	if other != nil {
		return errors.Join(err, other)
	}
	return nil
}

// The guide for those who come from .NET has each setting of a section there in its document and in its table, with the
// value that Standard has here.
func TestDocsOfDotnetHaveEverySetting(t *testing.T) {
	is := is.New(t)
	p := pageAt(t, "docs/guides/from-dotnet.md")
	var section map[string]any
	is.NoErr(json.Unmarshal([]byte(p.snippets("json")[0]), &section)) // it is JSON
	paths := pathsOf("", section)
	for _, table := range p.tables() {
		if table.header[0] != "in the section" {
			continue
		}
		for _, row := range table.rows {
			for path := range strings.SplitSeq(row[0], ", ") {
				is.True(slices.Contains(paths, bare(path))) // it is in the document
				paths = slices.DeleteFunc(paths, func(p string) bool { return p == bare(path) })
			}
			is.Equal(row[3], presetCells(t, bare(row[2]))[1]) // what Standard has
		}
	}
	is.Equal(paths, []string{"RateLimiter.DefaultRateLimiterOptions.QueueProcessingOrder"}) // which has no choice
}

// pathsOf are the paths to all values in an object.
func pathsOf(at string, object map[string]any) (paths []string) {
	for key, value := range object {
		if inner, ok := value.(map[string]any); ok {
			paths = append(paths, pathsOf(at+key+".", inner)...)
			continue
		}
		paths = append(paths, at+key)
	}
	return paths
}
