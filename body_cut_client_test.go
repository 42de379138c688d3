package resilient_test

import (
	"errors"
	"io"
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
