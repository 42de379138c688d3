package resilient_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

func TestQueueIsServedInTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		c := w.client(narrow(5))
		resp, err := c.Get(w.URL + "/first")
		is.NoErr(err)
		var calls sync.WaitGroup
		for _, path := range []string{"/1", "/2", "/3", "/4", "/5"} {
			calls.Go(func() {
				resp, err := c.Get(w.URL + path)
				is.NoErr(err)
				read(w.T, resp)
			})
			synctest.Wait()
		}
		inUse, queued := w.occupancy()
		is.Equal(inUse, 1)
		is.Equal(queued, 5)
		_, err = c.Get(w.URL + "/6")
		is.True(errors.Is(err, resilient.ErrConcurrencyLimit)) // the queue is full
		time.Sleep(time.Hour)
		is.Equal(w.arrived(), 1) // nobody is let in before the first has left
		read(w.T, resp)
		calls.Wait()
		var order []string
		for _, e := range w.Exchanges() {
			order = append(order, e.Path)
		}
		is.Equal(order, []string{"/first", "/1", "/2", "/3", "/4", "/5"})
	})
}

func TestQueuedCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, leaving := range leavings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, "ok"), func(w *world) {
				is := is.New(w.T)
				c := w.client(narrow(1).Timeout(resilient.Total(time.Hour)))
				resp, err := c.Get(w.URL)
				is.NoErr(err)
				body := track("order")
				r, _ := http.NewRequest("POST", w.URL, body)
				r, leave := leaving(r)
				var left sync.WaitGroup
				left.Go(func() {
					time.Sleep(time.Second)
					leave()
				})
				began := time.Now()
				_, err = c.Do(r)
				is.Equal(time.Since(began), time.Second) // it leaves when the caller does
				left.Wait()
				is.Equal(body.closed(), 1) // nothing was sent
				is.Equal(w.arrived(), 1)
				_, queued := w.occupancy()
				is.Equal(queued, 0) // its place is free

				deadline := strings.HasPrefix(name, "deadline")
				is.Equal(errors.Is(err, context.DeadlineExceeded), deadline) // the caller's own error
				is.Equal(errors.Is(err, context.Canceled), !deadline)
				is.Equal(errors.Is(err, errBrowserClosed), strings.HasSuffix(name, "cause")) // and cause
				is.Equal(isTimeout(err), deadline)
				is.True(!errors.Is(err, resilient.ErrTotalTimeout))
				is.True(!errors.Is(err, resilient.ErrConcurrencyLimit))
				read(w.T, resp)
			})
		})
	}
}

// isTimeout is what a caller asks a *url.Error, or any other net.Error.
func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestQueuedCallEndsWithItsTotalTimeout(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		c := w.client(narrow(1).Timeout(resilient.Total(time.Second)))
		resp, err := c.Get(w.URL)
		is.NoErr(err)
		body := track("order")
		began := time.Now()
		_, err = c.Post(w.URL, "text/plain", body)
		is.Equal(time.Since(began), time.Second)
		is.True(errors.Is(err, resilient.ErrTotalTimeout))
		is.True(errors.Is(err, context.DeadlineExceeded))
		is.True(isTimeout(err))
		is.Equal(body.closed(), 1)
		read(w.T, resp)
		_, queued := w.occupancy()
		is.Equal(queued, 0)
		is.Equal(w.arrived(), 1)
	})
}

// The time in the queue is part of the call's.
func TestTotalTimeoutCountsTheQueue(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		w.On("/slow").Do(httptestx.Delay(6*time.Second), httptestx.Handle)
		c := w.client(narrow(1).Timeout(resilient.Total(10 * time.Second)))
		resp, err := c.Get(w.URL)
		is.NoErr(err)
		time.AfterFunc(5*time.Second, func() { resp.Body.Close() })
		began := time.Now()
		_, err = c.Get(w.URL + "/slow")
		is.True(errors.Is(err, resilient.ErrTotalTimeout))
		is.Equal(time.Since(began), 10*time.Second) // 5 s in the queue and 5 s on the way
	})
}
