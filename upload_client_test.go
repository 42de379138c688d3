package resilient_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// An upload is a body of so many bytes that counts what is read of it.
type upload struct {
	size   int64
	pulled atomic.Int64
	closes atomic.Int64
}

func (u *upload) Read(p []byte) (int, error) {
	n := min(u.size-u.pulled.Load(), int64(len(p)))
	if n == 0 {
		return 0, io.EOF
	}
	clear(p[:n])
	u.pulled.Add(n)
	return int(n), nil
}

func (u *upload) Close() error { u.closes.Add(1); return nil }

func (u *upload) closed() int { return int(u.closes.Load()) }

// While the server does not read, an upload is asked for what fits into
// the buffers on the way, 64 KiB of network and 36 KiB of net/http, and for no
// more. It is not parallel to others, for it looks at what is allocated.
func TestUploadIsStreamedAndNotReadAhead(t *testing.T) {
	reads := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Minute)
		_, _ = io.Copy(io.Discard, r.Body)
		rw.WriteHeader(503)
	})
	for name, length := range map[string]int64{"unknown length": -1, "known length": 64 << 20} {
		t.Run(name, func(t *testing.T) {
			bubble(t, reads, func(w *world) {
				is := is.New(w.T)
				u := &upload{size: 64 << 20}
				r, _ := http.NewRequest("PUT", w.URL, u)
				r.ContentLength = length
				time.AfterFunc(time.Minute-1, func() {
					if n := u.pulled.Load(); n > 128<<10 {
						w.Errorf("%d bytes were read of the body while the server read none", n)
					}
				})
				before := allocated()
				resp, err := w.client(retrying(resilient.Backoff(0, 0))).Do(r)
				after := allocated()
				is.NoErr(err) // it is answered
				read(w.T, resp)
				is.Equal(u.pulled.Load(), u.size)       // all of it was sent
				is.Equal(u.closes.Load(), int64(1))     // and it was closed
				is.True(after-before < 16<<20)          // through little memory, server and network included
				is.Equal(w.arrived(), 1)                // there was one attempt
				is.Equal(w.denials(), []string{"body"}) // for it can't be had again
			})
		})
	}
}

// allocated is how many bytes were allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// refusing answers the first n requests with 503 before it has read their body,
// and hangs up. It sends back what the others bring.
func refusing(n int32) http.Handler {
	var served atomic.Int32
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if served.Add(1) > n {
			echoing().ServeHTTP(rw, r)
			return
		}
		c := http.NewResponseController(rw)
		_ = c.EnableFullDuplex() // or else net/http reads first
		rw.Header().Set("Content-Length", "0")
		rw.Header().Set("Connection", "close")
		rw.WriteHeader(503)
		_ = c.Flush()
		panic(http.ErrAbortHandler)
	})
}

// An answer that does not wait for the upload to end. The server then
// closes the connection, and which of the two the client meets is a race.
func TestUploadThatIsRefusedEarlyIsSentAgainInFull(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		large := strings.Repeat("0123456789abcdef", 1<<17)
		for name, body := range map[string]func() io.Reader{
			"large":        func() io.Reader { return strings.NewReader(large) },
			"small":        func() io.Reader { return strings.NewReader(large[:1000]) },
			"opaque":       func() io.Reader { return opaque(large[:60<<10]) },
			"opaque, slow": func() io.Reader { return &slowly{Reader: opaque(large[:10]), step: 4, every: time.Second} },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, refusing(2), func(w *world) {
					is := is.New(w.T)
					want, _ := io.ReadAll(body())
					start := time.Now()
					resp, err := w.client(retrying()).Post(w.URL, "text/plain", body())
					is.NoErr(err)                                // it is answered
					is.True(read(w.T, resp) == string(want))     // byte for byte
					is.True(w.arrived() == 3)                    // by the third attempt
					is.True(time.Since(start) <= 10*time.Second) // without delay beyond the body's own
					for _, e := range w.Exchanges() {
						is.Equal(e.Header.Get("Content-Length"), w.Exchanges()[0].Header.Get("Content-Length")) // of the same length
					}
				})
			})
		}
	})
}

// slowly brings a few bytes at a time.
type slowly struct {
	io.Reader
	step  int
	every time.Duration
}

func (s *slowly) Read(p []byte) (int, error) {
	time.Sleep(s.every)
	return s.Reader.Read(p[:min(len(p), s.step)])
}

// The retry finds its body even while the first attempt's writer is still inside
// a Read of it that takes long.
func TestRetryWaitsForTheBytesThatTheFirstAttemptAskedFor(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, refusing(1), func(w *world) {
			is := is.New(w.T)
			pr, pw := io.Pipe()
			time.AfterFunc(time.Hour, func() {
				go func() {
					_, _ = io.WriteString(pw, "late ")
					_, _ = io.WriteString(pw, "but whole")
					_ = pw.Close()
				}()
			})
			start := time.Now()
			r, _ := http.NewRequest("PUT", w.URL, pr)
			resp, err := w.client(retrying(resilient.BufferLimit(4))).Do(r) // less than that Read brings
			is.NoErr(err)                                                   // the retry is answered
			is.Equal(read(w.T, resp), "late but whole")                     // with every byte, once
			is.Equal(time.Since(start), time.Hour)                          // when they came
			is.Equal(w.arrived(), 2)                                        // it had been sent before
		})
	})
}

// Whoever is refused for good gets the answer while the upload still runs, and
// the writer at the other end of a pipe is let go.
func TestWriterOfAPipeIsLetGoWhenTheCallEnds(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, b := range map[string]resilient.Builder{
			"without retries": retrying(resilient.Off),
			"no more retries": retrying(resilient.MaxRetries(1)),
			"method":          retrying(resilient.SafeMethodsOnly),
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, nil, func(w *world) {
					is := is.New(w.T)
					w.On("/").Do(httptestx.ResetBeforeRead...)
					pr, pw := io.Pipe()
					done := make(chan error)
					go func() {
						for {
							if _, err := pw.Write(make([]byte, 1000)); err != nil {
								done <- err
								return
							}
						}
					}()
					r, _ := http.NewRequest("PUT", w.URL, pr)
					_, err := w.client(b).Do(r)
					is.True(err != nil)                // the call failed
					is.Equal(<-done, io.ErrClosedPipe) // and nobody is left behind
				})
			})
		}
	})
}

func TestBodyThatComesThroughAPipeIsSentAgain(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, plan := range map[string][]httptestx.Step{
			"answered":        httptestx.Plan(httptestx.Status(503)),
			"lost":            httptestx.LostResponse,
			"lost in between": httptestx.ResetBeforeRead, // the pipe goes on where the first attempt stopped
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, echoing(), func(w *world) {
					is := is.New(w.T)
					w.On("/").Script(plan)
					pr, pw := io.Pipe()
					written := make(chan error, 1)
					go func() {
						for _, part := range []string{"one ", "two ", "three"} {
							if _, err := io.WriteString(pw, part); err != nil {
								written <- err
								return
							}
							time.Sleep(time.Second)
						}
						written <- pw.Close()
					}()
					r, _ := http.NewRequest("PUT", w.URL, pr)
					resp, err := w.client(retrying()).Do(r)
					is.NoErr(err)                              // the retry is answered
					is.Equal(read(w.T, resp), "one two three") // with all that came through the pipe
					is.NoErr(<-written)                        // of which the writer got rid
					is.Equal(w.arrived(), 2)                   // in two attempts
				})
			})
		}
	})
}
