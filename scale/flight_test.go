package scale_test

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// A held transport looks at its request's context, as net/http's does, and answers when it is released.
type held struct {
	arrived sync.WaitGroup
	release chan struct{}
}

func (h *held) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	h.arrived.Done()
	select {
	case <-h.release:
		return stub{}.RoundTrip(r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// flight is what calls take that are under way, in all.
type flight struct{ goroutines, bytes int }

// fly has many calls in flight, of callers who may leave.
func fly(tb testing.TB, around func(http.RoundTripper) http.RoundTripper, calls int) flight {
	tb.Helper()
	h := &held{release: make(chan struct{})}
	h.arrived.Add(calls)
	rt := around(h)
	before := flight{runtime.NumGoroutine(), heap()}
	r := request(tb, "http://x.test/")
	var done sync.WaitGroup
	for range calls {
		done.Go(func() { call(tb, rt, r.Clone(r.Context())) })
	}
	h.arrived.Wait()
	f := flight{runtime.NumGoroutine() - before.goroutines, heap() - before.bytes}
	close(h.release)
	done.Wait()
	return f
}

func alone(rt http.RoundTripper) http.RoundTripper { return rt }

func resilientTo(tb testing.TB, calls int) func(http.RoundTripper) http.RoundTripper {
	return func(base http.RoundTripper) http.RoundTripper {
		return transport(tb, resilient.New("crowded").Defaults(resilient.Conservative).Registry(resilient.NewRegistry()).
			Concurrency(resilient.Permits(calls)).Transport(base))
	}
}

func TestCallsInFlightTakeNoGoroutinesAndLittleMemory(t *testing.T) { //nolint:paralleltest // both are measured
	is := is.New(t)
	const calls = 10_000
	bare, ours := fly(t, alone, calls), fly(t, resilientTo(t, calls), calls)
	// By the call: a goroutine of the ones before may be on its way out when they are counted.
	is.Equal((ours.goroutines-bare.goroutines)/calls, 0) // calls have goroutines of their own
	is.True((ours.bytes-bare.bytes)/calls <= 1536)       // a call in flight takes more memory
}

func BenchmarkFlight(b *testing.B) {
	for _, n := range sizes() {
		b.Run("calls="+strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				bare, ours := fly(b, alone, n), fly(b, resilientTo(b, n), n)
				b.ReportMetric(float64(ours.goroutines-bare.goroutines)/float64(n), "goroutines/call")
				b.ReportMetric(float64(ours.bytes-bare.bytes)/float64(n), "heap-B/call")
			}
		})
	}
}
