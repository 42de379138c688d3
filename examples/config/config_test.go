package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
)

func TestEnvironmentChangesWhatItSets(t *testing.T) {
	t.Setenv("INVENTORY_MAX_RETRIES", "4")
	t.Setenv("INVENTORY_TOTAL_TIMEOUT", "20s")
	b, err := fromEnvironment(resilient.New("inventory").Defaults(resilient.Conservative), "INVENTORY_")
	if err != nil {
		t.Fatal(err)
	}
	c := b.Config()
	if c.Retry.MaxRetries != 4 || c.Timeout.Total.String() != "20s" || c.Budget.RetryRatio != 0.1 {
		t.Errorf("%+v", c)
	}
	t.Setenv("INVENTORY_MAX_RETRIES", "four")
	if _, err := fromEnvironment(b, "INVENTORY_"); err == nil || !strings.Contains(err.Error(), "MaxRetries") {
		t.Errorf("want an error that names the variable's field, got %v", err)
	}
}

// A file that changes is applied, one that is not valid is reported and changes nothing.
func TestFileIsAppliedWheneverItChanges(t *testing.T) {
	registry := resilient.NewRegistry()
	client := resilient.New("inventory").Concurrency(resilient.Permits(5)).Registry(registry).MustBuild()
	defer client.CloseIdleConnections()
	file := filepath.Join(t.TempDir(), "clients.json")
	write := func(document string) {
		next := file + ".next" // put into place whole, as whoever deploys it should
		if err := os.WriteFile(next, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, file); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"inventory": {"concurrency": {"permits": 7}}}`)
	ctx, cancel := context.WithCancel(t.Context())
	reports, ended := make(chan error), make(chan error, 1)
	go func() { ended <- watch(ctx, registry, file, func(err error) { reports <- err }) }()
	permits := func() int { return registry.Snapshot()[0].Concurrency.Permits }
	for _, step := range []struct {
		document string
		permits  int
		problem  string
	}{
		{"", 7, ""},
		{`{"inventory": {"concurrency": {"permits": 9}}}`, 9, ""},
		{`{"inventory": {"concurrency": {"permit": 1}}}`, 9, "did you mean permits?"},
		{`{"inventory": {}}`, 5, ""},
	} {
		if step.document != "" {
			write(step.document)
		}
		err := <-reports
		if (err != nil) != (step.problem != "") || err != nil && !strings.Contains(err.Error(), step.problem) {
			t.Errorf("%s: %v", step.document, err)
		}
		if got := permits(); got != step.permits {
			t.Errorf("%s: %d permits, want %d", step.document, got, step.permits)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The file that lies here is valid.
func TestExampleFileIsValid(t *testing.T) {
	registry := resilient.NewRegistry()
	client := resilient.New("inventory").Defaults(resilient.Conservative).Registry(registry).MustBuild()
	defer client.CloseIdleConnections()
	if err := apply(registry, "clients.json"); err != nil {
		t.Error(err)
	}
}
