package resilient_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"runtime"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// The documents of the guides can be read: each is one of a client, or one of several by name.
func TestDocsDocumentsAreAccepted(t *testing.T) {
	found := 0
	for _, path := range []string{"docs/guides/configuration.md"} {
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
