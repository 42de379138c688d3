package httptestx_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// postTimes asks n times, and puts into one line what came of it.
func postTimes(srv *httptestx.Server, n int) string {
	all := make([]string, n)
	for i := range all {
		resp, err := srv.Client().Post(srv.URL, "text/plain", strings.NewReader("hi"))
		if err != nil {
			all[i] = "failed"
			continue
		}
		resp.Body.Close()
		all[i] = fmt.Sprint(resp.StatusCode)
	}
	return strings.Join(all, " ")
}

// The second and the fifth request are refused. The second rule counts what the first one has left: its sixth is the eighth.
func ExampleRule_Nth() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.On("/").Nth(2, 5).Do(httptestx.Unavailable(0)...)
	srv.On("/").After(3).Every(3).Do(httptestx.Reset)
	fmt.Println(postTimes(srv, 8))
	// Output: 200 503 200 200 503 200 200 failed
}

// An outage that begins with the first request and ends with the third.
func ExampleRule_First() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.On("/").First(3).Do(httptestx.Unavailable(30 * time.Second)...)
	fmt.Println(postTimes(srv, 5))
	// Output: 503 503 503 200 200
}

// A window of time, counted from NewServer. In a bubble of testing/synctest an hour passes at once.
func ExampleRule_Between() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.On("/").Between(0, time.Hour).Do(httptestx.Status(503))
	fmt.Println(postTimes(srv, 2))
	// Output: 503 503
}

// One customer has bad luck.
func ExampleRule_Where() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.On("GET /orders/{id}").
		Where(func(r *http.Request) bool { return r.PathValue("id") == "13" }).
		Header("Accept", "text/plain").
		Do(httptestx.Plan(httptestx.Delay(time.Millisecond), httptestx.Status(500))...)
	for _, id := range []string{"12", "13"} {
		req, _ := http.NewRequest("GET", srv.URL+"/orders/"+id, nil)
		req.Header.Set("Accept", "text/plain")
		resp, err := srv.Client().Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println(id, resp.StatusCode)
	}
	// Output:
	// 12 200
	// 13 500
}

// A plan that is worked out for each request: it gets worse.
func ExampleRule_Func() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.On("/").Func(func(_ *http.Request, n int) []httptestx.Step {
		switch n {
		case 1:
			return nil // left to the handler
		case 2:
			return httptestx.Plan(httptestx.Status(500))
		}
		return httptestx.Plan(httptestx.Read, httptestx.Reset)
	})
	fmt.Println(postTimes(srv, 3))
	// Output: 200 500 failed
}

// A distribution is a value that says what it is.
func ExampleDist() {
	for _, d := range []httptestx.Dist{
		httptestx.Fixed(20 * time.Millisecond),
		httptestx.Uniform(time.Millisecond, 5*time.Millisecond),
		httptestx.LogNormal(80*time.Millisecond, 2*time.Second),
	} {
		fmt.Println(httptestx.Latency(d))
	}
	// Output:
	// latency(fixed(20ms))
	// latency(uniform(1ms, 5ms))
	// latency(lognormal(80ms, p99 2s))
}
