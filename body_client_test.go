package resilient_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// A received is how a request's body arrived.
type received struct {
	body     string
	length   int64
	transfer string
}

// receiving notes how the bodies of requests arrive, and answers 503 to the
// first n.
func receiving(n int, got *[]received) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*got = append(*got, received{string(body), r.ContentLength, strings.Join(r.TransferEncoding, ",")})
		if len(*got) <= n {
			rw.WriteHeader(503)
		}
	})
}

// opaque hides what a reader is: net/http can't get a second one of it.
func opaque(s string) io.Reader { return struct{ io.Reader }{strings.NewReader(s)} }

// Each attempt has the whole body and
// says the same of its length.
func TestEveryAttemptSendsTheSameBody(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789abcdef", 1<<14)
	for name, c := range map[string]struct {
		body   io.Reader
		length int64 // set by hand
		want   received
	}{
		"no body":             {nil, 0, received{}},
		"http.NoBody":         {http.NoBody, 0, received{}},
		"empty string":        {strings.NewReader(""), 0, received{}},
		"empty buffer":        {&bytes.Buffer{}, 0, received{}},
		"string":              {strings.NewReader("abc"), 0, received{"abc", 3, ""}},
		"bytes":               {bytes.NewReader([]byte("abc")), 0, received{"abc", 3, ""}},
		"buffer":              {bytes.NewBufferString("abc"), 0, received{"abc", 3, ""}},
		"large string":        {strings.NewReader(large), 0, received{large, int64(len(large)), ""}},
		"opaque":              {opaque("abc"), 0, received{"abc", -1, "chunked"}},
		"opaque with length":  {opaque("abc"), 3, received{"abc", 3, ""}},
		"opaque and empty":    {opaque(""), 0, received{"", -1, "chunked"}}, // as net/http does without us
		"opaque byte by byte": {iotest.OneByteReader(opaque("abcdef")), 0, received{"abcdef", -1, "chunked"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []received
			bubble(t, receiving(2, &got), func(w *world) {
				is := is.New(w.T)
				r, err := http.NewRequest("POST", w.URL, c.body)
				is.NoErr(err) // a request
				if c.length > 0 {
					r.ContentLength = c.length
				}
				resp, err := w.client(retrying(every(time.Second))).Do(r)
				is.NoErr(err) // the third attempt is answered
				read(w.T, resp)
				is.Equal(resp.StatusCode, 200)                    // well
				is.Equal(got, []received{c.want, c.want, c.want}) // and all three had the same
			})
		})
	}
}

// What net/http can't get again is kept, up to a limit that is not a byte off.
func TestBodyWithoutGetBodyIsRepeatedUpToTheLimit(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, c := range map[string]struct {
			size, limit int
			declared    bool
			attempts    int
		}{
			"the default limit":           {65536, 0, false, 3},
			"one byte more":               {65537, 0, false, 1},
			"the default limit, declared": {65536, 0, true, 3},
			"one byte more, declared":     {65537, 0, true, 1},
			"a limit of one's own":        {10, 10, false, 3},
			"one byte more than that":     {11, 10, false, 1},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var got []received
				p.bubble(t, receiving(2, &got), func(w *world) {
					is := is.New(w.T)
					body := strings.Repeat("x", c.size)
					r, _ := http.NewRequest("PUT", w.URL, opaque(body))
					if c.declared {
						r.ContentLength = int64(c.size)
					}
					b := retrying(every(time.Second))
					if c.limit > 0 {
						b = b.Retry(resilient.BufferLimit(c.limit))
					}
					resp, err := w.client(b).Do(r)
					is.NoErr(err) // it is answered
					read(w.T, resp)
					is.Equal(len(got), c.attempts) // as often as the body could be had
					for _, g := range got {
						is.True(g.body == body) // all of it
					}
					if c.attempts == 1 {
						is.Equal(resp.StatusCode, 503)          // by the first answer
						is.Equal(w.denials(), []string{"body"}) // for there is no second body
					}
				})
			})
		}
	})
}

func TestNothingIsKeptWithABufferLimitOfZero(t *testing.T) {
	t.Parallel()
	for body, attempts := range map[string]int{"": 3, "x": 1} {
		t.Run(strconv.Quote(body), func(t *testing.T) {
			t.Parallel()
			var got []received
			bubble(t, receiving(2, &got), func(w *world) {
				is := is.New(w.T)
				r, _ := http.NewRequest("PUT", w.URL, opaque(body))
				resp, err := w.client(retrying(resilient.BufferLimit(0))).Do(r)
				is.NoErr(err) // it is answered
				read(w.T, resp)
				is.Equal(len(got), attempts) // only of nothing there is always enough
			})
		})
	}
}

// With GetBody each attempt but the first asks for a body, and closes what it got.
func TestGetBodyIsCalledForEachRetryAndItsBodiesAreClosed(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		var got []received
		p.bubble(t, receiving(2, &got), func(w *world) {
			is := is.New(w.T)
			bodies := []*trackedBody{track("order")}
			r, _ := http.NewRequest("PUT", w.URL, nil)
			r.Body, r.ContentLength = bodies[0], 5
			r.GetBody = func() (io.ReadCloser, error) {
				is.Equal(len(bodies), len(got)) // not before it is needed
				bodies = append(bodies, track("order"))
				return bodies[len(bodies)-1], nil
			}
			resp, err := w.client(retrying(resilient.BufferLimit(0))).Do(r)
			is.NoErr(err) // it is answered
			read(w.T, resp)
			is.Equal(got, []received{{"order", 5, ""}, {"order", 5, ""}, {"order", 5, ""}}) // all three had the body
			is.Equal(len(bodies), 3)                                                        // each one of its own
			synctest.Wait()                                                                 // over HTTP/2 the transport closes in its own time
			for _, b := range bodies {
				is.Equal(b.closed(), 1) // which is closed once
			}
		})
	})
}

// A GetBody that can't give a body any more ends the retries with the response
// that there is, not with an error about bodies.
func TestGetBodyThatGivesNoneEndsTheRetries(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, getBody := range map[string]func() (io.ReadCloser, error){
			"error": func() (io.ReadCloser, error) { return nil, errors.New("the file is gone") },
			"nil":   func() (io.ReadCloser, error) { return nil, nil },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, always(503, "slow down"), func(w *world) {
					is := is.New(w.T)
					body := track("order")
					r, _ := http.NewRequest("PUT", w.URL, nil)
					r.Body, r.ContentLength, r.GetBody = body, 5, getBody
					start := time.Now()
					resp, err := w.client(retrying(every(time.Minute))).Do(r)
					is.NoErr(err)                                 // a response is a response
					is.Equal(read(w.T, resp), "slow down")        // unread
					is.Equal(w.arrived(), 1)                      // there was one attempt
					is.Equal(time.Since(start), time.Duration(0)) // and no wait
					is.Equal(w.denials(), []string{"body"})       // for the body's sake
					synctest.Wait()                               // over HTTP/2 the transport closes in its own time
					is.Equal(body.closed(), 1)                    // which is closed
				})
			})
		}
	})
}

// The body's own error is the caller's: nobody else is blamed for it, and it
// will not pass.
func TestErrorOfTheCallersBodyComesBackAsItIs(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		disk := &fault{"disk read error"}
		for name, c := range map[string]struct {
			body   io.Reader
			length int64
		}{
			"at once":            {iotest.ErrReader(disk), -1},
			"in the middle":      {io.MultiReader(strings.NewReader("half"), iotest.ErrReader(disk)), -1},
			"of declared length": {io.MultiReader(strings.NewReader("half"), iotest.ErrReader(disk)), 8},
			"with the last byte": {iotest.DataErrReader(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(disk))), -1},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, always(200, "ok"), func(w *world) {
					is := is.New(w.T)
					r, _ := http.NewRequest("PUT", w.URL, c.body)
					r.ContentLength = c.length
					_, err := w.client(retrying(every(time.Second)).Breaker(resilient.MinimumThroughput(2))).Do(r)
					var outer *url.Error
					is.True(errors.As(err, &outer))                                // net/http's wrapping
					same := outer.Err == error(disk)                               //nolint:errorlint // the error itself, not one that wraps it
					is.True(same)                                                  // around the very error
					is.Equal(len(eventsOf[resilient.AttemptDone](w)), 1)           // there was one attempt
					is.True(!eventsOf[resilient.AttemptDone](w)[0].Transient)      // which is not worth another
					is.Equal(w.registry.Snapshot()[0].Breaker.Failures, uint64(0)) // and no fault of the server
					is.Equal(len(w.denials()), 0)                                  // nothing was denied
				})
			})
		}
	})
}

// http.Client follows redirects above us: each hop is a call, with retries of its own.
func TestRedirectKeepsTheBodyThroughRetries(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		var fails atomic.Int32
		mux := http.NewServeMux()
		mux.HandleFunc("/old", func(rw http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if fails.Add(1) == 1 {
				rw.WriteHeader(503)
				return
			}
			http.Redirect(rw, r, "/new", http.StatusTemporaryRedirect)
		})
		mux.HandleFunc("/new", func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if fails.Add(1) == 3 {
				rw.WriteHeader(503)
				return
			}
			_, _ = rw.Write(body)
		})
		p.bubble(t, mux, func(w *world) {
			is := is.New(w.T)
			c := w.client(retrying(every(time.Second)).Budget(resilient.MinimumThroughput(1), resilient.RetryRatio(1)))
			resp, err := c.Post(w.URL+"/old", "text/plain", strings.NewReader("order"))
			is.NoErr(err)                                                 // the new place answers
			is.Equal(resp.Request.URL.Path, "/new")                       // as it does without us
			is.Equal(read(w.T, resp), "order")                            // with the body
			is.Equal(w.arrived(), 4)                                      // after one failure here and one there
			is.Equal(len(eventsOf[resilient.CallDone](w)), 2)             // two calls
			is.Equal(w.registry.Snapshot()[0].Budget.Requests, uint64(2)) // in the budget's books, too
			for _, e := range w.Exchanges() {
				is.Equal(string(e.Body), "order") // each of them had it
			}
		})
	})
}
