package bench_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/bench/base"
	"github.com/a-seed-e0941262/resilient/bench/contender"
	"github.com/jonboulle/clockwork"
)

// A situation is a request, and the transport that it is sent to.
type situation struct {
	name   string
	base   http.RoundTripper
	ctx    context.Context
	method string
	sooner bool // the caller has a deadline, before any of the client's
}

func situations(tb testing.TB) []situation {
	ctx, cancel := context.WithCancel(context.Background())
	tb.Cleanup(cancel)
	return []situation{
		{"get-background", base.Stub{}, context.Background(), http.MethodGet, false},
		{"get-cancellable", base.Stub{}, ctx, http.MethodGet, false},
		{"post-1k", base.Stub{}, ctx, http.MethodPost, false},
		{"get-sooner", base.Stub{}, ctx, http.MethodGet, true},
		{"get-like-transport", base.LikeTransport{}, ctx, http.MethodGet, false},
	}
}

// BenchmarkPipeline is a call over a transport that does nothing. The request is there already.
func BenchmarkPipeline(b *testing.B) {
	for _, s := range situations(b) {
		for _, c := range contender.All() {
			if c.Over != nil {
				b.Run(s.name+"/"+c.Name, func(b *testing.B) { s.pipeline(b, c.Over(s.base)) })
			}
		}
	}
}

func (s situation) pipeline(b *testing.B, rt http.RoundTripper) {
	b.ReportAllocs()
	call := s.caller(b, rt)
	for b.Loop() {
		call()
	}
}

// caller returns a function that makes one call. A body is renewed for each, as if the request were new.
func (s situation) caller(tb testing.TB, rt http.RoundTripper) func() {
	ctx := s.ctx
	if s.sooner {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, 9*time.Second)
		tb.Cleanup(stop)
	}
	req, err := http.NewRequestWithContext(ctx, s.method, "http://stub.invalid/", nil)
	if err != nil {
		panic(err)
	}
	body := strings.NewReader("")
	if s.method == http.MethodPost {
		req.Body, req.ContentLength = io.NopCloser(body), int64(len(base.Kilobyte))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(base.Kilobyte)), nil }
	}
	renewed := req.Body
	return func() {
		body.Reset(base.Kilobyte)
		req.Body = renewed
		resp, err := rt.RoundTrip(req)
		if err != nil {
			panic(err)
		}
		resp.Body.Close()
	}
}

// BenchmarkDo is the whole of it: a request is built, sent through a client, and its response closed.
func BenchmarkDo(b *testing.B) {
	s := situations(b)[1]
	for _, c := range contender.All() {
		b.Run(c.Name, func(b *testing.B) {
			b.ReportAllocs()
			do := c.With(s.base)
			for b.Loop() {
				resp, err := do(s.ctx, s.method, "http://stub.invalid/", nil)
				if err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	}
}

// BenchmarkTogether is BenchmarkPipeline from all processors at once.
func BenchmarkTogether(b *testing.B) {
	s := situations(b)[1]
	for _, c := range contender.Named(contender.Bare, contender.Again, contender.Resilient, contender.Failsafe, contender.DIY) {
		b.Run(c.Name, func(b *testing.B) {
			b.ReportAllocs()
			rt := c.Over(s.base)
			b.RunParallel(func(pb *testing.PB) {
				for call := s.caller(b, rt); pb.Next(); {
					call()
				}
			})
		})
	}
}

// BenchmarkClockReads counts how often a call reads the clock.
func BenchmarkClockReads(b *testing.B) {
	clock := &countingClock{Clock: clockwork.NewRealClock()}
	rt, err := resilient.New("counted").Defaults(resilient.Conservative).Registry(resilient.NewRegistry()).
		Clock(clock).Transport(base.Stub{}).BuildTransport()
	if err != nil {
		b.Fatal(err)
	}
	call := situations(b)[0].caller(b, rt)
	clock.reads = 0
	for b.Loop() {
		call()
	}
	b.ReportMetric(float64(clock.reads)/float64(b.N), "reads/call")
}

type countingClock struct {
	clockwork.Clock
	reads int
}

func (c *countingClock) Now() time.Time {
	c.reads++
	return c.Clock.Now()
}

func (c *countingClock) Since(t time.Time) time.Duration {
	c.reads++
	return c.Clock.Since(t)
}
