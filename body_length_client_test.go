package resilient_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// A body that is not as long as the request says is the caller's own fault: he is told in the words that a bare client
// has for a body of a kind that it does not know, and it is not sent again.
func TestBodyOfAnotherLengthThanDeclaredFailsAsItDoesWithoutTheLibrary(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, declared := range map[string]int64{"shorter": 7, "longer": 3} {
			if p.http2 && name == "shorter" {
				continue // net/http leaves it to the server to find out
			}
			for _, replayable := range []bool{true, false} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					// The server does not answer what it takes for the whole body.
					mute := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
						if _, err := io.Copy(io.Discard, r.Body); err == nil {
							<-r.Context().Done()
						}
					})
					p.bubble(t, mute, func(w *world) {
						is := is.New(w.T)
						send := func(c *http.Client) error {
							r, err := http.NewRequestWithContext(w.Context(), http.MethodPut, w.URL, io.MultiReader(strings.NewReader("order")))
							is.NoErr(err)
							if r.ContentLength = declared; replayable {
								r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("order")), nil }
							}
							resp, err := c.Do(r)
							if err == nil {
								_ = resp.Body.Close()
							}
							var of *url.Error
							is.True(errors.As(err, &of)) // it fails
							return of.Err
						}
						bare := send(w.Client())
						got := send(w.client(resilient.New("orders")))
						is.Equal(got.Error(), bare.Error())
						done := eventsOf[resilient.AttemptDone](w)
						is.Equal(len(done), 1)        // it is not sent again
						is.True(!done[0].Transient)   // for that would not help
						is.Equal(len(w.denials()), 0) // and nobody asks for it
					})
				})
			}
		}
	})
}
