package httptestx_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// trouble is a server with a rule of each kind that draws, and steps of all kinds.
func trouble(srv *httptestx.Server) {
	lognormal := httptestx.Latency(httptestx.LogNormal(80*time.Millisecond, 2*time.Second))
	srv.On("/").Nth(5).Do(httptestx.Plan(httptestx.Informational(103), httptestx.Handle, httptestx.Malformed(httptestx.Gzip))...)
	srv.On("/").Per("Idempotency-Key").Prob(0.3).Do(lognormal, httptestx.Handle, httptestx.Reset)
	srv.On("/").Prob(0.3).Do(httptestx.Latency(httptestx.Uniform(0, time.Second)), httptestx.Malformed(httptestx.Chunk))
	srv.On("/").Every(3).Do(httptestx.Slow(2, time.Second), httptestx.SendRaw([]byte("HTTP/1.1 20")), httptestx.Close)
	srv.On("/").Every(2).Do(httptestx.Handle, httptestx.SendHeaders, lognormal, httptestx.Slow(4, time.Second))
	srv.On("/").Do(httptestx.Latency(httptestx.Quantiles(
		httptestx.Quantile{P: 0.5, D: time.Millisecond}, httptestx.Quantile{P: 1, D: time.Second})), httptestx.Handle)
}

func TestWholeLogIsTheSameInEveryRun(t *testing.T) {
	is := is.New(t)
	logs := make(map[string]int)
	for range 50 {
		logs[reports(t, place, func(ft *fakeT, srv *httptestx.Server) {
			trouble(srv)
			for i := range 30 {
				send(srv, []string{"GET", "POST", "PUT"}[i%3], "/orders", fmt.Sprint("k", i%7), "{}")
			}
			httptestx.AtMostOnce(ft, srv)
			httptestx.Arrivals(ft, srv, "/", 0)
		})]++
	}
	if len(logs) > 1 {
		for log, n := range logs {
			t.Logf("%d times:\n%s", n, log)
		}
	}
	is.Equal(len(logs), 1) // to the byte
}

// troubleOnHTTP2 is trouble for streams.
func troubleOnHTTP2(srv *httptestx.Server) {
	lognormal := httptestx.Latency(httptestx.LogNormal(80*time.Millisecond, 2*time.Second))
	srv.On("/").Nth(5).Do(httptestx.Plan(httptestx.Informational(103), httptestx.Handle, httptestx.Malformed(httptestx.Gzip))...)
	srv.On("/").Nth(7).Do(httptestx.Handle, httptestx.Malformed(httptestx.BadHPACK))
	srv.On("/").Per("Idempotency-Key").Prob(0.3).Do(lognormal, httptestx.Handle, httptestx.ResetStream(httptestx.ErrCodeInternal))
	srv.On("/").Prob(0.3).Do(httptestx.Latency(httptestx.Uniform(0, time.Second)), httptestx.GoAway(httptestx.ErrCodeNo, httptestx.BeforeThis))
	srv.On("/").Every(3).Do(httptestx.RefuseStream)
	srv.On("/").Every(2).Do(httptestx.Handle, httptestx.SendHeaders, lognormal, httptestx.Slow(4, time.Second))
}

func TestWholeLogIsTheSameInEveryRunOnHTTP2(t *testing.T) {
	for _, p := range wireProtocols[2:] {
		t.Run(p.name, func(t *testing.T) {
			is := is.New(t)
			logs := make(map[string]int)
			for range 50 {
				synctest.Test(t, func(t *testing.T) {
					ft := newFakeT(t)
					srv := p.memory(ft, place, httptestx.WithSeed(0x51f3))
					troubleOnHTTP2(srv)
					for i := range 30 {
						send(srv, []string{"GET", "POST", "PUT"}[i%3], "/orders", fmt.Sprint("k", i%7), "{}")
						synctest.Wait() // a client that has not seen the end of a connection may open one that it does not use
					}
					httptestx.AtMostOnce(ft, srv)
					httptestx.Arrivals(ft, srv, "/", 0)
					logs[ft.report()]++
					ft.end()
				})
			}
			if len(logs) > 1 {
				for log, n := range logs {
					t.Logf("%d times:\n%s", n, log)
				}
			}
			is.Equal(len(logs), 1) // to the byte
		})
	}
}

// fate is what a request met, without what may depend on the order of clients.
type fate struct {
	plan    string
	latency time.Duration
	handled bool
	status  int
	end     httptestx.EndState
}

// TestDecisionsDoNotDependOnConcurrency sends 200 calls of two requests, one after
// the other and all together. They have no idempotency key, with which net/http
// would send some again, on used connections only.
func TestDecisionsDoNotDependOnConcurrency(t *testing.T) {
	is := is.New(t)
	fates := func(each func(int, func(int))) map[string]fate {
		got := make(map[string]fate)
		reports(t, place, func(ft *fakeT, srv *httptestx.Server) {
			per := srv.On("/").Per("X-Attempt")
			per.Prob(0.2).Do(httptestx.Latency(httptestx.LogNormal(time.Millisecond, time.Second)), httptestx.Handle, httptestx.Reset)
			per.Prob(0.2).Do(httptestx.Latency(httptestx.Uniform(0, time.Second)), httptestx.Malformed(httptestx.Header))
			per.Script(httptestx.Unavailable(0))
			per.Func(func(r *http.Request, n int) []httptestx.Step {
				return httptestx.Plan(httptestx.Latency(httptestx.Quantiles(
					httptestx.Quantile{P: 0.9, D: time.Millisecond}, httptestx.Quantile{P: 1, D: time.Minute})), httptestx.Handle)
			})
			each(200, func(i int) {
				for range 2 {
					attempt(srv, "/", "", fmt.Sprint(i))
				}
			})
			times := make(map[string]int)
			for _, x := range srv.Exchanges() {
				times[x.Attempt]++
				got[fmt.Sprint(x.Attempt, ".", times[x.Attempt])] = fate{fmt.Sprint(x.Plan), x.Latency, x.Handled, x.Status, x.End}
			}
		})
		return got
	}
	serial, parallel := fates(oneByOne), fates(together)
	is.Equal(len(serial), 400)            // all of them
	is.True(maps.Equal(serial, parallel)) // the same for the same request
	plans := make(map[string]bool)
	for _, f := range serial {
		plans[f.plan] = true
	}
	is.Equal(len(plans), 4) // and each of the rules had its share
}
