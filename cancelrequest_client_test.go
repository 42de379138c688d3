package resilient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

type canceller interface{ CancelRequest(*http.Request) }

func TestCancelRequestEndsAnAttemptWithTheTransportsOwnError(t *testing.T) {
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		w.On("/").Do(httptestx.Read, httptestx.Hang)
		rt := w.client(resilient.New("orders")).Transport
		r, _ := http.NewRequest("GET", w.URL, nil)
		failed := make(chan error)
		go func() {
			_, err := rt.RoundTrip(r)
			failed <- err
		}()
		synctest.Wait()
		rt.(canceller).CancelRequest(r)
		err := <-failed
		is.Equal(err.Error(), "net/http: request canceled") // as from the bare transport
		is.Equal(w.arrived(), 1)                            // and it is not repeated
		rt.(canceller).CancelRequest(r)                     // a call that is over is left alone
	})
}

func TestCancelRequestEndsAWaitAtOnce(t *testing.T) {
	bubble(t, always(503, "sorry"), func(w *world) {
		is := is.New(w.T)
		rt := w.client(resilient.New("orders").Retry(resilient.Backoff(time.Second, 0), resilient.NoJitter)).Transport
		r, _ := http.NewRequest("GET", w.URL, nil)
		failed := make(chan error)
		start := time.Now()
		go func() {
			_, err := rt.RoundTrip(r)
			failed <- err
		}()
		synctest.Wait()
		rt.(canceller).CancelRequest(r)
		err := <-failed
		is.True(errors.Is(err, context.Canceled))     // the caller has left
		is.Equal(time.Since(start), time.Duration(0)) // and did not wait for it
		is.Equal(w.arrived(), 1)
	})
}

// A transport that is not net/http's may want to read a body before it is sent,
// to sign it for instance. It must not send it twice.
func TestBaseOfAnotherKindMayReadTheBodyBeforehandOnly(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, nil)
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		ahead, err := r.GetBody()
		is.NoErr(err) // before it is asked for
		b, _ := io.ReadAll(ahead)
		is.Equal(string(b), "order") // it can be had
		b, _ = io.ReadAll(r.Body)
		is.Equal(string(b), "order")
		_, err = r.GetBody()
		is.True(err != nil) // but not once it may have been sent
		return &http.Response{StatusCode: 200, Body: http.NoBody}, r.Body.Close()
	})
	resp, err := w.over(base, resilient.New("orders")).Post("http://x.test", "text/plain", strings.NewReader("order"))
	is.NoErr(err)
	is.Equal(resp.StatusCode, 200)
}

// A transport of another kind may send the copy that it got. What is left unread
// of the body itself then says nothing about what the server has.
func TestBodyThatWasCopiedIsNoEvidence(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := newWorld(t, nil)
	sent := 0
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		body, err := r.GetBody()
		is.NoErr(err)
		_, _ = io.Copy(io.Discard, body) // to the server
		sent++
		_ = r.Body.Close()
		return nil, io.ErrUnexpectedEOF // and the answer is lost
	})
	c := w.over(base, resilient.New("orders").Defaults(resilient.Conservative).Retry(resilient.Backoff(0, 0)))
	_, err := c.Post("http://x.test", "text/plain", strings.NewReader("order"))
	is.True(errors.Is(err, io.ErrUnexpectedEOF))
	is.Equal(eventsOf[resilient.AttemptDone](w)[0].Conclusion, resilient.Unknown) // it may have been processed
	is.Equal(sent, 1)                                                             // so it is not sent again
	is.Equal(w.denials(), []string{"ambiguous"})
}
