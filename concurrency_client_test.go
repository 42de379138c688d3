package resilient_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// narrow is a concurrency limit of one call, and a queue.
func narrow(queue int) resilient.Builder {
	return resilient.New("orders").Defaults(resilient.None).Concurrency(resilient.Permits(1), resilient.Queue(queue))
}

// occupancy is what the limit of the only client name holds.
func (w *world) occupancy() (inUse, queued int) {
	c := w.registry.Snapshot()[0].Concurrency
	return c.InUse, c.Queued
}

// echo switches to a protocol in which every line comes back.
func echo(w http.ResponseWriter, _ *http.Request) {
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	_ = rw.Flush()
	for {
		line, err := rw.ReadString('\n')
		if err != nil {
			return
		}
		_, _ = rw.WriteString(line)
		_ = rw.Flush()
	}
}

// upgrade asks for the echo protocol.
func (w *world) upgrade(c *http.Client) *http.Response {
	w.Helper()
	r, _ := http.NewRequest("GET", w.URL, nil)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "echo")
	resp, err := c.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	return resp
}

func TestPermitIsHeldUntilTheCallEnds(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, step := range map[string]struct {
			plan  []httptestx.Step
			read  func(io.ReadCloser) // what the caller does with the body
			inUse int                 // then
		}{
			"nothing":         {nil, func(io.ReadCloser) {}, 1},
			"a part":          {nil, func(b io.ReadCloser) { _, _ = io.CopyN(io.Discard, b, 5) }, 1},
			"to its end":      {nil, func(b io.ReadCloser) { _, _ = io.Copy(io.Discard, b) }, 0},
			"close":           {nil, func(b io.ReadCloser) { b.Close() }, 0},
			"close twice":     {nil, func(b io.ReadCloser) { b.Close(); b.Close() }, 0},
			"all of it":       {nil, func(b io.ReadCloser) { _, _ = io.Copy(io.Discard, b); b.Close(); b.Close() }, 0},
			"until it breaks": {httptestx.TruncatedBody(5), func(b io.ReadCloser) { _, _ = io.Copy(io.Discard, b) }, 0},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, always(200, "hello world"), func(w *world) {
					is := is.New(w.T)
					if step.plan != nil {
						w.On("/").Do(step.plan...)
					}
					c := w.client(narrow(0))
					resp, err := c.Get(w.URL)
					is.NoErr(err)
					inUse, _ := w.occupancy()
					is.Equal(inUse, 1) // the call goes on after its headers
					step.read(resp.Body)
					inUse, _ = w.occupancy()
					is.Equal(inUse, step.inUse)
					_, err = w.post(c)
					is.Equal(errors.Is(err, resilient.ErrConcurrencyLimit), step.inUse == 1) // and a next call is let in, or not
					resp.Body.Close()
				})
			})
		}
	})
}

func TestPermitIsFreeWhenThereIsNoBody(t *testing.T) {
	t.Parallel()
	bubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/204" {
			w.WriteHeader(204)
			return
		}
		_, _ = io.WriteString(w, "hello")
	}), func(w *world) {
		is := is.New(w.T)
		c := w.client(narrow(0))
		for range 3 { // neither read nor closed: there is nothing to
			resp, err := c.Head(w.URL)
			is.NoErr(err)
			is.Equal(resp.Body, http.NoBody)
			resp, err = c.Get(w.URL + "/204")
			is.NoErr(err)
			is.Equal(resp.Body, http.NoBody)
		}
	})
}

func TestPermitIsFreeAfterACallThatFailed(t *testing.T) {
	t.Parallel()
	response := func(r *http.Request, body io.ReadCloser) *http.Response {
		return &http.Response{StatusCode: 200, Body: body, Request: r, Header: http.Header{}}
	}
	for name, base := range map[string]roundTripper{
		"error":              func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"neither":            func(*http.Request) (*http.Response, error) { return nil, nil },
		"response and error": func(r *http.Request) (*http.Response, error) { return response(r, track("x")), io.ErrUnexpectedEOF },
		"no body":            func(r *http.Request) (*http.Response, error) { return response(r, nil), nil },
		"panic":              func(*http.Request) (*http.Response, error) { panic("base") },
		"Goexit":             func(*http.Request) (*http.Response, error) { runtime.Goexit(); return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			w := newWorld(t, nil)
			c := w.over(base, narrow(0))
			for range 3 {
				aside(func() { _, _ = c.Get(w.URL) })
				inUse, _ := w.occupancy()
				is.Equal(inUse, 0)
			}
			is.Equal(w.registry.Snapshot()[0].Rejected["concurrency_limit"], uint64(0)) // all three were let in
		})
	}
}

// An upgraded connection is in use until it is closed, however long that takes.
func TestPermitIsHeldUntilAnUpgradedConnectionIsClosed(t *testing.T) {
	t.Parallel()
	bubble(t, http.HandlerFunc(echo), func(w *world) {
		is := is.New(w.T)
		c := w.client(narrow(0).Timeout(resilient.Total(time.Second), resilient.PerAttempt(time.Second),
			resilient.BodyIdle(time.Second), resilient.TotalIncludesBody(true)))
		resp := w.upgrade(c)
		conn := resp.Body.(io.ReadWriteCloser)
		lines := bufio.NewReader(conn)
		for range 3 {
			time.Sleep(time.Hour) // no timeout is for it
			_, err := io.WriteString(conn, "hello\n")
			is.NoErr(err)
			line, err := lines.ReadString('\n')
			is.NoErr(err)
			is.Equal(line, "hello\n")
		}
		is.NoErr(conn.(interface{ CloseWrite() error }).CloseWrite())
		_, err := lines.ReadByte()
		is.Equal(err, io.EOF) // the server has ended its side
		inUse, _ := w.occupancy()
		is.Equal(inUse, 1) // but the caller has not
		is.NoErr(conn.Close())
		inUse, _ = w.occupancy()
		is.Equal(inUse, 0)
	})
}

func TestRefusalIsImmediateAndClosesTheBody(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		c := w.client(narrow(0).Retry(resilient.MaxRetries(3)))
		resp, err := c.Get(w.URL)
		is.NoErr(err)
		body := track("order")
		began := time.Now()
		_, err = c.Post(w.URL, "text/plain", body)
		is.Equal(time.Since(began), time.Duration(0)) // nobody waits, and nothing is tried again
		is.Equal(body.closed(), 1)                    // though nothing was sent
		var rejected *resilient.RejectedError
		is.True(errors.As(err, &rejected))
		is.Equal(rejected.Client, "orders")
		is.Equal(rejected.Gate, "concurrency_limit")
		is.Equal(rejected.RetryAfter, time.Duration(0)) // nobody knows
		is.True(errors.Is(err, resilient.ErrConcurrencyLimit))
		is.True(!errors.Is(err, resilient.ErrCircuitOpen))
		is.Equal(rejected.Error(), `resilient: client "orders": concurrency limit reached`)
		is.Equal(w.registry.Snapshot()[0].Rejected, map[string]uint64{
			"concurrency_limit": 1, "circuit_breaker": 0, "rate_limit": 0, "endpoints": 0,
		})
		read(w.T, resp)
		is.Equal(w.arrived(), 1)
	})
}

func TestPermitsAreSharedByClientsOfOneName(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		one, another := w.client(narrow(0)), w.client(narrow(0))
		without := w.client(narrow(0).Concurrency(resilient.Off))
		resp, err := one.Get(w.URL)
		is.NoErr(err)
		_, err = another.Get(w.URL)
		is.True(errors.Is(err, resilient.ErrConcurrencyLimit)) // the one permit is with the other
		status, err := w.post(without)
		is.NoErr(err) // whoever has no limit needs none
		is.Equal(status, 200)
		read(w.T, resp)
		status, err = w.post(another)
		is.NoErr(err)
		is.Equal(status, 200)
	})
}

func TestPerAuthorityEachHostHasItsPermits(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		c := w.client(narrow(0).PerAuthority())
		resp, err := c.Get("http://a.test")
		is.NoErr(err)
		_, err = c.Get("http://a.test")
		is.True(errors.Is(err, resilient.ErrConcurrencyLimit))
		other, err := c.Get("http://b.test")
		is.NoErr(err)
		read(w.T, other)
		read(w.T, resp)
	})
}

func TestPermitSpansRetriesAndTheirWaits(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, "sorry"), func(w *world) {
		is := is.New(w.T)
		c := w.client(narrow(0).Retry(resilient.MaxRetries(2), resilient.Backoff(time.Minute, 0), resilient.NoJitter))
		began := time.Now()
		var call sync.WaitGroup
		call.Go(func() {
			status, err := w.post(c)
			is.NoErr(err)
			is.Equal(status, 503)
		})
		for _, at := range []time.Duration{1, 30 * time.Second, 90 * time.Second, 178 * time.Second} {
			time.Sleep(at - time.Since(began))
			inUse, _ := w.occupancy()
			is.Equal(inUse, 1) // one permit, taken once
			_, err := w.post(c)
			is.True(errors.Is(err, resilient.ErrConcurrencyLimit))
		}
		call.Wait()
		is.Equal(w.arrived(), 3)
	})
}
