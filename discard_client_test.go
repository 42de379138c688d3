package resilient_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// failsWith answers the first n requests with 503 and that many bytes, in chunks
// or with their length said, and the others with 200.
func failsWith(n int64, size int, chunked bool) http.Handler {
	var served atomic.Int64
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if served.Add(1) > n {
			_, _ = io.WriteString(rw, "ok")
			return
		}
		if !chunked {
			rw.Header().Set("Content-Length", strconv.Itoa(size))
		}
		rw.WriteHeader(503)
		if chunked {
			_ = http.NewResponseController(rw).Flush()
		}
		_, _ = rw.Write(bytes.Repeat([]byte("x"), size))
	})
}

// conns are the connections that the requests came over, in order of arrival.
func (w *world) conns() []int {
	var all []int
	for _, e := range w.Exchanges() {
		all = append(all, e.Conn)
	}
	return all
}

// What is small is read to its end, so
// that the connection is used again; of what is large not much more than that is read.
func TestConnectionOfADiscardedResponseIsUsedAgainIfItsBodyIsSmall(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	for name, c := range map[string]struct {
		size    int
		chunked bool
		conns   []int
	}{
		"nothing":                   {0, false, []int{1, 1, 1}},
		"little":                    {100, false, []int{1, 1, 1}},
		"little, in chunks":         {100, true, []int{1, 1, 1}},
		"5 KiB":                     {5 << 10, false, []int{1, 1, 1}},
		"the limit":                 {limit, false, []int{1, 1, 1}},
		"the limit, in chunks":      {limit, true, []int{1, 1, 1}},
		"more than that":            {limit + 2, false, []int{1, 2, 3}},
		"more than that, in chunks": {limit + 2, true, []int{1, 2, 3}},
		"ten times that":            {10 * limit, false, []int{1, 2, 3}},
		"ten times that, in chunks": {10 * limit, true, []int{1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, failsWith(2, c.size, c.chunked), func(w *world) {
				is := is.New(w.T)
				var pulled atomic.Int64
				base := &http.Transport{MaxConnsPerHost: 1, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := w.DialContext(ctx, network, addr)
					return countedConn{conn, &pulled}, err
				}}
				defer base.CloseIdleConnections()
				start := time.Now()
				resp, err := w.over(base, retrying(every(time.Second))).Get(w.URL)
				is.NoErr(err)                              // one connection is enough
				is.Equal(read(w.T, resp), "ok")            // for all attempts
				is.Equal(w.conns(), c.conns)               // which use it in turn, or close it
				is.Equal(time.Since(start), 2*time.Second) // without delay
				is.True(pulled.Load() <= 2*(limit+32<<10)) // not much is read of what nobody will see
			})
		})
	}
}

// The same with a kernel in between.
func TestConnectionIsUsedAgainOnRealSockets(t *testing.T) {
	for name, c := range map[string]struct {
		size  int
		conns []int
	}{
		"small": {5 << 10, []int{1, 1, 1}},
		"large": {1 << 20, []int{1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			w := loopback(t, failsWith(2, c.size, false))
			base := &http.Transport{MaxConnsPerHost: 1}
			defer base.CloseIdleConnections()
			resp, err := w.over(base, retrying()).Get(w.URL)
			is.NoErr(err)                 // one connection is enough
			is.Equal(read(t, resp), "ok") // for all attempts
			is.Equal(w.conns(), c.conns)  // which use it in turn, or close it
		})
	}
}

// A countedConn counts the bytes that are read.
type countedConn struct {
	net.Conn
	n *atomic.Int64
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n.Add(int64(n))
	return n, err
}

func TestDiscardedResponseIsClosedBeforeTheWait(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		bodies := []*trackedBody{track("no"), track("no"), track("no")}
		sent := 0
		base := roundTripper(func(*http.Request) (*http.Response, error) {
			for _, b := range bodies[:sent] {
				is.Equal(b.closed(), 1) // what was discarded is closed
			}
			sent++
			return &http.Response{StatusCode: 503, Body: bodies[sent-1], Header: http.Header{}}, nil
		})
		for i, d := range []time.Duration{time.Nanosecond, time.Minute + 1} {
			time.AfterFunc(d, func() {
				if bodies[i].closed() != 1 {
					w.Error("a discarded response is still open when the wait has begun")
				}
			})
		}
		resp, err := w.over(base, retrying(every(time.Minute))).Get(w.URL)
		is.NoErr(err)                   // the last one is handed back
		is.Equal(sent, 3)               // of three
		is.Equal(bodies[2].closed(), 0) // open
		is.Equal(read(w.T, resp), "no") // and unread
		is.Equal(bodies[2].closed(), 1) // it is the caller who closes it
	})
}

// A discarded body that stands still delays its retry by 100 ms and no more.
func TestDiscardedBodyThatStandsStillIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"plain": func(rw http.ResponseWriter, r *http.Request) {
			rw.WriteHeader(503)
			_, _ = io.WriteString(rw, "slow down")
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
		},
		"compressed": func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Encoding", "gzip")
			rw.WriteHeader(503)
			z := gzip.NewWriter(rw)
			_, _ = io.WriteString(z, strings.Repeat("slow down", 1000))
			_ = z.Flush()
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
		},
		"dripping": func(rw http.ResponseWriter, r *http.Request) {
			rw.WriteHeader(503)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(rw, "x")
				_ = http.NewResponseController(rw).Flush()
				time.Sleep(9 * time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, h, func(w *world) {
				is := is.New(w.T)
				w.On("/").Nth(3).Do(httptestx.Status(200))
				start := time.Now()
				resp, err := w.client(retrying(every(time.Second))).Get(w.URL)
				is.NoErr(err) // the third is answered
				read(w.T, resp)
				is.Equal(w.arrivals(start), []time.Duration{0, 1100 * time.Millisecond, 2200 * time.Millisecond}) // 100 ms, and then the wait
				is.Equal(w.conns(), []int{1, 2, 3})                                                               // the connections are given up
			})
		})
	}
}

// A transport of one's own need not heed its context: closing its body has to do.
func TestDiscardedBodyIsClosedWhenItsContextIsNotHeeded(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(w *world) {
		is := is.New(w.T)
		pr, pw := io.Pipe()
		n := 0
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			n++
			if n == 1 {
				return &http.Response{StatusCode: 503, Body: pr, Header: http.Header{}}, nil
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}}, nil
		})
		start := time.Now()
		resp, err := w.over(base, retrying()).Get(w.URL)
		is.NoErr(err)                                     // the retry is answered
		is.True(resp.Body == http.NoBody)                 // a nil body is none
		is.Equal(time.Since(start), 100*time.Millisecond) // after that time
		_, err = pw.Write([]byte("x"))
		is.Equal(err, io.ErrClosedPipe) // and the body is closed
	})
}

// What is discarded must not cost more than the call has: the total timeout and
// the caller's deadline hold while it is read, and in the wait that follows.
func TestDiscardedBodyDoesNotStretchTheCall(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		stalled := httptestx.Plan(httptestx.Status(503), httptestx.Send(3), httptestx.Hang)
		for name, c := range map[string]struct {
			wait, total, deadline time.Duration
			is                    error
		}{
			"total, in the wait":         {wait: 950 * time.Millisecond, total: time.Second, is: resilient.ErrTotalTimeout},
			"total, while it is read":    {total: 50 * time.Millisecond, is: resilient.ErrTotalTimeout},
			"deadline, in the wait":      {wait: 950 * time.Millisecond, deadline: time.Second, is: context.DeadlineExceeded},
			"deadline, while it is read": {deadline: 50 * time.Millisecond, is: context.DeadlineExceeded},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, always(200, "ok"), func(w *world) {
					is := is.New(w.T)
					w.On("/").Do(stalled...)
					ctx := w.Context()
					if c.deadline > 0 {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, c.deadline)
						defer cancel()
					}
					r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
					start := time.Now()
					_, err := w.client(retrying(every(c.wait)).Timeout(resilient.Total(c.total))).Do(r)
					is.True(errors.Is(err, c.is))                         // it is over
					is.Equal(time.Since(start), max(c.total, c.deadline)) // exactly when the time is
					is.Equal(w.arrived(), 1)                              // and nothing more is sent
				})
			})
		}
	})
}
