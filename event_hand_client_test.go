package resilient_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// What is done by hand is told to all who watch a client of the name.
func TestIsolateAndReleaseAreTold(t *testing.T) {
	t.Parallel()
	circuit := resilient.New("orders").Defaults(resilient.None).Breaker(resilient.MinimumThroughput(2))
	places := resilient.Endpoint{URL: "http://east.test", Name: "east"}
	for name, c := range map[string]struct {
		build               resilient.Builder
		authority, endpoint string
	}{
		"alone":         {circuit, "", ""},
		"per authority": {circuit.PerAuthority(), "http://httptestx.test:80", ""},
		"an endpoint":   {circuit.Endpoints(resilient.Ordered, places), "", "east"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				first, second := w.client(c.build), w.client(c.build)
				resp, err := first.Get(w.URL)
				is.NoErr(err)
				read(w.T, resp)
				for range 2 { // the second time there is nothing to tell
					is.NoErr(w.registry.Isolate("orders"))
				}
				is.NoErr(w.registry.Release("orders"))
				var told []string
				for _, e := range eventsOf[resilient.BreakerChanged](w) {
					is.Equal(e.Client, "orders")
					if e.Authority == c.authority && e.Endpoint == c.endpoint {
						told = append(told, e.From+" to "+e.To)
					}
				}
				is.Equal(told, []string{ // to the observers of each of the two clients
					"closed to isolated", "closed to isolated", "isolated to closed", "isolated to closed",
				})
				runtime.KeepAlive(first)
				runtime.KeepAlive(second)
			})
		})
	}
}

// What a caller says for single calls is in the events of its attempts.
func TestOverridesOfACallAreInItsEvents(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(retrying(resilient.MaxRetries(1), every(time.Second)).Idempotency(resilient.UnprocessedOnly).
			Timeout(resilient.PerAttempt(5 * time.Second)).RateLimit(resilient.PerMinute(1000)))
		attempts := func(method string, ctx context.Context) []resilient.AttemptDone {
			before := len(eventsOf[resilient.AttemptDone](w))
			r, _ := http.NewRequestWithContext(ctx, method, w.URL, nil)
			resp, err := c.Do(r)
			is.NoErr(err)
			read(w.T, resp)
			return eventsOf[resilient.AttemptDone](w)[before:]
		}
		plain := attempts("POST", w.Context())
		is.Equal(len(plain), 2)
		is.Equal(plain[0].Timeout, 5*time.Second) // the client's own
		is.Equal(plain[0].Cost, 1)
		is.Equal(plain[0].Idempotent, false)
		is.Equal(attempts("POST", resilient.Replayable(w.Context()))[0].Idempotent, true)
		is.Equal(attempts("GET", w.Context())[0].Idempotent, true)
		is.Equal(attempts("GET", resilient.WithCost(w.Context(), 7))[0].Cost, 7)
		is.Equal(attempts("GET", resilient.WithAttemptTimeout(w.Context(), time.Minute))[0].Timeout, time.Minute)
		is.Equal(len(attempts("GET", resilient.WithoutRetries(w.Context()))), 1)
		denials := w.denials()
		is.Equal(denials[len(denials)-1], "disabled") // and why
	})
}

func TestWaitsAreTold(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.Delay(time.Second), httptestx.Handle)
		c := w.client(resilient.New("orders").Defaults(resilient.None).Concurrency(resilient.Permits(1), resilient.Queue(5)).
			RateLimit(resilient.PerMinute(60), resilient.Burst(1), resilient.Wait(time.Minute)))
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() {
				resp, err := c.Get(w.URL)
				is.NoErr(err)
				read(w.T, resp)
			})
		}
		calls.Wait()
		source := resilient.Source{Client: "orders"}
		is.Equal(eventsOf[resilient.Waited](w), []resilient.Waited{
			{Source: source, Gate: "concurrency_limit", Duration: time.Second}, // and by then there was a token again
		})
		resp, err := c.Get(w.URL)
		is.NoErr(err)
		read(w.T, resp)
		for range 2 {
			calls.Go(func() {
				r, _ := http.NewRequestWithContext(resilient.WithCost(w.Context(), 0), "GET", w.URL, nil)
				resp, err := c.Do(r)
				is.NoErr(err)
				read(w.T, resp)
			})
		}
		calls.Wait()
		is.Equal(len(eventsOf[resilient.Waited](w)), 2)
	})
}

func TestBodyThatALimitHasCutIsTold(t *testing.T) {
	t.Parallel()
	for limit, b := range map[string]resilient.Builder{
		"body_idle":     resilient.New("orders").Defaults(resilient.None).Timeout(resilient.BodyIdle(3 * time.Second)),
		"total_timeout": resilient.New("orders").Defaults(resilient.None).Timeout(resilient.Total(3*time.Second), resilient.TotalIncludesBody(true)),
	} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, "half"), func(w *world) {
				is := is.New(w.T)
				w.On("/").Do(httptestx.Handle, httptestx.Send(2), httptestx.Hang)
				resp, err := w.client(b).Get(w.URL)
				is.NoErr(err)
				buffer := make([]byte, 100)
				for err == nil {
					_, err = resp.Body.Read(buffer)
				}
				is.True(errors.Is(err, context.DeadlineExceeded))
				_, again := resp.Body.Read(buffer)
				is.True(again != nil)
				_ = resp.Body.Close()
				cuts := eventsOf[resilient.BodyCut](w)
				is.Equal(len(cuts), 1) // once, however often it is read
				is.Equal(cuts[0].Limit, limit)
				is.Equal(cuts[0].After, 3*time.Second)
				is.Equal(cuts[0].Request.URL.String(), w.URL)
			})
		})
	}
}
