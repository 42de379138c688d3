package resilient_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// fast is a preset whose waits are short enough for real sockets.
func fast(p resilient.Preset) resilient.Builder {
	return resilient.New("orders").Defaults(p).
		Retry(resilient.MaxRetries(1), resilient.Backoff(time.Millisecond, time.Millisecond)).
		Breaker(resilient.Off)
}

// Six examples, on real sockets: what Conservative repeats, and
// that Standard, which repeats whatever may pass, is told apart by them.
func TestConservativeRepeatsAPostOnlyWhenItIsUnprocessed(t *testing.T) {
	for _, c := range []struct {
		name                   string
		method                 string
		plan                   []httptestx.Step
		conservative, standard int // requests that arrive
	}{
		{"POST 503", "POST", httptestx.Unavailable(0), 2, 2},
		{"POST 429", "POST", httptestx.TooManyRequests(0), 2, 2},
		{"POST 500", "POST", httptestx.Plan(httptestx.Status(500)), 1, 2},
		{"POST 502", "POST", httptestx.Plan(httptestx.Status(502)), 1, 2},
		{"POST 504", "POST", httptestx.Plan(httptestx.Status(504)), 1, 2},
		{"POST 501", "POST", httptestx.Plan(httptestx.Status(501)), 1, 1},
		{"POST answer lost", "POST", httptestx.LostResponse, 1, 2},
		{"POST answer lost, orderly", "POST", httptestx.LostResponseEOF, 1, 2},
		{"PATCH 500", "PATCH", httptestx.Plan(httptestx.Status(500)), 1, 2},
		{"unknown method 500", "FROB", httptestx.Plan(httptestx.Status(500)), 1, 2},
		{"PUT 500", "PUT", httptestx.Plan(httptestx.Status(500)), 2, 2},
		{"DELETE answer lost", "DELETE", httptestx.LostResponse, 2, 2},
		{"GET 502", "GET", httptestx.Plan(httptestx.Status(502)), 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for preset, want := range map[resilient.Preset]int{
				resilient.Conservative: c.conservative, resilient.Standard: c.standard,
			} {
				is := is.New(t)
				w := loopback(t, always(200, "ok"))
				w.On("/").Script(c.plan)
				req, err := http.NewRequest(c.method, w.URL+"/orders", strings.NewReader("{}"))
				is.NoErr(err)
				resp, err := w.client(fast(preset)).Do(req)
				if err == nil {
					read(t, resp)
				}
				is.Equal(w.arrived(), want) // requests that arrived at the server
				if want == 1 && preset == resilient.Conservative && c.name != "POST 501" {
					is.Equal(w.denials(), []string{"ambiguous"}) // and the reason is told
				}
			}
		})
	}
}

func TestTimedOutPostIsNotRepeatedAndTimedOutPutIs(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for method, want := range map[string]int{"POST": 1, "PUT": 2, "GET": 2} {
			t.Run(method, func(t *testing.T) {
				is := is.New(t)
				p.bubble(t, always(200, "ok"), func(w *world) {
					w.On("/").Script(httptestx.Stall)
					req, err := http.NewRequest(method, w.URL, strings.NewReader("{}"))
					is.NoErr(err)
					resp, err := w.client(fast(resilient.Conservative)).Do(req)
					is.Equal(w.arrived(), want) // requests that arrived
					if want == 2 {
						is.NoErr(err) // the retry is answered
						is.Equal(read(t, resp), "ok")
						return
					}
					is.True(err != nil)
					is.Equal(w.denials(), []string{"ambiguous"}) // the server may have processed it
				})
			})
		}
	})
}

func TestPostIsRepeatedWhenNoConnectionCouldBeHad(t *testing.T) {
	is := is.New(t)
	w := loopback(t, always(200, "ok"))
	refused := 0
	dial := w.DialContext
	base := &http.Transport{DialContext: dial}
	defer base.CloseIdleConnections()
	base.DialContext = refuseOnce(t, &refused, dial)
	resp, err := w.over(base, fast(resilient.Conservative)).Post(w.URL, "text/plain", strings.NewReader("{}"))
	is.NoErr(err)
	is.Equal(read(t, resp), "ok")
	is.Equal(refused, 1)     // the first dial was refused, by the kernel
	is.Equal(w.arrived(), 1) // and the order arrived once
}

func TestKeyedPostIsRepeatedWithTheSameKey(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		is := is.New(t)
		p.bubble(t, always(200, "ok"), func(w *world) {
			w.On("/").Script(httptestx.LostResponse)
			req, _ := http.NewRequest("POST", w.URL, strings.NewReader("{}"))
			req.Header.Set("Idempotency-Key", "k-1")
			resp, err := w.client(fast(resilient.Conservative)).Do(req)
			is.NoErr(err)
			read(t, resp)
			is.Equal(w.Ledger().Arrivals("k-1"), 2) // both attempts carry the key
		})
	})
}

func TestGeneratedKeyIsTheSameOnEveryAttemptAndAnotherOnEveryCall(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		is := is.New(t)
		p.bubble(t, always(200, "ok"), func(w *world) {
			w.On("/").Script(httptestx.LostResponse)
			c := w.client(fast(resilient.Conservative).Idempotency(resilient.GenerateKeys))
			header := http.Header{"X-Mine": {"1"}}
			for range 2 {
				req, _ := http.NewRequest("POST", w.URL, strings.NewReader("{}"))
				req.Header = header
				resp, err := c.Do(req)
				is.NoErr(err)
				read(t, resp)
			}
			is.Equal(len(header), 1) // the caller's header is left alone
			keys := w.Ledger().Keys()
			is.Equal(len(keys), 2)                    // one key a call
			is.Equal(w.Ledger().Arrivals(keys[0]), 2) // on both attempts of the first
			is.Equal(w.Ledger().Arrivals(keys[1]), 1)
		})
	})
}

func TestReplayablePostIsRepeated(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		is := is.New(t)
		p.bubble(t, always(200, "ok"), func(w *world) {
			w.On("/").Script(httptestx.LostResponse)
			req, _ := http.NewRequest("POST", w.URL, strings.NewReader("{}"))
			resp, err := w.client(fast(resilient.Conservative)).Do(req.WithContext(resilient.Replayable(req.Context())))
			is.NoErr(err)
			read(t, resp)
			is.Equal(w.arrived(), 2)
		})
	})
}

func TestPostWhoseBodyWasNotSentWholeIsRepeated(t *testing.T) {
	is := is.New(t)
	bubble(t, always(200, "ok"), func(w *world) {
		w.On("/").Script(httptestx.ResetBeforeRead)
		body := strings.Repeat("x", 8<<20) // more than any buffer on the way
		resp, err := w.client(fast(resilient.Conservative)).Post(w.URL, "text/plain", strings.NewReader(body))
		is.NoErr(err)
		read(t, resp)
		is.Equal(w.arrived(), 2)
		is.Equal(w.handled(), 1) // only the second was ever complete
	})
}

func TestAmbiguousStatusesReplaceTheSet(t *testing.T) {
	for _, c := range []struct {
		name    string
		option  resilient.IdempotencyOption
		status  int
		arrived int
	}{
		{"none is ambiguous", resilient.AmbiguousStatuses(), 500, 2},
		{"listed", resilient.AmbiguousStatuses(500, 503), 503, 1},
		{"not listed", resilient.AmbiguousStatuses(500, 503), 502, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			bubble(t, always(200, "ok"), func(w *world) {
				w.On("/").Script(httptestx.Plan(httptestx.Status(c.status)), httptestx.LostResponse)
				resp, err := w.client(fast(resilient.Conservative).Idempotency(c.option)).Post(w.URL, "text/plain", nil)
				if err == nil {
					read(t, resp)
				}
				is.Equal(w.arrived(), c.arrived) // a response that counts as unambiguous is repeated
			})
		})
	}
}

// refuseOnce dials a port that nobody listens on, once, and then as dial does.
func refuseOnce(t *testing.T, refused *int, dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if *refused == 0 {
			*refused++
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Error(err)
			}
			addr = l.Addr().String()
			_ = l.Close()
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		}
		return dial(ctx, network, addr)
	}
}

type dialer = func(context.Context, string, string) (net.Conn, error)
