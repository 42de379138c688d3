package resilient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// attempts notes the requests that a base gets, and hands them on.
type attempts struct {
	mu  sync.Mutex
	all []*http.Request
}

func (a *attempts) over(base http.RoundTripper) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		a.mu.Lock()
		a.all = append(a.all, r)
		a.mu.Unlock()
		return base.RoundTrip(r)
	}
}

// failsafe-go/failsafe-go#134, #136: what the caller's context holds is there in every
// attempt: values, the deadline, and, when it ends, what ended it.
func TestEveryAttemptHasTheCallersContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, end := range map[string]func(context.Context) (context.Context, error){
			"cancel": func(ctx context.Context) (context.Context, error) {
				ctx, cancel := context.WithCancelCause(ctx)
				time.AfterFunc(5*time.Second, func() { cancel(errBrowserClosed) })
				return ctx, context.Canceled
			},
			"deadline": func(ctx context.Context) (context.Context, error) {
				ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Second, errBrowserClosed)
				context.AfterFunc(ctx, cancel)
				return ctx, context.DeadlineExceeded
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, nil, func(w *world) {
					is := is.New(w.T)
					w.On("/").Script(httptestx.Unavailable(0), httptestx.Unavailable(0), httptestx.Stall)
					ctx, want := end(context.WithValue(w.Context(), key{}, "caller's"))
					deadline, limited := ctx.Deadline()
					var seen attempts
					c := w.over(seen.over(w.Client().Transport), retrying(every(2*time.Second), resilient.RetryAfter(false)).
						Timeout(resilient.PerAttempt(time.Minute), resilient.Total(time.Hour)))
					_, err := c.Do(w.with(ctx))
					is.True(errors.Is(err, want) || errors.Is(err, errBrowserClosed)) // whichever of the two this net/http tells
					is.Equal(len(seen.all), 3)                                        // the last of which is cut
					for _, r := range seen.all {
						is.Equal(r.Context().Value(key{}), "caller's")
						at, ok := r.Context().Deadline()
						is.Equal(ok, limited)
						is.Equal(at, deadline) // the caller's, which the transport may look at
					}
					is.Equal(context.Cause(seen.all[2].Context()), errBrowserClosed) // what ended it is known to the transport
					is.Equal(seen.all[2].Context().Err(), want)
				})
			})
		}
	})
}

// Signed requests are signed again for every attempt: a transport below may change
// the headers of its copy, of which the caller and the next attempt see nothing.
func TestBaseMaySignEveryAttempt(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, always(200, "ok"), func(w *world) {
			is := is.New(w.T)
			w.On("/").Script(httptestx.Unavailable(0), httptestx.LostResponse)
			signatures := 0
			c := w.over(roundTripper(func(r *http.Request) (*http.Response, error) {
				signatures++
				r = r.Clone(r.Context())
				r.Header.Add("X-Signature", fmt.Sprint(signatures))
				return w.Client().Transport.RoundTrip(r)
			}), busy())
			r, _ := http.NewRequest("POST", w.URL, strings.NewReader("order"))
			r.Header.Set("X-Mine", "1")
			resp, err := c.Do(r)
			is.NoErr(err)
			read(w.T, resp)
			is.Equal(w.arrived(), 3)
			for i, e := range w.Exchanges() {
				is.Equal(e.Header["X-Signature"], []string{fmt.Sprint(i + 1)}) // its own, and only that
				is.Equal(e.Key, w.Exchanges()[0].Key)                          // though the call's key is the same
				is.Equal(string(e.Body), "order")
			}
			is.Equal(r.Header, http.Header{"X-Mine": {"1"}}) // the caller's are left alone
		})
	})
}

// hashicorp/go-retryablehttp#94: a transport's goroutine may still hold the request of
// an attempt, and close its body, when the next is on its way. For the race detector.
func TestTransportMayCloseABodyLate(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		var closing sync.WaitGroup
		requests := map[*http.Request]bool{}
		c := w.over(roundTripper(func(r *http.Request) (*http.Response, error) {
			requests[r] = true
			closing.Go(func() {
				time.Sleep(5 * time.Millisecond)
				_ = r.Body.Close()
			})
			return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
		}), retrying(every(5*time.Millisecond)))
		body := track("order")
		r, _ := http.NewRequest("PUT", "http://x.test", body)
		resp, err := c.Do(r)
		is.NoErr(err)
		read(w.T, resp)
		closing.Wait()
		is.Equal(len(requests), 3) // each attempt has a request of its own
		is.True(!requests[r])      // none of them is the caller's
		is.True(r.Body == body)    // whose body is in its place
		is.Equal(body.closed(), 1) // and closed, once
	})
}
