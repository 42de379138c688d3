package httptestx_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// get puts into words what a client sees.
func get(srv *httptestx.Server) string { return getPath(srv, "") }

func getPath(srv *httptestx.Server, path string) string {
	resp, err := srv.Client().Get(srv.URL + path)
	if err != nil {
		return errWords(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Sprintf("%d %q, then %s", resp.StatusCode, body, errWords(err))
	}
	return fmt.Sprintf("%d %q", resp.StatusCode, body)
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })

// Of each ten requests exactly one is slow. Which one is decided by the seed.
func ExampleLatency() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.On("/").Do(httptestx.Latency(httptestx.Quantiles(
		httptestx.Quantile{P: 0.9, D: time.Millisecond},
		httptestx.Quantile{P: 1, D: 30 * time.Millisecond},
	)), httptestx.Handle)

	for range 20 {
		get(srv)
	}
	slow := 0
	for _, x := range srv.Exchanges() {
		if x.Latency == 30*time.Millisecond {
			slow++
		}
	}
	fmt.Println("slow:", slow)
	// Output: slow: 2
}

func ExampleMalformed() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.On("/").Script(
		httptestx.Plan(httptestx.Handle, httptestx.Malformed(httptestx.Chunk)), // processed
		httptestx.Plan(httptestx.Malformed(httptestx.StatusLine)),              // not processed
		httptestx.Plan(httptestx.Handle, httptestx.Malformed(httptestx.Gzip)),
	)
	for range 3 {
		fmt.Println(get(srv))
	}
	// Output:
	// 200 "he", then invalid byte in chunk length
	// net/http: HTTP/1.x transport connection broken: malformed HTTP status code "many"
	// 200 "hello", then gzip: invalid checksum
}

// The headers of this answer never end.
func ExampleSendRaw() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.On("/").Do(
		httptestx.Read,
		httptestx.SendRaw([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n")),
		httptestx.Close,
	)
	fmt.Println(get(srv))
	// Output: unexpected EOF
}

func ExampleSlow() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.On("/").Do(httptestx.Handle, httptestx.Slow(2, 10*time.Millisecond))

	began := time.Now()
	fmt.Println(get(srv))
	fmt.Println("slow:", time.Since(began) >= 20*time.Millisecond)
	// Output:
	// 200 "hello"
	// slow: true
}

// The answer to the charge is lost. The client asks again, and is told of the charge
// it has made already.
func ExampleIdempotent() {
	t := &fakeT{}
	defer t.end()
	charges := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "charged")
	})
	srv := httptestx.NewServer(t, httptestx.Idempotent(charges))
	srv.On("POST /charges").Script(httptestx.LostResponse)

	for range 2 {
		req, _ := http.NewRequest("POST", srv.URL+"/charges", strings.NewReader(`{"amount":1}`))
		req.Header.Set("Idempotency-Key", "k-17")
		resp, err := srv.Client().Do(req)
		if err != nil {
			fmt.Println(errWords(err))
			continue
		}
		resp.Body.Close()
		fmt.Println(resp.StatusCode, resp.Header.Get("Idempotent-Replayed"))
	}
	httptestx.ExactlyOnce(t, srv, "POST /charges", "k-17")

	l := srv.Ledger()
	fmt.Println("executions:", l.Executions("k-17"), "replays:", l.Replays("k-17"), "failures:", len(t.messages))
	// Output:
	// read: connection reset by peer
	// 201 true
	// executions: 1 replays: 1 failures: 0
}
