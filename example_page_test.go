package resilient_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/a-seed-e0941262/resilient"
)

// Mounted where only operators come. Browsers get a page, all others JSON.
func ExampleRegistry_Handler() {
	registry := resilient.NewRegistry()
	operators := http.NewServeMux()
	operators.Handle("/debug/resilient", registry.Handler())

	client := resilient.New("pricing").
		Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)).
		Budget(resilient.RetryRatio(0.1), resilient.MinimumThroughput(1)).
		Registry(registry).Transport(answer(503)).MustBuild()
	for range 10 {
		resp, err := client.Get("https://pricing.example/")
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
	}

	w := httptest.NewRecorder()
	operators.ServeHTTP(w, httptest.NewRequest("GET", "/debug/resilient", nil))
	var shown struct {
		States []struct {
			Client    string
			Diagnosis struct{ Verdict, Because string }
		}
	}
	if err := json.NewDecoder(w.Body).Decode(&shown); err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range shown.States {
		fmt.Printf("%s: %s: %s\n", s.Client, s.Diagnosis.Verdict, s.Diagnosis.Because)
	}
	// Output: pricing: No retries: the budget is exhausted: 1 of 1 retry was used in the last 30 s (10 % of 10 calls).
}

// Who can reach this handler can stop a client from sending.
func ExampleAllowIsolation() {
	registry := resilient.NewRegistry()
	resilient.New("mail").Registry(registry).MustBuild()
	handler := registry.Handler(resilient.AllowIsolation)

	order := httptest.NewRequest("POST", "/debug/resilient", strings.NewReader(`{"action": "isolate", "client": "mail"}`))
	order.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, order)
	fmt.Println(w.Code, registry.Snapshot()[0].Breaker.State)
	// Output: 200 isolated
}
