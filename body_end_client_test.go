package resilient_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// A sealingBody can't be read once it is closed, and fails to close.
type sealingBody struct {
	*strings.Reader
	closes int
}

var errClosing = errors.New("closing failed")

func (b *sealingBody) Read(p []byte) (int, error) {
	if b.closes > 0 {
		return 0, errors.New("read on a closed body")
	}
	return b.Reader.Read(p)
}

func (b *sealingBody) Close() error {
	b.closes++
	return errClosing
}

// The transport's body is closed when it has been read, before the context of
// its attempt ends. The caller must not be able to tell.
func TestBodyThatWasReadIsClosedOnceAndStaysAtItsEnd(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	body := &sealingBody{Reader: strings.NewReader("hello")}
	endedBefore := true
	w := newWorld(t, nil)
	c := w.over(roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: struct {
			io.Reader
			io.Closer
		}{body, closerFunc(func() error {
			endedBefore = r.Context().Err() != nil
			return body.Close()
		})}}, nil
	}), resilient.New("orders"))
	resp, err := c.Get("http://x.test")
	is.NoErr(err)
	b, err := io.ReadAll(resp.Body)
	is.NoErr(err)
	is.Equal(string(b), "hello")
	is.True(!endedBefore) // the attempt's context was alive when the body was closed
	_, err = resp.Body.Read(make([]byte, 1))
	is.Equal(err, io.EOF)                   // still, and not that it is closed
	is.Equal(resp.Body.Close(), errClosing) // the caller is told of it
	is.Equal(resp.Body.Close(), errClosing) // as often as he asks
	is.Equal(body.closes, 1)                // though it was closed once
	is.Equal(w.registry.Snapshot()[0].Concurrency.InUse, 0)
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }
