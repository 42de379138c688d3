package resilient_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// unreachable never gets a connection.
func unreachable() *http.Transport {
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}}
}

// withLimit gives a call half a minute: by the total timeout, or by its context.
func withLimit(w *world, how string, b resilient.Builder, d time.Duration) (resilient.Builder, context.Context) {
	if how == "total" {
		return b.Timeout(resilient.Total(d)), w.Context()
	}
	ctx, cancel := context.WithTimeout(w.Context(), d)
	w.Cleanup(cancel)
	return b, ctx
}

func TestRetryWhoseTokensComeTooLateForTheCallIsDenied(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"total", "deadline"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(503, "busy"), func(w *world) {
				is := is.New(w.T)
				b, ctx := withLimit(w, how, retrying(every(time.Second)).
					RateLimit(resilient.PerMinute(1), resilient.Wait(2*time.Minute)), 30*time.Second)
				start := time.Now()
				resp, err := w.client(b).Do(w.with(ctx))
				is.NoErr(err)                     // the last response is handed back
				is.Equal(read(w.T, resp), "busy") // unread
				is.Equal(w.denials(), []string{"rate_limited"})
				is.Equal(time.Since(start), time.Duration(0)) // the tokens would come after 60 s of 30
			})
		})
	}
}

// At the very end there is no time to send anything.
func TestWaitThatEndsWithTheCallIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"total", "deadline"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				b, ctx := withLimit(w, how, retrying(resilient.Off).
					RateLimit(resilient.PerMinute(1), resilient.Wait(time.Hour)), time.Minute)
				c := w.client(b)
				_, err := w.callWith(ctx, c)
				is.NoErr(err)
				start := time.Now()
				_, err = w.callWith(ctx, c)
				is.True(errors.Is(err, resilient.ErrRateLimited)) // and not a timeout
				is.Equal(time.Since(start), time.Duration(0))     // after a minute of waiting
			})
		})
	}
}

// The last attempt that was sent is the one to settle.
func TestSettleKeepsToTheAttemptThatWasSent(t *testing.T) {
	t.Parallel()
	bubble(t, always(500, ""), func(w *world) {
		is := is.New(w.T)
		n := 0
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			if n++; n == 2 {
				return unreachable().RoundTrip(r)
			}
			return w.Client().Transport.RoundTrip(r)
		})
		c := w.over(base, retrying(resilient.MaxRetries(1)).RateLimit(resilient.PerMinute(1), resilient.Burst(1000)))
		ctx := resilient.WithCost(w.Context(), 300)
		_, err := w.callWith(ctx, c)
		is.True(errors.Is(err, syscall.ECONNREFUSED)) // of the retry, which was not sent
		is.True(resilient.Settle(ctx, 100))           // the first attempt was
		_, err = w.callWith(resilient.WithCost(w.Context(), 1000), c)
		var rejected *resilient.RejectedError
		is.True(errors.As(err, &rejected))
		is.Equal(rejected.RetryAfter, 100*time.Minute) // 100 were used, and nothing else is missing
	})
}

func TestSettleFindsNothingIfNothingWasSent(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		c := w.over(unreachable(), retrying(resilient.Off).RateLimit(resilient.PerMinute(1), resilient.Burst(1000)))
		ctx := resilient.WithCost(w.Context(), 300)
		_, err := w.callWith(ctx, c)
		is.True(errors.Is(err, syscall.ECONNREFUSED))
		is.True(!resilient.Settle(ctx, 100)) // what it had taken was given back
	})
}

// With the breaker off, the outcome of the attempt before must not pass for that of the one that panics.
func TestRetryThatPanicsInTheTransportIsCharged(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		n := 0
		base := roundTripper(func(*http.Request) (*http.Response, error) {
			switch n++; n {
			case 1:
				return nil, errors.New("lost")
			case 2:
				panic("base")
			}
			return &http.Response{StatusCode: 200}, nil
		})
		c := w.over(base, retrying(resilient.MaxRetries(1)).RateLimit(resilient.PerMinute(1), resilient.Burst(2)))
		is.Equal(aside(func() { _, _ = w.call(c) }), "base")
		_, err := w.call(c)
		is.True(errors.Is(err, resilient.ErrRateLimited)) // both attempts may have been sent
	})
}

// Nothing is sent before Rewrite returns.
func TestRewriteThatPanicsGivesTheTokensBack(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		broken := true
		c := w.client(spread(resilient.RoundRobin, resilient.Endpoint{URL: "http://a", Rewrite: func(*http.Request) {
			if broken {
				panic("rewrite")
			}
		}}).RateLimit(resilient.PerMinute(1)))
		is.Equal(aside(func() { _, _ = w.call(c) }), "rewrite")
		broken = false
		_, err := w.call(c)
		is.NoErr(err) // the token is there
	})
}

// A wait that no Duration holds must not overflow.
func TestRetryAfterOfARefusalIsNeverNegative(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(retrying(resilient.Off).RateLimit(resilient.PerMinute(1)).RejectAsResponse())
		ctx := resilient.WithCost(w.Context(), 1)
		_, err := w.callWith(ctx, c)
		is.NoErr(err)
		is.True(resilient.Settle(ctx, 1e15))
		resp, err := c.Do(w.with(w.Context()))
		is.NoErr(err)
		read(w.T, resp)
		is.True(!strings.HasPrefix(resp.Header.Get("Retry-After"), "-"))
	})
}

// The call ended because the caller left. What it had met before is only part of the story.
func TestCancelledCallIsNotMadeAResponse(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		inner := w.client(resilient.New("inner").Defaults(resilient.None).RateLimit(resilient.PerMinute(1)))
		c := w.over(inner.Transport, retrying(every(time.Second)).RejectAsResponse())
		resp, err := c.Do(w.with(w.Context()))
		is.NoErr(err)
		read(w.T, resp)
		ctx, cancel := context.WithCancel(w.Context())
		time.AfterFunc(500*time.Millisecond, cancel)
		resp, err = c.Do(w.with(ctx)) // it waits to retry what the inner client has refused
		if err == nil {
			read(w.T, resp)
		}
		is.True(errors.Is(err, context.Canceled))
	})
}
