package telemetry_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// series are what a metric holds: the attributes of each series, and its number. Of a histogram that is how many, and how
// much altogether.
func (s *stage) series(name string) []string {
	s.Helper()
	var all []string
	switch data := s.collect()[name].Data.(type) {
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			all = append(all, fmt.Sprintf("%s: %d, %gs", strings.ReplaceAll(lines(p.Attributes.ToSlice()), "\n", " "), p.Count, p.Sum))
		}
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			all = append(all, fmt.Sprintf("%s: %d", strings.ReplaceAll(lines(p.Attributes.ToSlice()), "\n", " "), p.Value))
		}
	}
	slices.Sort(all)
	return all
}

func TestMetricsOfCallsAttemptsAndDecisions(t *testing.T) {
	t.Parallel()
	bubble(t, always(200), func(s *stage) {
		is := is.New(s.T)
		s.On("/").Script(httptestx.Plan(httptestx.Delay(time.Second), httptestx.Status(503)), httptestx.Plan(httptestx.Handle),
			httptestx.Unavailable(0), httptestx.Unavailable(0))
		c := s.client(retrying().Retry(resilient.MaxRetries(1)).
			Breaker(resilient.FailureRatio(0.75), resilient.MinimumThroughput(4), resilient.BreakDuration(15*time.Second)))
		for range 3 {
			_ = s.call(c, "GET", s.URL)
		}
		is.Equal(s.series("resilient.call.duration"), []string{
			"error.type=503 http.request.method=GET http.response.status_code=503 resilient.client=orders: 1, 1s",
			"error.type=circuit_breaker http.request.method=GET resilient.client=orders: 1, 0s",
			"http.request.method=GET http.response.status_code=200 resilient.client=orders: 1, 2s",
		})
		is.Equal(s.series("resilient.attempt.duration"), []string{
			"error.type=503 http.request.method=GET http.response.status_code=503 resilient.client=orders: 3, 1s",
			"http.request.method=GET http.response.status_code=200 resilient.client=orders: 1, 0s",
		})
		is.Equal(s.series("resilient.retries"), []string{"error.type=503 resilient.client=orders: 2"})
		is.Equal(s.series("resilient.retries_denied"), []string{"resilient.client=orders resilient.reason=attempts: 1"})
		is.Equal(s.series("resilient.rejections"), []string{"resilient.client=orders resilient.gate=circuit_breaker: 1"})
		is.Equal(s.series("resilient.breaker_changes"), []string{"resilient.client=orders resilient.state=open: 1"})
		is.Equal(s.series("resilient.breakers"), []string{
			"resilient.client=orders resilient.state=closed: 0",
			"resilient.client=orders resilient.state=half-open: 0",
			"resilient.client=orders resilient.state=isolated: 0",
			"resilient.client=orders resilient.state=open: 1",
		})
	})
}

// Each reason for which a retry is denied is a series.
func TestRetriesDeniedAreCountedByReason(t *testing.T) {
	t.Parallel()
	bubble(t, always(503), func(s *stage) {
		is := is.New(s.T)
		c := s.client(retrying().Retry(resilient.MaxRetries(1), resilient.ExceptMethods("DELETE")).
			Budget(resilient.RetryRatio(0), resilient.MinimumThroughput(3)))
		for _, method := range []string{"GET", "DELETE", "GET"} {
			_ = s.call(c, method, s.URL)
		}
		is.Equal(s.series("resilient.retries_denied"), []string{
			"resilient.client=orders resilient.reason=attempts: 1",
			"resilient.client=orders resilient.reason=budget_exhausted: 1",
			"resilient.client=orders resilient.reason=method: 1",
		})
		is.Equal(s.series("resilient.retries"), []string{"error.type=503 resilient.client=orders: 1"})
		is.Equal(s.series("resilient.budgets"), []string{
			"resilient.client=orders resilient.state=below_minimum: 0",
			"resilient.client=orders resilient.state=enforcing: 0",
			"resilient.client=orders resilient.state=exhausted: 1",
		})
		is.Equal(s.series("resilient.budget.requests"), []string{"resilient.client=orders: 3"})
		is.Equal(s.series("resilient.budget.retries"), []string{"resilient.client=orders: 1"})
		is.Equal(s.series("resilient.budget.allowance"), []string{"resilient.client=orders: 0"})
	})
}

func TestMetricsOfPermits(t *testing.T) {
	t.Parallel()
	bubble(t, always(200), func(s *stage) {
		is := is.New(s.T)
		s.On("/").Do(httptestx.Delay(time.Minute), httptestx.Handle)
		c := s.client(resilient.New("orders").Defaults(resilient.None).Concurrency(resilient.Permits(2), resilient.Queue(5)))
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() { _ = s.call(c, "GET", s.URL) })
		}
		synctest.Wait()
		is.Equal(s.series("resilient.concurrency.permits"), []string{"resilient.client=orders: 2"})
		is.Equal(s.series("resilient.concurrency.in_use"), []string{"resilient.client=orders: 2"})
		is.Equal(s.series("resilient.concurrency.queued"), []string{"resilient.client=orders: 1"})
		calls.Wait()
		is.Equal(s.series("resilient.concurrency.in_use"), []string{"resilient.client=orders: 0"})
	})
}

// A state that many hosts have is a sum of them all, and two clients of one name are one.
func TestStateIsToldOnceHoweverManyClientsThereAre(t *testing.T) {
	t.Parallel()
	bubble(t, always(200), func(s *stage) {
		is := is.New(s.T)
		b := resilient.New("hosts").Defaults(resilient.None).PerAuthority().
			Breaker(resilient.FailureRatio(1), resilient.MinimumThroughput(2))
		c := s.client(b)
		_ = s.client(b)
		_ = s.client(resilient.New("others").Defaults(resilient.None))
		for _, host := range []string{"a", "b", "c"} {
			is.NoErr(s.call(c, "GET", "http://"+host+".test/"))
		}
		is.NoErr(s.registry.Isolate("hosts"))
		is.Equal(s.series("resilient.breakers"), []string{
			"resilient.client=hosts resilient.state=closed: 0",
			"resilient.client=hosts resilient.state=half-open: 0",
			"resilient.client=hosts resilient.state=isolated: 3",
			"resilient.client=hosts resilient.state=open: 0",
		})
	})
}

func TestEndpointsAreAnAttribute(t *testing.T) {
	t.Parallel()
	bubble(t, always(200), func(s *stage) {
		is := is.New(s.T)
		s.On("a.test/").Do(httptestx.Unavailable(time.Minute)...)
		c := s.client(retrying().RateLimit(resilient.PerMinute(60)).
			Endpoints(resilient.Ordered, resilient.Endpoint{URL: "http://a.test", Name: "a"}, resilient.Endpoint{URL: "http://b.test", Name: "b"}))
		is.NoErr(s.call(c, "GET", "http://any.test/"))
		is.NoErr(s.call(c, "GET", "http://any.test/"))
		is.Equal(s.series("resilient.endpoint_skips"), []string{"resilient.client=orders resilient.endpoint=a resilient.gate=throttle: 1"})
		is.Equal(s.series("resilient.rate_limit.tokens"), []string{
			"resilient.client=orders resilient.endpoint=a: 59",
			"resilient.client=orders resilient.endpoint=b: 58",
			"resilient.client=orders: 60",
		})
		is.Equal(attributeOf(s.attempts()[0], "resilient.endpoint"), "a")
		is.Equal(attributeOf(s.attempts()[1], "server.address"), "b.test") // where it was sent, and not what was asked for
	})
}
