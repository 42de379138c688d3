package resilient_test

import (
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

func TestDocumentChangesClientsInUse(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "busy"), func(w *world) {
		is := is.New(w.T)
		c := w.client(retrying(every(time.Second)))
		attempts := func() int {
			before := w.arrived()
			resp, err := c.Get(w.URL)
			is.NoErr(err)
			read(w.T, resp)
			return w.arrived() - before
		}
		is.Equal(attempts(), 3)
		is.NoErr(w.registry.Apply([]byte(`{"orders": {"retry": {"maxRetries": 4}}}`)))
		is.Equal(attempts(), 5)
		is.NoErr(w.registry.Apply([]byte(`{"orders": {"retry": "off"}}`)))
		is.Equal(attempts(), 1)
		is.NoErr(w.registry.Apply([]byte(`{}`)))
		is.Equal(attempts(), 3) // as it was built
	})
}

func TestDocumentLeavesStateAsItIs(t *testing.T) {
	t.Parallel()
	bubble(t, echoing(), func(w *world) {
		is := is.New(w.T)
		failing := w.On("/fail")
		failing.Do(httptestx.Unavailable(0)...)
		c := w.client(resilient.New("orders").Defaults(resilient.None).
			Concurrency(resilient.Permits(2)).RateLimit(resilient.PerMinute(10)).
			Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)).Budget(resilient.RetryRatio(1)).
			Breaker(resilient.FailureRatio(1), resilient.MinimumThroughput(2)))
		held, err := c.Post(w.URL, "text/plain", strings.NewReader("order"))
		is.NoErr(err) // it keeps its permit
		resp, err := c.Get(w.URL + "/fail")
		is.NoErr(err)
		read(w.T, resp)
		before := w.registry.Snapshot()[0]
		is.NoErr(w.registry.Apply([]byte(`{"orders": {
			"concurrency": {"permits": 1},
			"budget": {"retryRatio": 0.5},
			"breaker": {"failureRatio": 0.5, "samplingDuration": "20s"}
		}}`)))
		after := w.registry.Snapshot()[0]
		is.Equal(after.Concurrency.Permits, 1)                  // the settings are new
		is.Equal(after.Concurrency.InUse, 1)                    // what they are about is not
		is.Equal(after.Budget.Requests, before.Budget.Requests) // calls
		is.Equal(after.Budget.Retries, before.Budget.Retries)   // retries
		is.Equal(after.Breaker, before.Breaker)                 // attempts
		is.Equal(after.RateLimit, before.RateLimit)             // tokens
		_, err = c.Get(w.URL)
		is.True(errors.Is(err, resilient.ErrConcurrencyLimit)) // the one permit is taken
		read(w.T, held)
		resp, err = c.Get(w.URL)
		is.NoErr(err) // and comes back
		read(w.T, resp)
	})
}

func TestInvalidDocumentChangesNothing(t *testing.T) {
	t.Parallel()
	r := resilient.NewRegistry()
	c := resilient.New("orders").Registry(r).Transport(answer(503)).MustBuild()
	other := resilient.New("stock").Registry(r).Transport(answer(503)).PerAuthority().MustBuild()
	for name, row := range map[string]struct{ document, want string }{
		"syntax":         {`{"orders": `, `resilient: JSON: line 1: unexpected end of JSON input; look for a quote, a comma or a bracket that is missing, or one too many`},
		"unknown client": {`{"order": {}}`, `resilient: JSON(order): line 1: no client of this name was built; did you mean orders?`},
		"unknown setting": {
			"{\"stock\": {},\n\"orders\": {\"retry\": {\"maxRetry\": 1}}}",
			`resilient: client "orders": JSON(orders.retry.maxRetry): line 2: there is no such setting; did you mean maxRetries?`,
		},
		"out of range": {
			`{"stock": {"retry": "off"}, "orders": {"retry": {"maxRetries": -1}}}`,
			`resilient: client "orders": Retry(MaxRetries(-1)): must be 0 or more; 0, or Retry(Off), is for none`,
		},
		"state elsewhere": {
			`{"stock": {"perAuthority": false}}`,
			`resilient: client "stock": PerAuthority(): can't be changed in use; build another client`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			err := r.Apply([]byte(row.document))
			if row.want == "" {
				is.NoErr(err)
				return
			}
			is.True(err != nil)
			is.Equal(err.Error(), row.want)
		})
	}
	runtime.KeepAlive(c)
	runtime.KeepAlive(other)
}

// A client that is built later has what was applied to its name, or it would not agree with the others.
func TestDocumentHoldsForClientsThatAreBuiltLater(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	b := resilient.New("orders").Registry(r).Transport(answer(200))
	first := b.MustBuild()
	is.NoErr(r.Apply([]byte(`{"orders": {"concurrency": {"permits": 7}}}`)))
	_, err := b.Build()
	is.NoErr(err) // it agrees
	is.Equal(r.Snapshot()[0].Concurrency.Permits, 7)
	runtime.KeepAlive(first)
}

// With thousands of calls under way nothing is lost, and no permit.
func TestDocumentsAreAppliedUnderLoad(t *testing.T) {
	t.Parallel()
	bubble(t, echoing(), func(w *world) {
		is := is.New(w.T)
		w.On("/").Func(func(*http.Request, int) []httptestx.Step {
			return httptestx.Plan(httptestx.Delay(10*time.Millisecond), httptestx.Handle)
		})
		c := w.client(retrying().Concurrency(resilient.Permits(100), resilient.Queue(5000)))
		var calls sync.WaitGroup
		failures := make(chan error, 2000)
		for range 2000 {
			calls.Go(func() {
				resp, err := c.Get(w.URL)
				if err != nil {
					failures <- err
					return
				}
				_ = resp.Body.Close()
			})
		}
		for i := range 20 {
			time.Sleep(5 * time.Millisecond)
			permits := []string{"1", "50", "300"}[i%3]
			is.NoErr(w.registry.Apply([]byte(`{"orders": {"concurrency": {"permits": ` + permits + `}, "budget": {}}}`)))
		}
		is.NoErr(w.registry.Apply([]byte(`{}`)))
		calls.Wait()
		is.Equal(len(failures), 0) // every call was answered
	})
}

func TestClientThatIsGoneIsForgotten(t *testing.T) {
	is := is.New(t)
	r := resilient.NewRegistry()
	func() { resilient.New("orders").Registry(r).Transport(answer(200)).PerAuthority().MustBuild() }()
	for range 10 {
		runtime.GC()
	}
	is.NoErr(r.Apply([]byte(`{"orders": {"perAuthority": false}}`))) // there is nobody whom it would concern
}
