package resilient_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/jonboulle/clockwork"
	"github.com/matryer/is"
)

func TestSnapshotShowsWhatIsHeld(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r, clock := resilient.NewRegistry(), clockwork.NewFakeClock()
	status := 200
	b := in(r, "inventory").Clock(clock).
		Concurrency(resilient.Permits(1)).
		Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)).
		Budget(resilient.RetryRatio(0.5), resilient.MinimumThroughput(2)).
		Breaker(resilient.FailureRatio(1), resilient.MinimumThroughput(4))
	c := b.Transport(answers(func(*http.Request) int { return status })).MustBuild()

	is.Equal(*r.Snapshot()[0].Budget, resilient.BudgetSnapshot{Phase: "below_minimum"}) // no allowance is in force
	is.Equal(*r.Snapshot()[0].Breaker, resilient.BreakerSnapshot{State: "closed"})      // nothing counted
	is.Equal(*r.Snapshot()[0].Concurrency, resilient.ConcurrencySnapshot{Permits: 1})   // nobody in

	status = 503
	get(t, c, "http://x.test/")       // 2 attempts: the retry is free below the minimum
	get(t, c, "http://x.test/")       // 3: none is allowed for two calls beyond the one that was made
	get(t, c, "http://x.test/")       // 4, which opens the circuit
	_, err := c.Get("http://x.test/") //nolint:bodyclose // there is none
	is.True(err != nil)               // the circuit is open
	clock.Advance(2 * sec)
	got := r.Snapshot()[0]
	is.Equal(*got.Budget, resilient.BudgetSnapshot{Phase: "exhausted", Requests: 3, Retries: 1, Allowance: 1})      // the budget
	is.Equal(*got.Breaker, resilient.BreakerSnapshot{State: "open", Requests: 4, Failures: 4, RetryAfter: 3 * sec}) // the breaker
	is.Equal(got.RetriesDenied["budget_exhausted"], uint64(1))                                                      // the second call's retry
	is.Equal(got.Rejected["circuit_breaker"], uint64(1))                                                            // the fourth call
	is.Equal(got.Rejected["concurrency_limit"], uint64(0))                                                          // nobody was in the way

	_, found := got.RetriesDenied["ambiguous"]
	is.True(found) // a reason that did not occur is there, too
}

func TestSnapshotShowsWhoIsIn(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	body := func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("text")), Header: http.Header{}, Request: req}, nil
	}
	c := in(r, "x").Concurrency(resilient.Permits(3)).Transport(roundTripper(body)).MustBuild()
	resp, err := c.Get("http://x.test/")
	is.NoErr(err)                                                                               // a call
	is.Equal(*r.Snapshot()[0].Concurrency, resilient.ConcurrencySnapshot{Permits: 3, InUse: 1}) // whose body is not read yet
	resp.Body.Close()
	is.Equal(*r.Snapshot()[0].Concurrency, resilient.ConcurrencySnapshot{Permits: 3}) // and is now
}

func TestSnapshotIsSortedAndHasAFormInJSON(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	got, err := json.Marshal(r.Snapshot())
	is.NoErr(err)               // it has one
	is.Equal(string(got), "[]") // also if it is empty
	for _, name := range []string{"b", "c", "a"} {
		c := in(r, name).PerAuthority().Breaker().Transport(answer(200)).MustBuild()
		for _, url := range []string{"https://b.test/", "http://b.test/", "http://a.test:81/", "http://a.test/"} {
			get(t, c, url)
		}
	}
	var order []string
	for _, s := range r.Snapshot() {
		order = append(order, s.Client+" "+s.Authority)
	}
	is.Equal(order, []string{
		"a http://a.test:80", "a http://a.test:81", "a http://b.test:80", "a https://b.test:443",
		"b http://a.test:80", "b http://a.test:81", "b http://b.test:80", "b https://b.test:443",
		"c http://a.test:80", "c http://a.test:81", "c http://b.test:80", "c https://b.test:443",
	}) // by name, then by authority
	got, err = json.Marshal(r.Snapshot()[0])
	is.NoErr(err) // one of them
	is.True(strings.HasPrefix(string(got),
		`{"client":"a","authority":"http://a.test:80","breaker":{"state":"closed","requests":1,"failures":0,"retryAfterNs":0},"retriesDenied":{"ambiguous":0,`)) // without what is off
}
