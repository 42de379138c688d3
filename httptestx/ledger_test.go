package httptestx_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// send sends a request with a body, and with a key unless that is "".
func send(srv *httptestx.Server, method, path, key, body string) error {
	req, err := http.NewRequest(method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func TestLedgerCountsByKey(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, place)
	srv.On("/").Per("Idempotency-Key").Script(httptestx.LostResponse, httptestx.Unavailable(0))
	for _, key := range []string{"b", "a", "b", "b", ""} {
		send(srv, "POST", "/orders", key, "{}")
	}
	l := srv.Ledger()
	is.Equal(l.Keys(), []string{"b", "a"})            // in order of arrival
	is.Equal(l.Arrivals("b"), 3)                      // lost, refused, served
	is.Equal(l.Executions("b"), 2)                    // the refusal ran no handler
	is.Equal(l.Effects("POST /orders", "b"), 2)       // each run is one
	is.Equal(l.Effects("POST /orders", "a"), 1)       // the answer was lost, the effect was not
	is.Equal(l.Effects("POST /orders", ""), 1)        // the one without a key
	is.Equal(l.Effects("POST /orders", "unknown"), 0) // none
	is.Equal(l.Arrivals("unknown"), 0)                // none
}

func TestEffectWithoutCalls(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := r.Header.Get("Idempotency-Key"); code == "503" {
			w.WriteHeader(503)
		} else if code == "500" {
			w.WriteHeader(500)
		} else if code == "404" {
			w.WriteHeader(404)
		}
	})
	for _, tt := range []struct {
		method, key string
		want        int
	}{
		{"POST", "201", 1}, {"PUT", "201", 1}, {"PATCH", "201", 1}, {"DELETE", "201", 1}, {"LOCK", "201", 1},
		{"GET", "201", 0}, {"HEAD", "201", 0}, {"OPTIONS", "201", 0}, {"QUERY", "201", 0}, // safe
		{"POST", "404", 0}, {"POST", "503", 0}, // the handler says that it did nothing
		{"POST", "500", 1}, // it does not say
	} {
		for _, plan := range [][]httptestx.Step{{httptestx.Handle}, httptestx.LostResponse} {
			srv := httptestx.NewServer(t, h)
			srv.On("/").Do(plan...)
			send(srv, tt.method, "/a", tt.key, "")
			is.New(t).Equal(srv.Ledger().Effects(tt.method+" /a", tt.key), tt.want) // by method and the handler's answer, sent or not
		}
	}
}

func TestEffectsThatAreNamedAreTheOnlyOnes(t *testing.T) {
	is := is.New(t)
	seen := map[string]bool{}
	srv := httptestx.NewServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Idempotency-Key")
		if !seen[key] {
			seen[key] = true
			httptestx.Effect(r, "charge")
			httptestx.Effect(r, "mail")
		}
	}))
	srv.On("/").First(2).Do(httptestx.LostResponse...)
	for range 3 {
		send(srv, "POST", "/charges", "k", "{}")
	}
	l := srv.Ledger()
	is.Equal(l.Executions("k"), 3)               // it ran each time
	is.Equal(l.Effects("charge", "k"), 1)        // and charged once
	is.Equal(l.Effects("mail", "k"), 1)          // and wrote once
	is.Equal(l.Effects("POST /charges", "k"), 0) // runs do not count by themselves
	httptestx.AtMostOnce(t, srv)
	httptestx.ExactlyOnce(t, srv, "charge", "k")
}

func TestEffectOutsideAServerDoesNothing(t *testing.T) {
	r, _ := http.NewRequest("POST", "/", nil)
	httptestx.Effect(r, "charge")
}

// TestReplayByNetHTTPShows: the client sends once, and on a used connection
// net/http repeats a request with a key by itself.
func TestReplayByNetHTTPShows(t *testing.T) {
	for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		onBothNetworks(t, place, func(t *testing.T, srv *httptestx.Server) {
			is := is.New(t)
			srv.On("POST /orders").Script(httptestx.ResetBeforeHandler)
			send(srv, "GET", "/warm", "", "")
			req, _ := http.NewRequest("POST", srv.URL+"/orders", strings.NewReader("{}"))
			req.Header.Set(header, "k")
			resp, err := srv.Client().Do(req)
			is.NoErr(err) // the client does not notice
			resp.Body.Close()
			l := srv.Ledger()
			is.Equal(l.Arrivals("k"), 2)       // the server got two
			is.Equal(len(l.Resent()), 1)       // one of them by net/http
			is.Equal(l.Resent()[0].Seq, 3)     // the second
			is.Equal(l.Resent()[0].ConnSeq, 1) // on a fresh connection
		})
	}
}

// TestAtMostOnceWithoutKeys tells calls apart by what the client was told.
func TestAtMostOnceWithoutKeys(t *testing.T) {
	for _, tt := range []struct {
		name   string
		plans  [][]httptestx.Step
		bodies string // one a request
		fails  bool
	}{
		{"once", nil, "a", false},
		{"again after a success is another call", nil, "aaa", false},
		{"again after a lost answer", [][]httptestx.Step{httptestx.LostResponse}, "aa", true},
		{"again after a cut answer", [][]httptestx.Step{httptestx.TruncatedBody(2)}, "aa", true},
		{"again after a failure that was processed", [][]httptestx.Step{httptestx.Plan(httptestx.Handle, httptestx.Status(503))}, "aa", true},
		{"again after a refusal", [][]httptestx.Step{httptestx.Unavailable(0), httptestx.Unavailable(0)}, "aaa", false},
		{"again after a reset that was not processed", [][]httptestx.Step{httptestx.ResetBeforeRead, httptestx.ResetBeforeHandler}, "aaa", false},
		{"another body after a lost answer", [][]httptestx.Step{httptestx.LostResponse}, "ab", false},
		{"the same body later, between others", [][]httptestx.Step{httptestx.LostResponse}, "aba", true},
		{"after the success of the repetition", [][]httptestx.Step{httptestx.Unavailable(0)}, "aaa", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			ft := newFakeT(t)
			srv := httptestx.NewServer(ft, place)
			if tt.plans != nil {
				srv.On("/").Script(tt.plans...)
			}
			for _, body := range tt.bodies {
				send(srv, "POST", "/orders", "", string(body))
			}
			httptestx.AtMostOnce(ft, srv)
			is.Equal(ft.report() != "", tt.fails) // whether one call was executed twice
			ft.end()
		})
	}
}

// TestAtMostOnceLetsPutAndDeleteBeRepeated: they do twice what they do once, unless
// the handler says what it does.
func TestAtMostOnceLetsPutAndDeleteBeRepeated(t *testing.T) {
	for _, tt := range []struct {
		method string
		named  bool
		fails  bool
	}{
		{"PUT", false, false}, {"DELETE", false, false},
		{"POST", false, true}, {"PATCH", false, true}, {"LOCK", false, true},
		{"PUT", true, true}, {"DELETE", true, true}, {"GET", true, true},
	} {
		for _, key := range []string{"", "k"} {
			t.Run(fmt.Sprint(tt.method, tt.named, key), func(t *testing.T) {
				is := is.New(t)
				ft := newFakeT(t)
				srv := httptestx.NewServer(ft, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if tt.named {
						httptestx.Effect(r, "charge")
					}
				}))
				srv.On("/").First(1).Do(httptestx.LostResponse...)
				for range 2 {
					send(srv, tt.method, "/orders/1", key, "{}")
				}
				httptestx.AtMostOnce(ft, srv)
				is.Equal(ft.report() != "", tt.fails)                                                                               // by the method, or by what the handler says
				is.Equal(srv.Ledger().Effects(tt.method+" /orders/1", key), map[bool]int{false: 2}[tt.named || tt.method == "GET"]) // each run is in the ledger
			})
		}
	}
}

func TestAtMostOnceFollowsACallToAnotherHost(t *testing.T) {
	is := is.New(t)
	ft := newFakeT(t)
	srv := httptestx.NewServer(ft, place)
	srv.On("east.test/").Do(httptestx.LostResponse...)
	for _, host := range []string{"east.test", "west.test"} {
		if resp, err := srv.Client().Post("http://"+host+"/orders", "", strings.NewReader("{}")); err == nil {
			resp.Body.Close()
		}
	}
	httptestx.AtMostOnce(ft, srv)
	is.True(strings.Contains(ft.report(), "happened 2 times")) // executed at both
}

func TestKeyHeaderCanBeNamed(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, place, httptestx.WithKeyHeader("X-Request-Id"))
	srv.On("/").First(2).Do(httptestx.LostResponse...)
	for _, id := range []string{"1", "2", "3"} {
		req, _ := http.NewRequest("POST", srv.URL+"/orders", strings.NewReader("{}"))
		req.Header.Set("X-Request-Id", id)
		req.Header.Set("Idempotency-Key", "not this")
		if resp, err := srv.Client().Do(req); err == nil {
			resp.Body.Close()
		}
	}
	is.Equal(srv.Ledger().Keys(), []string{"1", "2", "3"}) // its values are the keys
	httptestx.AtMostOnce(t, srv)                           // and tell equal requests apart
}

func TestAtMostOnceTakesOverlappingEqualRequestsForOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		ft := newFakeT(t)
		srv := httptestx.NewServer(ft, place)
		srv.On("/").Do(httptestx.Delay(time.Second), httptestx.Handle)
		for range 2 {
			go send(srv, "POST", "/orders", "", "{}")
		}
		synctest.Wait()
		httptestx.AtMostOnce(ft, srv)                              // waits for the delays
		is.True(strings.Contains(ft.report(), "happened 2 times")) // as a hedge would be
		ft.end()
	})
}

// TestAssertionsWaitForDelayedExecutions: the client has given up and tried
// again, and the first request is executed only later.
func TestAssertionsWaitForDelayedExecutions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		ft := newFakeT(t)
		srv := httptestx.NewServer(ft, place)
		srv.On("/").Script(httptestx.Plan(httptestx.Delay(time.Minute), httptestx.Handle))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL+"/orders", strings.NewReader("{}"))
		_, err := srv.Client().Do(req)
		is.True(errors.Is(err, context.DeadlineExceeded)) // too slow for the client
		is.NoErr(send(srv, "POST", "/orders", "", "{}"))  // which tries again
		is.Equal(len(ft.report()), 0)                     // nothing wrong yet
		httptestx.AtMostOnce(ft, srv)
		is.True(strings.Contains(ft.report(), "happened 2 times")) // but soon
		is.Equal(srv.Wait(2)[0].End, httptestx.EndClientGone)      // with nobody to answer
		ft.end()
	})
}
