package contender

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"
)

// A diy is what a team has without a library: a transport from well-known parts. A channel is the concurrency limit,
// contexts are the timeouts, and each is cancelled when the body is closed.
type diy struct {
	base    http.RoundTripper
	permits chan struct{}
	budget  *ratelimit.TokenRateLimit
	breaker *gobreaker.CircuitBreaker[*http.Response]
}

func newDIY(base http.RoundTripper) http.RoundTripper {
	return &diy{
		base:    base,
		permits: make(chan struct{}, permits),
		budget:  ratelimit.NewTokenRateLimit(500),
		breaker: newGobreaker(),
	}
}

func newGobreaker() *gobreaker.CircuitBreaker[*http.Response] {
	return gobreaker.NewCircuitBreaker[*http.Response](gobreaker.Settings{
		Interval:     sampling,
		BucketPeriod: sampling / 10,
		Timeout:      pause,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.Requests >= minimum && float64(c.TotalFailures) >= failures*float64(c.Requests)
		},
	})
}

var errStatus = errors.New("server error")

func (d *diy) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), total)
	select {
	case d.permits <- struct{}{}:
	case <-ctx.Done():
		cancel()
		return nil, ctx.Err()
	}
	release := func() {
		<-d.permits
		cancel()
	}
	again := false
	resp, err := backoff.Retry(ctx, func() (*http.Response, error) {
		if again && !d.mayRetry(ctx, req) {
			return nil, backoff.Permanent(errStatus)
		}
		again = true
		return d.breaker.Execute(func() (*http.Response, error) { return d.attempt(ctx, req) })
	}, backoff.WithMaxTries(retries+1), backoff.WithBackOff(backoff.NewExponentialBackOff()))
	if err != nil {
		release()
		return nil, err
	}
	_ = d.budget.AddTokens(1)
	resp.Body = &body{resp.Body, release}
	return resp, nil
}

func (d *diy) mayRetry(ctx context.Context, req *http.Request) bool {
	if req.Body != nil && req.GetBody == nil {
		return false
	}
	_, err := d.budget.GetToken(ctx, 5)
	return err == nil
}

func (d *diy) attempt(ctx context.Context, req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	req = req.Clone(ctx)
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			cancel()
			return nil, err
		}
		req.Body = body
	}
	resp, err := d.base.RoundTrip(req)
	if err != nil {
		cancel()
		return nil, err
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		resp.Body.Close()
		cancel()
		return nil, errStatus
	}
	resp.Body = &body{resp.Body, cancel}
	return resp, nil
}

// A body calls a function when it is closed.
type body struct {
	io.ReadCloser
	closed func()
}

func (b *body) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}

// gobreakerTransport is a circuit breaker alone.
func gobreakerTransport(base http.RoundTripper) http.RoundTripper {
	return gobreakerOnly{base, newGobreaker()}
}

type gobreakerOnly struct {
	base    http.RoundTripper
	breaker *gobreaker.CircuitBreaker[*http.Response]
}

func (g gobreakerOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	return g.breaker.Execute(func() (*http.Response, error) { return g.base.RoundTrip(req) })
}
