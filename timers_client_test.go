package resilient_test

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// That no goroutine is left the bubble proves; of timers it thinks
// nothing.
func TestNoTimerOutlivesACallHoweverItEnds(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		all := resilient.New("orders").Defaults(resilient.Conservative).
			Retry(resilient.MaxRetries(2), every(time.Second)).Budget(resilient.Off).
			Timeout(resilient.PerAttempt(2*time.Second), resilient.Total(10*time.Second), resilient.BodyIdle(3*time.Second),
				resilient.TotalIncludesBody(true)).
			Concurrency(resilient.Permits(1), resilient.Queue(1))
		for name, c := range map[string]struct {
			plan    []httptestx.Step
			request func(*http.Request) (*http.Request, func())
			queue   bool // behind a call that keeps the permit for a second
		}{
			"answered":           {},
			"queued":             {queue: true},
			"without a body":     {plan: httptestx.Plan(httptestx.Status(204))},
			"retried":            {plan: httptestx.Plan(httptestx.Status(503))},
			"lost":               {plan: httptestx.LostResponse},
			"attempts time out":  {plan: httptestx.Stall},
			"body times out":     {plan: httptestx.SlowBody(time.Hour)},
			"discard times out":  {plan: httptestx.Plan(httptestx.Status(503), httptestx.Send(3), httptestx.Hang)},
			"body is cut":        {plan: httptestx.TruncatedBody(1)},
			"cancelled attempt":  {plan: httptestx.Stall, request: departures()["cancel"].request},
			"cancelled wait":     {plan: httptestx.Plan(httptestx.Delay(1500*time.Millisecond), httptestx.Status(503)), request: departures()["cancel"].request},
			"deadline in a body": {plan: httptestx.SlowBody(time.Hour), request: departures()["deadline"].request},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, always(200, "ok"), func(w *world) {
					is := is.New(w.T)
					clock := newTimekeeper()
					client := w.client(all.Clock(clock))
					if c.queue {
						first, err := client.Get(w.URL)
						is.NoErr(err) // the permit is taken
						time.AfterFunc(time.Second, func() { read(w.T, first) })
					}
					if c.plan != nil {
						w.On("/").Do(c.plan...)
					}
					r, _ := http.NewRequest("PUT", w.URL, strings.NewReader("order"))
					if c.request != nil {
						var done func()
						r, done = c.request(r)
						defer done()
					}
					resp, err := client.Do(r)
					if err == nil {
						_, _ = io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
					}
					synctest.Wait()
					made, running := clock.left()
					is.True(made > 0)    // there were timers
					is.Equal(running, 0) // and none is left
				})
			})
		}
	})
}

// An attempt under two limits has one timer, and a call without limits none.
func TestTimersAreStartedSparingly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		b    resilient.Builder
		want int
	}{
		"none":     {resilient.New("orders").Defaults(resilient.None), 0},
		"Standard": {resilient.New("orders"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, "ok"), func(w *world) {
				is := is.New(w.T)
				clock := newTimekeeper()
				resp, err := w.client(c.b.Clock(clock)).Get(w.URL)
				is.NoErr(err) // it is answered
				read(w.T, resp)
				made, _ := clock.left()
				is.Equal(made, c.want) // for as few timers as can be
			})
		})
	}
}

// It is not parallel to others, for it counts goroutines.
func TestSuccessfulCallStartsNoGoroutine(t *testing.T) {
	is := is.New(t)
	w := newWorld(t, nil)
	base := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: track("ok"), Header: http.Header{}}, nil
	})
	c := w.over(base, resilient.New("orders").Defaults(resilient.AI).Timeout(resilient.TotalIncludesBody(true)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "POST", w.URL, opaque("order"))
	before := runtime.NumGoroutine()
	resp, err := c.Do(r)
	is.NoErr(err)                             // it is answered
	is.True(runtime.NumGoroutine() <= before) // and nobody waits for its body but the caller
	read(t, resp)
}
