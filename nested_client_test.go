package resilient_test

import (
	"errors"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// That the gate of a client below is shut says nothing about the server: the circuit of the one above does not count it.
func TestRefusalOfAClientBelowIsNoFailure(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		inner := w.client(resilient.New("inner").Defaults(resilient.None).RateLimit(resilient.PerMinute(1)))
		c := w.over(inner.Transport, resilient.New("outer").Defaults(resilient.None).
			Breaker(resilient.FailureRatio(0), resilient.MinimumThroughput(2)))
		resp, err := c.Get(w.URL)
		is.NoErr(err)
		read(w.T, resp)
		for range 5 {
			_, err = c.Get(w.URL)
			is.True(errors.Is(err, resilient.ErrRateLimited)) // the inner client refuses
		}
		for _, s := range w.registry.Snapshot() {
			if s.Client == "outer" {
				is.Equal(*s.Breaker, resilient.BreakerSnapshot{State: "closed", Requests: 1}) // nothing but the answer counts
			}
		}
	})
}
