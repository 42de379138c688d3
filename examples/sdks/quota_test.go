package sdks_test

import (
	"context"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// withinQuota sends no more than 60,000 tokens in any minute: what the bucket holds, and what flows in.
func withinQuota() resilient.Builder {
	return resilient.New("model").
		Defaults(resilient.AI).
		RateLimit(
			resilient.PerMinute(54_000), resilient.Burst(6_000),
			resilient.Cost(resilient.EstimateTokens), // what a request may use,
			resilient.SettleUsage,                    // and then what it has used
			resilient.HeedServer,                     // less, if the server says so
			resilient.Wait(30*time.Second),           // for tokens, rather than fail
		)
}

func TestTokensAreTakenByEstimateAndSettledByUsage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e entry, s *httptestx.Server) {
		if e.name == "aws-sdk-go-v2" {
			t.Skip("what Bedrock says of usage is not read")
		}
		is := is.New(t)
		registry := resilient.NewRegistry()
		left := func() int { return int(registry.Snapshot()[0].RateLimit.Available) }
		var during int
		client, err := withinQuota().Transport(s.Client().Transport).Registry(registry).
			Observe(func(_ context.Context, ev resilient.Event) {
				if _, ok := ev.(resilient.AttemptDone); ok {
					during = left()
				}
			}).Build()
		is.NoErr(err)
		_, err = e.quiet(client).ask(t.Context())
		is.NoErr(err)
		estimate := 3 // the letters of "Say hello." by four
		if e.name == "anthropic-sdk-go" {
			estimate += 100 // which must say how long the answer may be
		}
		is.Equal(during, 6_000-estimate) // taken
		is.Equal(left(), 6_000-12)       // used
	})
}
