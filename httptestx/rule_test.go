package httptestx_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// mark is a plan that can be told from others by its status.
func mark(n int) []httptestx.Step { return httptestx.Plan(httptestx.Status(600 + n)) }

// statuses sends requests, "METHOD url" or "METHOD url Name=value", one after the
// other, and returns the answers; 200 is the handler's.
func statuses(t *testing.T, srv *httptestx.Server, requests ...string) []int {
	t.Helper()
	is := is.New(t)
	var got []int
	for _, line := range requests {
		words := strings.Fields(line)
		url := words[1]
		if strings.HasPrefix(url, "/") {
			url = srv.URL + url
		}
		req, err := http.NewRequest(words[0], url, nil)
		is.NoErr(err) // the request is well-formed
		for _, field := range words[2:] {
			name, value, _ := strings.Cut(field, "=")
			req.Header.Add(name, value)
		}
		resp, err := srv.Client().Do(req)
		is.NoErr(err) // every request is answered
		resp.Body.Close()
		got = append(got, resp.StatusCode)
	}
	return got
}

var ok = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

func TestRuleSelects(t *testing.T) {
	a := func(n int) []string { return slices.Repeat([]string{"GET /a"}, n) }
	for _, tt := range []struct {
		name     string
		rule     func(s *httptestx.Server) httptestx.Rule
		requests []string
		want     []int
	}{
		{"every request of a pattern",
			func(s *httptestx.Server) httptestx.Rule { return s.On("/a") },
			[]string{"GET /a", "POST /a", "GET /b", "GET /a/b"}, []int{601, 601, 200, 200}},
		{"by method",
			func(s *httptestx.Server) httptestx.Rule { return s.On("POST /a") },
			[]string{"GET /a", "POST /a", "PUT /a"}, []int{200, 601, 200}},
		{"by host",
			func(s *httptestx.Server) httptestx.Rule { return s.On("east.test/") },
			[]string{"GET http://east.test/x", "GET http://west.test/x", "GET http://east.test:81/"}, []int{601, 200, 601}},
		{"by wildcard",
			func(s *httptestx.Server) httptestx.Rule {
				return s.On("/orders/{id}/lines/{rest...}").Where(func(r *http.Request) bool { return r.PathValue("id") == "7" })
			},
			[]string{"GET /orders/7/lines/1/2", "GET /orders/8/lines/1", "GET /orders/7"}, []int{601, 200, 200}},
		{"a path that ServeMux would redirect is the handler's",
			func(s *httptestx.Server) httptestx.Rule { return s.On("/tree/") },
			[]string{"GET /tree", "GET /tree/", "GET //tree/"}, []int{200, 601, 200}},
		{"by header value",
			func(s *httptestx.Server) httptestx.Rule { return s.On("/").Header("X-Tenant", "b") },
			[]string{"GET /", "GET / X-Tenant=a", "GET / X-Tenant=a X-Tenant=b"}, []int{200, 200, 601}},
		{"the n-th",
			func(s *httptestx.Server) httptestx.Rule { return s.On("/a").Nth(2, 4) },
			a(5), []int{200, 601, 200, 601, 200}},
		{"the first",
			func(s *httptestx.Server) httptestx.Rule { return s.On("/a").First(2) },
			a(4), []int{601, 601, 200, 200}},
		{"after the first",
			func(s *httptestx.Server) httptestx.Rule { return s.On("/a").After(2) },
			a(4), []int{200, 200, 601, 601}},
		{"every n-th",
			func(s *httptestx.Server) httptestx.Rule { return s.On("/a").Every(2) },
			a(5), []int{200, 601, 200, 601, 200}},
		{"all conditions together",
			func(s *httptestx.Server) httptestx.Rule { return s.On("/a").After(2).Every(2).First(5) },
			a(7), []int{200, 200, 200, 601, 200, 200, 200}},
		{"counted per header value",
			func(s *httptestx.Server) httptestx.Rule { return s.On("/a").Per("K").First(1) },
			[]string{"GET /a K=1", "GET /a K=2", "GET /a K=1", "GET /a", "GET /a"}, []int{601, 601, 200, 601, 200}},
		{"only what satisfies the conditions is counted",
			func(s *httptestx.Server) httptestx.Rule { return s.On("POST /a").Header("T", "1").Nth(2) },
			[]string{"POST /a T=1", "GET /a T=1", "POST /a T=2", "POST /a T=1"}, []int{200, 200, 200, 601}},
		{"always", func(s *httptestx.Server) httptestx.Rule { return s.On("/a").Prob(1) }, a(2), []int{601, 601}},
		{"never", func(s *httptestx.Server) httptestx.Rule { return s.On("/a").Prob(0) }, a(2), []int{200, 200}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptestx.NewServer(t, ok)
			tt.rule(srv).Do(mark(1)...)
			is.New(t).Equal(statuses(t, srv, tt.requests...), tt.want) // 601 where the rule applies
		})
	}
}

func TestFirstRuleThatAppliesWins(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, ok)
	srv.On("/a").Nth(2).Do(mark(1)...)
	srv.On("/a").Script(mark(2), mark(3))
	srv.On("GET /a").First(1).Do(mark(4)...)
	got := statuses(t, srv, slices.Repeat([]string{"GET /a"}, 5)...)
	// the second request never gets as far as the script, whose count it does not
	// change; the third rule takes over when the script is used up
	is.Equal(got, []int{602, 601, 603, 604, 200}) // order of definition, not of precision
}

func TestScriptRunsForEachKey(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, ok)
	srv.On("/").Per("K").Script(mark(1), mark(2))
	got := statuses(t, srv, "GET / K=a", "GET / K=b", "GET / K=a", "GET / K=a", "GET / K=b")
	is.Equal(got, []int{601, 601, 602, 200, 602}) // each key has a script of its own
}

func TestFuncGetsTheCountAndThePathValues(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, ok)
	srv.On("/{status}").Per("K").Func(func(r *http.Request, n int) []httptestx.Step {
		if r.PathValue("status") == "next" {
			return nil
		}
		return mark(n)
	})
	srv.On("/next").Do(mark(99)...)
	got := statuses(t, srv, "GET /x K=a", "GET /x K=a", "GET /x K=b", "GET /next K=a", "GET /x K=a")
	is.Equal(got, []int{601, 602, 601, 699, 604}) // n counts per key; nil leaves it to the next rule
}

func TestFuncWithAnInvalidPlanFailsTheTestAndTheHandlerServes(t *testing.T) {
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, ok)
	srv.On("/").Func(func(*http.Request, int) []httptestx.Step { return httptestx.Plan(httptestx.Send(1)) })
	is.Equal(statuses(t, srv, "GET /"), []int{200}) // the client is served
	ft.end()
	is.Equal(ft.report(), `httptestx: On("/").Func: send(1) has nothing to send: put handle or status before it`) // and the test told
}

func TestRuleIsAValue(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, ok)
	base := srv.On("/a").Header("A", "1").Header("B", "1").Header("C", "1").After(0).After(0).After(0)
	second, third := base.Header("D", "2").Nth(2), base.Header("D", "3").Nth(3)
	third.Do(mark(3)...)
	second.Do(mark(2)...)
	for i, want := range [][]int{2: {200, 602, 200, 200}, 3: {200, 200, 603, 200}} {
		if want != nil {
			got := statuses(t, srv, slices.Repeat([]string{fmt.Sprint("GET /a A=1 B=1 C=1 D=", i)}, 4)...)
			is.Equal(got, want) // neither changed the other
		}
	}
}

func TestWhereCannotTakeTheBodyAway(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, ok)
	read := func(r *http.Request) string {
		body, _ := io.ReadAll(r.Body)
		return string(body)
	}
	srv.On("/").Where(func(r *http.Request) bool { return read(r) == "" }).Func(func(r *http.Request, _ int) []httptestx.Step {
		is.Equal(read(r), "") // nothing to read here either
		return httptestx.Plan(httptestx.Read, httptestx.Handle)
	})
	is.NoErr(send(srv, "POST", "/", "", "body")) // served
	x := srv.Exchanges()[0]
	is.Equal(x.Plan[0], httptestx.Read) // by the rule
	is.Equal(string(x.Body), "body")    // whose plan had the body to read
}

func TestRuleThatFailedTheTestIsNotReportedTwice(t *testing.T) {
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, ok)
	fatal(func() { srv.On("/").Nth(0) })
	fatal(func() { srv.On("/").Do() })
	ft.end()
	is.Equal(ft.report(), "") // it has no plan, but that is known
}

func TestOutageWindowTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, ok)
		srv.On("/").Between(10*time.Second, 70*time.Second).Do(mark(1)...)
		var outage []time.Duration
		for at := time.Duration(0); at < 90*time.Second; at += 5 * time.Second {
			if statuses(t, srv, "GET /")[0] == 601 {
				outage = append(outage, at)
			}
			time.Sleep(5 * time.Second)
		}
		is.Equal(len(outage), 12)            // a minute of it
		is.Equal(outage[0], 10*time.Second)  // its start is in
		is.Equal(outage[11], 65*time.Second) // its end is not
	})
}

// TestProbDoesNotDependOnTheOrderOfGoroutines gives each request a key of its own,
// once in order and once all together.
func TestProbDoesNotDependOnTheOrderOfGoroutines(t *testing.T) {
	is := is.New(t)
	hits := func(seed uint64, each func(n int, f func(i int))) []bool {
		srv := httptestx.NewServer(t, ok, httptestx.WithSeed(seed))
		srv.On("/").Per("K").Prob(0.3).Do(mark(1)...)
		hit := make([]bool, 200)
		each(len(hit), func(i int) { hit[i] = statuses(t, srv, fmt.Sprint("GET / K=", i))[0] == 601 })
		return hit
	}
	inOrder := func(n int, f func(int)) {
		for i := range n {
			f(i)
		}
	}
	together := func(n int, f func(int)) {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { f(i) })
		}
		wg.Wait()
	}
	is.Equal(hits(42, inOrder), hits(42, together))              // the same requests are hit
	is.True(!slices.Equal(hits(42, inOrder), hits(43, inOrder))) // another seed hits others
}

func TestSeedComesFromTheEnvironmentUnlessGiven(t *testing.T) {
	is := is.New(t)
	seedOf := func(opts ...httptestx.Option) string {
		ft := newFakeT(t)
		srv := httptestx.NewServer(ft, ok, opts...)
		httptestx.Arrivals(ft, srv, "/", 1)
		_, after, _ := strings.Cut(ft.report(), "(")
		words, _, _ := strings.Cut(after, ")")
		return words
	}
	t.Setenv("HTTPTESTX_SEED", "")
	is.Equal(seedOf(), "seed 0x1; rerun with HTTPTESTX_SEED=0x1") // always the same
	t.Setenv("HTTPTESTX_SEED", "0x51f3")
	is.Equal(seedOf(), "seed 0x51f3; rerun with HTTPTESTX_SEED=0x51f3")                   // to explore, or to rerun
	is.Equal(seedOf(httptestx.WithSeed(7)), "seed 0x7, by WithSeed: a rerun is the same") // the test's own wins
	t.Setenv("HTTPTESTX_SEED", "lucky")
	is.Equal(fatal(func() { seedOf() }), `httptestx: HTTPTESTX_SEED="lucky": not a number of 64 bits`) // no guess
}

func TestRuleThatCannotBeMeantFailsTheTestAtOnce(t *testing.T) {
	srv := httptestx.NewServer(newFakeT(t), ok)
	for want, f := range map[string]func(){
		`On("/a").Nth(0, 2): requests are counted from 1`: func() { srv.On("/a").Nth(0, 2) },
		`On("/a").Nth(): requests are counted from 1`:     func() { srv.On("/a").Nth() },
		`On("/a").First(0): n must be 1 or more`:          func() { srv.On("/a").First(0) },
		`On("/a").After(-1): n must not be negative`:      func() { srv.On("/a").After(-1) },
		`On("/a").Every(0): n must be 1 or more`:          func() { srv.On("/a").Every(0) },
		`On("/a").Prob(1.5): p must be 0 to 1`:            func() { srv.On("/a").Prob(1.5) },
		`On("/a").Between(1s, 1s): the window is empty`:   func() { srv.On("/a").Between(time.Second, time.Second) },
		`On("/a").Script(): no plan`:                      func() { srv.On("/a").Script() },
	} {
		is.New(t).Equal(fatal(f), "httptestx: "+want) // the rule, and what is wrong
	}
	is.New(t).True(strings.HasPrefix(fatal(func() { srv.On("GET  /{") }), `httptestx: On("GET  /{"): parsing`)) // in ServeMux's words
}

func TestRuleWithoutAPlanIsReported(t *testing.T) {
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, ok)
	srv.On("POST /orders").Nth(1)
	srv.On("/used").Do(httptestx.Reset)
	ft.end()
	is.Equal(ft.report(), `httptestx: On("POST /orders") has no plan: end it with Do, Script or Func`) // a test that tests nothing
}

func TestStrictReportsWhatWasNotUsed(t *testing.T) {
	is := is.New(t)
	t.Setenv("HTTPTESTX_SEED", "")
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, ok, httptestx.Strict())
	srv.On("/a").Script(mark(1), mark(2), mark(3))
	srv.On("/b").Per("K").Script(mark(1), mark(2))
	srv.On("/c").Script(mark(1))
	srv.On("/d").Nth(2).Do(mark(1)...)
	srv.On("/e").Do(mark(1)...)
	srv.On("/f").Do(mark(1)...)
	statuses(t, srv, "GET /a", "GET /b K=1", "GET /b K=1", "GET /b K=2", "GET /c", "GET /d", "GET /e")
	ft.end()
	message, requests, _ := strings.Cut(ft.report(), "\n  the requests were:\n")
	is.Equal(message, golden(`
httptestx: the requests did not use up the rules (Strict; seed 0x1; rerun with HTTPTESTX_SEED=0x1)
  On("/a").Script: 1 of 3 plans used; next: status(602)
  On("/b").Per("K").Script: 3 of 4 plans used; next for K "2": status(602)
  On("/d").Nth(2).Do: applied to 0 of 1 request
  On("/f").Do: applied to 0 of 0 requests; no request got as far as this rule`)) // what is left, rule by rule; /c and /e were used
	is.Equal(strings.Count(requests, "\n")+1, 7) // and what there was
}

func TestUnusedPlansAreNoErrorUnlessStrict(t *testing.T) {
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, ok)
	srv.On("/a").Script(mark(1))
	ft.end()
	is.Equal(ft.report(), "") // a client that needs fewer requests is fine
}

// TestRulesCanBeAddedWhileTheServerRuns is for the race detector; each client
// sees its own rule.
func TestRulesCanBeAddedWhileTheServerRuns(t *testing.T) {
	srv := httptestx.NewServer(t, ok)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			path := fmt.Sprintf("/%d", i)
			srv.On(path).Do(mark(i)...)
			if got := statuses(t, srv, "GET "+path)[0]; got != 600+i {
				t.Errorf("status %d, want %d: a rule works as soon as it is defined", got, 600+i)
			}
		})
	}
	wg.Wait()
}
