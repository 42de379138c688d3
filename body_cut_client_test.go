package resilient_test

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// Whoever reads on after the cut gets the same error, and starts no timer that nobody stops.
func TestBodyThatWasCutStaysCut(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, dripping(3, 10*time.Second, time.Hour), func(w *world) {
			is := is.New(w.T)
			resp, err := w.client(bounded(resilient.BodyIdle(30 * time.Second))).Get(w.URL)
			is.NoErr(err)
			_, err = io.ReadAll(resp.Body)
			is.True(errors.Is(err, resilient.ErrBodyIdle))
			for range 3 {
				_, err = resp.Body.Read(make([]byte, 1))
				is.True(errors.Is(err, resilient.ErrBodyIdle)) // and stays so
			}
			is.NoErr(resp.Body.Close())
			is.Equal(w.left(), nil) // no timer is left
		})
	})
}

// What is left of an answer that is retried is read, so that its connection can be used again. That this stood still is
// nobody's news.
func TestNobodyIsToldOfAnAnswerThatWasCutAfterItWasGivenUp(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		var n atomic.Int32
		p.bubble(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if n.Add(1) == 1 {
				rw.WriteHeader(http.StatusServiceUnavailable)
				_ = http.NewResponseController(rw).Flush()
				<-r.Context().Done()
			}
		}), func(w *world) {
			is := is.New(w.T)
			resp, err := w.client(retrying().Timeout(resilient.BodyIdle(10 * time.Millisecond))).Get(w.URL)
			is.NoErr(err)
			is.Equal(resp.StatusCode, 200) // the retry's
			is.NoErr(resp.Body.Close())
			is.Equal(len(eventsOf[resilient.RetryScheduled](w)), 1)
			is.Equal(len(eventsOf[resilient.BodyCut](w)), 0) // the caller never had that body
		})
	})
}
