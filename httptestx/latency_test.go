package httptestx_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// latencies sends one request for each of n keys and returns what each took, and
// what its exchange says.
func latencies(t *testing.T, seed uint64, d httptestx.Dist, n int, each func(n int, f func(i int))) (took, said []time.Duration) {
	took, said = make([]time.Duration, n), make([]time.Duration, n)
	synctest.Test(t, func(t *testing.T) {
		srv := httptestx.NewServer(t, ok, httptestx.WithSeed(seed))
		srv.On("/").Per("Idempotency-Key").Do(httptestx.Latency(d), httptestx.Handle)
		each(n, func(i int) {
			began := time.Now()
			if err := send(srv, "POST", "/", fmt.Sprint(i), ""); err != nil {
				t.Error(err)
			}
			took[i] = time.Since(began)
		})
		for _, x := range srv.Exchanges() {
			var i int
			fmt.Sscan(x.Key, &i)
			said[i] = x.Latency
		}
	})
	return took, said
}

func oneByOne(n int, f func(int)) {
	for i := range n {
		f(i)
	}
}

func together(n int, f func(int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

func TestLatencyIsWhatTheClientSeesAndTheExchangeSays(t *testing.T) {
	ms := time.Millisecond
	for _, d := range []httptestx.Dist{
		httptestx.Fixed(5 * ms),
		httptestx.Uniform(ms, 9*ms),
		httptestx.LogNormal(80*ms, 2*time.Second),
		httptestx.Quantiles(httptestx.Quantile{P: 0.5, D: 20 * ms}, httptestx.Quantile{P: 1, D: time.Second}),
	} {
		t.Run(d.String(), func(t *testing.T) {
			is := is.New(t)
			serial, said := latencies(t, 42, d, 200, oneByOne)
			is.Equal(serial, said) // to the nanosecond
			parallel, _ := latencies(t, 42, d, 200, together)
			is.Equal(serial, parallel) // the same requests are slow, however many run at the same time
			other, _ := latencies(t, 43, d, 200, oneByOne)
			is.Equal(fmt.Sprint(serial) == fmt.Sprint(other), d == httptestx.Fixed(5*ms)) // another seed, other requests
		})
	}
}

func TestLatencyQuantilesAreExactWhileClientsRunTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := httptestx.NewServer(t, ok)
		srv.On("/").Do(httptestx.Latency(httptestx.Quantiles(
			httptestx.Quantile{P: 0.5, D: 20 * time.Millisecond},
			httptestx.Quantile{P: 0.99, D: 200 * time.Millisecond},
			httptestx.Quantile{P: 1, D: 2 * time.Second},
		)), httptestx.Handle)
		together(300, func(int) { statuses(t, srv, "GET /") })
		got := map[time.Duration]int{}
		for _, x := range srv.Exchanges() {
			got[x.Latency]++
		}
		is.New(t).Equal(got, map[time.Duration]int{20 * time.Millisecond: 150, 200 * time.Millisecond: 147, 2 * time.Second: 3}) // three rounds, to the request
	})
}

// TestLatencyOfAScriptIsDrawnForEachOfItsPlans: the count of the rule goes on from
// plan to plan.
func TestLatencyOfAScriptIsDrawnForEachOfItsPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		srv := httptestx.NewServer(t, ok)
		slow := httptestx.Latency(httptestx.Uniform(0, time.Hour))
		plan := httptestx.Plan(slow, slow, httptestx.Handle)
		srv.On("/").Script(plan, plan)
		statuses(t, srv, "GET /", "GET /", "GET /")
		xs := srv.Exchanges()
		is.True(xs[0].Latency != xs[1].Latency)                // another draw
		is.Equal(xs[2].Latency, time.Duration(0))              // none without a plan
		is.Equal(xs[0].Done.Sub(xs[0].Arrived), xs[0].Latency) // the sum of both steps
	})
}

func TestLatencyEndsWithTheServer(t *testing.T) {
	is := is.New(t)
	arrived := make(chan struct{})
	srv := httptestx.NewServer(t, ok)
	srv.On("/").Where(func(*http.Request) bool { close(arrived); return true }).
		Do(httptestx.Latency(httptestx.Fixed(time.Hour)), httptestx.Handle)
	failed := make(chan error)
	go func() {
		_, err := srv.Client().Get(srv.URL)
		failed <- err
	}()
	<-arrived
	srv.Close()
	is.True(<-failed != nil)                                // cut
	is.Equal(srv.Exchanges()[0].End, httptestx.EndReleased) // and not waited for
}
