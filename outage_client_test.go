package resilient_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// A dependency that is down for a time, and what it gets meanwhile.
type outage struct {
	down     atomic.Bool
	attempts atomic.Int64
}

func (o *outage) RoundTrip(*http.Request) (*http.Response, error) {
	o.attempts.Add(1)
	status := 200
	if o.down.Load() {
		status = 503
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("x"))}, nil
}

// load makes 100 calls a second for as long as that, whatever becomes of them,
// and returns how many were answered with 200.
func load(w *world, c *http.Client, d time.Duration) (well int64) {
	var ok atomic.Int64
	var calls sync.WaitGroup
	for range d / (10 * time.Millisecond) {
		calls.Go(func() {
			resp, err := c.Get("http://orders.test")
			if err != nil {
				w.Error(err)
				return
			}
			if resp.StatusCode == 200 {
				ok.Add(1)
			}
			_ = resp.Body.Close()
		})
		time.Sleep(10 * time.Millisecond)
	}
	calls.Wait()
	return ok.Load()
}

// The point of a retry budget: a dependency that is down for a minute gets a
// tenth more than its load, not twice as much, and once it is up again every
// call is answered at the first attempt.
func TestOutageIsNotMadeWorseByRetries(t *testing.T) {
	t.Parallel()
	conservative := resilient.New("orders").Defaults(resilient.Conservative).Breaker(resilient.Off).Concurrency(resilient.Off)
	for name, c := range map[string]struct {
		b           resilient.Builder
		least, most float64 // attempts a call, once the minimum is reached
	}{
		"with a budget":    {conservative, 1.09, 1.11},
		"without a budget": {conservative.Budget(resilient.Off), 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(w *world) {
				is := is.New(w.T)
				o := &outage{}
				client := w.over(o, c.b)
				is.Equal(load(w, client, 30*time.Second), int64(3000)) // half a minute of sunshine
				is.Equal(o.attempts.Swap(0), int64(3000))              // needs no retry

				o.down.Store(true)
				is.Equal(load(w, client, time.Minute), int64(0)) // a minute of outage
				ratio := float64(o.attempts.Swap(0)) / 6000
				is.True(ratio >= c.least) // what the budget allows is used
				is.True(ratio <= c.most)  // and no more

				o.down.Store(false)
				is.Equal(load(w, client, time.Second), int64(100)) // it is up: all are answered
				is.Equal(o.attempts.Swap(0), int64(100))           // with what is sent for them
			})
		})
	}
}

// From a cold start the first hundred calls have no budget: their retries are
// free, but booked, so that the ratio holds over the window all the same.
func TestOutageFromAColdStartIsPaidBack(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		o := &outage{}
		o.down.Store(true)
		client := w.over(o, resilient.New("orders").Defaults(resilient.Conservative).
			Breaker(resilient.Off).Concurrency(resilient.Off).Retry(every(0)))
		load(w, client, time.Second)
		is.Equal(o.attempts.Load(), int64(100+99)) // the hundredth call is the first that counts
		load(w, client, 8*time.Second)
		is.Equal(o.attempts.Load(), int64(900+99)) // and until there are a thousand none is retried
		load(w, client, 51*time.Second)
		ratio := float64(o.attempts.Load()) / 6000
		is.True(ratio >= 1.09 && ratio <= 1.11) // over the minute it is a tenth
	})
}
