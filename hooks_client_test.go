package resilient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// looking is a client with every hook that is told of attempts, each of which hands
// over what it sees.
func looking(see func(hook string, a resilient.Attempt)) resilient.Builder {
	return retrying(resilient.MaxRetries(1), resilient.RetryIf(func(a resilient.Attempt) bool {
		see("RetryIf", a)
		return a.Transient
	})).Breaker(resilient.FailureRatio(0), resilient.MinimumThroughput(2), resilient.BreakDurationFunc(func(b resilient.Break) time.Duration {
		see("BreakDurationFunc", b.Attempt)
		return time.Second
	})).Observe(func(_ context.Context, e resilient.Event) {
		switch e := e.(type) {
		case resilient.AttemptDone:
			see("AttemptDone", e.Attempt)
		case resilient.RetryScheduled:
			see("RetryScheduled", e.Failed)
		case resilient.RetryDenied:
			see("RetryDenied", e.Failed)
		}
	})
}

// go-resty/resty#58: an attempt without a response has an error, and the other way
// round. Whoever asks for one of the two finds it.
func TestHooksAreToldOfAttemptsWithoutAResponse(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, plan := range map[string][]httptestx.Step{
			"no response": httptestx.LostResponse, "no error": httptestx.Unavailable(0),
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, always(200, "ok"), func(w *world) {
					is := is.New(w.T)
					w.On("/").Do(plan...)
					seen := map[string]int{}
					c := w.client(looking(func(hook string, a resilient.Attempt) {
						seen[hook]++
						is.Equal(a.Response == nil, name == "no response") // hook: a response, or none
						is.Equal(a.Err == nil, name == "no error")         // and an error, or none
						is.Equal(a.Request.URL.String(), w.URL)            // of this request
					}))
					r, report := w.reported("PUT", "order")
					resp, err := c.Do(r)
					is.Equal(err == nil, name == "no error") // the caller gets what they have seen
					if err == nil {
						read(w.T, resp)
					}
					is.Equal(seen, map[string]int{
						"AttemptDone": 2, "RetryIf": 2, "RetryScheduled": 1, "RetryDenied": 1, "BreakDurationFunc": 1,
					})
					is.True(strings.HasSuffix(report.String(), "done in 0s")) // the report's line can do without, too
				})
			})
		}
	})
}

func TestHooksAreToldOfATransportThatGivesNothing(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, nil)
	c := w.over(roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil }), looking(func(hook string, a resilient.Attempt) {
		is.True(a.Response == nil && a.Err != nil) // hook: there is an error where the transport has none
		_ = hook
	}))
	_, err := c.Get("http://x.test")
	is.True(err != nil)
	is.Equal(len(eventsOf[resilient.AttemptDone](w)), 1) // it is not asked again
}

// hashicorp/go-retryablehttp#190: a hook that looks at a response's status and headers
// leaves its body to the library, or to the caller. None is lost, and none left open.
func TestHooksLeaveTheBodyToTheCaller(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, always(503, strings.Repeat("slow down ", 1000)), func(w *world) {
			is := is.New(w.T)
			c := w.client(looking(func(_ string, a resilient.Attempt) {
				is.Equal(a.Response.StatusCode, 503)
				is.True(a.Response.Header.Get("Date") != "")
			}).Concurrency(resilient.Permits(1)))
			resp, err := c.Get(w.URL)
			is.NoErr(err)
			is.Equal(len(read(w.T, resp)), 10_000) // every byte of the last one
		})
	})
}

// A hook may keep an attempt for later: nothing
// of it changes later.
func TestAttemptThatAHookKeepsDoesNotChange(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, nil)
	var kept []resilient.Attempt
	failed := []error{io.ErrUnexpectedEOF, errors.New("second")}
	n := 0
	c := w.over(roundTripper(func(*http.Request) (*http.Response, error) { n++; return nil, failed[n-1] }),
		retrying(resilient.MaxRetries(1), resilient.RetryIf(func(a resilient.Attempt) bool { kept = append(kept, a); return true })))
	_, err := c.Get("http://x.test")
	is.True(errors.Is(err, failed[1]))
	is.Equal(kept[0].Err, failed[0]) // the first is still the first
	is.Equal(kept[0].Number, 1)
	is.Equal(kept[1].Number, 2)
}
