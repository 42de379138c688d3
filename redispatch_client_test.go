package resilient_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// A breakable is a network whose connections can be broken while they are idle,
// without the client noticing before it writes.
type breakable struct {
	dial dialer
	mu   sync.Mutex
	all  []*brittleConn
}

type brittleConn struct {
	net.Conn
	broken atomic.Bool
}

func (b *breakable) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := b.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := &brittleConn{Conn: conn}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, c)
	return c, nil
}

// breakAll breaks the connections that there are; new ones work.
func (b *breakable) breakAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.all {
		c.broken.Store(true)
	}
}

func (c *brittleConn) Write(p []byte) (int, error) {
	if c.broken.Load() {
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
	}
	return c.Conn.Write(p)
}

// warm makes a client whose pool holds a connection that has been used.
func (w *world) warm(b resilient.Builder) (*http.Client, *breakable) {
	w.Helper()
	network := &breakable{dial: w.DialContext}
	base := &http.Transport{DialContext: network.DialContext}
	w.Cleanup(base.CloseIdleConnections)
	c := w.over(base, b)
	resp, err := c.Get(w.URL)
	if err != nil {
		w.Fatal(err)
	}
	read(w.T, resp)
	return c, network
}

// echoing answers with the body of the request.
func echoing() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = rw.Write(body)
	})
}

// It is what net/http does by itself where we let it. A Conservative
// client would not repeat this POST otherwise, nor would one without retries.
func TestRequestOverADeadPooledConnectionIsSentAgainForFree(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]func(resilient.Builder) resilient.Builder{
		"without retries": func(b resilient.Builder) resilient.Builder { return b.Retry(resilient.Off) },
		"with retries":    func(b resilient.Builder) resilient.Builder { return b },
		"no budget left": func(b resilient.Builder) resilient.Builder {
			return b.Budget(resilient.RetryRatio(0), resilient.MinimumThroughput(1))
		},
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "FROB"} {
			t.Run(name+" "+method, func(t *testing.T) {
				t.Parallel()
				bubble(t, echoing(), func(w *world) {
					is := is.New(w.T)
					c, network := w.warm(policy(resilient.New("orders").Defaults(resilient.Conservative).
						Breaker(resilient.MinimumThroughput(2))))
					network.breakAll()
					r, _ := http.NewRequest(method, w.URL, strings.NewReader("order"))
					start := time.Now()
					resp, err := c.Do(r)
					is.NoErr(err)                                 // the caller notices nothing
					is.Equal(read(w.T, resp), "order")            // the body is there
					is.Equal(time.Since(start), time.Duration(0)) // at once
					is.Equal(w.arrived(), 2)                      // the warming, and this one, once
					again := eventsOf[resilient.Redispatched](w)
					is.Equal(len(again), 1)                                     // it is told of
					is.Equal(again[0].Failed.Conclusion, resilient.Unprocessed) // with the reason
					is.Equal(again[0].Failed.Number, 1)                         // as a part of the first attempt
					done := eventsOf[resilient.AttemptDone](w)
					is.Equal(len(done), 2)                                  // one attempt a call
					is.Equal(done[1].Number, 1)                             // the only one
					is.True(done[1].Err == nil)                             // which has ended well
					is.Equal(len(eventsOf[resilient.RetryScheduled](w)), 0) // it is no retry
					s := w.registry.Snapshot()[0]
					is.Equal(s.Budget.Retries, uint64(0))                                         // nothing is charged
					is.Equal(s.Budget.Requests, uint64(2))                                        // one call is one call
					is.Equal(*s.Breaker, resilient.BreakerSnapshot{State: "closed", Requests: 2}) // and no failure
				})
			})
		}
	}
}

func TestRedispatchHappensOnceACall(t *testing.T) {
	t.Parallel()
	bubble(t, echoing(), func(w *world) {
		is := is.New(w.T)
		network := &breakable{dial: w.DialContext}
		base := &http.Transport{DialContext: network.DialContext, MaxIdleConnsPerHost: 3}
		defer base.CloseIdleConnections()
		c := w.over(base, retrying(every(time.Second)).Budget(resilient.MinimumThroughput(1), resilient.RetryRatio(1)))
		w.On("/").First(3).Do(httptestx.Delay(time.Second), httptestx.Handle)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if resp, err := c.Get(w.URL); err == nil {
					read(w.T, resp)
				}
			})
		}
		wg.Wait()
		is.Equal(len(network.all), 3) // three connections are idle,
		network.breakAll()            // all of them dead
		start := time.Now()
		resp, err := c.Post(w.URL, "text/plain", strings.NewReader("order"))
		is.NoErr(err)                                                // it is answered
		is.Equal(read(w.T, resp), "order")                           // in full
		is.Equal(len(eventsOf[resilient.Redispatched](w)), 1)        // one re-dispatch was free
		is.Equal(len(eventsOf[resilient.RetryScheduled](w)), 2)      // what then met the second and the third took a retry each
		is.Equal(time.Since(start), 2*time.Second)                   // with its wait
		is.Equal(w.registry.Snapshot()[0].Budget.Retries, uint64(2)) // and its charge
		is.Equal(w.arrived(), 4)                                     // the order arrived once
	})
}

// A request that may have been processed is not sent again for free, nor one
// over a fresh connection, nor one whose body can't be had again.
func TestRequestThatMayHaveBeenProcessedIsNotRedispatched(t *testing.T) {
	t.Parallel()
	opaque := func() io.Reader { return io.MultiReader(strings.NewReader("order")) }
	for name, c := range map[string]struct {
		plan   []httptestx.Step
		warm   bool
		header string
		body   io.Reader
	}{
		"answer lost":           {httptestx.LostResponse, true, "", strings.NewReader("order")},
		"answer lost, orderly":  {httptestx.LostResponseEOF, true, "", strings.NewReader("order")},
		"answer lost, with key": {httptestx.LostResponse, true, "Idempotency-Key", strings.NewReader("order")},
		"answer lost, empty":    {httptestx.LostResponse, true, "", nil},
		"fresh connection":      {httptestx.ResetBeforeRead, false, "", strings.NewReader(strings.Repeat("x", 8<<20))},
		"opaque body":           {nil, true, "", opaque()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, echoing(), func(w *world) {
				is := is.New(w.T)
				client := w.client(retrying(resilient.Off))
				if c.warm {
					var network *breakable
					client, network = w.warm(retrying(resilient.Off))
					if c.plan == nil {
						network.breakAll()
					}
				}
				before := w.arrived()
				if c.plan != nil {
					w.On("/").Do(c.plan...)
				}
				r, _ := http.NewRequest("POST", w.URL, c.body)
				if c.header != "" {
					r.Header.Set(c.header, "k")
				}
				_, err := client.Do(r)
				is.True(err != nil)                                   // the caller is told
				is.Equal(len(eventsOf[resilient.Redispatched](w)), 0) // nothing was sent again
				is.Equal(w.arrived()-before, b2i(c.plan != nil))      // by nobody
			})
		})
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A large upload that a server resets before it has the whole body is certainly
// not processed: over a used connection that is as good as a dead one.
func TestUploadThatWasCutOnAPooledConnectionIsSentAgain(t *testing.T) {
	t.Parallel()
	bubble(t, echoing(), func(w *world) {
		is := is.New(w.T)
		c, _ := w.warm(resilient.New("orders").Defaults(resilient.Conservative))
		w.On("/").Script(httptestx.ResetBeforeRead)
		body := strings.Repeat("0123456789abcdef", 1<<16)
		resp, err := c.Post(w.URL, "text/plain", strings.NewReader(body))
		is.NoErr(err)                                         // it is answered
		is.True(read(w.T, resp) == body)                      // byte for byte
		is.Equal(w.handled(), 2)                              // by one run of the handler, after the warming
		is.Equal(len(eventsOf[resilient.Redispatched](w)), 1) // for free
		is.Equal(w.registry.Snapshot()[0].Budget.Retries, uint64(0))
	})
}

// The server never gets more requests than are told of. Left to
// itself, net/http would send the keyed ones twice over a connection that was
// used before.
func TestServerGetsNoMoreRequestsThanAreToldOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ method, key, body string }{
		"PUT":             {method: "PUT", body: "order"},
		"POST":            {method: "POST", body: "order"},
		"DELETE":          {method: "DELETE"},
		"keyed POST":      {method: "POST", body: "order", key: "k-1"},
		"keyed PUT":       {method: "PUT", body: "order", key: "k-1"},
		"GET with a body": {method: "GET", body: "query"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assertAllTold(t, c.method, c.key, c.body)
		})
	}
}

func TestReplayOfARequestWithoutBodyIsToldOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ method, key string }{
		"GET":        {method: "GET"},
		"HEAD":       {method: "HEAD"},
		"keyed POST": {method: "POST", key: "k-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assertAllTold(t, c.method, c.key, "")
		})
	}
}

func assertAllTold(t *testing.T, method, key, body string) {
	t.Helper()
	bubble(t, echoing(), func(w *world) {
		is := is.New(w.T)
		client, _ := w.warm(retrying())
		w.On("/").Script(httptestx.LostResponse, httptestx.LostResponse)
		r, _ := http.NewRequest(method, w.URL, strings.NewReader(body))
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		resp, err := client.Do(r)
		is.NoErr(err) // it is answered in the end
		read(w.T, resp)
		told := len(eventsOf[resilient.AttemptDone](w)) + len(eventsOf[resilient.Redispatched](w)) + len(eventsOf[resilient.TransportReplay](w))
		is.Equal(w.arrived(), told) // each arrival is an attempt or a re-dispatch that is told of
	})
}

// Over HTTP/1 net/http would try every pooled connection.
func TestTransportIsStoppedBeforeItSendsARequestAThirdTime(t *testing.T) {
	t.Parallel()
	bubble(t, echoing(), func(w *world) {
		is := is.New(w.T)
		slow := httptestx.Plan(httptestx.Delay(time.Second), httptestx.Handle)
		lost := httptestx.LostResponse
		w.On("/").Script(slow, slow, slow, lost, lost, lost)
		base := w.Client().Transport.(*http.Transport)
		base.MaxIdleConnsPerHost = 3
		c := w.over(base, resilient.New("orders").Retry(resilient.Off).
			Budget(resilient.RetryRatio(0), resilient.LowVolumeRetries(1)))
		var warming sync.WaitGroup
		for range 3 {
			warming.Go(func() {
				resp, err := c.Get(w.URL)
				if err == nil {
					read(w.T, resp)
				}
			})
		}
		warming.Wait()
		ctx, report := resilient.WithReport(w.Context())
		r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
		_, err := c.Do(r)
		is.Equal(err.Error(), `Get "`+w.URL+`": resilient: client "orders": `+
			"the transport sent the request twice and was stopped from sending it again")
		is.Equal(w.arrived(), 3+2)                                   // it arrived twice
		is.Equal(report.Sends(), 2)                                  // which is what is told
		is.Equal(len(eventsOf[resilient.TransportReplay](w)), 1)     // of which one is net/http's
		is.Equal(w.registry.Snapshot()[0].Budget.Retries, uint64(1)) // and comes out of the budget, whatever it allows
	})
}
