package resilient_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// What the handler answers, as far as tests look at it.
type pageDocument struct {
	Steering        bool
	Total, Matching int
	Offset          int
	Levels          map[string]int
	States          []pageState
	Detail          *pageDetail
}

type pageState struct {
	ID, Client, Authority string
	Diagnosis             pageFinding
	LastMinute            struct{ Calls, Attempts, Failed, Retries, Denied, Rejected int }
	Plots                 *struct{ Attempts, Retries []int }
}

type pageFinding struct{ Level, Reason, Verdict, Because, Next, Advice string }

type pageDetail struct {
	pageState
	Findings []pageFinding
	Settings struct{ Retry, Budget, Breaker, Concurrency string }
	Series   struct{ Calls, Attempts, Failed, Retries, Denied, Rejected []int }
	Changes  []struct {
		Time               time.Time
		Endpoint, From, To string
		Requests, Failures int
		BreakNs            time.Duration
		ByHand             bool
	}
	Refusals []struct {
		What, Reason, Why, Advice, Endpoint, Method, Conclusion string
		Status, Count                                           int
		First, Last                                             time.Time
	}
}

// ask has the handler answer a GET, as it does to who is no browser.
func ask(t *testing.T, h http.Handler, query string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/debug/resilient?"+query, nil))
	return w
}

// visit is ask, for who reads the answer.
func visit(t *testing.T, h http.Handler, query string) (d pageDocument) {
	t.Helper()
	w := ask(t, h, query)
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("status %d, %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestHandlerShowsAPageToBrowsersAndJSONToAllOthers(t *testing.T) {
	t.Parallel()
	h := resilient.NewRegistry().Handler()
	for _, c := range []struct{ accept, query, want string }{
		{"text/html,application/xhtml+xml,*/*;q=0.8", "", "text/html; charset=utf-8"},
		{"text/html", "format=json", "application/json"},
		{"*/*", "", "application/json"},
		{"", "", "application/json"},
		{"application/json", "", "application/json"},
		{"*/*", "format=html", "text/html; charset=utf-8"},
	} {
		is := is.New(t)
		r := httptest.NewRequest("GET", "/anywhere/at/all?"+c.query, nil)
		r.Header.Set("Accept", c.accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		is.Equal(w.Code, 200)                                 // an answer
		is.Equal(w.Header().Get("Content-Type"), c.want)      // in the form that is wanted
		is.Equal(w.Header().Get("Cache-Control"), "no-store") // which is of this moment
		is.Equal(w.Header().Get("X-Content-Type-Options"), "nosniff")
		is.Equal(w.Header().Get("Vary"), "Accept")
	}
}

func TestPageIsOneDocumentThatLoadsNothing(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := ask(t, resilient.NewRegistry().Handler(), "format=html")
	policy := w.Header().Get("Content-Security-Policy")
	is.True(strings.HasPrefix(policy, "default-src 'none'; connect-src 'self'; ")) // nothing but what follows
	is.True(!strings.Contains(policy, "unsafe"))                                   // no exceptions
	is.True(strings.Contains(policy, "frame-ancestors 'none'"))                    // and in nobody's frame
	page := w.Body.String()
	for _, s := range []string{"src=", "url(", "@import", "https://", "innerHTML", " style=", " onclick="} {
		is.True(!strings.Contains(page, s)) // s would load something, or need an exception
	}
}

func TestHandlerAnswersToNoOtherMethod(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	h := resilient.NewRegistry().Handler()
	for method, want := range map[string]int{"GET": 200, "HEAD": 200, "PUT": 405, "DELETE": 405, "OPTIONS": 405, "POST": 403} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		is.Equal(w.Code, want) // to method
	}
}

func TestHandlerRefusesAQueryThatItCannotRead(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	h := resilient.NewRegistry().Handler()
	is.Equal(ask(t, h, "limit=many").Code, 400)                                                    // no number
	is.Equal(ask(t, h, "offset=-1").Body.String(), "offset=\"-1\" is not a number of 0 or more\n") // none that is possible
}

func TestHandlerShowsWhatHappened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := &subject{T: t, Registry: resilient.NewRegistry(), status: 503}
		h := p.Handler(resilient.AllowIsolation)
		p.build(breaker(), budget(), limit(5, 3))
		p.call(1)
		time.Sleep(10 * time.Second)
		p.call(2)
		is.NoErr(p.Isolate("x"))
		is.NoErr(p.Release("x"))

		doc := visit(t, h, "limit=10&detail="+visit(t, h, "").States[0].ID)
		is.True(doc.Steering)  // it is allowed
		is.Equal(doc.Total, 1) // one state
		d := doc.Detail
		last := func(series []int) []int { return series[len(series)-3:] }
		is.Equal(len(d.Series.Calls), 60)                            // ten minutes
		is.Equal(last(d.Series.Calls), []int{0, 1, 2})               // one, and two later
		is.Equal(last(d.Series.Attempts), []int{0, 2, 2})            // the last call was refused
		is.Equal(last(d.Series.Failed), []int{0, 2, 2})              // all failed
		is.Equal(last(d.Series.Retries), []int{0, 1, 1})             // each once
		is.Equal(last(d.Series.Denied), []int{0, 1, 1})              // and no more
		is.Equal(last(d.Series.Rejected), []int{0, 0, 1})            // by the breaker
		is.Equal(last(doc.States[0].Plots.Attempts), []int{0, 2, 2}) // the row has that, too
		is.Equal(d.LastMinute.Attempts, 4)                           // together

		is.Equal(len(d.Changes), 3) // open, isolated, released
		is.Equal(d.Changes[2].From+" "+d.Changes[2].To, "closed open")
		is.Equal(d.Changes[2].Failures, 4)
		is.Equal(d.Changes[2].BreakNs, 5*time.Second)
		is.Equal(d.Changes[1].From+" "+d.Changes[1].To, "open isolated")
		is.Equal(d.Changes[0].From+" "+d.Changes[0].To, "isolated closed")
		is.True(d.Changes[0].ByHand && d.Changes[1].ByHand && !d.Changes[2].ByHand)
		is.True(d.Changes[2].Time.Equal(time.Now())) // on the clock

		is.Equal(len(d.Refusals), 2)
		is.Equal(d.Refusals[0].Reason, "circuit_breaker") // the last first
		is.Equal(d.Refusals[0].What, "Rejected")
		r := d.Refusals[1]
		is.Equal(fmt.Sprint(r.What, r.Reason, r.Method, r.Status, r.Count), "Retry deniedattemptsGET503 2") // both of a sort are one
		is.True(r.Last.Sub(r.First) == 10*time.Second)                                                      // over that time

		is.Equal(d.Settings.Retry, "up to 1 a call")
		is.Equal(d.Settings.Budget, "10 % of the calls of the last 30 s, from 100 calls on")
		is.Equal(d.Settings.Breaker, "opens for 5 s when 50 % of at least 4 attempts in 30 s have failed")
		is.Equal(d.Settings.Concurrency, "5 permits, and 3 places in the queue")
	})
}

func TestHandlerKeepsNoSecretsAndNoURLs(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	h := r.Handler()
	c := in(r, "x").PerAuthority().Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)).Transport(answer(503)).MustBuild()
	req, _ := http.NewRequest("GET", "http://user:canary@x.test/canary?key=canary", nil)
	req.Header.Set("Authorization", "canary")
	resp, err := c.Do(req)
	is.NoErr(err)
	resp.Body.Close()
	id := visit(t, h, "").States[0].ID
	is.True(!strings.Contains(ask(t, h, "detail="+id).Body.String(), "canary")) // whatever is shown
}

func TestNamesAreShownAsText(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	name := `<script>alert("x")</script>&'`
	h := r.Handler()
	in(r, name).MustBuild()
	w := ask(t, h, "")
	is.True(!strings.Contains(w.Body.String(), "<script>")) // not as markup, also to who takes JSON for HTML
	is.Equal(visit(t, h, "").States[0].Client, name)        // and yet whole
	is.True(!strings.Contains(ask(t, h, "format=html").Body.String(), "alert"))
}

func TestHandlerListsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	h := r.Handler()
	for i := range 100 {
		in(r, fmt.Sprintf("service-%02d", i)).Breaker().Transport(answer(200)).MustBuild()
	}
	is.NoErr(r.Isolate("service-77"))
	all := visit(t, h, "")
	is.Equal(len(all.States), 100)                                 // all
	is.Equal(all.States[0].Client, "service-77")                   // the one in trouble first
	is.Equal(all.States[1].Client, "service-00")                   // then by name
	is.Equal(all.States[0].Plots, nil)                             // without plots
	is.Equal(all.Levels, map[string]int{"trouble": 1, "idle": 99}) // how they are
	page := visit(t, h, "limit=10&offset=95&search=SERVICE-")
	is.Equal(len(page.States), 5)                                 // the rest of them
	is.Equal(page.States[0].Client, "service-95")                 // in order
	is.Equal(page.Matching, 100)                                  // of all
	is.Equal(visit(t, h, "search=e-4&limit=3").Matching, 10)      // by name
	is.Equal(visit(t, h, "search=held+open+by+hand").Matching, 1) // by what it says
	is.Equal(visit(t, h, "level=idle").Matching, 99)              // by level
	is.Equal(len(visit(t, h, "offset=1000").States), 0)           // beyond the end
	is.Equal(visit(t, h, "detail=nobody").Detail == nil, true)    // of nobody
}

func TestAThousandClientsTakeNoMoreThanAPageAtATime(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	size := func(n int, query string) int {
		r := resilient.NewRegistry()
		h := r.Handler()
		for i := range n {
			c := resilient.New(fmt.Sprintf("service-%04d", i)).Defaults(resilient.Conservative).Retry(resilient.Backoff(0, 0)).Registry(r).Transport(answer(503)).MustBuild()
			get(t, c, "http://x.test/")
		}
		return ask(t, h, query).Body.Len()
	}
	is.True(size(1000, "") < 1000*1500) // all of them: 1.5 kB each
	one, thousand := size(50, "limit=50"), size(1000, "limit=50")
	is.True(thousand < one*105/100) // a page does not grow with what is not on it
	is.True(thousand < 50*1800)     // 1.8 kB a row
}

func TestHandlerIsSafeWhileCallsAreMade(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	build := func(name string) *http.Client {
		return in(r, name).PerAuthority().Breaker(resilient.MinimumThroughput(2)).Budget().Concurrency(resilient.Permits(2)).
			Retry(resilient.MaxRetries(1), resilient.Backoff(0, 0)).Transport(answer(503)).MustBuild()
	}
	c := build("x")
	get(t, c, "http://host-0.test/")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { // callers, before there is a handler and after
			for i := range 100 {
				if resp, err := c.Get(fmt.Sprintf("http://host-%d.test/", i%5)); err == nil {
					resp.Body.Close()
				}
			}
		})
	}
	wg.Go(func() { // those who look
		h := r.Handler()
		id := visit(t, h, "").States[0].ID
		for range 20 {
			visit(t, h, "limit=10&detail="+id)
		}
	})
	wg.Go(func() { // others who do other things
		for i := range 20 {
			_ = r.Isolate("x")
			build(fmt.Sprint("y", i))
			_ = r.Release("x")
		}
	})
	wg.Wait()
	is.Equal(visit(t, r.Handler(), "").Total, 5) // hosts; of the others none was called
}
