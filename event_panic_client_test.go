package resilient_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// panicOn is an observer that panics at one kind of event.
func panicOn[E resilient.Event](_ context.Context, e resilient.Event) {
	if _, ok := e.(E); ok {
		panic("an observer")
	}
}

// recovering makes a call, and says what it panics with.
func recovering(f func()) (reason any) {
	defer func() { reason = recover() }()
	f()
	return nil
}

func TestPanickingObserverOfAWaitGivesTokensAndPermitBack(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(resilient.New("orders").Defaults(resilient.None).Concurrency(resilient.Permits(1)).
			RateLimit(resilient.PerMinute(60), resilient.Burst(1), resilient.Wait(time.Minute)).Observe(panicOn[resilient.Waited]))
		resp, err := c.Get(w.URL) // takes the one token
		is.NoErr(err)
		read(w.T, resp)
		is.Equal(recovering(func() { _, _ = c.Get(w.URL) }), "an observer") // which waits for the next
		s := w.registry.Snapshot()[0]
		is.Equal(s.RateLimit.Available, int64(1)) // it was not sent
		is.Equal(s.Concurrency.InUse, 0)
	})
}

func TestPanickingObserverOfABodyEndsTheCall(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "body"), func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.Handle, httptestx.Send(0), httptestx.Hang)
		c := w.client(resilient.New("orders").Defaults(resilient.None).Concurrency(resilient.Permits(1)).
			Timeout(resilient.BodyIdle(time.Second)).Observe(panicOn[resilient.BodyCut]))
		resp, err := c.Get(w.URL)
		is.NoErr(err)
		is.Equal(recovering(func() { _, _ = resp.Body.Read(make([]byte, 10)) }), "an observer")
		is.Equal(w.registry.Snapshot()[0].Concurrency.InUse, 0) // though nobody has closed it yet
		is.NoErr(resp.Body.Close())
	})
}

// A body that an earlier attempt has read on from is asked for once more, just before the next one.
func TestPanicOfASecondGetBodyEndsTheCall(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, nil)
	var sent io.Reader
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = r.Body
		return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
	})
	c := w.over(base, retrying().Concurrency(resilient.Permits(1)).Observe(func(_ context.Context, e resilient.Event) {
		if _, ok := e.(resilient.RetryScheduled); ok {
			_, _ = sent.Read(make([]byte, 1)) // as a transport may that answered early
		}
	}))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://x.test", strings.NewReader("abc"))
	is.NoErr(err)
	get, n := r.GetBody, 0
	r.GetBody = func() (io.ReadCloser, error) {
		if n++; n == 2 {
			panic("GetBody")
		}
		return get()
	}
	is.Equal(recovering(func() { _, _ = c.Do(r) }), "GetBody")
	is.Equal(w.registry.Snapshot()[0].Concurrency.InUse, 0)
}

func TestPanicOfABodyThatIsClosedAfterAPanicEndsTheCall(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, nil)
	base := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: panickingBody{strings.NewReader("")}}, nil
	})
	c := w.over(base, retrying().Concurrency(resilient.Permits(1)).Observe(panicOn[resilient.AttemptDone]))
	is.Equal(recovering(func() { _, _ = c.Get("http://x.test") }), "Close") // the later one
	is.Equal(w.registry.Snapshot()[0].Concurrency.InUse, 0)
}

type panickingBody struct{ io.Reader }

func (panickingBody) Close() error { panic("Close") }
