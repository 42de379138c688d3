package httptestx_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// counter answers 201 with the number of its run, and takes a second.
func counter(runs *int) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		*runs++
		n := *runs
		mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		time.Sleep(time.Second)
		w.Header().Set("X-Run", fmt.Sprint(n))
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "run %d of %s", n, body)
	})
}

// ask sends a request with a key, unless that is "", and puts the answer into words.
func ask(t *testing.T, srv *httptestx.Server, method, path, key, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
	is.New(t).NoErr(err) // the request is well-formed
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		return errWords(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	is.New(t).NoErr(err) // a whole answer
	words := fmt.Sprintf("%d %s", resp.StatusCode, answer)
	if resp.Header.Get("Idempotent-Replayed") == "true" {
		words += " (replayed)"
	}
	return words
}

const (
	inUse = `{"title":"Conflict","status":409,"detail":"a request with this idempotency key is being processed"}` + "\n"
	other = `{"title":"Unprocessable Entity","status":422,"detail":"the idempotency key was used for another request"}` + "\n"
)

func TestIdempotentRepeatsItsFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		runs := 0
		srv := httptestx.NewServer(t, httptestx.Idempotent(counter(&runs)))
		is.Equal(ask(t, srv, "POST", "/a", "k", "x"), "201 run 1 of x")              // the first
		is.Equal(ask(t, srv, "POST", "/a", "k", "x"), "201 run 1 of x (replayed)")   // the same
		is.Equal(ask(t, srv, "POST", "/a", "k2", "x"), "201 run 2 of x")             // another key
		is.Equal(ask(t, srv, "POST", "/a", "k", "x"), "201 run 1 of x (replayed)")   // still the same
		is.Equal(ask(t, srv, "PATCH", "/a", "k3", "x"), "201 run 3 of x")            // of any method that acts
		is.Equal(ask(t, srv, "PATCH", "/a", "k3", "x"), "201 run 3 of x (replayed)") // likewise
		l := srv.Ledger()
		is.Equal(l.Arrivals("k"), 3)           // what came
		is.Equal(l.Executions("k"), 1)         // the handler ran once
		is.Equal(l.Effects("POST /a", "k"), 1) // and acted once
		is.Equal(l.Replays("k"), 2)            // the others are accounted for
		is.Equal(l.Conflicts("k"), 0)          // without a conflict
		x := srv.Exchanges()[1]
		is.True(x.Replayed && !x.Handled)              // as the exchange says
		is.Equal(x.Header.Get("Idempotency-Key"), "k") // of the second
		is.Equal(srv.Exchanges()[0].Replayed, false)   // and not of the first
		httptestx.AtMostOnce(t, srv)
		httptestx.ExactlyOnce(t, srv, "POST /a", "k")
	})
}

func TestIdempotentRefusesAnotherRequestWithTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		runs := 0
		srv := httptestx.NewServer(t, httptestx.Idempotent(counter(&runs)))
		is.Equal(ask(t, srv, "POST", "/a?q=1", "k", "x"), "201 run 1 of x")            // the first
		is.Equal(ask(t, srv, "POST", "/a?q=1", "k", "y"), "422 "+other)                // another body
		is.Equal(ask(t, srv, "POST", "/b?q=1", "k", "x"), "422 "+other)                // another path
		is.Equal(ask(t, srv, "POST", "/a?q=2", "k", "x"), "422 "+other)                // another query
		is.Equal(ask(t, srv, "PATCH", "/a?q=1", "k", "x"), "422 "+other)               // another method
		is.Equal(ask(t, srv, "POST", "/a?q=1", "k", "x"), "201 run 1 of x (replayed)") // the same again
		l := srv.Ledger()
		is.Equal(l.Conflicts("k"), 4)  // all are counted
		is.Equal(l.Executions("k"), 1) // and none did anything
		is.True(srv.Exchanges()[1].Conflict && !srv.Exchanges()[1].Handled)
	})
}

func TestIdempotentRefusesWhileTheFirstIsRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		runs := 0
		srv := httptestx.NewServer(t, httptestx.Idempotent(counter(&runs)))
		first := make(chan string, 1)
		go func() { first <- ask(t, srv, "POST", "/a", "k", "x") }()
		synctest.Wait()
		is.Equal(ask(t, srv, "POST", "/a", "k", "x"), "409 "+inUse)                // too early
		is.Equal(ask(t, srv, "POST", "/a", "k", "y"), "422 "+other)                // wrong, now or later
		is.Equal(<-first, "201 run 1 of x")                                        // not disturbed
		is.Equal(ask(t, srv, "POST", "/a", "k", "x"), "201 run 1 of x (replayed)") // now
		is.Equal(srv.Ledger().Conflicts("k"), 2)                                   // both
		httptestx.AtMostOnce(t, srv)
	})
}

// TestIdempotentMakesALostAnswerHarmless is what it is for.
func TestIdempotentMakesALostAnswerHarmless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		runs := 0
		srv := httptestx.NewServer(t, httptestx.Idempotent(counter(&runs)))
		srv.On("/").Per("Idempotency-Key").Script(httptestx.LostResponse)
		is.Equal(ask(t, srv, "POST", "/a", "k", "x"), "read: connection reset by peer") // lost
		is.Equal(ask(t, srv, "POST", "/a", "k", "x"), "201 run 1 of x (replayed)")      // found again
		httptestx.ExactlyOnce(t, srv, "POST /a", "k")
	})
}

func TestIdempotentPassesThroughWhatHasNoKeyOrIsSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		runs := 0
		srv := httptestx.NewServer(t, httptestx.Idempotent(counter(&runs)))
		for i, r := range [][2]string{{"POST", ""}, {"POST", ""}, {"PATCH", ""}, {"GET", "k"}, {"GET", "k"}} {
			is.Equal(ask(t, srv, r[0], "/a", r[1], "x"), fmt.Sprintf("201 run %d of x", i+1)) // each runs the handler
		}
		is.Equal(srv.Ledger().Executions("k"), 2) // and counts
		is.Equal(srv.Ledger().Executions(""), 3)  // as executed
	})
}

// TestIdempotentKeepsNoAnswerThatSaysThatNothingWasBegun: 429, 503 and a panic give
// the key free, other failures are answers.
func TestIdempotentKeepsNoAnswerThatSaysThatNothingWasBegun(t *testing.T) {
	for _, tt := range []struct {
		status int // of the first run; 0 panics, -1 ends the goroutine
		again  string
	}{
		{429, "200 run 2"}, {503, "200 run 2"}, {0, "200 run 2"}, {-1, "200 run 2"},
		{500, "500 run 1 (replayed)"}, {409, "409 run 1 (replayed)"}, {200, "200 run 1 (replayed)"},
	} {
		is := is.New(t)
		runs := 0
		srv := httptestx.NewServer(t, httptestx.Idempotent(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			runs++
			switch {
			case runs > 1:
			case tt.status == 0:
				panic(http.ErrAbortHandler)
			case tt.status < 0:
				runtime.Goexit()
			default:
				w.WriteHeader(tt.status)
			}
			fmt.Fprint(w, "run ", runs)
		})))
		ask(t, srv, "POST", "/a", "k", "x")
		is.Equal(ask(t, srv, "POST", "/a", "k", "x"), tt.again) // by what the first answer said
	}
}

func TestIdempotentForgetsTheOldestKeys(t *testing.T) {
	is := is.New(t)
	runs := 0
	h := httptestx.Idempotent(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runs++
		io.Copy(w, r.Body)
	}))
	do := func(key, body string) bool { // whether it was executed
		before := runs
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		r.Header.Set("Idempotency-Key", key)
		h.ServeHTTP(httptest.NewRecorder(), r)
		return runs > before
	}
	for i := range 1001 {
		do(fmt.Sprint(i), "")
	}
	is.True(!do("1", "")) // the last thousand are known
	is.True(do("0", ""))  // the one before is not
	big := strings.Repeat("x", 9<<20)
	do("big", big)
	is.True(!do("big", big)) // large answers are kept
	do("bigger", big)
	is.True(do("big", big)) // within limits
	is.True(do("1000", "")) // for which all older ones had to go
}

func TestIdempotentWorksOutsideOfAServer(t *testing.T) {
	is := is.New(t)
	runs := 0
	srv := httptest.NewServer(httptestx.Idempotent(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { runs++ })))
	defer srv.Close()
	for range 2 {
		req, _ := http.NewRequest("POST", srv.URL, nil)
		req.Header.Set("Idempotency-Key", "k")
		resp, err := srv.Client().Do(req)
		is.NoErr(err) // answered
		resp.Body.Close()
	}
	is.Equal(runs, 1) // by the header of the draft
}

func TestIdempotentMayStandBehindOtherHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		runs := 0
		mux := http.NewServeMux()
		mux.Handle("POST /charges", httptestx.Idempotent(counter(&runs)))
		srv := httptestx.NewServer(t, mux, httptestx.WithKeyHeader("X-Request-Id"))
		for _, body := range []string{"", "", "other"} {
			req, _ := http.NewRequest("POST", srv.URL+"/charges", strings.NewReader(body))
			req.Header.Set("X-Request-Id", "k")
			resp, err := srv.Client().Do(req)
			is.NoErr(err) // answered
			resp.Body.Close()
		}
		is.Equal(srv.Ledger().Executions("k"), 1) // by the key of the server
		is.Equal(srv.Ledger().Replays("k"), 1)    // as seen in the ledger
		is.Equal(srv.Ledger().Conflicts("k"), 1)  // with all that came of it
		httptestx.ExactlyOnce(t, srv, "POST /charges", "k")
	})
}

// TestIdempotentUndecidedIsNotCounted: a request whose body is not there yet may
// become a replay, so assertions wait for it.
func TestIdempotentUndecidedIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		runs := 0
		srv := httptestx.NewServer(t, httptestx.Idempotent(counter(&runs)))
		is.Equal(ask(t, srv, "POST", "/a", "k", "x"), "201 run 1 of x") // the first
		body, feed := io.Pipe()
		req, _ := http.NewRequest("POST", srv.URL+"/a", body)
		req.Header.Set("Idempotency-Key", "k")
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			if resp, err := srv.Client().Do(req); err == nil {
				resp.Body.Close()
			}
		}()
		synctest.Wait()
		is.Equal(srv.Ledger().Executions("k"), 1) // the second is being read
		time.AfterFunc(time.Minute, func() { io.WriteString(feed, "x"); feed.Close() })
		httptestx.AtMostOnce(t, srv)
		<-answered
		is.Equal(srv.Ledger().Replays("k"), 1) // and was a repetition
	})
}

func TestIdempotentDoesNotRunForARequestThatWasCut(t *testing.T) {
	is := is.New(t)
	runs := 0
	srv := httptestx.NewServer(t, httptestx.Idempotent(counter(&runs)))
	c, err := srv.DialContext(t.Context(), "tcp", "")
	is.NoErr(err) // connected
	io.WriteString(c, "POST /a HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Length: 10\r\n\r\nhalf")
	c.Close()
	x := srv.Wait(1)[0]
	is.Equal(runs, 0)                               // half a request is none
	is.True(!x.Handled && x.End != httptestx.EndOK) // as recorded
}

// TestIdempotentRunsOnceHoweverManyAsk is for the race detector as well.
func TestIdempotentRunsOnceHoweverManyAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		runs := 0
		srv := httptestx.NewServer(t, httptestx.Idempotent(counter(&runs)))
		for range 2 {
			together(100, func(int) { ask(t, srv, "POST", "/a", "k", "x") })
		}
		l := srv.Ledger()
		is.Equal(runs, 1)              // of two hundred
		is.Equal(l.Executions("k"), 1) // which the ledger agrees to
		is.Equal(l.Conflicts("k"), 99) // the others of the first hundred came too early
		is.Equal(l.Replays("k"), 100)  // the second hundred got the answer
		httptestx.AtMostOnce(t, srv)
	})
}
