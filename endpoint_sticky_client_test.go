package resilient_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// byThread keeps what belongs to one conversation together.
func byThread(r *http.Request) string { return r.Header.Get("Thread") }

// tell makes a call that belongs to a thread, and returns the status.
func (w *world) tell(c *http.Client, thread string) (int, error) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, "http://nowhere.test/", strings.NewReader("hello"))
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Thread", thread)
	resp, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	read(w.T, resp)
	return resp.StatusCode, nil
}

// told makes calls, one for each thread, that must be answered with the status.
func (w *world) told(c *http.Client, status int, threads ...string) {
	w.Helper()
	for _, thread := range threads {
		if got, err := w.tell(c, thread); err != nil || got != status {
			w.Errorf("thread %q: got %d and error %v, want %d", thread, got, err, status)
		}
	}
}

func TestRequestWithAKeyGoesToTheEndpointThatHasServedIt(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.RoundRobin.StickyBy(byThread), places("a", "b", "c")...))
		w.told(c, 200, "x", "y", "x", "x", "z", "y", "", "", "x")
		is.Equal(w.visited(), "a b a a b b a b a") // x at a, y at b, z where its turn was, which is b; without a key in turn
	})
}

// Each call takes its turn, whether it can use it or not: what is free of a key stays evenly spread.
func TestOnlySuccessMakesAnEndpointAHome(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 404, 429, 500, 503} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				w.On("a/").Do(httptestx.Status(status))
				c := w.client(spread(resilient.RoundRobin.StickyBy(byThread), places("a", "b")...))
				w.told(c, status, "x")
				w.told(c, 200, "x", "x", "x")
				is.Equal(w.visited(), "a b b b") // a has not served it
			})
		})
	}
}

// A thread that nobody has served may go anywhere, also in its retries.
func TestRetryOfAKeyWithoutAHomeMakesOne(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Do(httptestx.Status(500))
		c := w.client(spread(resilient.Ordered.StickyBy(byThread), places("a", "b")...).Retry(resilient.MaxRetries(1), every(0)))
		w.told(c, 200, "x", "x")
		is.Equal(w.visited(), "a b b")
	})
}

// It would not be understood elsewhere.
func TestRetryOfAKeyStaysAtItsHome(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Nth(2).Do(httptestx.Status(500))
		w.On("a/").Nth(2).Do(httptestx.TooManyRequests(30 * time.Second)...)
		c := w.client(spread(resilient.Ordered.StickyBy(byThread), places("a", "b")...).
			Retry(resilient.MaxRetries(3), every(time.Second), resilient.MaxRetryAfter(time.Minute)))
		start := time.Now()
		w.told(c, 200, "x", "x")
		is.Equal(w.visited(), "a a a a")
		is.Equal(w.arrivals(start), []time.Duration{0, 0, time.Second, 31 * time.Second}) // and waits for it
	})
}

func TestKeyWhoseHomeIsThrottledFails(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Nth(2).Do(httptestx.TooManyRequests(30 * time.Second)...)
		c := w.client(spread(resilient.Ordered.StickyBy(byThread), places("a", "b")...))
		w.told(c, 200, "x")
		w.told(c, 429, "x")
		_, err := w.tell(c, "x")
		is.Equal(err.Error(), `Post "http://nowhere.test/": resilient: client "orders": no endpoint is available, retry after 30s: `+
			`a: asked to be left alone for 30s`) // it alone
		w.told(c, 200, "y") // others go on
		time.Sleep(30 * time.Second)
		w.told(c, 200, "x", "y")
		is.Equal(w.visited(), "a a b a b")
	})
}

func TestKeyWhoseHomeHasItsCircuitOpenFails(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Nth(2).Do(httptestx.Status(500))
		c := w.client(fragile(spread(resilient.Ordered.StickyBy(byThread), places("a", "b")...)).Retry(resilient.MaxRetries(3), every(time.Second)))
		w.told(c, 200, "x")
		w.told(c, 500, "x") // which opens it, so that no retry has a place to go
		is.Equal(w.denials(), []string{"circuit_open"})
		_, err := w.tell(c, "x")
		is.True(errors.Is(err, resilient.ErrCircuitOpen))
		is.Equal(rejection(err).RetryAfter, time.Minute)
		w.told(c, 200, "y")
		is.Equal(w.visited(), "a a b")
	})
}

// Each client has its own memory, and its own function.
func TestKeysAreRememberedByOneClient(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		b := spread(resilient.RoundRobin.StickyBy(byThread), places("a", "b")...)
		first, second := w.client(b), w.client(b)
		w.told(first, 200, "x")
		w.told(second, 200, "y", "x", "x")
		is.Equal(w.visited(), "a a b b") // x is at home at b for the second
		w.told(first, 200, "x")
		is.Equal(w.visited(), "a a b b a")
	})
}

// The function is called once a call, before anything is sent.
func TestKeyIsAskedForOnceACall(t *testing.T) {
	t.Parallel()
	bubble(t, always(500, ""), func(w *world) {
		is := is.New(w.T)
		var asked []string
		key := func(r *http.Request) string {
			asked = append(asked, r.URL.String())
			return "x"
		}
		c := w.client(spread(resilient.RoundRobin.StickyBy(key), places("a", "b")...).Retry(resilient.MaxRetries(3), every(0)))
		resp, err := c.Get("http://nowhere.test/path")
		is.NoErr(err)
		read(w.T, resp)
		is.Equal(asked, []string{"http://nowhere.test/path"})
	})
}

// What a request goes on with may be told in its body only. The function has a copy, as that of a cost has one.
func TestKeyMayBeReadFromTheBody(t *testing.T) {
	t.Parallel()
	inBody := func(r *http.Request) string {
		text, _ := io.ReadAll(r.Body)
		thread, _, _ := strings.Cut(string(text), ":")
		return thread
	}
	for name, hidden := range map[string]bool{"with GetBody": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []received
			bubble(t, receiving(1, &got), func(w *world) {
				is := is.New(w.T)
				cost := resilient.Cost(func(r *http.Request) int { return len(inBody(r)) })
				c := w.client(spread(resilient.RoundRobin.StickyBy(inBody), places("a", "b", "c")...).
					RateLimit(resilient.PerMinute(1000), cost).Retry(resilient.MaxRetries(1), every(0)))
				for _, text := range []string{"x: one", "y: two", "x: three"} {
					var body io.Reader = strings.NewReader(text)
					if hidden {
						body = opaque(text)
					}
					resp, err := c.Post("http://nowhere.test/", "text/plain", body)
					is.NoErr(err)
					read(w.T, resp)
				}
				is.Equal(w.visited(), "a b b b") // the last is not served by c, whose turn it is, but where x was
				for i, text := range []string{"x: one", "x: one", "y: two", "x: three"} {
					is.Equal(got[i].body, text) // all of it is sent
				}
			})
		})
	}
}
