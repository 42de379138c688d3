package resilient_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// A key has its home at an endpoint, and not at a place in the list. One whose home is gone finds another.
func TestKeyStaysAtItsEndpointWhenTheListChanges(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.RoundRobin.StickyBy(byThread), places("a", "b", "c")...))
		w.told(c, 200, "x", "y", "z") // at a, b and c
		is.NoErr(w.registry.Apply([]byte(`{"orders": {"endpoints": {"list": [{"url": "http://c"}, {"url": "http://a"}]}}}`)))
		w.told(c, 200, "x", "z", "x", "z")
		is.Equal(w.visited(), "a b c a c a c")
		w.told(c, 200, "y", "y", "y")
		last := w.Exchanges()[7:]
		is.True(last[0].Host != "b") // which is no longer there
		is.Equal(last[1].Host, last[0].Host)
		is.Equal(last[2].Host, last[0].Host)
	})
}

// One that is under way has begun with the list as it was, and must not bring its numbers into the new one.
func TestCallThatOutlastsAChangeOfTheListMakesNoWrongHome(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("c/").Do(httptestx.Delay(time.Second), httptestx.Handle)
		c := w.client(spread(resilient.RoundRobin.StickyBy(byThread), places("a", "b", "c")...))
		w.told(c, 200, "", "")
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.told(c, 200, "x") // at c
		}()
		time.Sleep(500 * time.Millisecond)
		is.NoErr(w.registry.Apply([]byte(`{"orders": {"endpoints": {"list": [{"url": "http://a"}]}}}`)))
		<-done
		w.told(c, 200, "x") // c is gone
		is.Equal(w.visited(), "a b c a")
	})
}

// A document can't have keys in it. An endpoint that stays keeps its own.
func TestEndpointKeepsItsHeaderWhenItsWeightChanges(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		list := weighted(map[string]int{"a": 1, "b": 1}, "a", "b")
		list[0].Header = http.Header{"Api-Key": {"key of a"}}
		list[1].Rewrite = func(r *http.Request) { r.Header.Set("Api-Key", "key of b") }
		c := w.client(spread(resilient.Weighted, list...))
		w.served(c, 2, 200)
		is.NoErr(w.registry.Apply([]byte(`{"orders": {"endpoints": {"list": [{"url": "http://a", "weight": 1}, {"url": "http://b", "weight": 3}]}}}`)))
		w.served(c, 4, 200)
		is.Equal(w.visited(), "a b b b b a") // turns b a b b, begun with the third
		for _, e := range w.Exchanges() {
			is.Equal(e.Header.Get("Api-Key"), "key of "+e.Host)
		}
	})
}

// Circuits, buckets and throttles are the endpoints', by name.
func TestEndpointsKeepTheirStateWhenTheListChanges(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		w.On("a/").Do(httptestx.Status(500))
		w.On("b/").Script(httptestx.TooManyRequests(time.Minute))
		c := w.client(fragile(spread(resilient.Ordered, places("a", "b", "c")...)).RateLimit(resilient.PerMinute(1), resilient.Burst(2)))
		w.served(c, 2, 500) // a is open
		w.served(c, 1, 429) // b is throttled
		w.served(c, 2, 200) // c has no tokens
		is.NoErr(w.registry.Apply([]byte(`{"orders": {"endpoints": {"routing": "roundRobin", "list": [
			{"url": "http://d"}, {"url": "http://c"}, {"url": "http://b"}, {"url": "http://a"}]}}}`)))
		w.served(c, 2, 200)
		is.Equal(w.visited(), "a a b c c d d") // d is all that is left
		_, err := w.call(c)
		is.Equal(rejection(err).RetryAfter, time.Minute)
	})
}
