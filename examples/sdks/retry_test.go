package sdks_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

func TestBusyServerIsAskedAgainWhenItSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		busy httptestx.Step
		wait time.Duration
	}{
		"429, seconds":      {httptestx.Status(429, "Retry-After", "7"), 7 * time.Second},
		"429, milliseconds": {httptestx.Status(429, "Retry-After-Ms", "1500", "Retry-After", "2"), 1500 * time.Millisecond},
		"503":               {httptestx.Status(503, "Retry-After", "30"), 30 * time.Second},
		"529":               {httptestx.Status(529, "Retry-After", "20"), 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, e entry, s *httptestx.Server) {
				is := is.New(t)
				s.On("/").First(2).Do(httptestx.Read, c.busy)
				client := build(t, s, resilient.New("model").Defaults(resilient.AI))
				start := time.Now()
				text, err := e.quiet(client).ask(t.Context())
				is.NoErr(err)
				is.Equal(text, "Hello, world!")         // the third answer
				is.Equal(time.Since(start), 2*c.wait)   // after the waits that the server asked for
				is.Equal(len(s.Exchanges()), 3)         // and no request more
				is.Equal(s.Exchanges()[0].Host, e.host) // sent where the SDK sends it
			})
		})
	}
}

// A spent account is a 429, too. The SDK gets it as it came, and tells of it in its own words.
func TestSpentAccountIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	const spent = `{"message":"Nobody pays","error":{"message":"Nobody pays","type":"insufficient_quota","code":"insufficient_quota"}}`
	busy := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Amzn-Errortype", "ThrottlingException")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(spent))
	})
	each(t, func(t *testing.T, e entry, s *httptestx.Server) {
		is := is.New(t)
		s.Config.Handler = busy
		sdk := e.quiet(build(t, s, resilient.New("model").Defaults(resilient.AI)))
		start := time.Now()
		_, err := sdk.ask(t.Context())
		is.Equal(sdk.response(err).StatusCode, 429) // in the SDK's own error
		if body, _ := io.ReadAll(sdk.response(err).Body); e.name == "aws-sdk-go-v2" {
			is.True(strings.HasSuffix(err.Error(), "ThrottlingException: Nobody pays")) // which has read all
		} else {
			is.Equal(string(body), spent) // as it came, though the client has looked into it
		}
		is.Equal(time.Since(start), time.Duration(0)) // at once
		is.Equal(len(s.Exchanges()), 1)               // and not asked again
	})
}
