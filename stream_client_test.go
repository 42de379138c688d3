package resilient_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// dripping answers with n lines, one every d, and then stands still for pause
// before the last one.
func dripping(n int, d, pause time.Duration) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(rw)
		_ = c.Flush()
		for i := range n {
			if i == n-1 {
				time.Sleep(pause)
			}
			time.Sleep(d)
			if _, err := fmt.Fprintln(rw, i); err != nil || c.Flush() != nil {
				return
			}
		}
	})
}

// lines is what dripping sends.
func lines(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintln(&s, i)
	}
	return s.String()
}

// Timeouts end at the headers.
func TestBodyThatFlowsIsNotCutHoweverLongItTakes(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, b := range map[string]resilient.Builder{
			"attempt timeout": bounded(resilient.PerAttempt(50 * time.Millisecond)),
			"total timeout":   bounded(resilient.Total(50 * time.Millisecond)),
			"body idle":       bounded(resilient.BodyIdle(10*time.Second + 1)),
			"all three":       bounded(resilient.PerAttempt(50*time.Millisecond), resilient.Total(time.Second), resilient.BodyIdle(time.Minute)),
			"Standard":        resilient.New("orders"),
			"AI":              resilient.New("orders").Defaults(resilient.AI),
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, dripping(20, 10*time.Second, 0), func(w *world) {
					is := is.New(w.T)
					start := time.Now()
					resp, err := w.client(b).Get(w.URL)
					is.NoErr(err)                                 // the headers are there
					is.Equal(time.Since(start), time.Duration(0)) // at once
					is.Equal(read(w.T, resp), lines(20))          // the body is complete
					is.Equal(time.Since(start), 200*time.Second)  // after minutes
				})
			})
		}
	})
}

func TestBodyThatStandsStillIsCutByBodyIdle(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, dripping(3, 10*time.Second, time.Hour), func(w *world) {
			is := is.New(w.T)
			resp, err := w.client(bounded(resilient.BodyIdle(30*time.Second), resilient.PerAttempt(time.Second)).
				Concurrency(resilient.Permits(1))).Get(w.URL)
			is.NoErr(err) // the headers are there
			start := time.Now()
			got, err := io.ReadAll(resp.Body)
			is.Equal(string(got), "0\n1\n")                            // what came came
			is.Equal(time.Since(start), 20*time.Second+30*time.Second) // 30 s after the last of it
			is.True(errors.Is(err, resilient.ErrBodyIdle))             // the body is cut
			is.True(!errors.Is(err, resilient.ErrAttemptTimeout))      // for no other reason
			is.True(errors.Is(err, context.DeadlineExceeded))          // which is a deadline
			is.True(!errors.Is(err, context.Canceled))                 // and no cancel
			is.Equal(err.Error(), `resilient: client "orders": body idle timeout after 30s`)
			var timeout net.Error
			is.True(errors.As(err, &timeout) && timeout.Timeout())  // as a net.Error
			is.Equal(w.registry.Snapshot()[0].Concurrency.InUse, 0) // the call is over
			is.NoErr(resp.Body.Close())
		})
	})
}

// Only a reader that waits for bytes waits: what a reader does with them in
// between is its own business.
func TestSlowReaderIsNotHeldAgainstTheServer(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, always(200, strings.Repeat("x", 200<<10)), func(w *world) {
			is := is.New(w.T)
			resp, err := w.client(bounded(resilient.BodyIdle(10 * time.Millisecond))).Get(w.URL)
			is.NoErr(err) // the headers are there
			n := 0
			for err == nil {
				time.Sleep(time.Hour)
				var k int
				k, err = resp.Body.Read(make([]byte, 20<<10))
				n += k
			}
			is.Equal(err, io.EOF)       // it has read all,
			is.Equal(n, 200<<10)        // byte for byte,
			is.NoErr(resp.Body.Close()) // over half a day
		})
	})
}

// BodyIdle counts anew with every byte, so that a body may come as slowly as it likes.
func TestBodyIdleCountsFromTheLastByte(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, dripping(50, 9*time.Second, 0), func(w *world) {
			is := is.New(w.T)
			resp, err := w.client(bounded(resilient.BodyIdle(9*time.Second + 1))).Get(w.URL)
			is.NoErr(err) // the headers are there
			start := time.Now()
			in := bufio.NewReaderSize(resp.Body, 16)
			for i := range 50 {
				line, err := in.ReadString('\n')
				is.NoErr(err)                   // each line comes
				is.Equal(line, fmt.Sprintln(i)) // in turn
			}
			is.Equal(time.Since(start), 450*time.Second) // whenever it does
			is.NoErr(resp.Body.Close())
		})
	})
}

// From the call's beginning, retries included, to the last byte.
func TestTotalTimeoutCutsTheBodyIfItIncludesIt(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		existing := func(w *world) *http.Client {
			return &http.Client{Timeout: 10 * time.Second, Transport: w.Client().Transport}
		}
		for name, c := range map[string]struct {
			build func(w *world) resilient.Builder
			cut   bool
		}{
			"TotalIncludesBody": {func(*world) resilient.Builder {
				return bounded(resilient.Total(10*time.Second), resilient.TotalIncludesBody(true))
			}, true},
			"Client with Timeout": {func(w *world) resilient.Builder {
				return bounded().Client(existing(w))
			}, true},
			"Client with Timeout, for the headers": {func(w *world) resilient.Builder {
				return bounded(resilient.TotalIncludesBody(false)).Client(existing(w))
			}, false},
			"Client with Timeout, and Total": {func(w *world) resilient.Builder {
				return bounded(resilient.Total(10 * time.Second)).Client(existing(w))
			}, false},
			"Total": {func(*world) resilient.Builder { return bounded(resilient.Total(10 * time.Second)) }, false},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, dripping(20, time.Second, 0), func(w *world) {
					is := is.New(w.T)
					w.On("/").Script(httptestx.Plan(httptestx.Delay(2*time.Second), httptestx.Status(503)))
					start := time.Now()
					resp, err := w.client(c.build(w).Retry(every(500 * time.Millisecond)).Concurrency(resilient.Permits(1))).Get(w.URL)
					is.NoErr(err)                                      // the headers are there
					is.Equal(time.Since(start), 2500*time.Millisecond) // after one retry
					got, err := io.ReadAll(resp.Body)
					if !c.cut {
						is.NoErr(err)                    // the body is complete
						is.Equal(string(got), lines(20)) // byte for byte
						return
					}
					is.Equal(string(got), lines(7))                    // what came in time
					is.Equal(time.Since(start), 10*time.Second)        // which is over now
					is.True(errors.Is(err, resilient.ErrTotalTimeout)) // as the error says
					is.True(errors.Is(err, context.DeadlineExceeded))  // which is a deadline
					is.True(!errors.Is(err, context.Canceled))         // and no cancel
					var timeout net.Error
					is.True(errors.As(err, &timeout) && timeout.Timeout()) // as a net.Error
					is.Equal(err.Error(), `resilient: client "orders": total timeout after 10s`)
					is.Equal(w.registry.Snapshot()[0].Concurrency.InUse, 0) // the call is over
				})
			})
		}
	})
}

// A body that was read in time is not cut afterwards, and one that is closed
// has no timeout any more.
func TestTotalTimeoutEndsWithTheBody(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, always(200, "hello"), func(w *world) {
			is := is.New(w.T)
			b := bounded(resilient.Total(time.Second), resilient.TotalIncludesBody(true), resilient.BodyIdle(time.Second))
			resp, err := w.client(b).Get(w.URL)
			is.NoErr(err)                      // it is answered
			is.Equal(read(w.T, resp), "hello") // in time
			time.Sleep(time.Hour)
			_, err = resp.Body.Read(make([]byte, 1))
			is.True(!errors.Is(err, resilient.ErrTotalTimeout)) // net/http says what it says of a closed body
			is.True(!errors.Is(err, resilient.ErrBodyIdle))
		})
	})
}

// What the caller does while a body is read is the caller's, cause and all.
func TestCallerWhoLeavesABodyGetsWhatItWouldGetWithoutUs(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, l := range departures() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, dripping(3, time.Second, time.Hour), func(w *world) {
					is := is.New(w.T)
					call := func(c *http.Client) error {
						r, _ := http.NewRequest("GET", w.URL, nil)
						r, done := l.request(r)
						defer done()
						resp, err := c.Do(r)
						is.NoErr(err) // the headers are there
						defer resp.Body.Close()
						start := time.Now()
						_, err = io.Copy(io.Discard, resp.Body)
						is.Equal(time.Since(start), 2*time.Second) // until it leaves
						is.True(err != nil)                        // and not to the end
						return err
					}
					bare := call(w.Client())
					got := call(w.client(bounded(resilient.Total(time.Minute), resilient.TotalIncludesBody(true),
						resilient.PerAttempt(time.Minute), resilient.BodyIdle(time.Minute))))
					is.Equal(got, bare) // the very same
				})
			})
		}
	})
}

// Over HTTP/1 net/http does not return while it waits for the request body. No
// limit on time would hold if that were waited for.
func TestRequestBodyThatNeverComesDoesNotOutlastTheAttempt(t *testing.T) {
	t.Parallel()
	for name, opaque := range map[string]bool{"opaque": true, "with GetBody": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, "ok"), func(w *world) {
				is := is.New(w.T)
				body, never := io.Pipe()
				defer never.Close()
				r, _ := http.NewRequest("PUT", w.URL, body)
				if !opaque {
					r.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("there is one only") }
				}
				start := time.Now()
				_, err := w.client(resilient.New("orders").
					Timeout(resilient.PerAttempt(time.Second)).
					Retry(resilient.Backoff(0, 0))).Do(r)
				is.True(errors.Is(err, resilient.ErrAttemptTimeout))
				is.Equal(time.Since(start), time.Second+100*time.Millisecond) // with what a body is given to come to an end
				is.Equal(w.denials(), []string{"body"})                       // it can't be sent again
				_, err = never.Write([]byte("x"))
				is.Equal(err, io.ErrClosedPipe) // whoever writes it is told
			})
		})
	}
}
