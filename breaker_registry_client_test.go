package resilient_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

func TestIsolatedCircuitRefusesUntilItIsReleased(t *testing.T) {
	t.Parallel()
	d := &dependency{}
	bubble(t, d, func(w *world) {
		is := is.New(w.T)
		c := w.client(brittle())
		w.trip(c, d)
		time.Sleep(15 * time.Second)
		d.answer(200)
		_, err := w.post(c)
		is.NoErr(err) // closed again
		d.answer(503)
		_, err = w.post(c)
		is.NoErr(err) // one failure is not enough
		d.answer(200)

		is.NoErr(w.registry.Isolate("orders"))
		is.NoErr(w.registry.Isolate("orders")) // twice is once
		time.Sleep(24 * time.Hour)
		hits := d.hits.Load()
		_, err = w.post(c)
		is.Equal(refusal(err).Error(), `resilient: client "orders": circuit breaker is open`) // for no failure, and nobody knows how long
		is.Equal(d.hits.Load(), hits)                                                         // nothing is sent
		is.Equal(w.circuit(), resilient.BreakerSnapshot{State: "isolated"})

		is.NoErr(w.registry.Release("orders"))
		_, err = w.post(c)
		is.NoErr(err)
		is.Equal(w.circuit(), resilient.BreakerSnapshot{State: "closed", Requests: 1}) // it has forgotten
		is.NoErr(w.registry.Release("orders"))
		is.Equal(w.circuit().Requests, uint64(1)) // what is not isolated is left alone
	})
}

// Isolated while a call waits for its retry: the caller keeps what it has.
func TestRetryIsNotScheduledIntoAnIsolatedCircuit(t *testing.T) {
	t.Parallel()
	d := &dependency{}
	d.answer(503)
	bubble(t, d, func(w *world) {
		is := is.New(w.T)
		c := w.client(counted().Retry(resilient.MaxRetries(3), resilient.Backoff(time.Hour, 0)))
		release := d.hold()
		var call sync.WaitGroup
		call.Go(func() {
			status, err := w.post(c)
			is.NoErr(err)
			is.Equal(status, 503)
		})
		time.Sleep(time.Second)
		is.NoErr(w.registry.Isolate("orders"))
		release()
		call.Wait()
		is.Equal(w.denials(), []string{"circuit_open"})
		is.Equal(w.circuit().Requests, uint64(0)) // it came too late to count
	})
}

func TestPerAuthorityOneHostOpensForItselfAlone(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("bad.test/").Do(httptestx.Status(503))
		c := w.client(brittle().PerAuthority())
		for range 2 {
			resp, err := c.Get("http://bad.test/")
			is.NoErr(err)
			read(w.T, resp)
		}
		_, err := c.Get("http://BAD.test:80/x")
		is.True(errors.Is(err, resilient.ErrCircuitOpen)) // the same host, however it is written
		resp, err := c.Get("http://good.test/")
		is.NoErr(err) // another works
		read(w.T, resp)
		resp, err = c.Get("http://bad.test:8080/")
		is.NoErr(err) // as does another port
		read(w.T, resp)
		states := map[string]string{}
		for _, s := range w.registry.Snapshot() {
			states[s.Authority] = s.Breaker.State
		}
		is.Equal(states, map[string]string{
			"http://bad.test:80": "open", "http://bad.test:8080": "closed", "http://good.test:80": "closed",
		})
		rejected := eventsOf[resilient.Rejected](w)
		is.Equal(len(rejected), 1)
		is.Equal(rejected[0].Authority, "http://bad.test:80") // events say which

		is.NoErr(w.registry.Isolate("orders"))
		for _, host := range []string{"good.test", "bad.test", "new.test"} {
			_, err = c.Get("http://" + host)
			is.True(errors.Is(err, resilient.ErrCircuitOpen)) // all of them, and those to come
		}
	})
}

func TestClientsOfOneNameShareTheirCircuit(t *testing.T) {
	t.Parallel()
	d := &dependency{}
	bubble(t, d, func(w *world) {
		is := is.New(w.T)
		one, another := w.client(brittle()), w.client(brittle().Timeout(resilient.Total(time.Second)))
		without := w.client(brittle().Breaker(resilient.Off))
		stranger := w.client(resilient.New("stranger").Defaults(brittle()))
		d.answer(503)
		for _, c := range []*http.Client{one, without, another} {
			_, err := w.post(c)
			is.NoErr(err)
		}
		for _, c := range []*http.Client{one, another} {
			_, err := w.post(c)
			is.True(errors.Is(err, resilient.ErrCircuitOpen)) // one failure of each has opened it for both
		}
		for _, c := range []*http.Client{without, stranger} {
			_, err := w.post(c)
			is.NoErr(err) // it is not theirs
		}
	})
}

// An observer may use all there is, and harms nobody if it panics.
func TestObserverMayUseTheRegistry(t *testing.T) {
	t.Parallel()
	d := &dependency{}
	bubble(t, d, func(w *world) {
		is := is.New(w.T)
		var changes []string
		c := w.client(brittle().Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)).Budget().Concurrency().
			Observe(func(_ context.Context, e resilient.Event) {
				_ = w.registry.Snapshot()
				if e, ok := e.(resilient.BreakerChanged); ok {
					changes = append(changes, e.From+" to "+e.To+", now "+w.circuit().State)
					if e.From == "half-open" && e.To == "closed" {
						is.NoErr(w.registry.Isolate("orders"))
						is.NoErr(w.registry.Release("orders"))
					}
				}
			}))
		d.answer(503)
		_, err := w.post(c)
		is.NoErr(err)
		time.Sleep(15 * time.Second)
		d.answer(200)
		_, err = w.post(c)
		is.NoErr(err)
		is.Equal(changes, []string{
			"closed to open, now open", "open to half-open, now half-open", "half-open to closed, now closed",
			"closed to isolated, now closed", "isolated to closed, now closed", // told when the one before has been
		})
	})
}

func TestPanickingObserverLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(resilient.Event) bool{
		"attempt done":    func(e resilient.Event) bool { _, ok := e.(resilient.AttemptDone); return ok },
		"retry scheduled": func(e resilient.Event) bool { _, ok := e.(resilient.RetryScheduled); return ok },
		"retry denied":    func(e resilient.Event) bool { _, ok := e.(resilient.RetryDenied); return ok },
		"call done":       func(e resilient.Event) bool { _, ok := e.(resilient.CallDone); return ok },
		"rejected":        func(e resilient.Event) bool { _, ok := e.(resilient.Rejected); return ok },
		"opened":          func(e resilient.Event) bool { c, ok := e.(resilient.BreakerChanged); return ok && c.To == "open" },
		"half-opened":     func(e resilient.Event) bool { c, ok := e.(resilient.BreakerChanged); return ok && c.To == "half-open" },
		"closed":          func(e resilient.Event) bool { c, ok := e.(resilient.BreakerChanged); return ok && c.To == "closed" },
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &dependency{}
			bubble(t, d, func(w *world) {
				is := is.New(w.T)
				armed, panics := true, 0
				var bodies []*trackedBody
				base := roundTripper(func(r *http.Request) (*http.Response, error) {
					resp, err := w.Client().Transport.RoundTrip(r)
					if err == nil {
						resp.Body.Close()
						b := track("answer")
						resp.Body, bodies = b, append(bodies, b)
					}
					return resp, err
				})
				c := w.over(base, brittle().Retry(resilient.MaxRetries(1), resilient.Backoff(time.Second, 0), resilient.NoJitter).
					Concurrency(resilient.Permits(1)).
					Observe(func(_ context.Context, e resilient.Event) {
						if armed && kind(e) {
							panics++
							panic("observer")
						}
					}))
				send := func() {
					sent := track("order")
					r, _ := http.NewRequest("PUT", w.URL, sent)
					_ = aside(func() {
						resp, err := c.Do(r)
						if err == nil {
							resp.Body.Close()
						}
					})
					is.Equal(sent.closed(), 1) // the request's body is closed once
				}
				d.answer(503)
				for range 3 { // opens it, and is turned away
					send()
				}
				time.Sleep(15 * time.Second)
				d.answer(200)
				send()              // the probe
				is.True(panics > 0) // it has panicked
				armed = false
				time.Sleep(15 * time.Second)
				_, err := w.post(c)
				is.NoErr(err) // neither permit nor probe is missing
				is.Equal(w.circuit().State, "closed")
				is.True(!slices.ContainsFunc(bodies, func(b *trackedBody) bool { return b.closed() != 1 })) // nor is a response's body open
			})
		})
	}
}
