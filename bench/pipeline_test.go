package bench_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient/bench/base"
	"github.com/a-seed-e0941262/resilient/bench/contender"
)

// A situation is a request, and the transport that it is sent to.
type situation struct {
	name   string
	base   http.RoundTripper
	ctx    context.Context
	method string
}

func situations(tb testing.TB) []situation {
	ctx, cancel := context.WithCancel(context.Background())
	tb.Cleanup(cancel)
	return []situation{
		{"get-background", base.Stub{}, context.Background(), http.MethodGet},
		{"get-cancellable", base.Stub{}, ctx, http.MethodGet},
		{"post-1k", base.Stub{}, ctx, http.MethodPost},
		{"get-like-transport", base.LikeTransport{}, ctx, http.MethodGet},
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
	call := s.caller(rt)
	for b.Loop() {
		call()
	}
}

// caller returns a function that makes one call. A body is renewed for each, as if the request were new.
func (s situation) caller(rt http.RoundTripper) func() {
	req, err := http.NewRequestWithContext(s.ctx, s.method, "http://stub.invalid/", nil)
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
				for call := s.caller(rt); pb.Next(); {
					call()
				}
			})
		})
	}
}
