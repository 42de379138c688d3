package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
)

// What the page says of each client after a minute.
var verdicts = map[string]string{
	"inventory":    "retrying",
	"pricing":      "budget_exhausted",
	"payments":     "ambiguous",
	"search":       "circuit_open",
	"images":       "concurrency_limit",
	"azure-openai": "endpoint_out",
	"legacy":       "off",
	"geocoder":     "rate_limited",
	"mail":         "isolated",
	"reports":      "permanent",
	"archive":      "idle",
}

func TestThePageTellsWhyEachClientIsNotRetrying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		registry := resilient.NewRegistry()
		handler := registry.Handler()
		if err := misbehave(ctx, registry, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute + time.Millisecond)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		var page struct {
			States []struct {
				Client    string
				Diagnosis struct{ Reason, Verdict, Because string }
			}
		}
		if err := json.NewDecoder(w.Body).Decode(&page); err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, s := range page.States {
			want, known := verdicts[s.Client]
			if !known {
				continue
			}
			seen++
			if s.Diagnosis.Reason != want {
				t.Errorf("%s: %s, want %s: %s: %s", s.Client, s.Diagnosis.Reason, want, s.Diagnosis.Verdict, s.Diagnosis.Because)
			}
		}
		if seen != len(verdicts) {
			t.Errorf("%d clients are on the page, of %d", seen, len(verdicts))
		}
	})
}

func TestServeEndsWithItsTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, "127.0.0.1:0", resilient.NewRegistry().Handler(), out) }()
	line := make([]byte, 100)
	n, err := address.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("status %d at the address that was printed", resp.StatusCode)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
