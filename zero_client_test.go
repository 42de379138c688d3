package resilient_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/cenkalti/backoff/v5"
	"github.com/matryer/is"
)

// imroc/req#210, where a retry count of zero meant retries without end. The zero value
// of an option is either refused or does what it says; a call ends with it, and soon.
func TestZeroOfEveryOptionIsSafe(t *testing.T) {
	t.Parallel()
	base := func() resilient.Builder { return retrying() }
	for name, row := range map[string]struct {
		b       resilient.Builder
		refused bool
		arrived int
	}{
		"MaxRetries":         {base().Retry(resilient.MaxRetries(0)), false, 1},
		"Backoff":            {base().Retry(resilient.Backoff(0, 0)), false, 3},
		"BufferLimit":        {base().Retry(resilient.BufferLimit(0)), false, 3},
		"MaxRetryAfter":      {base().Retry(resilient.MaxRetryAfter(0)), false, 3},
		"RetryMethods":       {base().Retry(resilient.RetryMethods()), true, 0},
		"ExceptMethods":      {base().Retry(resilient.ExceptMethods()), false, 3},
		"no options":         {base().Retry(), false, 3},
		"BackoffFunc":        {base().Retry(resilient.BackoffFunc(func() backoff.BackOff { return &backoff.ZeroBackOff{} })), false, 3},
		"RetryIf":            {base().Retry(resilient.RetryIf(nil)), true, 0},
		"nil BackoffFunc":    {base().Retry(resilient.BackoffFunc(nil)), true, 0},
		"Total":              {base().Timeout(resilient.Total(0)), false, 3},
		"PerAttempt":         {base().Timeout(resilient.PerAttempt(0)), false, 3},
		"BodyIdle":           {base().Timeout(resilient.BodyIdle(0)), false, 3},
		"Permits":            {base().Concurrency(resilient.Permits(0)), true, 0},
		"Queue":              {base().Concurrency(resilient.Queue(0)), false, 3},
		"RetryRatio":         {base().Budget(resilient.RetryRatio(0)), false, 3}, // below the minimum
		"LowVolumeRetries":   {base().Budget(resilient.LowVolumeRetries(0)), false, 3},
		"budget's minimum":   {base().Budget(resilient.MinimumThroughput(0)), true, 0},
		"budget's sampling":  {base().Budget(resilient.SamplingDuration(0)), true, 0},
		"FailureRatio":       {base().Breaker(resilient.FailureRatio(0)), false, 3}, // below the minimum
		"breaker's minimum":  {base().Breaker(resilient.MinimumThroughput(0)), true, 0},
		"breaker's sampling": {base().Breaker(resilient.SamplingDuration(0)), true, 0},
		"BreakDuration":      {base().Breaker(resilient.BreakDuration(0)), true, 0},
		"PerSecond":          {base().RateLimit(resilient.PerSecond(0)), true, 0},
		"Burst":              {base().RateLimit(resilient.PerSecond(1), resilient.Burst(0)), true, 0},
		"Wait":               {base().RateLimit(resilient.PerSecond(10), resilient.Wait(0)), false, 3},
		"Config":             {resilient.New("orders").Defaults(resilient.Config{}), false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(503, "no"), func(w *world) {
				is := is.New(w.T)
				if row.refused {
					_, err := row.b.Build()
					is.True(err != nil) // it has no meaning, which is said
					return
				}
				start := time.Now()
				r, _ := http.NewRequest("GET", w.URL, nil)
				resp, err := w.client(row.b).Do(r)
				is.NoErr(err)
				read(w.T, resp)
				is.Equal(w.arrived(), row.arrived)            // so many attempts, and no more
				is.Equal(time.Since(start), time.Duration(0)) // without a wait
			})
		})
	}
}
