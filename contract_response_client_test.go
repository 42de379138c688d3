package resilient_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

func TestResponseTrailersArrive(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-Announced")
			_, _ = io.WriteString(w, "body")
			w.Header().Set("X-Announced", "1")
			w.Header().Set(http.TrailerPrefix+"X-Unannounced", "2")
		}), func(w *world) {
			is := is.New(w.T)
			resp, err := w.client(busy()).Get(w.URL)
			is.NoErr(err)
			is.Equal(resp.Trailer, http.Header{"X-Announced": nil}) // the announced one, not there yet
			is.Equal(read(w.T, resp), "body")
			is.Equal(resp.Trailer, http.Header{"X-Announced": {"1"}, "X-Unannounced": {"2"}})
		})
	})
}

func TestGzipIsUnpackedAsEver(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, strings.Repeat("hello ", 1000))
			_ = z.Close()
		}), func(w *world) {
			is := is.New(w.T)
			c := w.client(busy())
			resp, err := c.Get(w.URL)
			is.NoErr(err)
			is.True(resp.Uncompressed) // by the transport, which asked for it
			is.Equal(resp.Header.Get("Content-Encoding"), "")
			is.Equal(len(read(w.T, resp)), 6000)
			r, _ := http.NewRequest("GET", w.URL, nil)
			r.Header.Set("Accept-Encoding", "gzip")
			resp, err = c.Do(r)
			is.NoErr(err)
			is.True(!resp.Uncompressed) // who asks for it gets it
			z, err := gzip.NewReader(resp.Body)
			is.NoErr(err)
			b, err := io.ReadAll(z)
			is.NoErr(err)
			is.Equal(len(b), 6000)
			resp.Body.Close()
		})
	})
}

// The context of an attempt ends with its body and not before.
func TestContextOfAnAttemptLivesAsLongAsItsBody(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, end := range map[string]func(io.ReadCloser){
			"closed":          func(b io.ReadCloser) { b.Close() },
			"read to the end": func(b io.ReadCloser) { _, _ = io.Copy(io.Discard, b) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, always(200, strings.Repeat("x", 100)), func(w *world) {
					is := is.New(w.T)
					w.On("/").Script(httptestx.Unavailable(0))
					var attempts []context.Context
					c := w.over(roundTripper(func(r *http.Request) (*http.Response, error) {
						attempts = append(attempts, r.Context())
						return w.Client().Transport.RoundTrip(r)
					}), busy())
					resp, err := c.Get(w.URL)
					is.NoErr(err)
					is.True(attempts[0].Err() != nil) // the first has been thrown away
					time.Sleep(time.Hour)             // whatever the timeouts
					is.NoErr(attempts[1].Err())
					end(resp.Body)
					is.True(attempts[1].Err() != nil) // now it is over
					resp.Body.Close()
				})
			})
		}
	})
}

// A transport that answers with less than net/http does is not made up for.
func TestUpgradedConnectionHasWhatTheTransportGave(t *testing.T) {
	t.Parallel()
	type readWriter struct {
		io.ReadCloser
		io.Writer
	}
	for _, row := range []struct {
		name          string
		status        int
		body          io.ReadCloser
		writes, halfs bool
	}{
		{"reader", 101, track(""), false, false},
		{"writer", 101, readWriter{track(""), io.Discard}, true, false},
		{"half-closer", 101, halfClosing{readWriter{track(""), io.Discard}}, true, true},
		{"writer that is no connection", 200, readWriter{track(""), io.Discard}, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			w := newWorld(t, nil)
			resp, err := w.over(roundTripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: row.status, Body: row.body}, nil
			}), busy()).Get("http://x.test")
			is.NoErr(err)
			_, writes := resp.Body.(io.Writer)
			is.Equal(writes, row.writes)
			_, halfs := resp.Body.(interface{ CloseWrite() error })
			is.Equal(halfs, row.halfs)
			resp.Body.Close()
		})
	}
}

type halfClosing struct{ io.ReadCloser }

func (halfClosing) Write(p []byte) (int, error) { return len(p), nil }
func (halfClosing) CloseWrite() error           { return nil }

func TestRedirectsAndCookiesAreTheClients(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch cookie, _ := r.Cookie("session"); {
			case r.URL.Path == "/login":
				http.SetCookie(w, &http.Cookie{Name: "session", Value: "42", Path: "/"})
				http.Redirect(w, r, "/home", http.StatusSeeOther)
			case r.URL.Path == "/moved":
				http.Redirect(w, r, "/order", http.StatusTemporaryRedirect)
			case r.URL.Path == "/loop":
				http.Redirect(w, r, "/loop", http.StatusFound)
			case r.URL.Path == "/order":
				_, _ = io.Copy(w, r.Body)
			case cookie != nil:
				_, _ = io.WriteString(w, "session "+cookie.Value)
			}
		}), func(w *world) {
			is := is.New(w.T)
			w.On("/home").Script(httptestx.Unavailable(0))
			jar, _ := cookiejar.New(nil)
			var hops []string
			existing := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, via []*http.Request) error {
				hops = append(hops, via[len(via)-1].URL.Path+" to "+r.URL.Path)
				if len(via) == 5 {
					return http.ErrUseLastResponse
				}
				return nil
			}}
			c := w.client(busy().Client(existing))
			resp, err := c.Get(w.URL + "/login")
			is.NoErr(err)
			is.Equal(read(w.T, resp), "session 42")                 // the cookie was kept and sent
			is.Equal(hops, []string{"/login to /home"})             // the caller was asked once
			is.Equal(resp.Request.URL.Path, "/home")                // the response is the last hop's
			is.Equal(len(eventsOf[resilient.CallDone](w)), 2)       // a hop is a call
			is.Equal(len(eventsOf[resilient.RetryScheduled](w)), 1) // and may be repeated
			resp, err = c.Post(w.URL+"/moved", "text/plain", strings.NewReader("order"))
			is.NoErr(err)
			is.Equal(read(w.T, resp), "order") // the body goes with it
			resp, err = c.Get(w.URL + "/loop")
			is.NoErr(err)
			is.Equal(resp.StatusCode, http.StatusFound) // the caller has had enough
			read(w.T, resp)
		})
	})
}

func TestProxyOfTheBaseIsUsed(t *testing.T) {
	t.Parallel()
	bubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "proxied "+r.URL.String()+" "+r.Header.Get("Proxy-Authorization"))
	}), func(w *world) {
		is := is.New(w.T)
		proxy, _ := url.Parse("http://user:secret@proxy.test:8080")
		base := &http.Transport{DialContext: w.DialContext, Proxy: http.ProxyURL(proxy)}
		defer base.CloseIdleConnections()
		resp, err := w.over(base, busy()).Get("http://far.test/x")
		is.NoErr(err)
		is.Equal(read(w.T, resp), "proxied http://far.test/x Basic dXNlcjpzZWNyZXQ=")
	})
}

// The base keeps whatever it is configured with: it is used, not copied.
func TestBaseIsUsedAsItIs(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	rt, err := resilient.New("x").Registry(resilient.NewRegistry()).BuildTransport()
	is.NoErr(err)
	unwrapper, ok := rt.(interface{ Unwrap() http.RoundTripper })
	is.True(ok)                                          // for whoever needs the base itself
	is.True(unwrapper.Unwrap() == http.DefaultTransport) // with its proxy from the environment, and all
}

func TestCloseIdleConnectionsReachesTheBase(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, always(200, "ok"), func(w *world) {
			is := is.New(w.T)
			c := w.client(busy())
			for range 2 {
				resp, err := c.Get(w.URL)
				is.NoErr(err)
				read(w.T, resp)
			}
			c.CloseIdleConnections()
			synctest.Wait()
			resp, err := c.Get(w.URL)
			is.NoErr(err)
			read(w.T, resp)
			conns := []int{}
			for _, e := range w.Exchanges() {
				conns = append(conns, e.Conn)
			}
			is.Equal(conns, []int{1, 1, 2})                                            // the pool was emptied between the second and the third
			w.over(roundTripper(hello), resilient.New("other")).CloseIdleConnections() // a base without is left in peace
		})
	})
}

// The base's own error is what the caller gets.
func TestErrorOfTheBaseIsReturnedAsItIs(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, nil)
	base := errors.New("base")
	c := w.over(roundTripper(func(*http.Request) (*http.Response, error) { return nil, base }), busy().Budget(resilient.Off))
	r, _ := http.NewRequest("GET", "http://x.test", nil)
	_, err := c.Transport.RoundTrip(r)
	is.True(err == base) //nolint:errorlint // the very error
	is.Equal(w.denials(), []string{"attempts"})
}

// A Timeout that is set on the built client later works as on any client.
func TestClientTimeoutThatIsSetLater(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, always(200, "hello"), func(w *world) {
			is := is.New(w.T)
			w.On("/stall").Do(httptestx.Stall...)
			w.On("/body").Do(httptestx.SlowBody(time.Hour)...)
			c := w.client(busy())
			c.Timeout = time.Second
			began := time.Now()
			_, err := c.Get(w.URL + "/stall")
			is.Equal(time.Since(began), time.Second)
			is.True(isTimeout(err))
			is.True(errors.Is(err, context.DeadlineExceeded))
			is.True(!errors.Is(err, resilient.ErrTotalTimeout)) // it is not ours
			is.Equal(w.arrived(), 1)                            // and nothing is repeated
			resp, err := c.Get(w.URL + "/body")
			is.NoErr(err)
			_, err = io.ReadAll(resp.Body)
			is.True(isTimeout(err))
			is.True(errors.Is(err, context.DeadlineExceeded))
			resp.Body.Close()
		})
	})
}

// Whatever its timers do first, the error says what it was: http.Client ends a
// request by its context and by Request.Cancel, and looks whether it did the second.
func TestErrorSaysThatItWasTheClientsTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "hello"), func(w *world) {
		is := is.New(w.T)
		w.On("/body").Do(httptestx.SlowBody(time.Hour)...)
		w.On("/").Do(httptestx.Stall...)
		c := w.client(busy().Breaker(resilient.Off))
		c.Timeout = time.Second
		for range 50 {
			_, err := c.Get(w.URL)
			is.True(strings.HasSuffix(err.Error(), " (Client.Timeout exceeded while awaiting headers)"))
			is.True(isTimeout(err))
		}
		for _, row := range []struct{ closes, returns time.Duration }{
			{10 * time.Millisecond, 10 * time.Millisecond}, // it is waited for
			{time.Hour, 20 * time.Millisecond},             // but not for long
		} {
			for _, path := range []string{"/", "/body"} {
				ctx, cancel := context.WithTimeout(w.Context(), time.Second)
				r, closed := w.with(ctx), make(chan struct{})
				r.URL.Path, r.Cancel = path, closed //nolint:staticcheck // as http.Client does
				timer := time.AfterFunc(time.Second+row.closes, func() { close(closed) })
				began := time.Now()
				resp, err := c.Transport.RoundTrip(r)
				if path == "/body" {
					is.NoErr(err) // the headers have come
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				is.Equal(time.Since(began), time.Second+row.returns)
				is.True(errors.Is(err, context.DeadlineExceeded))
				timer.Stop()
				cancel()
			}
		}
	})
}
