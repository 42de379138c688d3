package httptestx_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// The server refuses the first request, as it is about to shut down. net/http's client sends it
// again by itself: the client under test sees nothing but the answer.
func ExampleRefuseStream() {
	t := &fakeT{}
	defer t.end()
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	srv := httptestx.NewServer(t, hello, httptestx.WithTLS(), httptestx.WithProtocols(protocols))
	srv.On("/").First(1).Do(httptestx.RefuseStream)
	fmt.Println(get(srv))
	for _, x := range srv.Exchanges() {
		fmt.Println(x.Proto, "stream", x.Stream, x.End)
	}
	// Output:
	// 200 "hello"
	// HTTP/2.0 stream 1 refused
	// HTTP/2.0 stream 3 answered
}

func ExampleGoAway() {
	t := &fakeT{}
	defer t.end()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	srv := httptestx.NewServer(t, hello, httptestx.WithProtocols(protocols))
	srv.On("/").Do(httptestx.GoAway(httptestx.ErrCodeNo, httptestx.IncludingThis), httptestx.Handle)
	get(srv)
	get(srv)
	for _, x := range srv.Exchanges() {
		fmt.Println("connection", x.Conn, x.End)
	}
	// Output:
	// connection 1 answered
	// connection 2 answered
}

func ExampleServer_OnConn() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.OnConn().Script(httptestx.Plan(httptestx.Refuse), httptestx.Plan(httptestx.NoSuchHost))
	for range 3 {
		_, err := srv.Client().Get(srv.URL)
		fmt.Println(errors.Is(err, syscall.ECONNREFUSED), err)
	}
	// Output:
	// true Get "http://httptestx.test": dial tcp 192.0.2.1:80: connect: connection refused
	// false Get "http://httptestx.test": dial tcp: lookup httptestx.test: no such host
	// false <nil>
}

// The fault stands before a server of its own.
func ExampleNewProxy() {
	upstream := httptest.NewServer(hello)
	defer upstream.Close()
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewProxy(t, upstream.URL)
	srv.On("/").First(1).Do(httptestx.Unavailable(0)...)
	fmt.Println(get(srv))
	fmt.Println(get(srv))
	// Output:
	// 503 "Service Unavailable"
	// 200 "hello"
}
