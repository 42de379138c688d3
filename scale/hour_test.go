package scale_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// A weather answers most requests at once, and every twentieth with a 503, so that there are retries and a budget for
// them.
type weather struct{ requests int }

func (w *weather) RoundTrip(r *http.Request) (*http.Response, error) {
	w.requests++
	status := http.StatusOK
	if w.requests%20 == 0 {
		status = http.StatusServiceUnavailable
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
}

// An hour is one of its own, in which calls come at even distances.
type hour struct {
	clock   *clock
	weather weather
	rt      http.RoundTripper
	request *http.Request
	rate    int // calls a second
}

func newHour(tb testing.TB, rate int) *hour {
	tb.Helper()
	h := &hour{clock: newClock(), rate: rate, request: request(tb, "http://x.test/")}
	h.rt = transport(tb, resilient.New("busy").Defaults(resilient.Conservative).Registry(resilient.NewRegistry()).
		Retry(resilient.Backoff(0, 0)).
		Clock(h.clock).Transport(&h.weather))
	return h
}

// play lets time pass, and returns what a call has taken and what memory is in use after it.
func (h *hour) play(tb testing.TB, d time.Duration) (each time.Duration, bytes int) {
	calls := int(d/time.Second) * h.rate
	begun := time.Now()
	for range calls {
		h.clock.pass(time.Second / time.Duration(h.rate))
		call(tb, h.rt, h.request)
	}
	return time.Since(begun) / time.Duration(calls), heap()
}

func TestMemoryIsFlatForAnHour(t *testing.T) { //nolint:paralleltest // memory is measured
	is := is.New(t)
	h := newHour(t, 50)
	_, first := h.play(t, 6*time.Minute)
	var last int
	for range 9 {
		_, last = h.play(t, 6*time.Minute)
	}
	is.True(last < first+64<<10)                     // something is kept of calls that are over
	is.True(h.weather.requests > 50*60*60*105/100-9) // and retries were among them
}

func BenchmarkHour(b *testing.B) {
	rate := 100
	if large() {
		rate = 10_000
	}
	h := newHour(b, rate)
	for minute := 6; minute <= 60; minute += 6 {
		b.Run(fmt.Sprintf("calls=%d/minute=%02d", rate, minute), func(b *testing.B) {
			for b.Loop() {
				each, bytes := h.play(b, 6*time.Minute)
				b.ReportMetric(float64(each), "ns/call")
				b.ReportMetric(float64(bytes), "heap-B")
			}
		})
	}
}
