package resilient

import (
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

// Ratios are typed as fractions of ten, which binary ones are not.
func TestRatiosAreKeptToThePartPerMillion(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	for parts := range uint64(1_000_001) {
		if got := ppm(float64(parts) / 1e6); got != parts {
			t.Fatalf("%d parts per million are kept as %d", parts, got)
		}
	}
	is.Equal(ppm(1.0/3), uint64(333_333)) // the nearest
	is.Equal(ppm(2.0/3), uint64(666_667)) // the nearest
}

// The probe of an attempt that may take longer than the break must not lose its place while it may still be running.
func TestProbeHasAsLongAsAnAttempt(t *testing.T) {
	t.Parallel()
	policy := Standard.Config().Breaker // breaks for 5s
	policy.MinimumThroughput = 2
	for name, row := range map[string]struct{ attempt, place time.Duration }{
		"a long attempt":     {10 * time.Second, 10 * time.Second},
		"a short attempt":    {time.Second, 5 * time.Second},
		"no attempt timeout": {0, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			b := gate.NewBreaker(policy.config(row.attempt))
			for range 2 {
				b.Settle(0, b.Admit(0).Ticket, gate.Failure) // opens it
			}
			now := 5 * time.Second
			is.True(b.Admit(now).Admitted)                  // the probe, when the break is over
			is.True(!b.Admit(now + row.place - 1).Admitted) // it keeps its place
			is.True(b.Admit(now + row.place).Admitted)      // for so long
		})
	}
}
