package resilient_test

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// A stub is a base that takes a request in, and answers at once with one allocation.
type stub struct {
	header http.Header
	body   io.ReadCloser // of the answer
	buffer [2 << 10]byte
}

func (s *stub) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		for {
			if _, err := r.Body.Read(s.buffer[:]); err != nil {
				break
			}
		}
		_ = r.Body.Close()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: s.header, Body: s.body, Request: r}, nil
}

// An endless body has as many bytes as anybody wants.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
func (endless) Close() error               { return nil }

// A payload is a request body that can be sent time and again.
type payload struct{ bytes.Reader }

func (*payload) Close() error { return nil }

// careful is what most clients are built from: every strategy on but the rate limit.
func careful() resilient.Builder {
	return resilient.New("orders").Defaults(resilient.Conservative).Registry(resilient.NewRegistry())
}

func careless(b resilient.Builder) http.RoundTripper {
	rt, err := b.BuildTransport()
	if err != nil {
		panic(err)
	}
	return rt
}

// underRace reports whether the race detector is on. It makes a sync.Pool lose some of what it is given, so that
// allocations can't be counted.
func underRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// What a call takes is counted, not timed: it is the same on every machine.
func TestCallOverAStubTakesFewAllocations(t *testing.T) { //nolint:paralleltest // others would be counted
	if underRace() {
		t.Skip("the race detector changes how much is allocated")
	}
	noGoroutinesLeft(t)
	cancellable, cancel := context.WithCancel(context.Background()) //nolint:usetesting // of which Background is compared with
	defer cancel()
	observe := func(context.Context, resilient.Event) {}
	for _, row := range []struct {
		name   string
		caller context.Context //nolint:containedctx // it is what differs
		method string
		answer io.ReadCloser
		build  func(resilient.Builder) resilient.Builder
		allocs float64 // more than the stub's own
		size   uint64
	}{
		{name: "GET", caller: context.Background(), method: http.MethodGet, answer: http.NoBody, allocs: 1, size: 640},
		{name: "GET of a caller who may leave", caller: cancellable, method: http.MethodGet, answer: http.NoBody, allocs: 1, size: 640},
		{name: "GET with a body in the answer", caller: cancellable, method: http.MethodGet, answer: endless{}, allocs: 1, size: 640},
		{name: "POST", caller: context.Background(), method: http.MethodPost, answer: http.NoBody, allocs: 2, size: 912},
		{name: "POST of a caller who may leave", caller: cancellable, method: http.MethodPost, answer: http.NoBody, allocs: 2, size: 912},
		{name: "GET with an observer", caller: cancellable, method: http.MethodGet, answer: http.NoBody, allocs: 4, size: 960,
			build: func(b resilient.Builder) resilient.Builder { return b.Observe(observe) }},
		{name: "GET per authority", caller: cancellable, method: http.MethodGet, answer: http.NoBody, allocs: 1, size: 640,
			build: resilient.Builder.PerAuthority},
		{name: "GET with nothing on", caller: cancellable, method: http.MethodGet, answer: http.NoBody, allocs: 1, size: 640,
			build: func(b resilient.Builder) resilient.Builder { return b.Defaults(resilient.None) }},
	} {
		t.Run(row.name, func(t *testing.T) { //nolint:paralleltest // likewise
			is := is.New(t)
			base := &stub{header: http.Header{}, body: row.answer}
			b := careful().Transport(base)
			if row.build != nil {
				b = row.build(b)
			}
			bareAllocs, bareSize := cost(row.caller, t, base, row.method)
			allocs, size := cost(row.caller, t, careless(b), row.method)
			is.Equal(allocs-bareAllocs, row.allocs) // what the library adds
			is.Equal(size-bareSize, row.size)       // in bytes
		})
	}
}

// cost is what one call takes, in allocations and bytes.
func cost(caller context.Context, t *testing.T, rt http.RoundTripper, method string) (allocs float64, size uint64) {
	t.Helper()
	const times = 100
	body := &payload{}
	r, err := http.NewRequestWithContext(caller, method, "http://x.test", nil)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 1<<10)
	call := func() {
		if method == http.MethodPost {
			body.Reset(data)
			r.Body, r.ContentLength = body, int64(len(data))
			r.GetBody = again
		}
		resp, err := rt.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	// The runtime allocates too, and empties pools when it collects: what it adds is never less than nothing, so that the
	// least is what a call takes.
	allocs, size = math.Inf(1), math.MaxUint64
	for range 10 {
		allocs = min(allocs, testing.AllocsPerRun(times, call))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range times {
			call()
		}
		runtime.ReadMemStats(&after)
		size = min(size, (after.TotalAlloc-before.TotalAlloc)/times)
	}
	return allocs, size
}

// Over net/http's own transport, what the library adds is what that one takes more for it, too: for a context that it
// derives its own from, and for a body that it does not know.
func TestCallOverTheRealTransportTakesFewAllocationsMore(t *testing.T) { //nolint:paralleltest // others would be counted
	if underRace() {
		t.Skip("the race detector changes how much is allocated")
	}
	for _, p := range []protocol{h1, h1TLS, h2, h2TLS} {
		t.Run(p.name, func(t *testing.T) { //nolint:paralleltest // likewise
			is := is.New(t)
			w := newWorld(t, always(http.StatusOK, "answer"), p.options()...)
			base := w.Client().Transport
			count := func(rt http.RoundTripper) float64 {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL, nil)
				is.NoErr(err)
				return testing.AllocsPerRun(1000, func() {
					resp, err := rt.RoundTrip(r)
					is.NoErr(err)
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				})
			}
			bare := count(base)
			is.True(count(careless(careful().Transport(base)))-bare <= 7)
		})
	}
}

func again() (io.ReadCloser, error) { return nil, io.ErrUnexpectedEOF }

// A download is as long as it likes: what is done for it is done once.
func TestReadOfABodyAllocatesNothing(t *testing.T) { //nolint:paralleltest // others would be counted
	for name, b := range map[string]resilient.Builder{
		"as usual":             careful(),
		"bounded between":      careful().Timeout(resilient.BodyIdle(time.Minute)),
		"bounded as a whole":   careful().Timeout(resilient.TotalIncludesBody(true)),
		"with all of that":     careful().Timeout(resilient.BodyIdle(time.Minute), resilient.TotalIncludesBody(true)),
		"and with an observer": careful().Observe(func(context.Context, resilient.Event) {}),
	} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // likewise
			is := is.New(t)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.test", nil)
			is.NoErr(err)
			resp, err := careless(b.Transport(&stub{header: http.Header{}, body: endless{}})).RoundTrip(r)
			is.NoErr(err)
			defer resp.Body.Close()
			p := make([]byte, 4<<10)
			is.Equal(testing.AllocsPerRun(500, func() { _, _ = resp.Body.Read(p) }), 0.0) // each
		})
	}
}
