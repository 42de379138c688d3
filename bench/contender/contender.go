// Package contender has the clients that are measured beside each other, each configured as its documentation says, and
// as far as it can with the same strategies on and the same numbers.
package contender

import (
	"context"
	"io"
	"net/http"
	"time"
)

// The numbers that all contenders are given. Permits are many, so that 10,000 calls may be in flight.
const (
	total    = 30 * time.Second
	attempt  = 10 * time.Second
	permits  = 20_000
	retries  = 1
	backoffs = 2 * time.Second // the first delay
	ratio    = 0.1
	failures = 0.5
	minimum  = 100
	sampling = 30 * time.Second
	pause    = 5 * time.Second
)

// A Contender is one way to call a server.
type Contender struct {
	Name string

	// Has says which of the strategies are on: total timeout, concurrency limit, retry, budget, breaker, attempt timeout,
	// by their initials tcrbka, a dash where one is missing.
	Has string

	// Over returns its transport around another one; nil if it has none.
	Over func(http.RoundTripper) http.RoundTripper

	// With returns how it is called, request building included, with such a transport.
	With func(http.RoundTripper) Do
}

// Do makes a call and returns the response with its body unread.
type Do func(ctx context.Context, method, url string, body io.Reader) (*http.Response, error)

// The names that others refer to.
const (
	Bare      = "bare"
	Again     = "bare-again"
	Resilient = "resilient"
	Failsafe  = "failsafe"
	DIY       = "diy"
	Timeout   = "client-timeout"
	Wrapped   = "client-timeout-wrapped"
)

// All returns the contenders, the bare client first, and then itself once more: what it differs from itself by is the
// noise of a measurement.
func All() []Contender {
	return []Contender{
		over(Bare, "------", bare),
		over(Again, "------", bare),
		over(Resilient, "tcrbka", resilientTransport),
		over(Failsafe, "tcrbka", failsafeTransport),
		over(DIY, "tcrbka", newDIY),
		over("retryablehttp", "--r---", retryableTransport),
		{"retryablehttp-timeout", "--r--a", nil, retryableTimeout},
		{"heimdall", "--r--a", nil, heimdallClient},
		{"resty2", "t-r---", nil, restyV2},
		{"resty3", "t-r-k-", nil, restyV3},
		over("gobreaker", "----k-", gobreakerTransport),
		{Timeout, "t-----", nil, clientTimeout},
		{Wrapped, "t-----", nil, clientTimeoutWrapped},
	}
}

// Named returns those contenders, in that order. It panics if there is none of a name.
func Named(names ...string) []Contender {
	var some []Contender
	for _, name := range names {
		some = append(some, named(name))
	}
	return some
}

func named(name string) Contender {
	for _, c := range All() {
		if c.Name == name {
			return c
		}
	}
	panic("no contender " + name)
}

// over is a contender that is a transport: it is called through an http.Client.
func over(name, has string, rt func(http.RoundTripper) http.RoundTripper) Contender {
	return Contender{name, has, rt, func(base http.RoundTripper) Do {
		return through(&http.Client{Transport: rt(base)})
	}}
}

// through calls by what has the Do of an http.Client.
func through(c interface {
	Do(*http.Request) (*http.Response, error)
}) Do {
	return func(ctx context.Context, method, url string, body io.Reader) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, method, url, body)
		if err != nil {
			return nil, err
		}
		if again, ok := body.(Replayable); ok {
			req.ContentLength = again.Size()
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(again.Again()), nil }
		}
		return c.Do(req)
	}
}

// A Replayable is a request body that can be had again, though no memory holds it.
type Replayable interface {
	io.Reader
	Size() int64
	Again() io.Reader
}
