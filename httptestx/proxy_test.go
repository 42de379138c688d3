package httptestx_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// realServer returns the URL of a server that says what it was asked, and its count of requests.
func realServer(t *testing.T) (string, func() int) {
	var n atomic.Int32
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		body, _ := io.ReadAll(r.Body)
		if !r.Close {
			panic("the proxy keeps a connection, on which net/http could repeat requests")
		}
		w.Header().Set("X-Real", "yes")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	}))
	t.Cleanup(real.Close)
	return real.URL, func() int {
		real.Close() // and so waits
		return int(n.Load())
	}
}

func TestProxyPutsFaultsBeforeARealServer(t *testing.T) {
	for _, p := range wireProtocols {
		t.Run(p.name, func(t *testing.T) {
			is := is.New(t)
			upstream, count := realServer(t)
			set := p.options()
			if p.tls {
				set = append(set, httptestx.WithTLS())
			}
			srv := httptestx.NewProxy(t, upstream+"/v1", set...)
			srv.On("POST /orders").Script(
				httptestx.LostResponse, httptestx.Unavailable(0), httptestx.TruncatedBody(4),
			)
			var saw []string
			for range 4 {
				saw = append(saw, strings.Split(postOrder(t.Context(), srv), reset)[0])
			}
			is.Equal(saw, []string{
				"", `503 after "": "Service Unavailable"`, `201 after "": "POST", `, `201 after "": "POST /v1/orders {\"item\":1}"`,
			}) // each fault in turn, then the answer
			is.Equal(count(), 3) // the refusal did not get there, the lost one did
		})
	}
}

func TestProxyStreams(t *testing.T) {
	is := is.New(t)
	more := make(chan bool)
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "11")
		io.WriteString(w, "first")
		http.NewResponseController(w).Flush()
		<-more
	}))
	defer real.Close()
	srv := httptestx.NewProxy(t, real.URL)
	resp, err := srv.Client().Get(srv.URL)
	is.NoErr(err) // answered
	_, err = io.ReadFull(resp.Body, make([]byte, 5))
	is.NoErr(err) // the beginning is there before the end
	close(more)
	resp.Body.Close()
}

func TestProxySaysThatUpstreamIsDown(t *testing.T) {
	is := is.New(t)
	upstream, stop := realServer(t)
	stop()
	srv := httptestx.NewProxy(t, upstream)
	saw := fetch(srv, "/")
	is.True(strings.HasPrefix(saw, "502 dial tcp")) // with the reason
}

func TestProxyLetsUpstreamGoWithTheClient(t *testing.T) {
	is := is.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan bool)
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
		close(left)
	}))
	defer real.Close()
	srv := httptestx.NewProxy(t, real.URL)
	req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL, nil)
	_, err := srv.Client().Do(req)
	is.True(err != nil)                // the client has left
	<-left                             // and upstream hears of it
	is.Equal(srv.Wait(1)[0].Status, 0) // no answer is made up
}

func TestProxyWithoutAnUpstreamFailsTheTest(t *testing.T) {
	for _, upstream := range []string{"", "127.0.0.1:80", "/path", "http://"} {
		is := is.New(t)
		got := fatal(func() { httptestx.NewProxy(newFakeT(t), upstream) })
		is.Equal(got, fmt.Sprintf("httptestx: NewProxy: upstream %q is not a URL such as http://127.0.0.1:8080", upstream)) // at once
	}
}
