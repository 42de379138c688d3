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

// A body that breaks off belongs to the caller already, who has seen a part of it: it
// is not repeated, and the error of reading it is the transport's.
func TestBodyThatBreaksOffIsNotRepeated(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, always(200, strings.Repeat("x", 1000)), func(w *world) {
			is := is.New(w.T)
			w.On("/").Do(httptestx.TruncatedBody(100)...)
			resp, err := w.client(busy()).Get(w.URL)
			is.NoErr(err)
			is.Equal(resp.StatusCode, 200)
			got, err := io.ReadAll(resp.Body)
			is.True(err != nil)      // it is told that there is more
			is.True(len(got) <= 100) // than it got
			is.Equal(w.arrived(), 1) // which nobody asks for again
			is.Equal(w.denials(), []string(nil))
			_ = resp.Body.Close()
		})
	})
}

// Who wants the body within the retries reads it within Execute.
func TestBodyThatBreaksOffIsRepeatedWithinExecute(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, always(200, strings.Repeat("x", 1000)), func(w *world) {
			is := is.New(w.T)
			w.On("/").Script(httptestx.TruncatedBody(100), httptestx.TruncatedBody(0))
			c := w.client(retrying(resilient.Off))
			p, err := retrying(every(time.Second)).Registry(resilient.NewRegistry()).BuildPipeline()
			is.NoErr(err)
			got, err := resilient.Execute(w.Context(), p, func(ctx context.Context) (string, error) {
				r, err := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
				if err != nil {
					return "", err
				}
				resp, err := c.Do(r)
				if err != nil {
					return "", err
				}
				defer resp.Body.Close()
				all, err := io.ReadAll(resp.Body)
				return string(all), err
			})
			is.NoErr(err)
			is.Equal(len(got), 1000) // the third is whole
			is.Equal(w.arrived(), 3)
		})
	})
}
