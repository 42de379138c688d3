package resilient_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

func TestRetryIfIsToldWhatAnAttemptEndedWith(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		w.On("/").Script(
			httptestx.Plan(httptestx.Delay(time.Second), httptestx.Status(503, "Connection", "close")),
			httptestx.LostResponse,
			httptestx.Plan(httptestx.Status(404)),
		)
		var seen []resilient.Attempt
		c := w.client(retrying(resilient.MaxRetries(9), resilient.RetryIf(func(a resilient.Attempt) bool {
			seen = append(seen, a)
			return a.Response == nil || a.Response.StatusCode != 200
		})))
		r, _ := http.NewRequest("PUT", w.URL, strings.NewReader("order"))
		resp, err := c.Do(r)
		is.NoErr(err) // the fourth attempt is to its liking
		is.Equal(read(w.T, resp), "ok")
		is.Equal(len(seen), 4) // it was asked about every attempt
		for i, a := range seen {
			is.Equal(a.Number, i+1)                           // which it knows by number
			is.True(a.Request.URL.String() == r.URL.String()) // and request
			is.True((a.Response == nil) == (a.Err != nil))    // either has a response or an error
		}
		is.Equal(seen[0].Response.StatusCode, 503)
		is.Equal(seen[0].Conclusion, resilient.Unprocessed)
		is.Equal(seen[0].Duration, time.Second) // and how long it took
		is.True(seen[0].Transient)              // what the standard rule says of it,
		is.True(seen[1].Err != nil)             // a lost answer,
		is.True(seen[1].Transient)              // which may pass
		is.Equal(seen[1].Conclusion, resilient.Unknown)
		is.Equal(seen[2].Response.StatusCode, 404)
		is.True(!seen[2].Transient) // of what would end the call
		is.Equal(seen[2].Conclusion, resilient.Processed)
		is.True(seen[3].Response == resp) // the last is what the caller gets
	})
}

func TestRetryIfWidensAndNarrows(t *testing.T) {
	t.Parallel()
	only := func(status int) resilient.RetryOption {
		return resilient.RetryIf(func(a resilient.Attempt) bool {
			return a.Response != nil && a.Response.StatusCode == status
		})
	}
	for name, c := range map[string]struct {
		option  resilient.RetryOption
		plan    []httptestx.Step
		arrived int
	}{
		"a 404 is retried":      {only(404), httptestx.Plan(httptestx.Status(404)), 3},
		"even a 200 is":         {only(200), httptestx.Plan(httptestx.Status(200)), 3},
		"a 501 is":              {only(501), httptestx.Plan(httptestx.Status(501)), 3},
		"a 503 is not any more": {only(404), httptestx.Plan(httptestx.Status(503)), 1},
		"nor a lost connection": {only(404), httptestx.LostResponse, 1},
		"none at all is":        {only(0), httptestx.Plan(httptestx.Status(503)), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(204, ""), func(w *world) {
				is := is.New(w.T)
				w.On("/").Do(c.plan...)
				resp, err := w.client(retrying(c.option)).Get(w.URL)
				if err == nil {
					read(w.T, resp)
				}
				is.Equal(w.arrived(), c.arrived) // the predicate is what counts
				if c.arrived == 1 {
					is.Equal(len(w.denials()), 0) // what is not worth a retry is denied none
				}
			})
		})
	}
}

// Whatever the predicate says: the gates come after it.
func TestRetryIfCannotGetPastTheGates(t *testing.T) {
	t.Parallel()
	yes := resilient.RetryIf(func(resilient.Attempt) bool { return true })
	for reason, c := range map[string]struct {
		policy func(resilient.Builder) resilient.Builder
		method string
		status int
		body   io.Reader
	}{
		"ambiguous": {method: "POST", status: 404, policy: func(b resilient.Builder) resilient.Builder {
			return b.Idempotency(resilient.UnprocessedOnly)
		}},
		"method": {method: "PUT", status: 404, policy: func(b resilient.Builder) resilient.Builder {
			return b.Retry(resilient.SafeMethodsOnly)
		}},
		"body": {method: "PUT", status: 404, body: io.MultiReader(strings.NewReader("order")), policy: func(b resilient.Builder) resilient.Builder {
			return b.Retry(resilient.BufferLimit(1))
		}},
		"budget_exhausted": {method: "GET", status: 404, policy: func(b resilient.Builder) resilient.Builder {
			return b.Budget(resilient.RetryRatio(0), resilient.MinimumThroughput(1))
		}},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(c.status, "no"), func(w *world) {
				is := is.New(w.T)
				r, _ := http.NewRequest(c.method, w.URL, c.body)
				resp, err := w.client(c.policy(retrying(yes))).Do(r)
				is.NoErr(err) // it is answered
				read(w.T, resp)
				is.Equal(w.arrived(), 1)                // once
				is.Equal(w.denials(), []string{reason}) // for the gate's reason
			})
		})
	}
}

// Nor past a caller who has left: it is not asked then.
func TestRetryIfCannotHoldACallerWhoLeaves(t *testing.T) {
	t.Parallel()
	for name, l := range departures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, "ok"), func(w *world) {
				is := is.New(w.T)
				w.On("/").Do(httptestx.Stall...)
				asked := 0
				c := w.client(retrying(resilient.RetryIf(func(resilient.Attempt) bool { asked++; return true })).
					Budget(resilient.MinimumThroughput(1), resilient.RetryRatio(1)))
				r, _ := http.NewRequest("GET", w.URL, nil)
				r, done := l.request(r)
				defer done()
				_, err := c.Do(r)
				is.True(err != nil)                                          // it gets its own error
				is.Equal(asked, 0)                                           // nobody asks whether to go on
				is.Equal(len(eventsOf[resilient.RetryScheduled](w)), 0)      // nor does
				is.Equal(w.registry.Snapshot()[0].Budget.Retries, uint64(0)) // and nothing is charged
			})
		})
	}
}

// dotnet/extensions#6548: a filter that knows the method only from the
// response lets timeouts of a POST pass.
func TestMethodsThatAreNotRetriedAreNotRetriedWhateverTheOutcome(t *testing.T) {
	t.Parallel()
	options := map[string][]resilient.RetryOption{
		"ExceptMethods":   {resilient.ExceptMethods("POST", "PATCH")},
		"RetryMethods":    {resilient.RetryMethods("GET", "PUT")},
		"SafeMethodsOnly": {resilient.SafeMethodsOnly},
	}
	never := map[string][]string{ // a method in lower case is another method
		"ExceptMethods":   {"POST", "PATCH"},
		"RetryMethods":    {"HEAD", "OPTIONS", "TRACE", "POST", "PATCH", "DELETE", "FROB", "post"},
		"SafeMethodsOnly": {"POST", "PUT", "PATCH", "DELETE"},
	}
	outcomes := map[string][]httptestx.Step{
		"response":    httptestx.Plan(httptestx.Status(503)),
		"lost":        httptestx.LostResponse,
		"timeout":     httptestx.Stall,
		"unprocessed": httptestx.ResetBeforeRead,
	}
	for name, option := range options {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "POST", "PATCH", "DELETE", "FROB", "post", "TRACE"} {
			for outcome, plan := range outcomes {
				t.Run(fmt.Sprint(name, " ", method, " ", outcome), func(t *testing.T) {
					t.Parallel()
					bubble(t, always(200, "ok"), func(w *world) {
						is := is.New(w.T)
						w.On("/").Script(plan)
						b := retrying(option...).Retry(resilient.MaxRetries(1)).Timeout(resilient.PerAttempt(time.Second))
						r, _ := http.NewRequest(method, w.URL, nil)
						resp, err := w.client(b).Do(r)
						if err == nil {
							read(w.T, resp)
						}
						if !slices.Contains(never[name], method) {
							is.NoErr(err) // the retry is answered
							is.Equal(w.arrived(), 2)
							return
						}
						is.Equal(w.arrived(), 1)                  // nothing is repeated
						is.Equal(w.denials(), []string{"method"}) // for the method's sake
					})
				})
			}
		}
	}
}

func TestOrderOfRetryOptionsDoesNotMatter(t *testing.T) {
	t.Parallel()
	options := []resilient.RetryOption{
		resilient.ExceptMethods("PUT"),
		resilient.RetryIf(func(a resilient.Attempt) bool { return a.Response.StatusCode == 404 }),
		resilient.MaxRetries(2),
		every(time.Second),
	}
	for first := range options {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			bubble(t, always(404, "no"), func(w *world) {
				is := is.New(w.T)
				c := w.client(resilient.New("orders").Defaults(resilient.None).
					Retry(options[first:]...).Retry(options[:first]...))
				for method, arrived := range map[string]int{"GET": 3, "PUT": 1} {
					before := w.arrived()
					r, _ := http.NewRequest(method, w.URL, nil)
					resp, err := c.Do(r)
					is.NoErr(err) // it is answered
					read(w.T, resp)
					is.Equal(w.arrived()-before, arrived) // by predicate and method alike
				}
			})
		})
	}
}
