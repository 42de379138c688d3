package resilient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/jonboulle/clockwork"
	"github.com/matryer/is"
)

// hello answers every request with a body, on no network.
func hello(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Body: track("hello"), Header: http.Header{}, Request: r}, nil
}

// A permit that is handed over in the very moment in which its call leaves the
// queue is not lost: in the end all are there.
func TestPermitHandedToALeavingCallIsNotLost(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, nil)
	c := w.over(roundTripper(hello), narrow(8))
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			for range 400 {
				ctx, cancel := context.WithCancel(t.Context())
				r, _ := http.NewRequestWithContext(ctx, "GET", "http://x.test", nil)
				if i%2 == 0 { // half of them are cancelled at any point
					go cancel()
				}
				if resp, err := c.Do(r); err == nil {
					resp.Body.Close()
				}
				cancel()
			}
		})
	}
	calls.Wait()
	inUse, queued := w.occupancy()
	is.Equal(inUse, 0)  // none is lost
	is.Equal(queued, 0) // nobody is forgotten
	resp, err := c.Get("http://x.test")
	is.NoErr(err) // and the one can be had
	resp.Body.Close()
}

// The same for the total timeout, in the same instant of virtual time.
func TestPermitHandedToATimedOutCallIsNotLost(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		c := w.over(roundTripper(hello), narrow(1).Timeout(resilient.Total(time.Second)))
		for range 200 {
			first, err := c.Get("http://x.test")
			is.NoErr(err)
			time.AfterFunc(time.Second, func() { first.Body.Close() })
			resp, err := c.Get("http://x.test") // a second later it has a permit, or no time left
			if err == nil {
				resp.Body.Close()
			} else {
				is.True(errors.Is(err, resilient.ErrTotalTimeout))
			}
			synctest.Wait()
			inUse, queued := w.occupancy()
			is.Equal(inUse, 0)
			is.Equal(queued, 0)
		}
	})
}

// A permit that comes in the same moment in which the caller leaves, or in which
// the call's time is over, comes too late: the call must not be sent any more.
func TestQueuedCallIsNotSentWhenItIsOver(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"caller left", "total timeout"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			var sent atomic.Int32
			base := roundTripper(func(r *http.Request) (*http.Response, error) {
				sent.Add(1)
				return hello(r)
			})
			clock := &hookedClock{FakeClock: clockwork.NewFakeClock()}
			w := newWorld(t, nil)
			c := w.over(base, narrow(1).Clock(clock).Timeout(resilient.Total(time.Second)))
			for i := range 30 {
				clock.hook = nil
				first, err := c.Get("http://x.test")
				is.NoErr(err)
				ctx, cancel := context.WithCancel(t.Context())
				clock.hook = func() { // the second is in the queue, and has not looked up yet
					first.Body.Close()
					if name == "total timeout" {
						clock.Advance(2 * time.Second)
					} else {
						cancel()
					}
				}
				r, _ := http.NewRequestWithContext(ctx, "GET", "http://x.test", nil)
				_, err = c.Do(r)
				cancel()
				if name == "total timeout" {
					is.True(errors.Is(err, resilient.ErrTotalTimeout))
				} else {
					is.Equal(errors.Unwrap(err), context.Canceled)
				}
				is.Equal(int(sent.Load()), i+1) // only the first was sent
				inUse, queued := w.occupancy()
				is.Equal(inUse, 0) // its permit is not lost
				is.Equal(queued, 0)
			}
		})
	}
}

// A hookedClock calls its hook when the next timer is made.
type hookedClock struct {
	*clockwork.FakeClock
	hook func()
}

func (c *hookedClock) NewTimer(d time.Duration) clockwork.Timer {
	t := c.FakeClock.NewTimer(d)
	if hook := c.hook; hook != nil {
		c.hook = nil
		hook()
	}
	return t
}

// A body may be closed from elsewhere while it is read, and again.
func TestClosingABodyWhileItIsRead(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := loopback(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begin")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	c := w.client(narrow(0).Timeout(resilient.BodyIdle(time.Minute)))
	for range 50 {
		resp, err := c.Get(w.URL)
		is.NoErr(err) // the permit was free
		var all sync.WaitGroup
		all.Go(func() { _, _ = io.Copy(io.Discard, resp.Body) })
		for range 3 {
			all.Go(func() { resp.Body.Close() })
		}
		all.Wait()
		inUse, _ := w.occupancy()
		is.Equal(inUse, 0) // given back once
	}
}

// Reading to the end and closing race for who gives the permit back.
func TestEndAndCloseOfABodyGiveOnePermitBack(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, nil)
	b := resilient.New("orders").Defaults(resilient.None).Concurrency(resilient.Permits(4))
	c := w.over(roundTripper(hello), b)
	for range 500 {
		resp, err := c.Get("http://x.test")
		is.NoErr(err)
		var all sync.WaitGroup
		all.Go(func() { _, _ = io.Copy(io.Discard, resp.Body) })
		all.Go(func() { resp.Body.Close() })
		all.Go(func() { resp.Body.Close() })
		all.Wait()
	}
	inUse, _ := w.occupancy()
	is.Equal(inUse, 0) // one too many would have panicked
}
