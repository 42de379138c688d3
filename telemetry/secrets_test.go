package telemetry_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// canary stands wherever a caller may have a secret, but for the path.
const canary = "s3cr3t"

func TestSecretsAreNeitherInSpansNorInMetrics(t *testing.T) {
	t.Parallel()
	again := retrying().Retry(resilient.MaxRetries(1))
	for name, c := range map[string]struct {
		build resilient.Builder
		steps []httptestx.Step
	}{
		"success":         {again, httptestx.Plan(httptestx.Handle)},
		"retry":           {again, httptestx.Plan(httptestx.Status(503, "X-Token", canary))},
		"lost response":   {again, httptestx.LostResponse},
		"attempt timeout": {again.Timeout(resilient.PerAttempt(time.Second)), httptestx.Plan(httptestx.Hang)},
		"circuit":         {again.Breaker(resilient.FailureRatio(0), resilient.MinimumThroughput(2)), httptestx.LostResponse},
		"rate limit":      {again.RateLimit(resilient.PerMinute(1)), httptestx.Plan(httptestx.Handle)},
		"endpoints": {again.Endpoints(resilient.Ordered, resilient.Endpoint{
			URL: "http://" + canary + ":" + canary + "@east.test/?key=" + canary, Header: http.Header{"X-Api-Key": {canary}},
		}), httptestx.Unavailable(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200), func(s *stage) {
				is := is.New(s.T)
				s.On("/").Do(c.steps...)
				client := s.client(c.build)
				for range 3 {
					ctx, span := s.tracers.Tracer("caller").Start(s.Context(), "caller")
					r, err := http.NewRequestWithContext(ctx, "PUT", "http://"+canary+":"+canary+"@any.test/?key="+canary+"&"+canary, strings.NewReader(canary))
					is.NoErr(err)
					r.Header.Set("Authorization", "Bearer "+canary)
					if resp, err := client.Do(r); err == nil {
						_ = resp.Body.Close()
					}
					span.End()
				}
				s.clean()
			})
		})
	}
}

// What a transport says in its errors is its own affair, and not told.
func TestTextsOfErrorsAreNotInSpans(t *testing.T) {
	t.Parallel()
	bubble(t, always(200), func(s *stage) {
		is := is.New(s.T)
		rt, err := retrying().Transport(talkative{}).Registry(s.registry).OpenTelemetry(s.options()...).BuildTransport()
		is.NoErr(err)
		_ = s.call(&http.Client{Transport: rt}, "GET", s.URL)
		is.Equal(len(s.attempts()), 3)
		s.clean()
	})
}

type talkative struct{}

func (talkative) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("the key is " + canary)
}

// clean fails the test if the canary is in any span or metric.
func (s *stage) clean() {
	s.Helper()
	var said strings.Builder
	for _, span := range append(s.attempts(), s.callers()...) {
		fmt.Fprintln(&said, span.Name(), span.Attributes(), span.Events(), span.Status())
	}
	for _, m := range s.collect() {
		fmt.Fprintf(&said, "%+v\n", m)
	}
	if said.Len() < 1000 {
		s.Errorf("there was little to look at: %s", &said)
	}
	if i := strings.Index(said.String(), canary); i >= 0 {
		s.Errorf("it came out: %s", said.String()[max(0, i-200):i+20])
	}
}
