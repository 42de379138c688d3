package httptestx_test

import (
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

func TestGuideLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := httptestx.NewServer(t, hello)
		srv.On("GET /real").Do(httptestx.Latency(httptestx.LogNormal(80*time.Millisecond, 2*time.Second)), httptestx.Handle)
		srv.On("GET /exact").Do(httptestx.Latency(httptestx.Quantiles(
			httptestx.Quantile{P: 0.99, D: 20 * time.Millisecond}, // of each 100 requests 99
			httptestx.Quantile{P: 1, D: 3 * time.Second},          // and one
		)), httptestx.Handle)

		is := is.New(t)
		slow := 0
		for range 200 {
			is.Equal(fetch(srv, "/exact"), "200 hello") // answered
		}
		for _, x := range srv.Exchanges() {
			if x.Latency == 3*time.Second {
				slow++
			}
		}
		is.Equal(slow, 2) // of 200, exactly
		is.Equal(fetch(srv, "/real"), "200 hello")
	})
}

func TestGuideProbability(t *testing.T) {
	handler := hello
	srv := httptestx.NewServer(t, handler, httptestx.WithSeed(42))
	srv.On("GET /").Prob(0.1).Do(httptestx.ResetBeforeHandler...)

	is := is.New(t)
	lost := 0
	for i := range 100 {
		req, _ := http.NewRequest("GET", srv.URL, nil)
		req.Header.Set("X-Number", fmt.Sprint(i))
		if resp, err := srv.Client().Do(req); err == nil {
			resp.Body.Close()
		} else {
			lost++
		}
	}
	is.True(lost > 0 && lost < 30) // about ten, in every run the same
}

func TestGuideScriptPerKey(t *testing.T) {
	srv := httptestx.NewServer(t, place)
	srv.On("POST /orders").Per("Idempotency-Key").Script(
		httptestx.LostResponse,                   // the first attempt of each key
		httptestx.TooManyRequests(5*time.Second), // the second
	) // and the handler from the third on

	is := is.New(t)
	for _, key := range []string{"a", "b"} {
		is.Equal(ask(t, srv, "POST", "/orders", key, "{}"), "read: connection reset by peer")
		is.Equal(ask(t, srv, "POST", "/orders", key, "{}"), "429 Too Many Requests")
		is.Equal(ask(t, srv, "POST", "/orders", key, "{}"), "201 placed") // each key for itself
		srv.Client().CloseIdleConnections()                               // on a used one net/http repeats a request with a key by itself
	}
}

func TestGuideSelection(t *testing.T) {
	srv := httptestx.NewServer(t, hello)
	srv.On("GET /a/{id}").Nth(2, 4).Do(httptestx.Status(500))           // the second and the fourth
	srv.On("GET /b").First(3).Do(httptestx.Status(500))                 // the first three
	srv.On("GET /c").After(1).Every(2).Do(httptestx.Status(500))        // all conditions must hold
	srv.On("GET /d").Header("X-Tenant", "t1").Do(httptestx.Status(500)) // some of them
	srv.On("GET /e").Where(func(r *http.Request) bool { return r.URL.Query().Has("x") }).Do(httptestx.Status(500))

	is := is.New(t)
	for request, want := range map[string]string{
		"/a/1": "[200 500 200 500]", "/b": "[500 500 500 200]", "/c": "[200 500 200 500]",
		"/d X-Tenant=t1": "[500 500 500 500]", "/d": "[200 200 200 200]", "/e?x": "[500 500 500 500]", "/e": "[200 200 200 200]",
	} {
		line := "GET " + request
		is.Equal(fmt.Sprint(statuses(t, srv, line, line, line, line)), want) // of four
	}
}

var handler = hello

func TestOutageOfAMinuteCostsNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := httptestx.NewServer(t, handler) // inside of the bubble
		srv.On("/").Between(10*time.Second, 70*time.Second).Do(httptestx.Unavailable(0)...)
		time.Sleep(30 * time.Second) // at once: time is virtual
		resp, err := srv.Client().Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 503 {
			t.Error("the outage is over too early")
		}
	})
}

func TestGuideIdempotency(t *testing.T) {
	handler := place
	srv := httptestx.NewServer(t, httptestx.Idempotent(handler)) // repeats the first answer to a key
	srv.On("POST /orders").Script(httptestx.LostResponse)
	for range 2 { // the client under test: it tries again with the same key
		req, _ := http.NewRequest("POST", srv.URL+"/orders", strings.NewReader("{}"))
		req.Header.Set("Idempotency-Key", "k-17")
		if resp, err := srv.Client().Do(req); err == nil {
			resp.Body.Close()
		}
	}
	httptestx.AtMostOnce(t, srv)                          // no call acted twice
	httptestx.ExactlyOnce(t, srv, "POST /orders", "k-17") // this one acted
	httptestx.Arrivals(t, srv, "POST /orders", 2)         // in two requests

	is := is.New(t)
	is.Equal(srv.Ledger().Replays("k-17"), 1) // the second got the first answer
}

func TestGuideConnectionsAreUsedAgain(t *testing.T) {
	srv := httptestx.NewServer(t, hello)
	for range 3 { // the client under test, in a loop
		resp, err := srv.Client().Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if n := srv.Connections(); n != 1 {
		t.Errorf("%d connections for one client: is every body read and closed?", n)
	}
}

func TestGuideExchanges(t *testing.T) {
	srv := httptestx.NewServer(t, place)
	srv.On("POST /orders").Script(httptestx.LostResponse)
	resp, err := srv.Client().Post(srv.URL+"/orders", "application/json", strings.NewReader("{}"))
	for _, x := range srv.Exchanges() {
		t.Log(x.Method, x.Path, x.Plan, x.Read, x.Handled, x.Status, x.Sent, x.End)
	}

	is := is.New(t)
	is.True(resp == nil && err != nil) // lost
	x := srv.Exchanges()[0]
	is.Equal(fmt.Sprintln(x.Method, x.Path, x.Plan, x.Read, x.Handled, x.Status, x.Sent, x.End),
		"POST /orders [handle reset] read true 0 nothing sent reset\n") // as the guide shows it
}
