package httptestx_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// dispatches counts what a client gives to its transport: what arrives beyond that, the transport has sent
// again by itself.
type dispatches struct {
	base http.RoundTripper
	n    atomic.Int64
}

func (d *dispatches) RoundTrip(r *http.Request) (*http.Response, error) {
	d.n.Add(1)
	return d.base.RoundTrip(r)
}

// retrying sends each request up to four times, as long as there is no answer with a status below 500.
type retrying struct {
	base   http.RoundTripper
	opaque bool // the transport gets no GetBody
	number bool // the attempts are counted in a header
	wait   time.Duration
}

func (c retrying) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	for i := range 4 {
		attempt := r.Clone(r.Context())
		if r.GetBody != nil {
			attempt.Body, _ = r.GetBody()
		}
		if c.opaque {
			attempt.GetBody = nil
		}
		if c.number {
			attempt.Header.Set("X-Attempt", fmt.Sprint(i+1))
		}
		if i > 0 {
			time.Sleep(c.wait)
		}
		if resp, err = c.base.RoundTrip(attempt); err == nil {
			if resp.StatusCode < 500 {
				return resp, nil
			}
			resp.Body.Close()
		}
	}
	return resp, err
}

// sent is a call of a client: a key if it is to have one, and whether a connection has been used before.
type sent struct {
	method string
	key    bool
	warm   bool
}

func (c sent) do(client *http.Client, url string) {
	if c.warm {
		if resp, err := client.Get(url + "/warm"); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	var body io.Reader
	if c.method == "POST" {
		body = strings.NewReader("{}")
	}
	req, _ := http.NewRequest(c.method, url+"/orders", body)
	if c.key {
		req.Header.Set("Idempotency-Key", "k")
	}
	if resp, err := client.Do(req); err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

var (
	warmGET   = sent{"GET", false, true}
	warmPOST  = sent{"POST", false, true}
	keyedPOST = sent{"POST", true, true}
	coldPOST  = sent{"POST", true, false}
)

// resends are faults, and how often a bare client's transport answers them by sending again.
var resends = []struct {
	name   string
	http2  bool
	call   sent
	script [][]httptestx.Step
	want   int
}{
	{"a used connection is reset", false, keyedPOST, repeat(httptestx.ResetBeforeHandler, 5), 1},
	{"a used connection is closed", false, keyedPOST, repeat(httptestx.LostResponseEOF, 5), 1},
	{"a used connection is reset under a GET", false, warmGET, repeat(httptestx.ResetBeforeHandler, 5), 1},
	{"a used connection is reset under a POST without a key", false, warmPOST, repeat(httptestx.LostResponse, 5), 0},
	{"a fresh connection is reset", false, coldPOST, repeat(httptestx.LostResponse, 5), 0},
	{"a used connection ends in the headers", false, keyedPOST, repeat(httptestx.TruncatedBody(0), 5), 0},
	{"a used connection ends after a 1xx", false, keyedPOST, repeat(httptestx.Plan(httptestx.Read, httptestx.Informational(103), httptestx.Reset), 5), 0},
	{"an answer of 503", false, keyedPOST, repeat(httptestx.Unavailable(0), 5), 0},

	{"streams are refused", true, coldPOST, repeat(httptestx.Plan(httptestx.RefuseStream), 3), 3},
	{"streams are refused without a key", true, warmPOST, repeat(httptestx.Plan(httptestx.RefuseStream), 3), 3},
	{"connections go away", true, coldPOST, repeat(httptestx.Plan(httptestx.GoAway(httptestx.ErrCodeNo, httptestx.BeforeThis)), 3), 3},
	{"a used connection goes away with an error", true, keyedPOST, repeat(httptestx.Plan(httptestx.GoAway(httptestx.ErrCodeInternal, httptestx.BeforeThis)), 3), 1},
	{"a fresh connection goes away with an error", true, coldPOST, repeat(httptestx.Plan(httptestx.GoAway(httptestx.ErrCodeInternal, httptestx.BeforeThis)), 3), 0},
	{"streams are reset with PROTOCOL_ERROR", true, coldPOST, repeat(httptestx.Plan(httptestx.ResetStream(httptestx.ErrCodeProtocol)), 3), 3},
	{"streams are reset with another code", true, keyedPOST, repeat(httptestx.Plan(httptestx.ResetStream(httptestx.ErrCodeInternal)), 3), 0},
	{"used connections are reset", true, keyedPOST, repeat(httptestx.LostResponse, 3), 0},
	{"used connections are closed", true, keyedPOST, repeat(httptestx.LostResponseEOF, 3), 0},
}

func repeat(plan []httptestx.Step, n int) (script [][]httptestx.Step) {
	for range n {
		script = append(script, plan)
	}
	return script
}

// TestResentIsWhatTheTransportHasSentByItself compares with the truth, which only the client knows: with a
// bare client, and with those that send again as well.
func TestResentIsWhatTheTransportHasSentByItself(t *testing.T) {
	clients := map[string]func(http.RoundTripper) http.RoundTripper{
		"bare":              func(base http.RoundTripper) http.RoundTripper { return base },
		"retrying":          func(base http.RoundTripper) http.RoundTripper { return retrying{base: base} },
		"retrying later":    func(base http.RoundTripper) http.RoundTripper { return retrying{base: base, wait: time.Second} },
		"counting attempts": func(base http.RoundTripper) http.RoundTripper { return retrying{base: base, number: true} },
		"opaque, counting": func(base http.RoundTripper) http.RoundTripper {
			return retrying{base: base, opaque: true, number: true}
		},
	}
	for _, tt := range resends {
		for _, p := range wireProtocols {
			if tt.http2 != (p.text == "HTTP/2.0") {
				continue
			}
			for name, above := range clients {
				t.Run(fmt.Sprintf("%s/%s/%s", tt.name, p.name, name), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						is := is.New(t)
						srv := p.memory(t, place, httptestx.WithAttemptHeader("X-Attempt"))
						srv.On("/orders").Script(tt.script...)
						count := &dispatches{base: srv.Client().Transport}
						tt.call.do(&http.Client{Transport: above(count)}, srv.URL)
						beyond := len(srv.Exchanges()) - int(count.n.Load())
						is.Equal(len(srv.Ledger().Resent()), beyond) // what arrived, less what the client gave to its transport
						if name == "bare" {
							is.Equal(beyond, tt.want) // as net/http is known to do
						}
					})
				})
			}
		}
	}
}

func TestResentIsTheSameOnKernelSockets(t *testing.T) {
	for _, tt := range resends {
		for _, p := range wireProtocols {
			if tt.http2 == (p.text == "HTTP/2.0") && tt.want == 1 { // one by one, without the pauses of HTTP/2
				t.Run(tt.name+"/"+p.name, func(t *testing.T) {
					is := is.New(t)
					srv := p.loopback(t, place)
					srv.On("/orders").Script(tt.script...)
					count := &dispatches{base: srv.Client().Transport}
					tt.call.do(&http.Client{Transport: retrying{base: count}}, srv.URL)
					is.Equal(len(srv.Ledger().Resent()), len(srv.Exchanges())-int(count.n.Load())) // as in memory
				})
			}
		}
	}
}

// TestResentFollowsAChainOfDeadConnections: each of two idle connections is dead when it is used.
func TestResentFollowsAChainOfDeadConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, place)
		srv.On("/warm").Do(httptestx.Delay(time.Second), httptestx.Handle)
		srv.On("/orders").Script(repeat(httptestx.ResetBeforeHandler, 2)...)
		for range 2 {
			go send(srv, "GET", "/warm", "", "")
		}
		time.Sleep(2 * time.Second)
		is.NoErr(send(srv, "POST", "/orders", "k", "{}")) // it does not notice
		resent := srv.Ledger().Resent()
		is.Equal(len(resent), 2)                                   // for each of the two
		is.Equal([]int{resent[0].Seq, resent[1].Seq}, []int{4, 5}) // one after the other
	})
}

// TestResentKnowsARequestByItsHeader: what the transport sends again is the same to the letter.
func TestResentKnowsARequestByItsHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, place)
		srv.On("/orders").Script(httptestx.ResetBeforeHandler)
		count := &dispatches{base: srv.Client().Transport}
		traced := retrying{base: count, opaque: true, number: true} // the server is not told of the number
		keyedPOST.do(&http.Client{Transport: traced}, srv.URL)
		is.Equal([]int{len(srv.Exchanges()), int(count.n.Load())}, []int{3, 3}) // by the client alone
		is.Equal(len(srv.Ledger().Resent()), 0)                                 // for the header differs
	})
}

// TestResentCannotTellAnUnchangedRetry: a client that takes GetBody from its transport, and repeats the request
// to the letter, looks to a server as net/http does. That is why it is said that it may be.
func TestResentCannotTellAnUnchangedRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, place)
		srv.On("/orders").Script(repeat(httptestx.ResetBeforeHandler, 3)...)
		count := &dispatches{base: srv.Client().Transport}
		keyedPOST.do(&http.Client{Transport: retrying{base: count, opaque: true}}, srv.URL)
		is.Equal(len(srv.Exchanges()), int(count.n.Load())) // net/http has sent none
		is.Equal(len(srv.Ledger().Resent()), 1)             // but one is taken for its own, and not three
	})
}

// TestResentIsNotWhatFollowsATimeout: the client has ended the exchange itself.
func TestResentIsNotWhatFollowsATimeout(t *testing.T) {
	for _, p := range wireProtocols {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			srv := p.memory(t, place)
			srv.On("/orders").Script(httptestx.Stall)
			send(srv, "GET", "/warm", "", "")
			for range 2 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				req, _ := http.NewRequestWithContext(ctx, "POST", srv.URL+"/orders", strings.NewReader("{}"))
				req.Header.Set("Idempotency-Key", "k")
				if resp, err := srv.Client().Do(req); err == nil {
					resp.Body.Close()
				}
				cancel()
			}
			is.Equal(srv.Ledger().Arrivals("k"), 2) // by the client
			is.Equal(len(srv.Ledger().Resent()), 0) // which had given up
		})
	}
}
