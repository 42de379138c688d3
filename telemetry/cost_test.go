package telemetry_test

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
	nometrics "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	nospans "go.opentelemetry.io/otel/trace/noop"
)

// What a call that goes well takes for being seen, in allocations. A client that nobody looks at takes none: that is
// asserted next to the other figures of a call, in the root.
func TestTelemetryTakesSomeAllocationsACall(t *testing.T) { //nolint:paralleltest // others would be counted
	info, _ := debug.ReadBuildInfo()
	if slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector changes how much is allocated")
	}
	spans, metrics := sdktrace.NewTracerProvider(), sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	b := resilient.New("orders").Defaults(resilient.Conservative)
	off := b.OpenTelemetry(resilient.TracerProvider(nospans.NewTracerProvider()), resilient.MeterProvider(nometrics.NewMeterProvider()))
	bare := allocations(t, b)
	for _, row := range []struct {
		name string
		b    resilient.Builder
		most float64 // more than without
	}{
		{"log lines that are not written", b.Observe(resilient.Slog(slog.New(slog.DiscardHandler))), 3},
		{"to providers that do nothing", off, 27},
		{"metrics", off.OpenTelemetry(resilient.TracerProvider(nospans.NewTracerProvider()), resilient.MeterProvider(metrics)), 27},
		{"spans", off.OpenTelemetry(resilient.TracerProvider(spans), resilient.MeterProvider(nometrics.NewMeterProvider()),
			resilient.Propagator(propagation.TraceContext{})), 39},
		{"both", off.OpenTelemetry(resilient.TracerProvider(spans), resilient.MeterProvider(metrics),
			resilient.Propagator(propagation.TraceContext{})), 39},
	} {
		if more := allocations(t, row.b) - bare; more > row.most {
			t.Errorf("%s: %v allocations more, want at most %v", row.name, more, row.most)
		}
	}
}

func allocations(t *testing.T, b resilient.Builder) float64 {
	t.Helper()
	resp := &http.Response{StatusCode: 200, Body: http.NoBody, ProtoMajor: 1, ProtoMinor: 1}
	rt, err := b.Registry(resilient.NewRegistry()).Transport(tripper(func(*http.Request) (*http.Response, error) {
		return resp, nil
	})).BuildTransport()
	is.New(t).NoErr(err)
	r, _ := http.NewRequest("GET", "http://x.test/path?query=x", nil)
	return testing.AllocsPerRun(200, func() { _, _ = rt.RoundTrip(r) })
}
