package telemetry_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	nometrics "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	nospans "go.opentelemetry.io/otel/trace/noop"
)

// Clients are often made before the program has set its providers. Only those that ask for it go to them.
func TestGlobalProvidersAreUsedByWhoAsksForThem(t *testing.T) { //nolint:paralleltest // they are everybody's
	is := is.New(t)
	var seen []string
	base := tripper(func(r *http.Request) (*http.Response, error) {
		seen = append(seen, r.Header.Get("Traceparent"))
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	})
	asking := resilient.New("asking").Registry(resilient.NewRegistry()).Transport(base).OpenTelemetry().MustBuild()
	silent := resilient.New("silent").Registry(resilient.NewRegistry()).Transport(base).MustBuild()

	spans, reader := globals()
	before := len(spans.Ended())
	for _, c := range []*http.Client{silent, asking} {
		_, err := c.Get("http://x.test")
		is.NoErr(err)
	}
	is.Equal(len(spans.Ended()), before+1)
	is.Equal(attributeOf(spans.Ended()[before], "resilient.client"), "asking")
	is.Equal(seen[0], "")
	is.True(seen[1] != "") // the context is in the headers
	var metrics metricdata.ResourceMetrics
	is.NoErr(reader.Collect(t.Context(), &metrics))
	is.Equal(len(metrics.ScopeMetrics), 1)
	is.True(len(metrics.ScopeMetrics[0].Metrics) > 3)
}

// globals sets the global providers, once.
var globals = sync.OnceValues(func() (*tracetest.SpanRecorder, *sdkmetric.ManualReader) {
	spans, reader := tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)))
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return spans, reader
})

// A provider may be made when it is first asked for, with an exporter that calls by a client of the same registry.
func TestProvidersAreAskedForWithoutALockOfTheRegistry(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	registry := resilient.NewRegistry()
	exporter := func() { resilient.New("exporter").Registry(registry).MustBuild() }
	c := resilient.New("orders").Registry(registry).Transport(tripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	})).OpenTelemetry(
		resilient.TracerProvider(&lateTracers{nospans.NewTracerProvider(), exporter}),
		resilient.MeterProvider(&lateMeters{nometrics.NewMeterProvider(), exporter}),
	).MustBuild()
	is.NoErr(registry.Apply([]byte(`{"orders": {"retry": {"maxRetries": 1}}}`)))
	_, err := c.Get("http://x.test")
	is.NoErr(err)
	is.Equal(len(registry.Snapshot()), 2) // the exporter's client has been built
}

type lateTracers struct {
	trace.TracerProvider
	make func()
}

func (p *lateTracers) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	p.make()
	return p.TracerProvider.Tracer(name, options...)
}

type lateMeters struct {
	metric.MeterProvider
	make func()
}

func (p *lateMeters) Meter(name string, options ...metric.MeterOption) metric.Meter {
	p.make()
	return p.MeterProvider.Meter(name, options...)
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
