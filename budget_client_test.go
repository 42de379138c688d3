package resilient_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/iotest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// frugally is a client that retries twice, at once, within a budget.
func frugally(name string, options ...resilient.BudgetOption) resilient.Builder {
	return resilient.New(name).Defaults(resilient.None).
		Retry(resilient.MaxRetries(2), resilient.Backoff(0, 0)).Budget(options...)
}

// budget is what the budget of a client's name holds, at an authority if it has one.
func (w *world) budget(name, authority string) resilient.BudgetSnapshot {
	w.Helper()
	for _, s := range w.registry.Snapshot() {
		if s.Client == name && s.Authority == authority {
			return *s.Budget
		}
	}
	w.Fatalf("there is no budget of %q at %q", name, authority)
	return resilient.BudgetSnapshot{}
}

// calls makes n calls, one after the other, and returns how many attempts there were.
func (w *world) calls(c *http.Client, n int) (attempts int) {
	w.Helper()
	before := w.arrived()
	for range n {
		resp, err := c.Get(w.URL)
		if err != nil {
			w.Fatal(err)
		}
		read(w.T, resp)
	}
	return w.arrived() - before
}

// Step by step: below the minimum retries are free, and
// booked; from there on the ratio is in force, on the books as they are.
func TestBudgetIsFreeBelowItsMinimumAndThenEnforced(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "no"), func(w *world) {
		is := is.New(w.T)
		c := w.client(frugally("orders", resilient.RetryRatio(0.5), resilient.MinimumThroughput(10)))
		is.Equal(w.budget("orders", ""), resilient.BudgetSnapshot{Phase: "below_minimum"}) // nothing yet
		is.Equal(w.calls(c, 4), 12)                                                        // two retries each
		is.Equal(w.budget("orders", ""), resilient.BudgetSnapshot{Phase: "below_minimum", Requests: 4, Retries: 8})
		is.Equal(w.calls(c, 5), 15)
		is.Equal(w.budget("orders", ""), resilient.BudgetSnapshot{Phase: "below_minimum", Requests: 9, Retries: 18})
		is.Equal(w.calls(c, 1), 1) // the tenth call is the first that counts
		is.Equal(w.budget("orders", ""), resilient.BudgetSnapshot{Phase: "exhausted", Requests: 10, Retries: 18, Allowance: 5})
		is.Equal(w.calls(c, 27), 27)                           // what was free is paid back
		is.Equal(w.budget("orders", "").Allowance, uint64(18)) // 37 calls may have 18
		is.Equal(w.calls(c, 1), 2)                             // 38 may have 19
		is.Equal(w.calls(c, 20), 30)                           // and so on: one for two
		is.Equal(w.budget("orders", ""), resilient.BudgetSnapshot{Phase: "exhausted", Requests: 58, Retries: 29, Allowance: 29})
		w.On("/").Do(httptestx.Status(200))
		is.Equal(w.calls(c, 2), 2) // calls that need no retry bring some
		is.Equal(w.budget("orders", ""), resilient.BudgetSnapshot{Phase: "enforcing", Requests: 60, Retries: 29, Allowance: 30})
		denied := w.registry.Snapshot()[0].RetriesDenied
		is.Equal(denied["attempts"], uint64(9))                 // as long as it was free the attempts ran out
		is.Equal(denied["budget_exhausted"], uint64(49))        // then each call ended for the budget's sake
		is.Equal(len(eventsOf[resilient.RetryDenied](w)), 9+49) // as was told
	})
}

func TestRetriesOfLittleTrafficComeFromLowVolumeRetries(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "no"), func(w *world) {
		is := is.New(w.T)
		c := w.client(frugally("orders", resilient.RetryRatio(0.1), resilient.LowVolumeRetries(1),
			resilient.SamplingDuration(30*time.Second)))
		is.Equal(w.calls(c, 1), 2)   // one retry there is,
		is.Equal(w.calls(c, 18), 18) // however few calls there are,
		is.Equal(w.budget("orders", ""), resilient.BudgetSnapshot{Phase: "exhausted", Requests: 19, Retries: 1, Allowance: 1})
		is.Equal(w.calls(c, 1), 2) // until the ratio allows for more
		time.Sleep(31 * time.Second)
		is.Equal(w.budget("orders", ""), resilient.BudgetSnapshot{Phase: "enforcing", Allowance: 1})
		is.Equal(w.calls(c, 1), 2) // a window later there is one again
	})
}

func TestBudgetOfZeroAllowsNoRetry(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "no"), func(w *world) {
		is := is.New(w.T)
		c := w.client(frugally("orders", resilient.RetryRatio(0), resilient.MinimumThroughput(1)))
		is.Equal(w.calls(c, 20), 20)
	})
}

func TestClientsOfOneNameShareABudget(t *testing.T) {
	t.Parallel()
	options := []resilient.BudgetOption{resilient.RetryRatio(0.5), resilient.MinimumThroughput(1)}
	for name, c := range map[string]struct {
		one, other resilient.Builder
		otherName  string
		shared     bool
	}{
		"one name":    {frugally("orders", options...), frugally("orders", options...), "orders", true},
		"two names":   {frugally("orders", options...), frugally("stock", options...), "stock", false},
		"BudgetName":  {frugally("orders", options...).Budget(resilient.BudgetName("shop")), frugally("stock", options...).Budget(resilient.BudgetName("shop")), "stock", true},
		"another one": {frugally("orders", options...).Budget(resilient.BudgetName("shop")), frugally("stock", options...).Budget(resilient.BudgetName("depot")), "stock", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(503, "no"), func(w *world) {
				is := is.New(w.T)
				one, other := w.client(c.one), w.client(c.other)
				is.Equal(w.calls(one, 1), 1) // 1 call may have no retry
				is.Equal(w.calls(one, 1), 2) // 2 may have one
				if c.shared {
					is.Equal(w.calls(other, 1), 1) // a third changes nothing
					is.Equal(w.calls(other, 1), 2) // the fourth brings another
					want := resilient.BudgetSnapshot{Phase: "exhausted", Requests: 4, Retries: 2, Allowance: 2}
					is.Equal(w.budget("orders", ""), want)    // there is one budget,
					is.Equal(w.budget(c.otherName, ""), want) // seen from both
					return
				}
				is.Equal(w.budget(c.otherName, "").Requests, uint64(0)) // what the one does is nothing to the other
				is.Equal(w.calls(other, 1), 1)
				is.Equal(w.calls(other, 1), 2)
				is.Equal(w.budget("orders", ""), w.budget(c.otherName, "")) // which has a budget of its own
			})
		})
	}
}

func TestEachAuthorityHasABudgetOfItsOwn(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "no"), func(w *world) {
		is := is.New(w.T)
		c := w.client(frugally("orders", resilient.RetryRatio(0), resilient.MinimumThroughput(2)).PerAuthority())
		attempts := func(url string) int {
			before := w.arrived()
			resp, err := c.Get(url)
			is.NoErr(err) // it is answered
			read(w.T, resp)
			return w.arrived() - before
		}
		for _, host := range []string{"http://a.test", "http://b.test", "http://a.test:81"} {
			is.Equal(attempts(host), 3)      // the first call is free
			is.Equal(attempts(host+"/x"), 1) // the second is not, whatever the others did
		}
		want := resilient.BudgetSnapshot{Phase: "exhausted", Requests: 2, Retries: 2}
		is.Equal(w.budget("orders", "http://a.test:80"), want) // each has its own books
		is.Equal(w.budget("orders", "http://b.test:80"), want)
		is.Equal(w.budget("orders", "http://a.test:81"), want)
	})
}

func TestAuthoritiesShareANamedBudget(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "no"), func(w *world) {
		is := is.New(w.T)
		c := w.client(frugally("orders", resilient.RetryRatio(0), resilient.MinimumThroughput(2),
			resilient.BudgetName("all")).PerAuthority())
		for i, host := range []string{"http://a.test", "http://b.test", "http://c.test"} {
			before := w.arrived()
			resp, err := c.Get(host)
			is.NoErr(err) // it is answered
			read(w.T, resp)
			is.Equal(w.arrived()-before, []int{3, 1, 1}[i]) // the first call of all is the free one
		}
	})
}

// A call is in the books when its first attempt is sent, once, whatever
// becomes of it; a retry when it is decided on, whether or not it is sent.
func TestBudgetCountsCallsThatAreSentAndRetriesThatAreDecided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call              func(w *world, c *http.Client) error
		requests, retries uint64
	}{
		"answered":     {getting(nil), 1, 0},
		"retried once": {getting(httptestx.Plan(httptestx.Status(503))), 1, 1},
		"never sent":   {func(w *world, c *http.Client) error { return gone(w, c, -time.Second) }, 0, 0},
		"given up in a wait": {func(w *world, c *http.Client) error {
			w.On("/").Do(httptestx.Status(503))
			return gone(w, c, 500*time.Millisecond)
		}, 1, 1},
		"refused by the breaker": {func(w *world, c *http.Client) error {
			_ = w.registry.Isolate("orders")
			_, err := c.Get(w.URL)
			return err
		}, 0, 0},
		"refused by the limit": {func(w *world, c *http.Client) error {
			resp, err := c.Get(w.URL)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			_, err = c.Get(w.URL)
			return err
		}, 1, 0},
		"a body that fails": {func(w *world, c *http.Client) error {
			_, err := c.Post(w.URL, "text/plain", iotest.ErrReader(errors.New("disk")))
			return err
		}, 1, 0},
		"no scheme": {func(_ *world, c *http.Client) error {
			_, err := c.Get("gopher://orders.test")
			return err
		}, 1, 0},
		"two hops": {func(w *world, c *http.Client) error {
			w.On("/").Script(httptestx.Plan(httptestx.Status(302, "Location", "/there")))
			return getting(nil)(w, c)
		}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, "ok"), func(w *world) {
				is := is.New(w.T)
				client := w.client(resilient.New("orders").Defaults(resilient.Conservative).
					Retry(every(time.Second)).Concurrency(resilient.Permits(1)))
				_ = c.call(w, client)
				b := w.budget("orders", "")
				is.Equal(b.Requests, c.requests) // calls in the books
				is.Equal(b.Retries, c.retries)   // and retries
			})
		})
	}
}

// getting makes a GET, the first answer to which is planned.
func getting(plan []httptestx.Step) func(*world, *http.Client) error {
	return func(w *world, c *http.Client) error {
		if plan != nil {
			w.On("/").Script(plan)
		}
		resp, err := c.Get(w.URL)
		if err == nil {
			read(w.T, resp)
		}
		return err
	}
}

// gone makes a GET whose caller leaves after a time, or has left before.
func gone(w *world, c *http.Client, after time.Duration) error {
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	if after < 0 {
		cancel()
	}
	defer time.AfterFunc(after, cancel).Stop()
	r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
	_, err := c.Do(r)
	if !errors.Is(err, context.Canceled) {
		w.Errorf("the caller left, and got %v", err)
	}
	return err
}

// A refusal costs nobody any time, and time alone mends it.
func TestBudgetComesBackWithTime(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "slow down"), func(w *world) {
		is := is.New(w.T)
		c := w.client(frugally("orders", resilient.RetryRatio(0.1), resilient.MinimumThroughput(10),
			resilient.SamplingDuration(30*time.Second)))
		start := time.Now()
		attempts := w.calls(c, 1000)
		is.Equal(attempts, 1000+100)                  // a tenth, the free ones below the minimum included
		is.Equal(time.Since(start), time.Duration(0)) // the refused ones were answered at once
		is.Equal(w.calls(c, 5), 5)                    // nothing is left
		time.Sleep(31 * time.Second)
		is.Equal(w.calls(c, 1), 3) // a window later a failure is retried again
		is.Equal(w.budget("orders", ""), resilient.BudgetSnapshot{Phase: "below_minimum", Requests: 1, Retries: 2})
	})
}
