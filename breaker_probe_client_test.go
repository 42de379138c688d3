package resilient_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// brittle is a breaker that two failures open for 15 s.
func brittle() resilient.Builder {
	return resilient.New("orders").Defaults(resilient.None).Breaker(
		resilient.FailureRatio(0.5), resilient.MinimumThroughput(2),
		resilient.SamplingDuration(60*time.Second), resilient.BreakDuration(15*time.Second))
}

// trip opens the circuit with two failures.
func (w *world) trip(c *http.Client, d *dependency) {
	w.Helper()
	before := d.status.Load()
	d.answer(503)
	for range 2 {
		if _, err := w.post(c); err != nil {
			w.Fatal(err)
		}
	}
	d.status.Store(before)
	if s := w.circuit().State; s != "open" {
		w.Fatalf("the circuit is %s after two failures, want open", s)
	}
}

// What was admitted before the break says nothing about what comes after.
func TestLateOutcomeChangesNothing(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		status int           // of the late answer
		at     time.Duration // when it comes; the circuit opens at 0
		state  string        // before and after
	}{
		{"failure while open", 503, 5 * time.Second, "open"},
		{"success while open", 200, 5 * time.Second, "open"},
		{"failure when the break is over", 503, 17 * time.Second, "half-open"},
		{"success when the break is over", 200, 17 * time.Second, "half-open"},
		{"failure while the probe is on its way", 503, 25 * time.Second, "half-open"},
		{"success while the probe is on its way", 200, 25 * time.Second, "half-open"},
		{"failure after it was closed", 503, 35 * time.Second, "closed"},
		{"success after it was closed", 200, 35 * time.Second, "closed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := &dependency{}
			d.answer(200)
			bubble(t, d, func(w *world) {
				is := is.New(w.T)
				w.On("/late").Do(httptestx.Delay(row.at), httptestx.Status(row.status))
				w.On("/probe").Do(httptestx.Delay(10*time.Second), httptestx.Handle)
				c := w.client(brittle())
				var calls sync.WaitGroup
				calls.Go(func() {
					resp, err := c.Get(w.URL + "/late")
					is.NoErr(err)
					is.Equal(resp.StatusCode, row.status) // its caller gets it all the same
					read(w.T, resp)
				})
				synctest.Wait() // it is on its way
				w.trip(c, d)
				calls.Go(func() {
					time.Sleep(20 * time.Second)
					resp, err := c.Get(w.URL + "/probe") // from 20 s to 30 s
					is.NoErr(err)
					read(w.T, resp)
				})
				time.Sleep(row.at - 1)
				before := w.circuit()
				time.Sleep(2 * time.Nanosecond)
				synctest.Wait()
				after := w.circuit()
				before.RetryAfter, after.RetryAfter = 0, 0
				is.Equal(after, before) // nothing has changed, no count either
				is.Equal(after.State, row.state)
				calls.Wait()
				is.Equal(w.circuit().State, "closed")                   // the probe alone has closed it
				is.Equal(len(eventsOf[resilient.BreakerChanged](w)), 3) // open, half-open, closed
			})
		})
	}
}

// What a circuit was opened for is not what a late answer brings.
func TestLateFailureIsNotWhatTheCircuitWasOpenedFor(t *testing.T) {
	t.Parallel()
	d := &dependency{}
	bubble(t, d, func(w *world) {
		is := is.New(w.T)
		w.On("/late").Do(httptestx.Delay(5*time.Second), httptestx.Status(500))
		c := w.client(brittle())
		var late sync.WaitGroup
		late.Go(func() {
			resp, err := c.Get(w.URL + "/late")
			is.NoErr(err)
			read(w.T, resp)
		})
		synctest.Wait()
		w.trip(c, d)
		late.Wait()
		_, err := w.post(c)
		is.Equal(refusal(err).Error(), `resilient: client "orders": circuit breaker is open, retry after 10s `+
			`(last failure: status 503 Service Unavailable)`) // the 500 came too late to open anything
	})
}

// A probe that tells nothing gives its place to the next caller, at once.
func TestProbeThatTellsNothingGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	probes := map[string]func(*world){}
	for name, leaving := range leavings {
		probes[name] = func(w *world) {
			w.On("/").Script(httptestx.Stall)
			r, _ := http.NewRequest("GET", w.URL, nil)
			r, leave := leaving(r)
			var left sync.WaitGroup
			left.Go(func() {
				time.Sleep(time.Second)
				leave()
			})
			_, err := w.client(brittle()).Do(r)
			left.Wait()
			is := is.New(w.T)
			is.True(err != nil)
			is.True(!errors.Is(err, resilient.ErrCircuitOpen)) // it was let through, as the probe
		}
	}
	for name, fault := range map[string]func(){"panic": func() { panic("base") }, "Goexit": runtime.Goexit} {
		probes[name] = func(w *world) {
			c := w.over(roundTripper(func(*http.Request) (*http.Response, error) { fault(); return nil, nil }), brittle())
			aside(func() { _, _ = w.post(c) })
		}
	}
	for name, probe := range probes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &dependency{}
			d.answer(200)
			bubble(t, d, func(w *world) {
				is := is.New(w.T)
				c := w.client(brittle())
				w.trip(c, d)
				time.Sleep(15 * time.Second)
				probe(w)
				changes := eventsOf[resilient.BreakerChanged](w)
				is.Equal(changes[len(changes)-1].To, "half-open") // it was the probe
				is.Equal(w.circuit().State, "half-open")          // and told nothing
				status, err := w.post(c)
				is.NoErr(err) // the next one is the probe
				is.Equal(status, 200)
				is.Equal(w.circuit().State, "closed")
			})
		})
	}
}

// A probe that never comes back must not keep the circuit half-open for ever.
func TestProbeIsTakenOverWhenItIsOverdue(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		attempt time.Duration
		overdue time.Duration
	}{
		{"after the break", 10 * time.Second, 15 * time.Second},
		{"after the attempt timeout, if that is longer", 25 * time.Second, 25 * time.Second},
		{"after the break, without an attempt timeout", 0, 15 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := &dependency{}
			d.answer(200)
			bubble(t, d, func(w *world) {
				is := is.New(w.T)
				b := brittle().Timeout(resilient.PerAttempt(row.attempt))
				c := w.client(b)
				// A transport that heeds no context, and fails in the end.
				deaf := w.over(roundTripper(func(*http.Request) (*http.Response, error) {
					time.Sleep(40 * time.Second)
					return nil, errors.New("too late")
				}), b)
				w.trip(c, d)
				time.Sleep(15 * time.Second)
				var probe sync.WaitGroup
				probe.Go(func() { _, _ = w.post(deaf) })
				synctest.Wait()
				_, err := w.post(c)
				is.Equal(refusal(err).RetryAfter, 15*time.Second) // as if the probe were to fail at once
				time.Sleep(row.overdue - time.Millisecond)
				_, err = w.post(c)
				is.True(errors.Is(err, resilient.ErrCircuitOpen)) // it is waited for
				time.Sleep(time.Millisecond)
				_, err = w.post(c)
				is.NoErr(err) // it is overdue: the next caller is the probe
				is.Equal(w.circuit().State, "closed")
				probe.Wait()
				is.Equal(w.circuit(), resilient.BreakerSnapshot{State: "closed"}) // it failed too late to count
			})
		})
	}
}

// The caller keeps a response in hand also if the circuit has turned half-open
// meanwhile and its probe is on the way: the retry would be refused.
func TestRetryIsNotScheduledIntoAHalfOpenCircuit(t *testing.T) {
	t.Parallel()
	d := &dependency{}
	d.answer(200)
	bubble(t, d, func(w *world) {
		is := is.New(w.T)
		b := brittle()
		w.On("/late").Do(httptestx.Delay(20*time.Second), httptestx.Status(500))
		w.On("/probe").Do(httptestx.Delay(10*time.Second), httptestx.Handle)
		c := w.client(b)
		retrying := w.client(b.Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)))
		var calls sync.WaitGroup
		calls.Go(func() {
			resp, err := retrying.Get(w.URL + "/late")
			is.NoErr(err) // not a circuit breaker's error
			is.Equal(resp.StatusCode, 500)
			read(w.T, resp)
		})
		synctest.Wait()
		w.trip(c, d)
		time.Sleep(15 * time.Second)
		calls.Go(func() {
			resp, err := c.Get(w.URL + "/probe") // from 15 s to 25 s
			is.NoErr(err)
			read(w.T, resp)
		})
		calls.Wait()
		is.Equal(w.denials(), []string{"circuit_open"})
	})
}

// Whoever comes first is the probe, and there is only one: on real threads.
func TestHalfOpenCircuitAdmitsOneOfMany(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	d := &dependency{}
	w := loopback(t, d)
	c := w.client(brittle().Breaker(resilient.BreakDurationFunc(func(resilient.Break) time.Duration { return 0 })))
	for range 20 {
		d.answer(503)
		for range 2 {
			_, err := w.post(c)
			is.NoErr(err)
		}
		hits := d.hits.Load()
		d.answer(200)
		is.Equal(stampede(w, d, c, 32), 31)   // refused
		is.Equal(d.hits.Load(), hits+1)       // arrived
		is.Equal(w.circuit().State, "closed") // by the one
	}
}

// Whatever the order, a circuit that callers leave is usable.
func TestCircuitSurvivesProbesThatAreCancelledAllTheTime(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	d := &dependency{}
	w := loopback(t, d)
	c := w.client(brittle().Breaker(resilient.BreakDurationFunc(func(resilient.Break) time.Duration { return 0 })))
	d.answer(503)
	for range 2 {
		_, err := w.post(c)
		is.NoErr(err)
	}
	release := d.hold()
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			for range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
				go cancel()
				if resp, err := c.Do(r); err == nil {
					resp.Body.Close()
				}
			}
		})
	}
	calls.Wait()
	release()
	is.Equal(w.circuit().State, "half-open") // no probe has told anything
	d.answer(200)
	_, err := w.post(c)
	is.NoErr(err) // and none holds the place
	is.Equal(w.circuit().State, "closed")
}
