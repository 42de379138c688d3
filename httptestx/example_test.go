package httptestx_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// The examples run outside of a test, so that t is a stand-in that keeps what
// would be reported. In a test it is the test's own, and end is not needed.

func Example() {
	t := &fakeT{}
	defer t.end()

	orders := 0
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		orders++
		w.WriteHeader(http.StatusCreated)
	})

	srv := httptestx.NewServer(t, handler)
	srv.On("POST /orders").Script(httptestx.LostResponse) // processed, then the answer is lost
	_, err := srv.Client().Post(srv.URL+"/orders", "application/json", strings.NewReader("{}"))

	fmt.Println("connection reset:", errors.Is(err, syscall.ECONNRESET))
	fmt.Println("orders placed:", orders)
	// Output:
	// connection reset: true
	// orders placed: 1
}

func ExampleAtMostOnce() {
	t := &fakeT{}
	defer t.end()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") })

	srv := httptestx.NewServer(t, handler)
	srv.On("POST /orders").Script(httptestx.LostResponse)

	for range 2 { // a client that tries again, whatever happened
		if resp, err := srv.Client().Post(srv.URL+"/orders", "application/json", strings.NewReader("{}")); err == nil {
			resp.Body.Close()
		}
	}
	httptestx.AtMostOnce(t, srv)

	message, _, _ := strings.Cut(t.report(), " (seed")
	fmt.Println(message)
	// Output:
	// httptestx: POST /orders happened 2 times without a key, want at most 1
}

func ExampleServer_Exchanges() {
	t := &fakeT{}
	defer t.end()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })

	srv := httptestx.NewServer(t, handler)
	srv.On("/").Script(
		httptestx.Unavailable(2*time.Second),
		httptestx.ResetBeforeHandler,
		httptestx.TruncatedBody(2),
	)
	for range 4 {
		if resp, err := srv.Client().Post(srv.URL, "text/plain", strings.NewReader("hi")); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	for _, x := range srv.Exchanges() {
		fmt.Printf("%v: handled=%t status=%d, %v, %v\n", x.Plan, x.Handled, x.Status, x.Sent, x.End)
	}
	// Output:
	// [status(503, Retry-After: 2)]: handled=false status=503, sent, answered
	// [read reset]: handled=false status=0, nothing sent, reset
	// [handle send(2) reset]: handled=true status=200, partly sent, reset
	// [handle]: handled=true status=200, sent, answered
}

// Rules are asked in order. Each idempotency key has a script of its own, so
// that concurrent calls do not disturb each other.
func ExampleRule_Per() {
	t := &fakeT{}
	defer t.end()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusCreated) })

	srv := httptestx.NewServer(t, handler)
	srv.On("POST /orders").Per("Idempotency-Key").Script(
		httptestx.TooManyRequests(time.Second),
		httptestx.Plan(httptestx.Status(503, "Retry-After", "30")),
	)
	for _, key := range []string{"a", "b", "a", "a"} {
		req, _ := http.NewRequest("POST", srv.URL+"/orders", nil)
		req.Header.Set("Idempotency-Key", key)
		resp, err := srv.Client().Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println(key, resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	// Output:
	// a 429 1
	// b 429 1
	// a 503 30
	// a 201
}

// The same requests are hit in every run with the same seed.
func ExampleRule_Prob() {
	t := &fakeT{}
	defer t.end()

	srv := httptestx.NewServer(t, http.NotFoundHandler(), httptestx.WithSeed(2))
	srv.On("/").Prob(0.3).Do(httptestx.Reset)
	for i := range 10 {
		resp, err := srv.Client().Post(srv.URL, "", nil)
		if err != nil {
			fmt.Println("request", i+1, "was reset")
			continue
		}
		resp.Body.Close()
	}
	// Output:
	// request 4 was reset
	// request 8 was reset
	// request 10 was reset
}

// A handler that knows what it did says so; a run that only repeats an earlier
// answer is then no effect.
func ExampleEffect() {
	t := &fakeT{}
	defer t.end()

	charged := map[string]bool{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key := r.Header.Get("Idempotency-Key"); !charged[key] {
			charged[key] = true
			httptestx.Effect(r, "charge")
		}
	})
	srv := httptestx.NewServer(t, handler)
	srv.On("POST /charges").Script(httptestx.LostResponse)
	for range 2 {
		req, _ := http.NewRequest("POST", srv.URL+"/charges", nil)
		req.Header.Set("Idempotency-Key", "k-17")
		if resp, err := srv.Client().Do(req); err == nil {
			resp.Body.Close()
		}
	}
	httptestx.ExactlyOnce(t, srv, "charge", "k-17")

	ledger := srv.Ledger()
	fmt.Println("arrivals:", ledger.Arrivals("k-17"))
	fmt.Println("executions:", ledger.Executions("k-17"))
	fmt.Println("charges:", ledger.Effects("charge", "k-17"))
	fmt.Println("failures:", len(t.messages))
	// Output:
	// arrivals: 2
	// executions: 2
	// charges: 1
	// failures: 0
}
