package httptestx_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// load gives the server rules, which are no mistake.
func load(t *testing.T, srv *httptestx.Server, rules string) {
	t.Helper()
	is := is.New(t)
	is.NoErr(srv.LoadRules(strings.NewReader(rules))) // each rule can be meant
}

// Each rule is written twice, and what it does must not depend on how.
func TestLoadedRuleDoesWhatTheRuleInGoDoes(t *testing.T) {
	keyed := []string{"GET /a", "POST /a K=x", "GET /a K=x", "GET /b K=y", "GET /a K=y", "POST /a K=x", "GET /a K=y", "GET /a K=x K=y"}
	for rules, program := range map[string]func(s *httptestx.Server){
		`{"rules": []}`: func(*httptestx.Server) {},
		`{"rules": [{"on": "POST /a", "do": [{"status": 601}]}]}`: func(s *httptestx.Server) {
			s.On("POST /a").Do(mark(1)...)
		},
		`{"rules": [{"on": "/", "header": {"k": "x"}, "do": [{"status": 601}]}]}`: func(s *httptestx.Server) {
			s.On("/").Header("K", "x").Do(mark(1)...)
		},
		`{"rules": [{"on": "/", "header": {"k": ["x", "y"]}, "do": [{"status": 601}]}]}`: func(s *httptestx.Server) {
			s.On("/").Header("K", "x").Header("K", "y").Do(mark(1)...)
		},
		`{"rules": [{"on": "/", "per": "K", "script": [[{"status": 601}], ["handle"], [{"status": 602}]]}]}`: func(s *httptestx.Server) {
			s.On("/").Per("K").Script(mark(1), httptestx.Plan(httptestx.Handle), mark(2))
		},
		`{"rules": [{"on": "/", "nth": [2, 5], "do": [{"status": 601}]}]}`: func(s *httptestx.Server) {
			s.On("/").Nth(2, 5).Do(mark(1)...)
		},
		`{"rules": [{"on": "/", "first": 3, "do": [{"status": 601}]}]}`: func(s *httptestx.Server) {
			s.On("/").First(3).Do(mark(1)...)
		},
		`{"rules": [{"on": "/", "after": 3, "do": [{"status": 601}]}]}`: func(s *httptestx.Server) {
			s.On("/").After(3).Do(mark(1)...)
		},
		`{"rules": [{"on": "/", "every": 3, "after": 3, "do": [{"status": 601}]}]}`: func(s *httptestx.Server) {
			s.On("/").Every(3).After(3).Do(mark(1)...)
		},
		`{"seed": 7, "rules": [{"on": "/b", "do": ["handle"]}, {"on": "/", "prob": 0.5, "do": [{"status": 601}]}]}`: func(s *httptestx.Server) {
			s.On("/b").Do(httptestx.Handle)
			s.On("/").Prob(0.5).Do(mark(1)...)
		},
		`{"rules": [{"on": "/b", "do": {"unavailable": "1ms"}}, {"on": "/", "first": 1, "do": {"toomanyrequests": "0s"}}, {"on": "/a", "do": [{"status": 601}]}]}`: func(s *httptestx.Server) {
			s.On("/b").Do(httptestx.Unavailable(time.Millisecond)...)
			s.On("/").First(1).Do(httptestx.TooManyRequests(0)...)
			s.On("/a").Do(mark(1)...)
		},
	} {
		loaded := httptestx.NewServer(t, ok)
		load(t, loaded, rules)
		written := httptestx.NewServer(t, ok, httptestx.WithSeed(7))
		program(written)
		is := is.New(t)
		got := statuses(t, loaded, keyed...)
		is.Equal(got, statuses(t, written, keyed...))                                 // of the same requests the same are hit
		is.True(slices.Max(got) > slices.Min(got) || strings.HasSuffix(rules, `[]}`)) // some of them
	}
}

// What a rule draws depends on its place, behind those that were there before it.
func TestLoadedRuleDrawsAsTheRuleInItsPlaceDoes(t *testing.T) {
	is := is.New(t)
	half := func(s *httptestx.Server, path string) { s.On(path).Prob(0.5).Do(mark(1)...) }
	requests := slices.Concat(slices.Repeat([]string{"GET /a"}, 20), slices.Repeat([]string{"GET /b"}, 20))
	loaded, written := httptestx.NewServer(t, ok), httptestx.NewServer(t, ok)
	half(loaded, "/a")
	load(t, loaded, `{"rules": [{"on": "/b", "prob": 0.5, "do": [{"status": 601}]}]}`)
	half(written, "/a")
	half(written, "/b")
	got := statuses(t, loaded, requests...)
	is.Equal(got, statuses(t, written, requests...)) // the second rule is the second
	is.True(!slices.Equal(got[:20], got[20:]))       // and draws for itself
}

func TestReadyPlansAreKnownByName(t *testing.T) {
	for name, plan := range map[string][]httptestx.Step{
		`"resetbeforeread"`:         httptestx.ResetBeforeRead,
		`"resetbeforehandler"`:      httptestx.ResetBeforeHandler,
		`"lostresponse"`:            httptestx.LostResponse,
		`"lostresponseeof"`:         httptestx.LostResponseEOF,
		`"stall"`:                   httptestx.Stall,
		`{"truncatedbody": 2}`:      httptestx.TruncatedBody(2),
		`{"slowbody": "1s"}`:        httptestx.SlowBody(time.Second),
		`{"unavailable": "30s"}`:    httptestx.Unavailable(30 * time.Second),
		`{"toomanyrequests": "0s"}`: httptestx.TooManyRequests(0),
	} {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			srv := httptestx.NewServer(t, place)
			load(t, srv, `{"rules": [{"on": "/", "do": `+name+`}]}`)
			postOrder(t.Context(), srv)
			is.Equal(srv.Exchanges()[0].Plan, plan) // the plan of that name
		})
	}
}

func TestLoadedRulesForConnections(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, ok)
	load(t, srv, `{"rules": [
		{"conn": true, "nth": [1], "do": ["refuse"]},
		{"conn": true, "script": [["nosuchhost"], [{"delay": "0s"}]]}]}`)
	_, first := srv.Client().Get(srv.URL)
	_, second := srv.Client().Get(srv.URL)
	is.True(errors.Is(first, syscall.ECONNREFUSED))           // the first rule
	is.True(strings.Contains(second.Error(), "no such host")) // the second
	is.Equal(statuses(t, srv, "GET /"), []int{200})           // its second plan serves
}

func TestWindowOfALoadedRuleBeginsWhenItIsLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, ok)
		time.Sleep(time.Hour)
		load(t, srv, `{"rules": [{"on": "/", "between": {"from": "0s", "to": "10s"}, "do": [{"status": 601}]}]}`)
		is.Equal(statuses(t, srv, "GET /"), []int{601}) // from now
		time.Sleep(10 * time.Second)
		is.Equal(statuses(t, srv, "GET /"), []int{200}) // to then
		srv.Forget()
		is.Equal(statuses(t, srv, "GET /"), []int{601}) // and anew
	})
}

func TestSecondDocumentTakesThePlaceOfTheFirst(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, ok)
	srv.On("/own").Do(mark(1)...)
	load(t, srv, `{"rules": [{"on": "/a", "do": [{"status": 602}]}, {"on": "/", "first": 1, "do": [{"status": 603}]}]}`)
	srv.On("/a").Do(mark(4)...)
	is.Equal(statuses(t, srv, "GET /own", "GET /a", "GET /", "GET /"), []int{601, 602, 603, 200}) // in the order in which they came
	load(t, srv, `{"rules": [{"on": "/", "first": 1, "do": [{"status": 605}]}]}`)
	is.Equal(statuses(t, srv, "GET /own", "GET /a", "GET /", "GET /"), []int{601, 604, 605, 200}) // the test's own stay, and come first now
}

func TestSeedOfADocumentGivesWayToOneThatWasGiven(t *testing.T) {
	seedOf := func(opts ...httptestx.Option) string {
		ft := newFakeT(t)
		srv := httptestx.NewServer(ft, ok, opts...)
		load(t, srv, `{"seed": "0x2a", "rules": []}`)
		httptestx.Arrivals(ft, srv, "/", 1)
		_, after, _ := strings.Cut(ft.report(), "(")
		words, _, _ := strings.Cut(after, ")")
		return words
	}
	is := is.New(t)
	t.Setenv("HTTPTESTX_SEED", "")
	is.Equal(seedOf(), "seed 0x2a; rerun with HTTPTESTX_SEED=0x2a")                       // nobody else has one
	is.Equal(seedOf(httptestx.WithSeed(7)), "seed 0x7, by WithSeed: a rerun is the same") // the program has
	t.Setenv("HTTPTESTX_SEED", "0x51f3")
	is.Equal(seedOf(), "seed 0x51f3; rerun with HTTPTESTX_SEED=0x51f3") // who runs it has
}

func TestRulesThatAreWrongChangeNothing(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, ok)
	load(t, srv, `{"rules": [{"on": "/", "do": [{"status": 601}]}]}`)
	err := srv.LoadRules(strings.NewReader(`{"seed": 5, "rules": [{"on": "/", "do": [{"status": 602}]}, {"on": "/"}]}`))
	is.True(err != nil)                             // the second rule has no plan
	is.Equal(statuses(t, srv, "GET /"), []int{601}) // the first is not at work either
	broken := errors.New("broken")
	is.True(errors.Is(srv.LoadRules(iotest.ErrReader(broken)), broken)) // what the reader says is kept
}

func TestForgetBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, ok)
		srv.On("/slow").Do(httptestx.Delay(time.Second), httptestx.Handle)
		srv.On("/").Script(mark(1))
		srv.OnConn().Nth(2).Do(httptestx.Refuse)
		is.Equal(statuses(t, srv, "POST / Idempotency-Key=k", "POST /"), []int{601, 200}) // the script is used up
		ended := make(chan int)
		go func() { ended <- statuses(t, srv, "GET /slow")[0] }()
		synctest.Wait()
		srv.Forget()
		is.Equal(len(srv.Exchanges()), 0)                             // of nothing
		is.Equal(srv.Ledger().Arrivals("k"), 0)                       // is anything known
		is.Equal(<-ended, 200)                                        // what was running goes on
		is.Equal(len(srv.Exchanges()), 0)                             // unseen
		is.Equal(statuses(t, srv, "GET /", "GET /"), []int{601, 200}) // the script begins anew
		list := srv.Wait(2)
		is.Equal(len(list), 2)   // two have ended, and not the one that was forgotten
		is.Equal(list[0].Seq, 1) // they are counted from one
		srv.Client().CloseIdleConnections()
		is.Equal(statuses(t, srv, "GET /"), []int{200}) // so are connections: this is the first
	})
}

// The one that was forgotten ends between the other two, and must not be counted as one of them.
func TestWaitDoesNotCountWhatWasForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, ok)
		srv.On("/slow").Do(httptestx.Delay(time.Second), httptestx.Handle)
		srv.On("/slower").Do(httptestx.Delay(time.Minute), httptestx.Handle)
		go statuses(t, srv, "GET /slow")
		synctest.Wait()
		srv.Forget()
		go statuses(t, srv, "GET /slower")
		began := time.Now()
		is.Equal(srv.Wait(1)[0].Path, "/slower") // the only one it knows of
		is.Equal(time.Since(began), time.Minute) // has ended
	})
}

func TestTimeOfAServerBeginsAnewWhenItForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, ok)
		time.Sleep(time.Hour)
		srv.Forget()
		srv.On("/").Between(0, time.Second).Do(mark(1)...)
		is.Equal(statuses(t, srv, "GET /"), []int{601}) // from now, and not from an hour ago
	})
}

func TestServerThatServesForLongRemembersTheLastExchanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, ok, httptestx.WithLastExchanges(2))
		srv.On("/hang").Do(httptestx.Hang)
		go srv.Client().Get(srv.URL + "/hang")
		synctest.Wait()
		statuses(t, srv, "GET /2", "GET /3", "GET /4")
		list := srv.Wait(3)
		is.Equal([]string{list[0].Path, list[1].Path}, []string{"/hang", "/4"}) // the running one, and the last
		is.Equal(list[1].Seq, 4)                                                // the fourth, though they are two

		all := httptestx.NewServer(t, ok, httptestx.WithLastExchanges(2))
		statuses(t, all, "GET /1", "GET /2")
		is.Equal(len(all.Exchanges()), 2) // none too few
	})
}

func TestDocumentIsReadToItsEnd(t *testing.T) {
	srv := httptestx.NewServer(t, ok)
	err := srv.LoadRules(io.MultiReader(strings.NewReader(`{"rules": []}`), strings.NewReader("\n x")))
	is.New(t).Equal(err.Error(), "httptestx: line 2: invalid character 'x' after top-level value") // something follows
}
