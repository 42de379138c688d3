package httptestx_test

import (
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// A transport of the test's own connects by DialContext, whatever the address.
func ExampleServer_DialContext() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	transport := &http.Transport{DialContext: srv.DialContext}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("http://inventory.example/")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode, srv.Exchanges()[0].Host)
	// Output: 200 inventory.example
}

// For clients in other processes there is a port, here with TLS. They have to trust its authority.
func ExampleServer_StartTLS() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello, httptestx.WithAddress("127.0.0.1:0"))
	srv.StartTLS()
	trusted := x509.NewCertPool()
	trusted.AddCert(srv.RootCA())
	fmt.Println(strings.HasPrefix(srv.URL, "https://127.0.0.1:"), get(srv))
	// Output: true 200 "hello"
}

// The same without TLS.
func ExampleServer_Start() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.Start()
	fmt.Println(get(srv), srv.Connections())
	// Output: 200 "hello" 1
}

// In memory, with TLS and HTTP/2.
func ExampleWithProtocols() {
	t := &fakeT{}
	defer t.end()
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	srv := httptestx.NewServer(t, hello, httptestx.WithTLS(), httptestx.WithProtocols(protocols))
	fmt.Println(get(srv), srv.Exchanges()[0].Proto)
	// Output: 200 "hello" HTTP/2.0
}

// Requests are counted by idempotency key, or by a header that is named.
func ExampleServer_Ledger() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, httptestx.Idempotent(hello), httptestx.WithKeyHeader("Order"), httptestx.WithAttemptHeader("Attempt"))
	for i, order := range []string{"a", "b", "a", "a"} {
		req, _ := http.NewRequest("POST", srv.URL, strings.NewReader(strings.Repeat("book ", 1+i/3))) // the last one is another order
		req.Header.Set("Order", order)
		req.Header.Set("Attempt", "1")
		if resp, err := srv.Client().Do(req); err == nil {
			resp.Body.Close()
		}
	}
	ledger := srv.Ledger()
	for _, key := range ledger.Keys() {
		fmt.Println(key, ledger.Arrivals(key), ledger.Executions(key), ledger.Replays(key), ledger.Conflicts(key))
	}
	fmt.Println(len(ledger.Resent()))
	// Output:
	// a 3 1 1 1
	// b 1 1 0 0
	// 0
}

// A call that is asked to be made once, and is.
func ExampleExactlyOnce() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { httptestx.Effect(r, "charge") }))
	req, _ := http.NewRequest("POST", srv.URL, nil)
	req.Header.Set("Idempotency-Key", "order 7")
	if resp, err := srv.Client().Do(req); err == nil {
		resp.Body.Close()
	}
	httptestx.ExactlyOnce(t, srv, "charge", "order 7")
	httptestx.Arrivals(t, srv, "POST /", 1)
	fmt.Printf("%q\n", t.report())
	// Output: ""
}

// Rules that were never met fail the test.
func ExampleStrict() {
	t := &fakeT{}
	srv := httptestx.NewServer(t, hello, httptestx.Strict())
	srv.On("POST /orders").Script(httptestx.LostResponse)
	fmt.Println(get(srv))
	t.end()
	fmt.Println(strings.Contains(t.report(), "POST /orders"))
	// Output:
	// 200 "hello"
	// true
}

// A program that serves for long remembers the last exchanges only.
func ExampleWithLastExchanges() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello, httptestx.WithLastExchanges(2))
	for range 5 {
		get(srv)
	}
	for _, x := range srv.Wait(2) {
		fmt.Println(x.Seq, x.Read == httptestx.ReadComplete, x.Sent == httptestx.SentComplete, x.End == httptestx.EndOK)
	}
	// Output:
	// 4 true true true
	// 5 true true true
}

// 103 comes first, then a silence, then headers, and the body after them.
func ExampleInformational() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.On("/").Do(
		httptestx.Informational(103, "Link", "</style.css>"), httptestx.Delay(time.Millisecond),
		httptestx.Handle, httptestx.SendHeaders, httptestx.Send(5),
	)
	req, _ := http.NewRequest("GET", srv.URL, nil)
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			fmt.Println(code, header.Get("Link"))
			return nil
		},
	}))
	resp, err := srv.Client().Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(body))
	// Output:
	// 103 </style.css>
	// 200 hello
}

// The stream is reset, the connection lives on.
func ExampleResetStream() {
	t := &fakeT{}
	defer t.end()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	srv := httptestx.NewServer(t, hello, httptestx.WithProtocols(protocols))
	srv.On("/").Script(httptestx.Plan(httptestx.Handle, httptestx.ResetStream(httptestx.ErrCodeInternal)))
	fmt.Println(get(srv))
	fmt.Println(get(srv), srv.Connections())
	// Output:
	// stream error: stream ID 1; INTERNAL_ERROR; received from peer
	// 200 "hello" 1
}

// A server that refuses what it has processed, against the RFC.
func ExampleDishonest() {
	t := &fakeT{}
	defer t.end()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	srv := httptestx.NewServer(t, hello, httptestx.WithProtocols(protocols), httptestx.Dishonest())
	srv.On("/").Script(httptestx.Plan(httptestx.Handle, httptestx.RefuseStream))
	fmt.Println(get(srv)) // net/http believes it, and asks again
	for _, x := range srv.Exchanges() {
		fmt.Println(x.Handled, x.End)
	}
	// Output:
	// 200 "hello"
	// true refused
	// true answered
}

// The handshake of the first connection fails; alert 80 is internal_error.
func ExampleHandshakeFail() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello, httptestx.WithTLS())
	srv.OnConn().First(1).Do(httptestx.HandshakeFail(80))
	fmt.Println(get(srv))
	fmt.Println(get(srv))
	// Output:
	// tls: internal error
	// 200 "hello"
}

// The headers come at once, the body later; then a client that does not wait for ever.
func ExampleSlowBody() {
	t := &fakeT{}
	defer t.end()
	srv := httptestx.NewServer(t, hello)
	srv.On("/").Script(httptestx.SlowBody(time.Millisecond), httptestx.Stall)
	fmt.Println(get(srv))
	srv.Client().Timeout = time.Millisecond
	_, err := srv.Client().Get(srv.URL)
	fmt.Println(err != nil, srv.Wait(2)[1].End == httptestx.EndClientGone)
	// Output:
	// 200 "hello"
	// true true
}
