package httptestx_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// Five ways in which an order gets no answer. The client cannot tell them apart; the exchange says what was done.
func ExamplePlan() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.On("POST /orders").Script(
		httptestx.ResetBeforeRead,
		httptestx.Plan(httptestx.Read, httptestx.Reset), // ResetBeforeHandler
		httptestx.LostResponse,
		httptestx.LostResponseEOF,
		httptestx.Plan(httptestx.Delay(time.Millisecond), httptestx.Handle, httptestx.Close),
	)
	for range 5 {
		_, err := srv.Client().Post(srv.URL+"/orders", "", strings.NewReader("{}"))
		fmt.Println("reset:", errors.Is(err, syscall.ECONNRESET))
	}
	for _, x := range srv.Wait(5) {
		fmt.Println(x.Plan, x.Read, x.Handled, x.End)
	}
	// Output:
	// reset: true
	// reset: true
	// reset: true
	// reset: false
	// reset: false
	// [reset] headers read false reset
	// [read reset] read false reset
	// [handle reset] read true reset
	// [handle close] read true closed
	// [delay(1ms) handle close] read true closed
}

// The server never answers. The first order it has not taken, the second it has. Here the client gives up as soon as the
// server has the request.
func ExamplePlan_hang() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	ctx, cancel := context.WithCancel(context.Background())
	rule := srv.On("/").Where(func(*http.Request) bool { cancel(); return true })
	rule.Script(httptestx.Plan(httptestx.Hang), httptestx.Stall)
	for range 2 {
		req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL, nil)
		_, err := srv.Client().Do(req)
		fmt.Println(errors.Unwrap(err))
		ctx, cancel = context.WithCancel(context.Background())
	}
	cancel()
	for _, x := range srv.Wait(2) {
		fmt.Println(x.Handled, x.End)
	}
	// Output:
	// context canceled
	// context canceled
	// false client gone
	// true client gone
}

// On HTTP/2 answers are frames. Each of these is the last on its connection.
func ExampleMalformation_http2() {
	t := &fakeT{}
	defer t.end()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	srv := httptestx.NewServer(t, hello, httptestx.WithProtocols(protocols))
	srv.On("POST /").Script(
		httptestx.Plan(httptestx.Malformed(httptestx.BadHPACK)),
		httptestx.Plan(httptestx.Malformed(httptestx.HugeFrame)),
	)
	for range 2 {
		_, err := srv.Client().Post(srv.URL, "", nil)
		fmt.Println(errors.Unwrap(err))
	}
	fmt.Println(srv.Connections(), "connections")
	// Output:
	// connection error: COMPRESSION_ERROR
	// http2: frame too large
	// 2 connections
}

// Answers that are no HTTP, each in its own way.
func ExampleMalformation() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.On("/").Func(func(_ *http.Request, n int) []httptestx.Step {
		kinds := []httptestx.Malformation{httptestx.StatusLine, httptestx.Header, httptestx.ContentLength, httptestx.Chunk, httptestx.Gzip, httptestx.Garbage}
		return httptestx.Plan(httptestx.Handle, httptestx.Malformed(kinds[n-1]))
	})
	for range 6 {
		fmt.Println(get(srv))
	}
	// Output:
	// net/http: HTTP/1.x transport connection broken: malformed HTTP status code "many"
	// net/http: HTTP/1.x transport connection broken: malformed MIME header: missing colon: "This line has no colon"
	// net/http: HTTP/1.x transport connection broken: bad Content-Length "many"
	// 200 "he", then invalid byte in chunk length
	// 200 "hello", then gzip: invalid checksum
	// net/http: HTTP/1.x transport connection broken: malformed HTTP response "\x00\x01\x02not-HTTP"
}
