package resilient_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"
)

// A transport may go on reading when it has answered. What it gets then is the next
// bytes of the body or an error, and never another attempt's; the buffer that the
// library keeps is not used for anything else meanwhile. For the race detector.
func TestStragglerGetsTheBodyOrNothing(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("0123456789abcdef", 1<<10)
	for name, body := range map[string]func() io.Reader{
		"opaque":       func() io.Reader { return opaque(want) },
		"with GetBody": func() io.Reader { return strings.NewReader(want) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			w := newWorld(t, nil)
			var stragglers sync.WaitGroup
			var mu sync.Mutex
			var pieces []string
			take := func(r io.Reader, n int64) {
				b, _ := io.ReadAll(io.LimitReader(r, n))
				mu.Lock()
				defer mu.Unlock()
				pieces = append(pieces, string(b))
			}
			c := w.over(roundTripper(func(r *http.Request) (*http.Response, error) {
				first := make(chan bool)
				stragglers.Go(func() {
					close(first)
					take(r.Body, 1<<20) // in many small reads, while the next attempt is under way
				})
				<-first
				return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
			}), retrying())
			for range 200 {
				r, _ := http.NewRequest("PUT", "http://x.test", body())
				resp, err := c.Do(r)
				is.NoErr(err)
				read(t, resp)
				stragglers.Wait()
			}
			is.Equal(len(pieces), 600) // of three attempts a call
			for _, p := range pieces {
				is.True(strings.HasPrefix(want, p)) // each has a part of the body from its beginning
			}
		})
	}
}
