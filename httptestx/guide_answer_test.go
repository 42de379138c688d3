package httptestx_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// The recipes of docs/guides/testing.md: each of its Go snippets is, line by line, a part of a
// guide_*_test.go file. What follows a snippet here is what the guide says of it.

func TestGuideLostResponse(t *testing.T) {
	handler, body := place, strings.NewReader("{}")
	srv := httptestx.NewServer(t, handler)
	srv.On("POST /orders").Script(httptestx.LostResponse) // processed, then the answer is lost
	_, err := srv.Client().Post(srv.URL+"/orders", "application/json", body)
	t.Log(err) // read: connection reset by peer
	httptestx.AtMostOnce(t, srv)

	is := is.New(t)
	is.Equal(errWords(err), "read: connection reset by peer") // as the guide says
	is.True(srv.Exchanges()[0].Handled)                       // processed
}

func TestGuideReset(t *testing.T) {
	srv := httptestx.NewServer(t, place)
	srv.On("POST /orders").Script(
		httptestx.ResetBeforeRead,    // the headers are there, the body is not asked for
		httptestx.ResetBeforeHandler, // the whole request is there
		httptestx.LostResponse,       // and has been processed
		httptestx.LostResponseEOF,    // the same, by a FIN in the place of a RST
	)

	is := is.New(t)
	for i, want := range []string{"read: connection reset by peer", "read: connection reset by peer", "read: connection reset by peer", "EOF"} {
		is.Equal(postOrder(t.Context(), srv), want)              // the client cannot tell the first three apart
		is.Equal(srv.Exchanges()[i].Handled, i >= 2)             // the server can
		is.Equal(srv.Exchanges()[i].Sent, httptestx.SentNothing) // not a byte of an answer
	}
}

func TestGuideTruncatedBody(t *testing.T) {
	srv := httptestx.NewServer(t, hello)
	srv.On("GET /report").Do(httptestx.TruncatedBody(2)...)
	srv.On("GET /orderly").Do(httptestx.Handle, httptestx.Send(2), httptestx.Close)

	is := is.New(t)
	is.Equal(fetch(srv, "/report"), "read: connection reset by peer") // by a RST
	is.Equal(fetch(srv, "/orderly"), "unexpected EOF")                // by a FIN
	is.Equal(srv.Exchanges()[0].Bytes, int64(2))                      // after two bytes of the body
}

func TestGuideSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := httptestx.NewServer(t, hello)
		srv.On("GET /late").Do(httptestx.SlowBody(30 * time.Second)...)                          // headers at once, the body later
		srv.On("GET /drip").Do(httptestx.Handle, httptestx.Slow(2, time.Second))                 // two bytes a second
		srv.On("GET /think").Do(httptestx.Delay(10*time.Second), httptestx.Handle)               // nothing for 10 seconds
		srv.On("GET /gap").Do(httptestx.Handle, httptestx.Send(1), httptestx.Delay(time.Minute)) // a pause in the middle

		is := is.New(t)
		for path, want := range map[string]time.Duration{
			"/late": 30 * time.Second, "/drip": 2 * time.Second, "/think": 10 * time.Second, "/gap": time.Minute,
		} {
			began := time.Now()
			is.Equal(fetch(srv, path), "200 hello") // all of it
			is.Equal(time.Since(began), want)       // late
		}
	})
}

func TestGuideStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := httptestx.NewServer(t, place)
		srv.On("POST /orders").Script(
			httptestx.Stall, // processed, and no answer ever
			httptestx.Plan(httptestx.Read, httptestx.Hang), // not processed, and no answer ever
		)

		is := is.New(t)
		for i, handled := range []bool{true, false} {
			is.Equal(postOrder(t.Context(), srv), "timeout")          // the client's own
			is.Equal(srv.Exchanges()[i].Handled, handled)             // which it cannot know
			is.Equal(srv.Wait(i + 1)[i].End, httptestx.EndClientGone) // it was the client that ended it
		}
	})
}

func TestGuideRefusals(t *testing.T) {
	srv := httptestx.NewServer(t, place)
	srv.On("POST /orders").Script(
		httptestx.TooManyRequests(2*time.Second), // 429, Retry-After: 2
		httptestx.Unavailable(30*time.Second),    // 503, Retry-After: 30
		httptestx.Plan(httptestx.Status(503, "Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT")),
		httptestx.Plan(httptestx.Handle, httptestx.Status(502)), // processed, and a gateway that says it failed
	)

	is := is.New(t)
	for i, want := range []string{
		`429 after "2": "Too Many Requests"`, `503 after "30": "Service Unavailable"`,
		`503 after "Fri, 31 Dec 1999 23:59:59 GMT": "Service Unavailable"`, `502 after "": "Bad Gateway"`,
	} {
		is.Equal(postOrder(t.Context(), srv), want)  // the answer
		is.Equal(srv.Exchanges()[i].Handled, i == 3) // and whether there is an order
	}
}

func TestGuideSignsOfLife(t *testing.T) {
	srv := httptestx.NewServer(t, hello)
	srv.On("/hint").Do(httptestx.Informational(103, "Link", "</style.css>"), httptestx.Handle) // 103, then the answer
	srv.On("/alive").Do(httptestx.Handle, httptestx.Informational(102), httptestx.Reset)       // a sign of life, and no answer
	srv.On("/headers").Do(httptestx.Handle, httptestx.SendHeaders, httptestx.Hang)             // status and headers, and no body

	is := is.New(t)
	is.Equal(fetch(srv, "/hint"), "200 hello")                       // net/http's client passes over the 103
	is.Equal(fetch(srv, "/alive"), "read: connection reset by peer") // as for any reset
	is.Equal(srv.Wait(2)[1].Sent, httptestx.SentInfo)                // but there was something
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL+"/headers", nil)
	resp, err := srv.Client().Do(req)
	is.NoErr(err) // the headers are there
	cancel()
	_, err = io.ReadAll(resp.Body)
	is.True(err != nil) // nothing else comes
	resp.Body.Close()
}

func TestGuideMalformedAnswers(t *testing.T) {
	srv := httptestx.NewServer(t, hello)
	srv.On("/chunk").Do(httptestx.Handle, httptestx.Malformed(httptestx.Chunk)) // half of a good body, then nonsense
	srv.On("/gzip").Do(httptestx.Handle, httptestx.Malformed(httptestx.Gzip))   // a checksum that is wrong
	srv.On("/status").Do(httptestx.Malformed(httptestx.StatusLine))             // and Header, ContentLength, Garbage
	srv.On("/raw").Do(httptestx.Read, httptestx.SendRaw([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe")), httptestx.Close)

	is := is.New(t)
	is.Equal(fetch(srv, "/chunk"), "invalid byte in chunk length")
	is.Equal(fetch(srv, "/gzip"), "gzip: invalid checksum")
	is.Equal(fetch(srv, "/status"), `net/http: HTTP/1.x transport connection broken: malformed HTTP status code "many"`)
	is.Equal(fetch(srv, "/raw"), "unexpected EOF") // in the words of net/http, each time
}
