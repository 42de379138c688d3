package telemetry_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func TestEachAttemptHasASpanByTheConventionsForHTTPClients(t *testing.T) {
	t.Parallel()
	bubble(t, always(200), func(s *stage) {
		is := is.New(s.T)
		s.On("/").Script(httptestx.LostResponse, httptestx.Unavailable(0))
		is.NoErr(s.call(s.client(retrying()), "GET", s.URL+"/stock/7?token=secret&page=2&bare"))

		common := "http.request.method=GET\n"
		server := "resilient.client=orders\nserver.address=httptestx.test\nserver.port=80\n" +
			"url.full=http://httptestx.test/stock/7?token=REDACTED&page=REDACTED&REDACTED"
		want := []string{
			"error.type=connection_lost\n" + common + server,
			"error.type=503\n" + common + "http.request.resend_count=1\nhttp.response.status_code=503\nnetwork.protocol.version=1.1\n" + server,
			common + "http.request.resend_count=2\nhttp.response.status_code=200\nnetwork.protocol.version=1.1\n" + server,
		}
		status := []sdktrace.Status{{Code: codes.Error, Description: "connection_lost"}, {Code: codes.Error}, {Code: codes.Unset}}
		caller := s.callers()[0]
		is.Equal(len(s.attempts()), 3) // a span for each
		for i, span := range s.attempts() {
			is.Equal(span.Name(), "GET")                                    // the method alone, for the path may be anything
			is.Equal(span.SpanKind(), trace.SpanKindClient)                 // of a client
			is.Equal(span.Parent().SpanID(), caller.SpanContext().SpanID()) // within the caller's
			is.Equal(lines(span.Attributes()), want[i])
			is.Equal(span.Status(), status[i]) // 4xx, 5xx and failures are errors
			is.Equal(span.InstrumentationScope().Name, "github.com/a-seed-e0941262/resilient")
		}
	})
}

func TestSpanLastsUntilTheResponseHeaders(t *testing.T) {
	t.Parallel()
	bubble(t, always(200), func(s *stage) {
		is := is.New(s.T)
		s.On("/").Do(httptestx.Delay(time.Second), httptestx.Handle, httptestx.Send(0), httptestx.Delay(time.Minute))
		is.NoErr(s.call(s.client(retrying()), "GET", s.URL))
		span := s.attempts()[0]
		is.Equal(span.EndTime().Sub(span.StartTime()), time.Second) // and not until the body ends
	})
}

func TestEachAttemptCarriesTheContextOfItsOwnSpan(t *testing.T) {
	t.Parallel()
	var seen []string
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Traceparent"))
		w.WriteHeader(503)
	})
	bubble(t, h, func(s *stage) {
		is := is.New(s.T)
		r, _ := http.NewRequest("GET", s.URL, nil)
		r.Header.Set("Traceparent", "the caller's own")
		resp, err := s.client(retrying()).Do(r)
		is.NoErr(err)
		_ = resp.Body.Close()
		is.Equal(r.Header.Get("Traceparent"), "the caller's own") // whose request is left alone
		is.Equal(len(seen), 3)
		for i, span := range s.attempts() {
			sc := span.SpanContext()
			is.Equal(seen[i], "00-"+sc.TraceID().String()+"-"+sc.SpanID().String()+"-01") // that of the attempt
		}
	})
}

// Headers that are added go to a copy, also where the caller has none at all.
func TestRequestWithoutHeadersCarriesTheContextToo(t *testing.T) {
	t.Parallel()
	var seen string
	bubble(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Get("Traceparent") }), func(s *stage) {
		is := is.New(s.T)
		r := (&http.Request{Method: "GET"}).WithContext(s.Context())
		r.URL, _ = r.URL.Parse(s.URL)
		resp, err := s.client(retrying()).Transport.RoundTrip(r)
		is.NoErr(err)
		_ = resp.Body.Close()
		is.True(seen != "")     // the server has it
		is.Equal(r.Header, nil) // the caller has none still
	})
}

func TestDecisionsAreEventsOnTheCallersSpan(t *testing.T) {
	t.Parallel()
	bubble(t, always(503), func(s *stage) {
		is := is.New(s.T)
		c := s.client(retrying().Retry(resilient.MaxRetries(1)).
			Breaker(resilient.FailureRatio(1), resilient.MinimumThroughput(2), resilient.BreakDuration(15*time.Second)))
		_ = s.call(c, "GET", s.URL)
		_ = s.call(c, "GET", s.URL)
		is.Equal(told(s.callers()[0]), []string{
			"resilient.retry_scheduled: error.type=503 resilient.attempt=1 resilient.client=orders resilient.delay=1 resilient.delay_source=backoff",
			"resilient.breaker_changed: resilient.break=15 resilient.client=orders resilient.failures=2 resilient.from=closed " +
				"resilient.requests=2 resilient.state=open",
			"resilient.retry_denied: error.type=503 resilient.attempt=2 resilient.client=orders resilient.reason=attempts",
		})
		is.Equal(told(s.callers()[1]), []string{
			"resilient.rejected: resilient.client=orders resilient.gate=circuit_breaker resilient.retry_after=15",
		})
		for _, span := range s.attempts() {
			is.Equal(len(span.Events()), 0) // they are the caller's
		}
	})
}

// told is a line for each event of a span.
func told(span sdktrace.ReadOnlySpan) []string {
	var all []string
	for _, e := range span.Events() {
		all = append(all, e.Name+": "+strings.ReplaceAll(lines(e.Attributes), "\n", " "))
	}
	return all
}

func TestSpansNameWhatAnAttemptFailedWith(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		steps []httptestx.Step
		build func(resilient.Builder) resilient.Builder
	}{
		"404":             {httptestx.Plan(httptestx.Status(404)), nil},
		"connection_lost": {httptestx.LostResponse, nil},
		"attempt_timeout": {httptestx.Plan(httptestx.Hang), func(b resilient.Builder) resilient.Builder {
			return b.Timeout(resilient.PerAttempt(time.Second))
		}},
		"total_timeout": {httptestx.Plan(httptestx.Hang), func(b resilient.Builder) resilient.Builder {
			return b.Timeout(resilient.Total(time.Second))
		}},
		"canceled": {httptestx.Plan(httptestx.Hang), nil},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200), func(s *stage) {
				is := is.New(s.T)
				s.On("/").Do(c.steps...)
				b := resilient.New("orders").Defaults(resilient.None)
				if c.build != nil {
					b = c.build(b)
				}
				ctx, cancel := context.WithCancel(s.Context())
				time.AfterFunc(time.Minute, cancel)
				_ = s.send(ctx, s.client(b), "GET", s.URL)
				is.Equal(attributeOf(s.attempts()[0], "error.type"), want)
				is.Equal(s.attempts()[0].Status().Code, codes.Error)
			})
		})
	}
}

func attributeOf(span sdktrace.ReadOnlySpan, key string) string {
	for _, a := range span.Attributes() {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

func TestSpanEndsWhenTheTransportPanics(t *testing.T) {
	t.Parallel()
	bubble(t, always(200), func(s *stage) {
		is := is.New(s.T)
		rt, err := retrying().Transport(panicking{}).Registry(s.registry).OpenTelemetry(s.options()...).BuildTransport()
		is.NoErr(err)
		r, _ := http.NewRequest("GET", s.URL, nil)
		func() {
			defer func() { is.Equal(recover(), "broken") }()
			_, _ = rt.RoundTrip(r)
		}()
		is.Equal(attributeOf(s.attempts()[0], "error.type"), "panic")
	})
}

type panicking struct{}

func (panicking) RoundTrip(*http.Request) (*http.Response, error) { panic("broken") }

// Methods can be any text, and a name or an attribute of many values is one that no backend can group by.
func TestUnknownMethodsHaveOneName(t *testing.T) {
	t.Parallel()
	bubble(t, always(200), func(s *stage) {
		is := is.New(s.T)
		is.NoErr(s.call(s.client(retrying()), "PROPFIND", s.URL))
		span := s.attempts()[0]
		is.Equal(span.Name(), "HTTP")
		is.Equal(attributeOf(span, "http.request.method"), "_OTHER")
		is.Equal(attributeOf(span, "http.request.method_original"), "PROPFIND")
	})
}

func TestSpansGoOnWhenADocumentIsApplied(t *testing.T) {
	t.Parallel()
	bubble(t, always(200), func(s *stage) {
		is := is.New(s.T)
		c := s.client(retrying())
		is.NoErr(s.registry.Apply([]byte(`{"orders": {"retry": {"maxRetries": 1}}}`)))
		is.NoErr(s.call(c, "GET", s.URL))
		is.Equal(len(s.attempts()), 1)
		is.Equal(len(s.series("resilient.call.duration")), 1)
	})
}

func TestUserAndQueryOfTheURLAreNotInSpans(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"http://user:secret@httptestx.test/a%2Fb?k=secret": "http://REDACTED:REDACTED@httptestx.test/a%2Fb?k=REDACTED",
		"http://secret@httptestx.test/?secret#secret":      "http://REDACTED:REDACTED@httptestx.test/?REDACTED",
		"http://httptestx.test?":                           "http://httptestx.test?",
	} {
		bubble(t, always(200), func(s *stage) {
			is := is.New(s.T)
			is.NoErr(s.call(s.client(retrying()), "GET", asked))
			is.Equal(attributeOf(s.attempts()[0], "url.full"), want)
		})
	}
}

func TestRedirectsCountAsResends(t *testing.T) {
	t.Parallel()
	bubble(t, always(200), func(s *stage) {
		is := is.New(s.T)
		s.On("/a").Do(httptestx.Status(302, "Location", "/b"))
		is.NoErr(s.call(s.client(retrying()), "GET", s.URL+"/a"))
		is.Equal(attributeOf(s.attempts()[0], "http.request.resend_count"), "")  // it is the first
		is.Equal(attributeOf(s.attempts()[1], "http.request.resend_count"), "1") // it follows a redirect
	})
}

func TestFunctionsHaveSpansToo(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(s *stage) {
		is := is.New(s.T)
		p, err := retrying().Registry(s.registry).OpenTelemetry(s.options()...).BuildPipeline()
		is.NoErr(err)
		calls := 0
		_, err = resilient.Execute(s.Context(), p, func(ctx context.Context) (int, error) {
			calls++
			is.True(trace.SpanContextFromContext(ctx).IsValid()) // what it calls is within the attempt's span
			if calls == 1 {
				return 0, http.ErrAbortHandler
			}
			return calls, nil
		})
		is.NoErr(err)
		is.Equal(len(s.attempts()), 2)
		is.Equal(s.attempts()[0].Name(), "orders") // there is no method
		is.Equal(s.attempts()[0].SpanKind(), trace.SpanKindInternal)
		is.Equal(lines(s.attempts()[0].Attributes()), "error.type=*errors.errorString\nresilient.attempt=1\nresilient.client=orders")
		is.Equal(lines(s.attempts()[1].Attributes()), "resilient.attempt=2\nresilient.client=orders")
	})
}
