package resilient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/a-seed-e0941262/resilient"
	"github.com/cenkalti/backoff/v5"
)

// Clients of one name share their state, so their settings must agree.
func ExampleRegistry() {
	registry := resilient.NewRegistry() // or resilient.DefaultRegistry(), which clients are in unless told otherwise
	one := resilient.New("inventory").Concurrency(resilient.Permits(10)).Registry(registry).MustBuild()
	_, err := resilient.New("inventory").Concurrency(resilient.Permits(20)).Registry(registry).Build()
	fmt.Println(err)
	fmt.Println(registry != resilient.DefaultRegistry())
	one.CloseIdleConnections()
	// Output:
	// resilient: client "inventory": Concurrency(Permits(20)): differs from Permits(10) of client "inventory", which shares its state; give both the same, or use another name or Registry
	// true
}

// Settings change while the client is in use; what the document leaves out is as it was built.
func ExampleRegistry_Apply() {
	registry := resilient.NewRegistry()
	client := resilient.New("inventory").Retry(resilient.Backoff(0, 0)).
		Transport(scripted(503)).Registry(registry).Observe(narrate).
		MustBuild()
	if err := registry.Apply([]byte(`{"inventory": {"retry": {"maxRetries": 1}}}`)); err != nil {
		fmt.Println(err)
		return
	}
	show(client.Get("http://inventory.example/"))
	// Output:
	// retry in 0s
	// no retry: attempts
	// 503
}

// A breaker is held open by hand, until it is released.
func ExampleRegistry_Isolate() {
	registry := resilient.NewRegistry()
	client := resilient.New("inventory").Transport(scripted(200)).Registry(registry).MustBuild()
	fmt.Println(registry.Isolate("inventory"))
	_, err := client.Get("http://inventory.example/")
	fmt.Println(errors.Is(err, resilient.ErrCircuitOpen), registry.Snapshot()[0].Breaker.State)
	fmt.Println(registry.Release("inventory"))
	show(client.Get("http://inventory.example/"))
	// Output:
	// <nil>
	// true isolated
	// <nil>
	// 200
}

// A function that is no HTTP, with the same strategies and the same shared state.
func ExampleExecute() {
	pipeline, err := resilient.New("database").Retry(resilient.Backoff(0, 0)).Registry(resilient.NewRegistry()).BuildPipeline()
	if err != nil {
		fmt.Println(err)
		return
	}
	calls := 0
	rows, err := resilient.Execute(context.Background(), pipeline, func(context.Context) (int, error) {
		calls++
		if calls < 3 {
			return 0, errors.New("connection lost")
		}
		return 42, nil
	})
	fmt.Println(rows, err, calls)
	_, err = resilient.Execute(context.Background(), pipeline, func(context.Context) (int, error) {
		return 0, backoff.Permanent(errors.New("no such table"))
	})
	fmt.Println(err)
	// Output:
	// 42 <nil> 3
	// no such table
}

// All that was decided, for a test or a log line.
func ExampleReport_Events() {
	client := resilient.New("inventory").Retry(resilient.Backoff(0, 0)).
		Transport(scripted(503, 200)).Registry(resilient.NewRegistry()).
		MustBuild()
	ctx, report := resilient.WithReport(context.Background())
	r, _ := http.NewRequestWithContext(ctx, "GET", "http://inventory.example/", nil)
	show(client.Do(r))
	for _, e := range report.Events() {
		fmt.Printf("%T\n", e)
	}
	fmt.Println(report.Attempts(), report.Sends(), report.Ended(), report.Waited() >= 0)
	// Output:
	// 200
	// resilient.AttemptDone
	// resilient.RetryScheduled
	// resilient.AttemptDone
	// resilient.CallDone
	// 2 2 completed true
}

// A program may listen to what it wants to count. New kinds of events may come, so there is a default.
func ExampleEvent() {
	counts := map[string]int{}
	client := resilient.New("inventory").Retry(resilient.Backoff(0, 0)).
		Transport(scripted(503, 503, 503, 503)).Registry(resilient.NewRegistry()).
		Observe(func(_ context.Context, e resilient.Event) {
			switch e := e.(type) {
			case resilient.AttemptDone:
				counts["attempts"]++
			case resilient.RetryScheduled:
				counts["retries"]++
			case resilient.RetryDenied:
				counts["denied: "+e.Reason]++
			case resilient.Rejected:
				counts["rejected: "+e.Gate]++
			case resilient.BreakerChanged:
				counts["circuit "+e.To]++
			case resilient.EndpointSkipped, resilient.Redispatched, resilient.TransportReplay, resilient.Waited, resilient.BodyCut:
				counts["rare"]++
			case resilient.CallDone:
				counts["calls"]++
			default:
			}
		}).
		MustBuild()
	show(client.Get("http://inventory.example/"))
	fmt.Println(counts)
	// Output:
	// 503
	// map[attempts:4 calls:1 denied: attempts:1 retries:3]
}
