package resilient_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// metered is a client that does nothing but to count tokens: one more a minute.
func metered(options ...resilient.RateLimitOption) resilient.Builder {
	return resilient.New("orders").Defaults(resilient.None).
		RateLimit(append([]resilient.RateLimitOption{resilient.PerMinute(1)}, options...)...)
}

// missing is how many tokens a bucket of n lacks that gets one a minute, and part of one for a whole one. If it lacks
// none, a request is sent.
func (w *world) missing(c *http.Client, n int) int {
	w.Helper()
	ctx := resilient.WithCost(w.Context(), n)
	if _, err := w.callWith(ctx, c); err != nil {
		return int((rejection(err).RetryAfter + time.Minute - 1) / time.Minute)
	}
	resilient.Settle(ctx, 0)
	return 0
}

// A till notes when requests come.
type till struct {
	mu    sync.Mutex
	times []time.Time
}

func (t *till) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.times = append(t.times, time.Now())
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{StatusCode: 200}, nil
}

// most is how many came in any time of that length, both ends included.
func (t *till) most(length time.Duration) int {
	best, first := 0, 0
	for last := range t.times {
		for t.times[last].Sub(t.times[first]) > length {
			first++
		}
		best = max(best, last-first+1)
	}
	return best
}

// 64 goroutines ask every ten milliseconds, for which one token flows in.
func TestRateLimitAdmitsABurstAndWhatFlowsIn(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]time.Duration{"refusing": 0, "waiting": 200 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(w *world) {
				is := is.New(w.T)
				base := &till{}
				c := w.over(base, metered(resilient.PerSecond(100), resilient.Burst(20), resilient.Wait(wait)))
				var all sync.WaitGroup
				for range 64 {
					all.Go(func() {
						for range 100 {
							_, _ = w.call(c)
							time.Sleep(10 * time.Millisecond)
						}
					})
				}
				all.Wait()
				for _, length := range []time.Duration{0, 9 * time.Millisecond, 100 * time.Millisecond, time.Second} {
					is.True(base.most(length) <= 20+int(length/(10*time.Millisecond))) // any time: a burst, and what flows in meanwhile
				}
				is.Equal(base.most(time.Second-1), 20+99) // and no less, for there was always somebody
			})
		})
	}
}

func TestCallWithoutTokensIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered(resilient.PerMinute(60), resilient.Burst(2)))
		w.served(c, 2, 200)
		time.Sleep(400 * time.Millisecond)
		body := track("order")
		r, _ := http.NewRequest("POST", w.URL, body)
		start := time.Now()
		_, err := c.Do(r)
		is.Equal(time.Since(start), time.Duration(0)) // nobody waits
		is.Equal(err.Error(), `Post "`+w.URL+`": resilient: client "orders": rate limit reached, retry after 600ms`)
		var outer *url.Error
		is.True(errors.As(err, &outer))                           // as net/http has it
		is.True(!outer.Timeout())                                 // nothing took too long
		is.True(errors.Is(err, resilient.ErrRateLimited))         // what it is
		is.True(!errors.Is(err, resilient.ErrCircuitOpen))        // and what it is not
		is.Equal(rejection(err).Client, "orders")                 // whose limit
		is.Equal(rejection(err).Gate, "rate_limit")               // by name
		is.Equal(rejection(err).RetryAfter, 600*time.Millisecond) // to the nanosecond
		is.Equal(len(rejection(err).Unwrap()), 1)                 // nothing led to it
		is.Equal(w.arrived(), 2)                                  // nothing was sent
		is.Equal(body.closed(), 1)                                // its body is closed all the same
		is.Equal(eventsOf[resilient.Rejected](w), []resilient.Rejected{
			{Source: resilient.Source{Client: "orders"}, Gate: "rate_limit", RetryAfter: 600 * time.Millisecond},
		})
		is.Equal(w.registry.Snapshot()[0].Rejected["rate_limit"], uint64(1))
		is.Equal(eventsOf[resilient.CallDone](w)[2].Attempts, 0)
		time.Sleep(600*time.Millisecond - 1)
		_, err = w.call(c)
		is.Equal(rejection(err).RetryAfter, time.Duration(1)) // a nanosecond is missing
		time.Sleep(time.Nanosecond)
		w.served(c, 1, 200) // it keeps its word
	})
}

// A refusal is no reason to retry: the limit is our own.
func TestRefusalByTheRateLimitIsNotRetried(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered().Retry(resilient.MaxRetries(3), every(time.Minute)))
		w.served(c, 1, 200)
		start := time.Now()
		_, err := w.call(c)
		is.True(errors.Is(err, resilient.ErrRateLimited))
		is.Equal(time.Since(start), time.Duration(0))
		is.Equal(w.denials(), []string(nil)) // it is not even asked for
	})
}

func TestBucketIsKeptForEachAuthority(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered().PerAuthority())
		for _, host := range []string{"a", "b", "a:8080"} {
			resp, err := c.Get("http://" + host)
			is.NoErr(err) // each has its own token
			read(w.T, resp)
			_, err = c.Get("http://" + strings.ToUpper(host) + "/again")
			is.True(errors.Is(err, resilient.ErrRateLimited)) // and one only
		}
		is.Equal(eventsOf[resilient.Rejected](w)[1].Authority, "http://b:80")
	})
}

func TestClientsOfOneNameShareTheBucket(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		first := w.client(metered(resilient.Burst(3)))
		second := w.client(metered(resilient.Burst(3), resilient.PerCall, resilient.Wait(time.Minute)))
		w.served(first, 2, 200)
		w.served(second, 1, 200)
		_, err := w.call(first)
		is.Equal(rejection(err).RetryAfter, time.Minute) // both have drawn on it
		start := time.Now()
		w.served(second, 1, 200)
		is.Equal(time.Since(start), time.Minute)                                     // waiting is each one's own affair
		w.served(w.client(resilient.New("orders").Defaults(resilient.None)), 5, 200) // one of the name may have none
	})
}

// Settings of one bucket must be one.
func TestClientsOfOneNameMustAgreeOnTheRate(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		w.client(metered(resilient.Burst(3)))
		_, err := metered(resilient.PerSecond(2), resilient.Burst(4)).Clock(w.clock).Registry(w.registry).Build()
		is.Equal(err.Error(), ""+
			`resilient: client "orders": RateLimit(Tokens(2)): differs from Tokens(1) of client "orders", which shares its state; give both the same, or use another name or Registry`+"\n"+
			`resilient: client "orders": RateLimit(Per(1s)): differs from Per(1m) of client "orders", which shares its state; give both the same, or use another name or Registry`+"\n"+
			`resilient: client "orders": RateLimit(Burst(4)): differs from Burst(3) of client "orders", which shares its state; give both the same, or use another name or Registry`)
	})
}

// What is not HTTP is limited as well.
func TestExecuteTakesTokens(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	p, err := resilient.New("x").Defaults(resilient.None).Registry(resilient.NewRegistry()).
		RateLimit(resilient.PerMinute(10), resilient.Cost(func(r *http.Request) int { return len(r.Method) })).BuildPipeline()
	is.NoErr(err)
	run := func(ctx context.Context) error {
		_, err := resilient.Execute(ctx, p, func(context.Context) (int, error) { return 1, nil })
		return err
	}
	ctx := resilient.WithCost(t.Context(), 4)
	is.NoErr(run(ctx))
	is.True(resilient.Settle(ctx, 2))
	is.NoErr(run(t.Context()))                             // EXECUTE, 7
	is.True(errors.Is(run(ctx), resilient.ErrRateLimited)) // 1 is left
	is.NoErr(run(resilient.WithCost(t.Context(), 1)))
}
