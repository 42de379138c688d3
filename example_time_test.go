package resilient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/jonboulle/clockwork"
)

// takes is a transport that lets so much time pass on a clock, and then has no answer for as long as anybody waits.
func takes(d time.Duration, clock *clockwork.FakeClock) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		clock.Advance(d)
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
}

// Each attempt has five seconds, the call twenty. A timeout is found with errors.Is, and is one to net/http as well.
func ExampleBuilder_Timeout() {
	clock := clockwork.NewFakeClock()
	client := resilient.New("inventory").
		Timeout(resilient.Total(20*time.Second), resilient.PerAttempt(5*time.Second)).
		Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)).
		Transport(takes(6*time.Second, clock)).Clock(clock).Registry(resilient.NewRegistry()).
		MustBuild()
	_, err := client.Get("http://inventory.example/items")
	fmt.Println(err)
	fmt.Println(errors.Is(err, resilient.ErrAttemptTimeout), errors.Is(err, context.DeadlineExceeded))
	// Output:
	// Get "http://inventory.example/items": resilient: client "inventory": attempt timeout after 5s
	// true true
}

// A report that takes its time: this call may have a longer attempt than the client's.
func ExampleWithAttemptTimeout() {
	clock := clockwork.NewFakeClock()
	client := resilient.New("reports").
		Timeout(resilient.PerAttempt(5 * time.Second)).Retry(resilient.Off).
		Transport(takes(time.Minute, clock)).Clock(clock).Registry(resilient.NewRegistry()).
		MustBuild()
	ctx := resilient.WithAttemptTimeout(context.Background(), 10*time.Second)
	r, _ := http.NewRequestWithContext(ctx, "GET", "http://reports.example/year", nil)
	_, err := client.Do(r)
	fmt.Println(err)
	// Output:
	// Get "http://reports.example/year": resilient: client "reports": attempt timeout after 10s
}

// The call is over when its time is, whatever its attempts may still have.
func ExampleTotal() {
	clock := clockwork.NewFakeClock()
	client := resilient.New("inventory").Defaults(resilient.None).
		Timeout(resilient.Total(2 * time.Second)).
		Transport(takes(3*time.Second, clock)).Clock(clock).Registry(resilient.NewRegistry()).
		MustBuild()
	_, err := client.Get("http://inventory.example/items")
	fmt.Println(errors.Is(err, resilient.ErrTotalTimeout))
	// Output: true
}

// A stalled body brings nothing while the clock goes on.
type stalled struct {
	*io.PipeReader
	clock *clockwork.FakeClock
}

func (s stalled) Read(p []byte) (int, error) {
	s.clock.Advance(time.Minute)
	return s.PipeReader.Read(p)
}

// A stream may go on for hours. It must not stand still.
func ExampleBodyIdle() {
	clock := clockwork.NewFakeClock()
	client := resilient.New("stream").Defaults(resilient.None).
		Timeout(resilient.BodyIdle(30 * time.Second)).
		Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
			reader, _ := io.Pipe()
			context.AfterFunc(r.Context(), func() { _ = reader.Close() }) // as net/http ends its bodies
			return &http.Response{StatusCode: 200, Body: stalled{reader, clock}}, nil
		})).
		Clock(clock).Registry(resilient.NewRegistry()).
		MustBuild()
	resp, err := client.Get("http://stream.example/")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	fmt.Println(err, errors.Is(err, resilient.ErrBodyIdle))
	// Output: resilient: client "stream": body idle timeout after 30s true
}

// With TotalIncludesBody the total timeout is what the Timeout of an http.Client is.
func ExampleTotalIncludesBody() {
	existing := &http.Client{Timeout: 10 * time.Second}
	c := resilient.New("inventory").Client(existing).Config()
	fmt.Println(c.Timeout.Total, c.Timeout.TotalIncludesBody)
	c = resilient.New("inventory").Timeout(resilient.Total(10*time.Second), resilient.TotalIncludesBody(true)).Config()
	fmt.Println(c.Timeout.Total, c.Timeout.TotalIncludesBody)
	// Output:
	// 10s true
	// 10s true
}

// A fake clock has time pass when the test says so.
func ExampleBuilder_Clock() {
	clock := clockwork.NewFakeClock()
	registry := resilient.NewRegistry()
	client := resilient.New("inventory").Retry(resilient.Off).
		Breaker(resilient.FailureRatio(0.5), resilient.MinimumThroughput(2), resilient.BreakDuration(5*time.Second)).
		Transport(scripted(500, 500, 200)).Clock(clock).Registry(registry).
		MustBuild()
	for range 2 {
		show(client.Get("http://inventory.example/"))
	}
	fmt.Println(registry.Snapshot()[0].Breaker.State)
	clock.Advance(5 * time.Second)
	show(client.Get("http://inventory.example/")) // the probe
	fmt.Println(registry.Snapshot()[0].Breaker.State)
	// Output:
	// 500
	// 500
	// open
	// 200
	// closed
}
