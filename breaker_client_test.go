package resilient_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/jonboulle/clockwork"
	"github.com/matryer/is"
)

// A dependency answers with one status at a time and counts who comes. While it
// is held, nobody gets an answer.
type dependency struct {
	status, hits atomic.Int32
	held         atomic.Pointer[chan struct{}]
}

func (d *dependency) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	d.hits.Add(1)
	if held := d.held.Load(); held != nil {
		<-*held
	}
	w.WriteHeader(int(d.status.Load()))
}

func (d *dependency) answer(status int) { d.status.Store(int32(status)) }

// hold keeps whoever comes from now on waiting until release is called.
func (d *dependency) hold() (release func()) {
	held := make(chan struct{})
	d.held.Store(&held)
	return func() {
		d.held.Store(nil)
		close(held)
	}
}

// workshop is the breaker of the scenario in play: an AI deployment under a quota.
func workshop() resilient.Builder {
	return resilient.New("azure-openai").Defaults(resilient.None).Breaker(
		resilient.FailureRatio(0.7), resilient.MinimumThroughput(10),
		resilient.SamplingDuration(30*time.Second), resilient.BreakDuration(15*time.Second))
}

// post sends an order and returns the status, or the error.
func (w *world) post(c *http.Client) (int, error) {
	resp, err := c.Post(w.URL, "application/json", strings.NewReader("{}"))
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// circuit is the breaker of the only client name there is.
func (w *world) circuit() resilient.BreakerSnapshot { return *w.registry.Snapshot()[0].Breaker }

// refusal is how an open circuit refused a call, or the zero error if it did not.
func refusal(err error) *resilient.RejectedError {
	var rejected *resilient.RejectedError
	if errors.As(err, &rejected) && errors.Is(err, resilient.ErrCircuitOpen) {
		return rejected
	}
	return &resilient.RejectedError{}
}

// play is the scenario, whatever the time is measured on.
func play(w *world, d *dependency, c *http.Client, advance func(time.Duration)) {
	is := is.New(w.T)
	expect := func(status int) {
		w.Helper()
		got, err := w.post(c)
		is.NoErr(err)         // the call is admitted
		is.Equal(got, status) // and answered
	}
	refused := func(after time.Duration) {
		w.Helper()
		hits := d.hits.Load()
		_, err := w.post(c)
		is.Equal(refusal(err).Gate, "circuit_breaker") // the circuit is open
		is.Equal(refusal(err).RetryAfter, after)       // for so much longer
		is.Equal(d.hits.Load(), hits)                  // and nothing was sent
	}

	// The tenth failure opens the circuit.
	d.answer(429)
	for range 10 {
		expect(429)
	}
	refused(15 * time.Second)
	refused(15 * time.Second)
	is.Equal(d.hits.Load(), int32(10)) // of twelve, ten have arrived

	// A nanosecond decides. One of fifty arrives then.
	advance(14999 * time.Millisecond)
	refused(time.Millisecond)
	advance(time.Millisecond)
	is.Equal(w.circuit().State, "half-open") // by the clock, before anybody asks
	d.answer(200)
	is.Equal(stampede(w, d, c, 50), 49) // all but one are refused
	is.Equal(d.hits.Load(), int32(11))  // the probe
	is.Equal(w.circuit().State, "closed")

	// Closing forgets: ten fresh outcomes are needed.
	d.answer(429)
	for range 9 {
		expect(429)
	}
	is.Equal(w.circuit().State, "closed") // nine are below the minimum
	expect(429)
	refused(15 * time.Second)

	// A probe that fails opens it for a whole break.
	advance(15 * time.Second)
	expect(429)
	refused(15 * time.Second)
	advance(14999 * time.Millisecond)
	refused(time.Millisecond)
	advance(time.Millisecond)
	d.answer(200)
	expect(200)
	is.Equal(w.circuit().State, "closed") // the dependency is back
	is.Equal(d.hits.Load(), int32(23))    // 10 + 1 + 10 + 2 in all
}

// stampede makes n calls while nobody is answered, and returns how many of
// them the circuit refused. It waits for the refusals before it lets the rest go.
func stampede(w *world, d *dependency, c *http.Client, n int) (refused int) {
	release := d.hold()
	results := make(chan error, n)
	for range n {
		go func() {
			_, err := w.post(c)
			results <- err
		}()
	}
	for i := range n {
		if i == n-1 {
			release()
		}
		if err := <-results; errors.Is(err, resilient.ErrCircuitOpen) {
			refused++
		}
	}
	return refused
}

func TestBreakerScenarioInVirtualTime(t *testing.T) {
	t.Parallel()
	d := &dependency{}
	bubble(t, d, func(w *world) {
		play(w, d, w.client(workshop()), time.Sleep)
	})
}

func TestBreakerScenarioOnAFakeClock(t *testing.T) {
	t.Parallel()
	d := &dependency{}
	w := loopback(t, d)
	clock := clockwork.NewFakeClock()
	play(w, d, w.client(workshop().Clock(clock)), clock.Advance)
}

// Only a failure opens the circuit, and the ratio itself is enough.
func TestBreakerOpensAtTheFailureRatioAndOnAFailureOnly(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		statuses []int
		want     string
	}{
		{"3 of 10 fine, failures last", []int{200, 200, 200, 429, 429, 429, 429, 429, 429, 429}, "open"},
		{"3 of 10 fine, successes last", []int{429, 429, 429, 429, 429, 429, 429, 200, 200, 200}, "closed"},
		{"and one failure more", []int{429, 429, 429, 429, 429, 429, 429, 200, 200, 200, 429}, "open"},
		{"4 of 10 fine", []int{200, 200, 200, 200, 429, 429, 429, 429, 429, 429}, "closed"},
		{"9 of 9 failed", []int{429, 429, 429, 429, 429, 429, 429, 429, 429}, "closed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := &dependency{}
			bubble(t, d, func(w *world) {
				is := is.New(w.T)
				c := w.client(workshop())
				for _, status := range row.statuses {
					d.answer(status)
					got, err := w.post(c)
					is.NoErr(err) // none is refused
					is.Equal(got, status)
				}
				is.Equal(w.circuit().State, row.want)
				is.Equal(int(w.circuit().Requests), len(row.statuses)) // every answer is counted
			})
		})
	}
}

func TestBreakerForgetsWhatIsOlderThanTheSamplingDuration(t *testing.T) {
	t.Parallel()
	d := &dependency{}
	bubble(t, d, func(w *world) {
		is := is.New(w.T)
		c := w.client(workshop())
		d.answer(429)
		for range 9 {
			_, err := w.post(c)
			is.NoErr(err)
		}
		time.Sleep(30 * time.Second)
		for range 9 {
			_, err := w.post(c)
			is.NoErr(err)
		}
		is.Equal(w.circuit(), resilient.BreakerSnapshot{State: "closed", Requests: 9, Failures: 9}) // the first nine are gone
		time.Sleep(26 * time.Second)
		_, err := w.post(c)
		is.NoErr(err)
		is.Equal(w.circuit().State, "open") // the second nine are not
	})
}

// Each attempt counts, and an open circuit ends the retries. The
// second call keeps the response that it has: a response is never made into an error.
func TestBreakerCountsEveryAttemptAndEndsTheRetries(t *testing.T) {
	t.Parallel()
	d := &dependency{}
	bubble(t, d, func(w *world) {
		is := is.New(w.T)
		c := w.client(workshop().Retry(resilient.MaxRetries(5), resilient.Backoff(0, 0)))
		d.answer(429)

		status, err := w.post(c)
		is.NoErr(err)
		is.Equal(status, 429)
		is.Equal(d.hits.Load(), int32(6))           // six attempts
		is.Equal(w.denials(), []string{"attempts"}) // no retries are left
		is.Equal(w.circuit().State, "closed")       // six outcomes are too few
		status, err = w.post(c)
		is.NoErr(err)
		is.Equal(status, 429)                                       // its own last response
		is.Equal(d.hits.Load(), int32(10))                          // four attempts more
		is.Equal(w.denials(), []string{"attempts", "circuit_open"}) // the next would be refused
		for range 10 {
			_, err = w.post(c)
			is.Equal(refusal(err).RetryAfter, 15*time.Second) // nothing is sent
		}
		is.Equal(d.hits.Load(), int32(10)) // ten in all, and not sixty
	})
}
