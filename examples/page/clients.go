package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a-seed-e0941262/resilient"
)

// A subject is a client, what its dependency does, and how it is called.
type subject struct {
	client resilient.Builder
	server server
	method string
	every  time.Duration // between calls; 0: there are none
	hosts  int           // that are called in turn; 0: one
}

// subjects are the clients, each for what the page says of it.
func subjects() []subject {
	quick := resilient.Backoff(100*time.Millisecond, time.Second)
	soon := resilient.SamplingDuration(30 * time.Second)
	client := func(name string) resilient.Builder {
		return resilient.New(name).Retry(quick).Breaker(resilient.Off)
	}
	east := resilient.Endpoint{Name: "east-us", URL: "https://east.example"}
	west := resilient.Endpoint{Name: "west-us", URL: "https://west.example"}
	return []subject{
		{client: client("inventory").Breaker(), server: failing(50), method: "GET", every: 200 * time.Millisecond},
		{
			client: client("pricing").Budget(resilient.RetryRatio(0.1), soon, resilient.MinimumThroughput(10)),
			server: failing(2), method: "GET", every: 150 * time.Millisecond,
		},
		{client: resilient.New("payments").Defaults(resilient.Conservative), server: status(502), method: "POST", every: time.Second},
		{
			client: client("search").Breaker(resilient.MinimumThroughput(10), resilient.BreakDuration(20*time.Second)),
			server: status(503), method: "GET", every: 300 * time.Millisecond,
		},
		{client: client("images").Concurrency(resilient.Permits(4), resilient.Queue(2)), server: hanging, method: "GET", every: time.Second},
		{
			client: client("azure-openai").Breaker().Endpoints(resilient.RoundRobin, east, west),
			server: throttled, method: "POST", every: 500 * time.Millisecond,
		},
		{client: client("legacy").Retry(resilient.Off), server: failing(3), method: "GET", every: time.Second},
		{client: client("geocoder").RateLimit(resilient.PerMinute(30), resilient.Burst(5)), server: status(200), method: "GET", every: 500 * time.Millisecond},
		{client: client("mail").Breaker(), server: status(200), method: "POST", every: 2 * time.Second},
		{client: client("crawler").PerAuthority().Breaker(resilient.MinimumThroughput(5)), server: failing(4), method: "GET", every: 250 * time.Millisecond, hosts: 4},
		{client: client("reports"), server: status(404), method: "GET", every: 2 * time.Second},
		{client: client("archive"), server: status(200), method: "GET"},
	}
}

// misbehave builds the clients, and has each called until the context is done.
func misbehave(ctx context.Context, registry *resilient.Registry, more int) error {
	all := subjects()
	for i := range more {
		all = append(all, subject{client: resilient.New(fmt.Sprintf("service-%04d", i)), server: status(200)})
	}
	for _, s := range all {
		client, err := s.client.Registry(registry).Transport(&transport{server: s.server}).Build()
		if err != nil {
			return err
		}
		go s.call(ctx, client)
	}
	return registry.Isolate("mail")
}

// call calls until the context is done. Calls may overlap, as in a server.
func (s subject) call(ctx context.Context, client *http.Client) {
	if s.every == 0 {
		<-ctx.Done()
		runtime.KeepAlive(client) // or the registry would forget it
		return
	}
	ticker := time.NewTicker(s.every)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			go s.once(ctx, client, n)
		}
	}
}

func (s subject) once(ctx context.Context, client *http.Client, n int) {
	url := fmt.Sprintf("https://%d.example/", n%max(s.hosts, 1))
	req, err := http.NewRequestWithContext(ctx, s.method, url, http.NoBody)
	if err != nil {
		return
	}
	resp, err := client.Do(req)
	if err == nil {
		resp.Body.Close()
	}
}

// A server answers the n-th request.
type server func(n int64, r *http.Request) (status int, header string)

// status always answers the same.
func status(code int) server {
	return func(int64, *http.Request) (int, string) { return code, "" }
}

// failing fails one request of so many.
func failing(of int64) server {
	return func(n int64, _ *http.Request) (int, string) {
		if n%of == 0 {
			return http.StatusServiceUnavailable, ""
		}
		return http.StatusOK, ""
	}
}

// throttled wants to be left alone by who calls it in the east.
func throttled(_ int64, r *http.Request) (int, string) {
	if strings.HasPrefix(r.URL.Host, "east") {
		return http.StatusTooManyRequests, "20"
	}
	return http.StatusOK, ""
}

// hanging does not answer in time.
func hanging(_ int64, r *http.Request) (int, string) {
	<-r.Context().Done()
	return 0, ""
}

// A transport is a dependency that needs no network.
type transport struct {
	server server
	n      atomic.Int64
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	code, wait := t.server(t.n.Add(1), r)
	if code == 0 {
		return nil, r.Context().Err()
	}
	resp := &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}
	if wait != "" {
		resp.Header.Set("Retry-After", wait)
	}
	return resp, nil
}
