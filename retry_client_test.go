package resilient_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/cenkalti/backoff/v5"
	"github.com/matryer/is"
)

// arrivals are the times at which requests arrived, since start.
func (w *world) arrivals(start time.Time) []time.Duration {
	var all []time.Duration
	for _, e := range w.Exchanges() {
		all = append(all, e.Arrived.Sub(start))
	}
	return all
}

// steps is a backoff that is written down.
type steps []time.Duration

func (s *steps) NextBackOff() time.Duration {
	next := (*s)[0]
	*s = (*s)[1:]
	return next
}

func (*steps) Reset() {}

// waits has the waits of each call be these, and Stop after them.
func waits(d ...time.Duration) resilient.RetryOption {
	return resilient.BackoffFunc(func() backoff.BackOff {
		s := append(append(steps{}, d...), backoff.Stop)
		return &s
	})
}

func TestRetriesFollowTheirSchedule(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "no"), func(w *world) {
		is := is.New(w.T)
		start := time.Now()
		c := w.client(retrying(resilient.MaxRetries(4), waits(time.Second, 0, time.Minute, 250*time.Millisecond)))
		resp, err := c.Get(w.URL)
		is.NoErr(err)                   // the last response is handed back
		is.Equal(read(w.T, resp), "no") // unread
		want := []time.Duration{0, time.Second, time.Second, 61 * time.Second, 61*time.Second + 250*time.Millisecond}
		is.Equal(w.arrivals(start), want) // five attempts, each exactly when it is due
		var told []time.Duration
		for i, e := range eventsOf[resilient.RetryScheduled](w) {
			told = append(told, e.Delay)
			is.Equal(e.Failed.Number, i+1)              // after this attempt
			is.Equal(e.Failed.Response.StatusCode, 503) // which ended like that
			is.True(!e.RetryAfter)                      // and the server asked for nothing
		}
		is.Equal(told, []time.Duration{time.Second, 0, time.Minute, 250 * time.Millisecond}) // the waits are told beforehand
		is.Equal(w.denials(), []string{"attempts"})                                          // and that no more will come
	})
}

func TestAttemptsArePacedFromTheEndOfTheLastOne(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		slow := httptestx.Plan(httptestx.Delay(3*time.Second), httptestx.Status(503))
		w.On("/").Script(slow, slow)
		start := time.Now()
		resp, err := w.client(retrying(every(2 * time.Second))).Get(w.URL)
		is.NoErr(err) // the third is answered
		read(w.T, resp)
		is.Equal(w.arrivals(start), []time.Duration{0, 5 * time.Second, 10 * time.Second}) // 3 s of attempt, 2 s of wait
		is.Equal(eventsOf[resilient.AttemptDone](w)[0].Duration, 3*time.Second)            // which is the attempt's time
		is.Equal(eventsOf[resilient.CallDone](w)[0].Duration, 10*time.Second)              // and the call's
	})
}

func TestBackoffThatStopsEndsTheRetries(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "no"), func(w *world) {
		is := is.New(w.T)
		start := time.Now()
		resp, err := w.client(retrying(resilient.MaxRetries(9), waits(time.Second))).Get(w.URL)
		is.NoErr(err) // the response is handed back
		read(w.T, resp)
		is.Equal(w.arrivals(start), []time.Duration{0, time.Second}) // one wait was to be had
		is.Equal(w.denials(), []string{"attempts"})
	})
}

// Stop is the backoff's last word, whatever the server asks for.
func TestBackoffThatStopsIsNotRevivedByRetryAfter(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.Status(503, "Retry-After", "1"))
		resp, err := w.client(retrying(waits())).Get(w.URL)
		is.NoErr(err) // the response is handed back
		read(w.T, resp)
		is.Equal(w.arrived(), 1)                    // at once
		is.Equal(w.denials(), []string{"attempts"}) // there were none left
	})
}

func TestClientWithoutRetriesMakesOneAttempt(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]resilient.Builder{
		"MaxRetries(0)": retrying(resilient.MaxRetries(0)),
		"Off":           resilient.New("orders").Retry(resilient.Off),
		"None":          resilient.New("orders").Defaults(resilient.None),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(503, "no"), func(w *world) {
				is := is.New(w.T)
				resp, err := w.client(b).Get(w.URL)
				is.NoErr(err)                   // it is answered
				is.Equal(read(w.T, resp), "no") // as without us
				is.Equal(w.arrived(), 1)        // after one attempt
				is.Equal(len(w.denials()), 0)   // nothing was denied, for nothing was asked
			})
		})
	}
}

func TestEachCallHasABackoffOfItsOwn(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "no"), func(w *world) {
		is := is.New(w.T)
		start := time.Now()
		c := w.client(retrying(waits(time.Second, 2*time.Second)))
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if resp, err := c.Get(w.URL); err == nil {
					read(w.T, resp)
				}
			})
		}
		wg.Wait()
		is.Equal(time.Since(start), 3*time.Second) // nobody took a step of another's
		is.Equal(w.arrived(), 15)                  // and everybody took all of them
	})
}

// A call that needs no retry has no use for a backoff, and one that is out of
// retries none for a further step of it.
func TestBackoffIsAskedOnceForEachRetry(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		made := 0
		var left steps
		c := w.client(retrying(resilient.BackoffFunc(func() backoff.BackOff {
			made++
			left = steps{time.Second, time.Second}
			return &left
		})))
		is.Equal(w.calls(c, 3), 3) // three calls that go well
		is.Equal(made, 0)          // make none
		w.On("/").Do(httptestx.Status(503))
		is.Equal(w.calls(c, 1), 3)                  // one with two retries
		is.Equal(made, 1)                           // makes one
		is.Equal(len(left), 0)                      // asks it twice, and not for what would not be made
		is.Equal(w.denials(), []string{"attempts"}) // before it ends
	})
}

// What somebody sets later on the built client works as on any client,
// in the waits of which it knows nothing, too. A body that stands still costs the
// 100 ms by which the wait then ends too late.
func TestTimeoutSetLaterOnTheBuiltClientEndsAWait(t *testing.T) {
	t.Parallel()
	for range 20 { // for net/http tells its timeout in two ways, and either may be first
		bubble(t, always(200, "ok"), func(w *world) {
			is := is.New(w.T)
			w.On("/").Do(httptestx.Status(503), httptestx.Send(3), httptestx.Hang)
			client := w.client(retrying(every(1950 * time.Millisecond)))
			client.Timeout = 2 * time.Second
			start := time.Now()
			_, err := client.Get(w.URL)
			var timeout net.Error
			is.True(errors.As(err, &timeout) && timeout.Timeout()) // it is cut by a timeout
			is.True(errors.Is(err, context.DeadlineExceeded))      // as with any client
			is.Equal(time.Since(start), 2*time.Second)             // exactly then
			is.Equal(w.arrived(), 1)                               // and nothing is sent any more
		})
	}
}

// The client's Timeout is a deadline like any: a wait beyond it is not begun.
func TestTimeoutSetLaterOnTheBuiltClientIsADeadline(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "slow down"), func(w *world) {
		is := is.New(w.T)
		client := w.client(retrying(every(2 * time.Second)))
		client.Timeout = 2 * time.Second
		start := time.Now()
		resp, err := client.Get(w.URL)
		is.NoErr(err)                                 // it is answered
		is.Equal(read(w.T, resp), "slow down")        // by the only attempt
		is.Equal(time.Since(start), time.Duration(0)) // at once
		is.Equal(w.denials(), []string{"deadline"})   // for the second would come too late
	})
}

// 100 callers, some of whom leave at any time, over a server that fails often:
// what is left is checked by the world.
func TestCallsThatOverlapDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		w.On("/").Prob(0.3).Do(httptestx.Status(503, "Retry-After", "1"))
		w.On("/").Prob(0.2).Do(httptestx.LostResponse...)
		w.On("/").Prob(0.1).Do(httptestx.Delay(5*time.Second), httptestx.Handle)
		c := w.client(resilient.New("orders").Breaker(resilient.Off).Timeout(resilient.PerAttempt(2 * time.Second)))
		var wg sync.WaitGroup
		var answered, failed atomic.Int32
		for i := range 100 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				ctx, cancel := context.WithCancel(w.Context())
				defer cancel()
				if i%10 == 0 {
					defer time.AfterFunc(time.Duration(i)*20*time.Millisecond, cancel).Stop()
				}
				r, _ := http.NewRequestWithContext(ctx, "PUT", w.URL, strings.NewReader(fmt.Sprint(i)))
				resp, err := c.Do(r)
				if err != nil {
					failed.Add(1)
					return
				}
				answered.Add(1)
				read(w.T, resp)
			})
		}
		wg.Wait()
		is.Equal(answered.Load()+failed.Load(), int32(100)) // each call has ended
		is.True(answered.Load() >= 80)                      // nearly all of them well
		is.Equal(len(eventsOf[resilient.CallDone](w)), 100) // as is told
	})
}
