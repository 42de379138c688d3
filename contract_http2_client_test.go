package resilient_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/jonboulle/clockwork"
	"github.com/matryer/is"
)

// overHTTP2 is a world whose client speaks HTTP/2 over TLS, on real sockets.
func overHTTP2(t *testing.T, h http.Handler, b resilient.Builder) (w *world, c *http.Client, url string) {
	t.Helper()
	noGoroutinesLeft(t)
	w = newWorldIn(t, false, h, h2TLS.options()...)
	w.StartTLS()
	return w, w.client(b), w.URL
}

func TestHTTP2IsSpokenAndRepeated(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var hits atomic.Int32
	w, c, url := overHTTP2(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hits.Add(1) < 3 {
			w.WriteHeader(503)
			return
		}
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.Copy(w, r.Body)
		w.Header().Set("X-Sum", "42")
	}), busy().Concurrency(resilient.Permits(1)))
	for name, body := range map[string]io.Reader{
		"with GetBody":    strings.NewReader("order"),
		"without GetBody": io.NopCloser(strings.NewReader("order")),
	} {
		hits.Store(0)
		resp, err := c.Post(url, "text/plain", body)
		is.NoErr(err) // name
		is.Equal(resp.Proto, "HTTP/2.0")
		is.Equal(read(t, resp), "order") // the whole body, a third time
		is.Equal(resp.Trailer.Get("X-Sum"), "42")
		is.Equal(hits.Load(), int32(3)) // as many as were counted
		_ = name
	}
	is.Equal(len(eventsOf[resilient.AttemptDone](w)), 6)
}

// A stream that goes on for longer than any timeout but its own.
func TestHTTP2StreamIsNotCutByTimeouts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	next, done := make(chan int), make(chan error, 1)
	clock := clockwork.NewFakeClock()
	w, c, url := overHTTP2(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.Flush()
		for i := range next {
			_, _ = fmt.Fprintln(w, i)
			_ = rc.Flush()
		}
		<-r.Context().Done()
		done <- r.Context().Err()
	}), resilient.New("orders").Defaults(resilient.None).Concurrency(resilient.Permits(1)).Clock(clock).
		Timeout(resilient.Total(time.Second), resilient.PerAttempt(time.Second)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
	resp, err := c.Do(r)
	is.NoErr(err)
	lines := bufio.NewReader(resp.Body)
	for i := range 5 {
		clock.Advance(time.Hour) // longer than a call may take to its headers
		next <- i
		line, err := lines.ReadString('\n')
		is.NoErr(err) // one by one, as they come
		is.Equal(line, fmt.Sprintln(i))
	}
	close(next)
	inUse, _ := w.occupancy()
	is.Equal(inUse, 1) // the call is on
	cancel()
	_, err = lines.ReadByte()
	is.True(errors.Is(err, context.Canceled)) // until its caller ends it
	is.True((<-done) != nil)                  // which the server hears
	inUse, _ = w.occupancy()
	is.Equal(inUse, 0) // a body that failed has ended
	resp.Body.Close()
}

func TestHTTP2TimeoutsAndCancelsAreTold(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	clock := clockwork.NewFakeClock()
	w, c, url := overHTTP2(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		clock.Advance(time.Second)
		<-r.Context().Done()
	}), counted().Clock(clock).Timeout(resilient.PerAttempt(time.Second)))
	_, err := c.Get(url)
	is.True(errors.Is(err, resilient.ErrAttemptTimeout))
	is.True(errors.Is(err, context.DeadlineExceeded))
	is.True(!errors.Is(err, context.Canceled)) // nobody has cancelled it
	is.True(isTimeout(err))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBrowserClosed)
	r, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
	_, err = c.Do(r)
	is.True(errors.Is(err, context.Canceled))
	is.True(errors.Is(err, errBrowserClosed))
	requests, failures := w.tally()
	is.Equal(requests, uint64(1)) // the timeout
	is.Equal(failures, uint64(1))
}

// Many streams of one connection end in all ways at once, and leave nothing.
func TestHTTP2StreamsGiveEverythingBack(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w, c, url := overHTTP2(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/cut":
			_, _ = io.WriteString(w, "begin")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "/empty":
			w.WriteHeader(204)
		default:
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<16))
		}
	}), busy().Breaker(resilient.Off).Budget(resilient.Off).Concurrency(resilient.Permits(20), resilient.Queue(100)))
	done := make(chan bool)
	for i := range 40 {
		go func() {
			defer func() { done <- true }()
			resp, err := c.Get(url + []string{"/abort", "/cut", "/empty", "/whole", "/closed"}[i%5])
			if err != nil {
				return
			}
			if i%5 != 4 {
				_, _ = io.Copy(io.Discard, resp.Body)
			}
			if i%5 != 1 || i%2 == 0 {
				resp.Body.Close()
			}
		}()
	}
	for range 40 {
		<-done
	}
	inUse, queued := w.occupancy()
	is.Equal(inUse, 0)
	is.Equal(queued, 0)
}
