package httptestx_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// attempt sends a POST of "{}" with a key and an attempt number, "" for none.
func attempt(srv *httptestx.Server, path, key, number string) error {
	req, _ := http.NewRequest("POST", srv.URL+path, strings.NewReader("{}"))
	for name, value := range map[string]string{"Idempotency-Key": key, "X-Attempt": number} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// TestAtMostOnceSaysThatNetHTTPHasSentAgain: the client has sent each call once, on
// a used connection; with an attempt header that is certain.
func TestAtMostOnceSaysThatNetHTTPHasSentAgain(t *testing.T) {
	got := reports(t, place, func(ft *fakeT, srv *httptestx.Server) {
		srv.On("POST /charges").Per("X-Attempt").Script(httptestx.LostResponse)
		for _, number := range []string{"1", ""} {
			send(srv, "GET", "/warm", "", "")
			attempt(srv, "/charges", "k-17"+number, number)
		}
		httptestx.AtMostOnce(ft, srv)
	})
	is.New(t).Equal(got, golden(`
httptestx: POST /charges happened 2 times for key "k-171", want at most 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  #2  +0s  conn 1.2  h1  POST /charges key=k-171 attempt=1  handle reset*  handled; nothing sent; reset
  #3  +0s  conn 2.1  h1  POST /charges key=k-171 attempt=1  handle         handled; sent: 201, 6 bytes; answered  <- again: same key; on another connection; same attempt as #2, so net/http sent it again
  On("POST /charges").Per("X-Attempt").Script: 2 of 2 plans used
  The handler acted again for a key that it had seen. If it is to know its keys, wrap it in Idempotent;
  if it knows them, let it call Effect where it acts.
httptestx: POST /charges happened 2 times for key "k-17", want at most 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  #5  +0s  conn 2.3  h1  POST /charges key=k-17  handle reset*  handled; nothing sent; reset
  #6  +0s  conn 3.1  h1  POST /charges key=k-17  handle         handled; sent: 201, 6 bytes; answered  <- again: same key; on another connection; same as #5, which ended without an answer on a used connection, so net/http may have sent it again
  On("POST /charges").Per("X-Attempt").Script: 2 of 2 plans used
  The handler acted again for a key that it had seen. If it is to know its keys, wrap it in Idempotent;
  if it knows them, let it call Effect where it acts.`)) // not the client under test
}

// TestAtMostOnceSaysWhyNetHTTPMayHaveSentAgainOnHTTP2: the first two acted, and said that they did not, or
// that it was the client's mistake.
func TestAtMostOnceSaysWhyNetHTTPMayHaveSentAgainOnHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ft := newFakeT(t)
		var p http.Protocols
		p.SetUnencryptedHTTP2(true)
		srv := httptestx.NewServer(ft, place, httptestx.WithSeed(0x51f3), httptestx.WithProtocols(p), httptestx.Dishonest())
		srv.On("/").Script(
			httptestx.Plan(httptestx.Handle, httptestx.RefuseStream),
			httptestx.Plan(httptestx.Handle, httptestx.ResetStream(httptestx.ErrCodeProtocol)),
		)
		send(srv, "POST", "/charges", "", "{}")
		httptestx.AtMostOnce(ft, srv)
		is.New(t).Equal(ft.report(), golden(`
httptestx: POST /charges happened 3 times without a key, want at most 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  #1  +0s  conn 1.1  h2 stream 1  POST /charges  handle refusestream*                 handled; nothing sent; refused
  #2  +0s  conn 1.2  h2 stream 3  POST /charges  handle resetstream(PROTOCOL_ERROR)*  handled; nothing sent; reset           <- again: no key; on the same connection; same as #1, which was refused, so net/http may have sent it again
  #3  +1s  conn 2.1  h2 stream 1  POST /charges  handle                               handled; sent: 201, 6 bytes; answered  <- again: no key; on another connection; same as #2, which was reset with PROTOCOL_ERROR, so net/http may have sent it again
  On("/").Script: 2 of 2 plans used
  The requests are equal, and none had been answered with success when the next arrived.
  If they are separate calls, tell them apart by a key; see WithKeyHeader.`)) // not the client, which has sent one
		ft.end()
	})
}

func TestAtMostOnceSaysWhatTheClientKnewWhenItSentAgain(t *testing.T) {
	got := reports(t, place, func(ft *fakeT, srv *httptestx.Server) {
		srv.On("/").Script(
			httptestx.Plan(httptestx.Handle, httptestx.Delay(3*time.Second)), // overlapped by the next
			httptestx.Plan(httptestx.Handle, httptestx.Status(504)),
			httptestx.Plan(httptestx.Handle, httptestx.Malformed(httptestx.Chunk)),
			httptestx.Plan(httptestx.Latency(httptestx.Uniform(time.Second, 9*time.Second)), httptestx.Handle),
		)
		go attempt(srv, "/charges", "", "1")
		time.Sleep(time.Second)
		for i := range 3 {
			attempt(srv, "/charges", "", fmt.Sprint(i+2))
		}
		time.Sleep(time.Minute)
		httptestx.AtMostOnce(ft, srv)
	})
	is.New(t).Equal(got, golden(`
httptestx: POST /charges happened 4 times without a key, want at most 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  #1  +0s  conn 1.1  h1  POST /charges attempt=1  handle delay(3s)                              handled; sent: 201, 6 bytes; answered
  #2  +1s  conn 2.1  h1  POST /charges attempt=2  handle status(504)                            handled; sent: 504, 15 bytes; answered           <- again: no key; sent by the client on another connection, while #1 was running
  #3  +1s  conn 2.2  h1  POST /charges attempt=3  handle malformed(chunk)*                      handled; raw bytes sent: 201, 107 bytes; closed  <- again: no key; sent by the client on the same connection, after #2: answered with 504
  #4  +1s  conn 3.1  h1  POST /charges attempt=4  latency(uniform(1s, 9s))=3.047081134s handle  handled; sent: 201, 6 bytes; answered            <- again: no key; sent by the client on another connection, after #3: closed
  On("/").Script: 4 of 4 plans used
  The requests are equal, and none had been answered with success when the next arrived.
  If they are separate calls, tell them apart by a key; see WithKeyHeader.`)) // an overlap, an answer, a connection
}

func TestAtMostOnceSaysThatOneRunActedTwice(t *testing.T) {
	twice := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httptestx.Effect(r, "charge")
		httptestx.Effect(r, "charge")
	})
	got := reports(t, twice, func(ft *fakeT, srv *httptestx.Server) {
		attempt(srv, "/charges", "k", "")
		httptestx.AtMostOnce(ft, srv)
	})
	is.New(t).Equal(got, golden(`
httptestx: charge happened 2 times for key "k", want at most 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  #1  +0s  conn 1.1  h1  POST /charges key=k  handle  handled; sent: 200, 0 bytes; answered  <- 2 times in one run of the handler
  The handler acted again for a key that it had seen. If it is to know its keys, wrap it in Idempotent;
  if it knows them, let it call Effect where it acts.`)) // no client is to blame
}

func TestExactlyOnceSaysWhatHappenedInstead(t *testing.T) {
	got := reports(t, place, func(ft *fakeT, srv *httptestx.Server) {
		attempt(srv, "/charges", "k-17", "")
		attempt(srv, "/charges", "k-18", "")
		httptestx.ExactlyOnce(ft, srv, "charge", "k-17")
		httptestx.ExactlyOnce(ft, srv, "POST /charges", "k17")
	})
	is.New(t).Equal(got, golden(`
httptestx: charge happened 0 times for key "k-17", want exactly 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  #1  +0s  conn 1.1  h1  POST /charges key=k-17  handle  handled; sent: 201, 6 bytes; answered
  what happened for key "k-17": "POST /charges"
httptestx: POST /charges happened 0 times for key "k17", want exactly 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  no request
  keys that arrived: "k-17", "k-18"`)) // the name, or the key, is another
}

func TestExactlyOnceShowsTheDuplicate(t *testing.T) {
	got := reports(t, place, func(ft *fakeT, srv *httptestx.Server) {
		srv.On("PUT /charges/1").Script(httptestx.LostResponseEOF)
		for range 2 {
			send(srv, "PUT", "/charges/1", "", "{}")
		}
		httptestx.ExactlyOnce(ft, srv, "PUT /charges/1", "")
	})
	is.New(t).Equal(got, golden(`
httptestx: PUT /charges/1 happened 2 times without a key, want exactly 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  #1  +0s  conn 1.1  h1  PUT /charges/1  handle close*  handled; nothing sent; closed
  #2  +0s  conn 2.1  h1  PUT /charges/1  handle         handled; sent: 201, 6 bytes; answered  <- again: no key; sent by the client on another connection, after #1: closed
  On("PUT /charges/1").Script: 1 of 1 plan used
  All requests without a key are counted together. To count a call alone, give it a key; see WithKeyHeader.`)) // as AtMostOnce does
}

func TestArrivalsMarksWhatItCounted(t *testing.T) {
	got := reports(t, place, func(ft *fakeT, srv *httptestx.Server) {
		for _, path := range []string{"/orders/1", "/carts/1", "/orders/2\nx"} {
			send(srv, "GET", strings.ReplaceAll(path, "\n", "%0A"), "", "")
		}
		httptestx.Arrivals(ft, srv, "GET /orders/{id}", 1)
	})
	is.New(t).Equal(got, golden(`
httptestx: 2 requests for "GET /orders/{id}" arrived, want 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  #1  +0s  conn 1.1  h1  GET /orders/1       handle  handled; sent: 201, 6 bytes; answered  <- 1 of 1
  #2  +0s  conn 1.2  h1  GET /carts/1        handle  handled; sent: 201, 6 bytes; answered
  #3  +0s  conn 1.3  h1  GET "/orders/2\nx"  handle  handled; sent: 201, 6 bytes; answered  <- 2 of 1`)) // and what it did not, in one line each
}

func TestReplaysAndConflictsShowInTheTimeLine(t *testing.T) {
	slow := httptestx.Idempotent(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Second) }))
	got := reports(t, slow, func(ft *fakeT, srv *httptestx.Server) {
		go attempt(srv, "/charges", "k", "1")
		synctest.Wait()
		attempt(srv, "/charges", "k", "2")
		time.Sleep(2 * time.Second)
		attempt(srv, "/charges", "k", "3")
		httptestx.ExactlyOnce(ft, srv, "charge", "k")
	})
	is.New(t).Equal(got, golden(`
httptestx: charge happened 0 times for key "k", want exactly 1 (seed 0x51f3, by WithSeed: a rerun is the same)
  #1  +0s  conn 1.1  h1  POST /charges key=k attempt=1  handle  handled; sent: 200, 0 bytes; answered
  #2  +0s  conn 2.1  h1  POST /charges key=k attempt=2  handle  refused for its key; sent: 409, 100 bytes; answered
  #3  +2s  conn 1.2  h1  POST /charges key=k attempt=3  handle  replayed; sent: 200, 0 bytes; answered
  what happened for key "k": "POST /charges"`)) // each with what became of it
}

func TestHandlerPanicShowsTheRequestAndTheUsersFrames(t *testing.T) {
	got := reports(t, http.HandlerFunc(explode), func(ft *fakeT, srv *httptestx.Server) {
		srv.On("/").Do(httptestx.LostResponse...)
		attempt(srv, "/charges", "k", "2")
	})
	got = regexp.MustCompile(`\(0x[^)]*\)|\{0x[^)]*\)|\([^)]*\?[^)]*\)`).ReplaceAllString(got, "(...)")
	got = regexp.MustCompile(`\S*/(\w+\.go):\d+ \+0x\w+`).ReplaceAllString(got, "$1")
	is.New(t).Equal(got, golden(`
httptestx: POST /charges: panic: broken
  #1  +0s  conn 1.1  h1  POST /charges key=k attempt=2  handle* reset  handled; nothing sent; aborted
  seed 0x51f3, by WithSeed: a rerun is the same
github.com/a-seed-e0941262/resilient/httptestx_test.explode(...)
	message_test.go
net/http.HandlerFunc.ServeHTTP(...)
	server.go`)) // where in the user's code, and nothing of the server's
}

//go:noinline
func explode(http.ResponseWriter, *http.Request) { panic("broken") }

func TestStrictSaysWhatComesNextForFewKeys(t *testing.T) {
	is := is.New(t)
	got := reports(t, place, func(ft *fakeT, srv *httptestx.Server) {
		rules := httptestx.NewServer(ft, place, httptestx.Strict())
		rules.On("/").Per("Idempotency-Key").Script(httptestx.LostResponse, httptestx.Unavailable(0))
		rules.On("/").Per("X-Attempt").After(1).Do(httptestx.Reset)
		for i := range 8 {
			attempt(rules, "/", fmt.Sprint("k", i), "")
		}
		ft.end()
	})
	lines := strings.Split(got, "\n")
	is.Equal(lines[1], `  On("/").Per("Idempotency-Key").Script: 8 of 16 plans used`+
		`; next for Idempotency-Key "k0": status(503); next for Idempotency-Key "k1": status(503)`+
		`; next for Idempotency-Key "k2": status(503); next for Idempotency-Key "k3": status(503)`+
		`; next for Idempotency-Key "k4": status(503); and 3 more`) // key by key, up to a limit
	is.Equal(lines[2], `  On("/").Per("X-Attempt").After(1).Do: applied to 0 of 0 requests; no request got as far as this rule`) // where to look
	is.Equal(len(lines), 12)                                                                                                     // the message, two rules, a heading and eight requests
}
