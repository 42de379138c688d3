package httptestx_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// reports runs f in a bubble with a server of a fixed seed, and returns what a
// test would report.
func reports(t *testing.T, h http.Handler, f func(ft *fakeT, srv *httptestx.Server)) (report string) {
	synctest.Test(t, func(t *testing.T) {
		ft := newFakeT(t)
		srv := httptestx.NewServer(ft, h, httptestx.WithSeed(0x51f3), httptestx.WithAttemptHeader("X-Attempt"))
		f(ft, srv)
		report = ft.report()
		ft.end()
	})
	return report
}

// golden strips the newline before the first line.
func golden(text string) string { return strings.TrimPrefix(text, "\n") }

func TestAtMostOnceShowsTheTimeLineOfTheCall(t *testing.T) {
	got := reports(t, place, func(ft *fakeT, srv *httptestx.Server) {
		srv.On("POST /charges").Per("Idempotency-Key").Script(httptestx.LostResponse, httptestx.Unavailable(2*time.Second))
		for _, key := range []string{"k-17", "k-18", "k-17", "k-17"} {
			send(srv, "POST", "/charges", key, "{}")
			time.Sleep(1500 * time.Millisecond)
		}
		httptestx.AtMostOnce(ft, srv)
	})
	is.New(t).Equal(got, golden(`
httptestx: POST /charges happened 2 times for key "k-17", want at most 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  #1  +0s    conn 1.1  h1  POST /charges key=k-17  handle reset*                handled; nothing sent; reset
  #3  +3s    conn 3.1  h1  POST /charges key=k-17  status(503, Retry-After: 2)  not handled; sent: 503, 19 bytes; answered
  #4  +4.5s  conn 3.2  h1  POST /charges key=k-17  handle                       handled; sent: 201, 6 bytes; answered  <- again: same key; sent by the client on the same connection, after #3: answered with 503
  On("POST /charges").Per("Idempotency-Key").Script: 3 of 4 plans used
  The handler acted again for a key that it had seen. If it is to know its keys, wrap it in Idempotent;
  if it knows them, let it call Effect where it acts.`)) // what happened to this key, in order, and what to do
}

func TestAtMostOnceSaysWhyRequestsWithoutAKeyBelongTogether(t *testing.T) {
	got := reports(t, place, func(ft *fakeT, srv *httptestx.Server) {
		srv.On("/").First(1).Do(httptestx.TruncatedBody(2)...)
		for range 2 {
			send(srv, "POST", "/charges", "", "{}")
		}
		httptestx.AtMostOnce(ft, srv)
	})
	is.New(t).Equal(got, golden(`
httptestx: POST /charges happened 2 times without a key, want at most 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  #1  +0s  conn 1.1  h1  POST /charges  handle send(2) reset*  handled; partly sent: 201, 2 bytes; reset
  #2  +0s  conn 2.1  h1  POST /charges  handle                 handled; sent: 201, 6 bytes; answered  <- again: no key; sent by the client on another connection, after #1: reset
  On("/").First(1).Do: applied to 1 of 2 requests
  The requests are equal, and none had been answered with success when the next arrived.
  If they are separate calls, tell them apart by a key; see WithKeyHeader.`)) // with the way out
}

func TestExactlyOnceShowsWhatThereIs(t *testing.T) {
	got := reports(t, place, func(ft *fakeT, srv *httptestx.Server) {
		httptestx.ExactlyOnce(ft, srv, "POST /charges", "k-17")
		srv.On("/").Do(httptestx.ResetBeforeRead...)
		req, _ := http.NewRequest("POST", srv.URL+"/charges", nil)
		req.Header.Set("Idempotency-Key", "k-17")
		req.Header.Set("X-Attempt", "1")
		srv.Client().Do(req)
		httptestx.ExactlyOnce(ft, srv, "POST /charges", "k-17")
	})
	is.New(t).Equal(got, golden(`
httptestx: POST /charges happened 0 times for key "k-17", want exactly 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  no request
httptestx: POST /charges happened 0 times for key "k-17", want exactly 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  #1  +0s  conn 1.1  h1  POST /charges key=k-17 attempt=1  reset*  not handled; nothing sent; reset
  On("/").Do: applied to 1 of 1 request`)) // also when nothing arrived
}

func TestArrivalsShowsAllRequests(t *testing.T) {
	got := reports(t, place, func(ft *fakeT, srv *httptestx.Server) {
		srv.On("/slow").Do(httptestx.Delay(time.Second), httptestx.Handle)
		send(srv, "GET", "/orders/1", "", "")
		go send(srv, "POST", "/slow", "", "")
		synctest.Wait()
		httptestx.Arrivals(ft, srv, "GET /orders/{id}", 1)
		httptestx.Arrivals(ft, srv, "/", 2)
		httptestx.Arrivals(ft, srv, "POST /orders/{id}", 1)
	})
	is.New(t).Equal(got, golden(`
httptestx: 0 requests for "POST /orders/{id}" arrived, want 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  #1  +0s  conn 1.1  h1  GET /orders/1  handle             handled; sent: 201, 6 bytes; answered
  #2  +0s  conn 1.2  h1  POST /slow     delay(1s)* handle  not handled; nothing sent; running
  On("/slow").Do: applied to 1 of 1 request`)) // with a star where the second one is
}

func TestTimeLineIsLimited(t *testing.T) {
	is := is.New(t)
	got := reports(t, place, func(ft *fakeT, srv *httptestx.Server) {
		for range 50 {
			send(srv, "GET", "/", "", "")
		}
		httptestx.Arrivals(ft, srv, "/", 1)
	})
	is.Equal(strings.Count(got, "\n  #"), 40)          // as much as can be read
	is.True(strings.HasSuffix(got, "\n  and 10 more")) // and how much is left
}

func TestArrivalsWithAMalformedPatternFailsTheTestAtOnce(t *testing.T) {
	srv := httptestx.NewServer(t, ok)
	got := fatal(func() { httptestx.Arrivals(newFakeT(t), srv, "GET  /{", 1) })
	is.New(t).True(strings.HasPrefix(got, `httptestx: Arrivals("GET  /{"): parsing`)) // in ServeMux's words
}
