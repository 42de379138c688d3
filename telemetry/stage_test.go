package telemetry_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// A stage is a server in memory and in virtual time, and an SDK that keeps what it is given.
type stage struct {
	*testing.T
	*httptestx.Server
	registry *resilient.Registry
	spans    *tracetest.SpanRecorder
	tracers  *sdktrace.TracerProvider
	reader   *sdkmetric.ManualReader
	meters   *sdkmetric.MeterProvider
}

func bubble(t *testing.T, h http.Handler, test func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{
			T: t, Server: httptestx.NewServer(t, h), registry: resilient.NewRegistry(),
			spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader(),
		}
		s.tracers = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans))
		s.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(s.reader))
		test(s)
		if started, ended := len(s.spans.Started()), len(s.spans.Ended()); started != ended {
			t.Errorf("%d spans were started, and %d have ended", started, ended)
		}
	})
}

// client builds b for the server, with all that it tells of going to the stage.
func (s *stage) client(b resilient.Builder) *http.Client {
	s.Helper()
	c, err := b.Transport(s.Client().Transport).Registry(s.registry).OpenTelemetry(s.options()...).Build()
	if err != nil {
		s.Fatal(err)
	}
	return c
}

func (s *stage) options() []resilient.OpenTelemetryOption {
	return []resilient.OpenTelemetryOption{
		resilient.TracerProvider(s.tracers), resilient.MeterProvider(s.meters), resilient.Propagator(propagation.TraceContext{}),
	}
}

// call makes a call within a span of its own, and reads the answer.
func (s *stage) call(c *http.Client, method, url string) error {
	s.Helper()
	ctx, span := s.tracers.Tracer("caller").Start(s.Context(), "caller")
	defer span.End()
	return s.send(ctx, c, method, url)
}

func (s *stage) send(ctx context.Context, c *http.Client, method, url string) error {
	s.Helper()
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		s.Fatal(err)
	}
	resp, err := c.Do(r)
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	return err
}

// attempts are the spans of attempts that have ended.
func (s *stage) attempts() []sdktrace.ReadOnlySpan {
	var all []sdktrace.ReadOnlySpan
	for _, span := range s.spans.Ended() {
		if span.InstrumentationScope().Name != "caller" {
			all = append(all, span)
		}
	}
	return all
}

// callers are the spans of callers that have ended.
func (s *stage) callers() []sdktrace.ReadOnlySpan {
	var all []sdktrace.ReadOnlySpan
	for _, span := range s.spans.Ended() {
		if span.InstrumentationScope().Name == "caller" {
			all = append(all, span)
		}
	}
	return all
}

// collect returns what the meters hold, by name.
func (s *stage) collect() map[string]metricdata.Metrics {
	s.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(context.Background(), &all); err != nil {
		s.Fatal(err)
	}
	found := map[string]metricdata.Metrics{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			found[m.Name] = m
		}
	}
	return found
}

// lines are attributes, one a line, sorted by their names.
func lines(attributes []attribute.KeyValue) string {
	set := attribute.NewSet(attributes...)
	var all []string
	for _, a := range set.ToSlice() {
		all = append(all, string(a.Key)+"="+a.Value.String())
	}
	return strings.Join(all, "\n")
}

// retrying repeats a call twice, a second later each time.
func retrying() resilient.Builder {
	return resilient.New("orders").Defaults(resilient.None).
		Retry(resilient.MaxRetries(2), resilient.Backoff(time.Second, time.Second), resilient.NoJitter)
}

func always(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}
