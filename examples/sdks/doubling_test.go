package sdks_test

import (
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// Three attempts here times those of the SDK: that is what a server which has no capacity gets of each call.
func TestRetriesOfTheSDKMultiplyOurs(t *testing.T) {
	t.Parallel()
	threeAttempts := resilient.New("model").Defaults(resilient.None).
		Retry(resilient.MaxRetries(2), resilient.Backoff(time.Second, 10*time.Second))
	noRetries := resilient.New("model").Defaults(resilient.None)
	each(t, func(t *testing.T, e entry, s *httptestx.Server) {
		is := is.New(t)
		s.On("/").Do(httptestx.Unavailable(0)...)
		requests := func(sdk sdk) int {
			s.Forget()
			_, err := sdk.ask(t.Context())
			is.Equal(sdk.response(err).StatusCode, 503) // the SDK's own error, at last
			return len(s.Exchanges())
		}
		is.Equal(requests(e.asItIs(build(t, s, noRetries))), e.requests)       // the SDK alone
		is.Equal(requests(e.quiet(build(t, s, threeAttempts))), 3)             // the client alone
		is.Equal(requests(e.asItIs(build(t, s, threeAttempts))), 3*e.requests) // both
	})
}
