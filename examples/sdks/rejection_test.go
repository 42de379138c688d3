package sdks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// onceAMinute lets one call pass, and tells the SDK of the others as a server would.
func onceAMinute() resilient.Builder {
	return resilient.New("model").
		Defaults(resilient.AI).
		RateLimit(resilient.PerMinute(1)).
		RejectAsResponse()
}

func TestRefusalAsAResponseIsTheErrorOfTheSDK(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e entry, s *httptestx.Server) {
		is := is.New(t)
		sdk := e.quiet(build(t, s, onceAMinute()))
		_, err := sdk.ask(t.Context())
		is.NoErr(err) // the first call passes
		_, err = sdk.ask(t.Context())
		resp := sdk.response(err)
		is.True(resp != nil)                               // the SDK's own error, with what it takes for the server's answer
		is.Equal(resp.StatusCode, 429)                     // it understands the status,
		is.Equal(resp.Header.Get("Retry-After"), "60")     // and when to come back
		is.True(!errors.Is(err, resilient.ErrRateLimited)) // of which it knows nothing otherwise
		is.Equal(len(s.Exchanges()), 1)                    // nothing was sent
	})
}

// Without it the error is this library's, in that of the SDK.
func TestRefusalIsFoundInTheErrorOfTheSDK(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e entry, s *httptestx.Server) {
		is := is.New(t)
		sdk := e.quiet(build(t, s, resilient.New("model").Defaults(resilient.AI).RateLimit(resilient.PerMinute(1))))
		_, err := sdk.ask(t.Context())
		is.NoErr(err) // the first call passes
		_, err = sdk.ask(t.Context())
		var rejected *resilient.RejectedError
		is.True(errors.As(err, &rejected))         // through all that the SDK wraps it in
		is.Equal(rejected.RetryAfter, time.Minute) // and says the same
		is.True(errors.Is(err, resilient.ErrRateLimited))
	})
}

// What an SDK makes of a refusal if its own retries are on. As an error it is one without a response, which all of them
// repeat. As a response it tells those of OpenAI and Anthropic not to come back, and Azure's when; Amazon's does as it likes.
func TestRefusalAsAResponseCalmsTheRetriesOfAnSDK(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e entry, s *httptestx.Server) {
		is := is.New(t)
		refused := func(b resilient.Builder) (times int, succeeded bool) {
			sdk := e.asItIs(build(t, s, b.Observe(func(_ context.Context, e resilient.Event) {
				if _, ok := e.(resilient.Rejected); ok {
					times++
				}
			})))
			_, err := sdk.ask(t.Context())
			is.NoErr(err) // the first call passes
			_, err = sdk.ask(t.Context())
			return times, err == nil
		}
		times, succeeded := refused(onceAMinute())
		switch e.name {
		case "azcore":
			is.Equal(times, 1) // once,
			is.True(succeeded) // and it has come back after the minute
		case "aws-sdk-go-v2":
			is.Equal(times, 3) // again and again
			is.True(!succeeded)
		default:
			is.Equal(times, 1) // once, and the caller knows
			is.True(!succeeded)
		}
		times, succeeded = refused(resilient.New("model").Defaults(resilient.AI).RateLimit(resilient.PerMinute(1)))
		is.Equal(times, e.requests) // as often as it asks a server
		is.True(!succeeded)
	})
}
