package others_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// zeros is a body of n bytes that cannot be had again, and counts what is read of it.
type zeros struct {
	left int64
	read atomic.Int64
}

func (z *zeros) Read(p []byte) (int, error) {
	n := min(int64(len(p)), z.left)
	if n == 0 {
		return 0, io.EOF
	}
	z.left -= n
	z.read.Add(n)
	clear(p[:n])
	return int(n), nil
}

const upload = 64 << 20

// The caller uploads 64 MiB from a stream. How much of that is in memory when the server sees the first byte?
func TestUploadFromAStream(t *testing.T) {
	ask(t, found{
		retryable: "201; 64 MiB",
		failsafe:  "201; 64 MiB",
		resilient: "201; less than 1 MiB",
	}, func(ctx context.Context, u subject) string {
		body := &zeros{left: upload}
		var read int64
		u.On("POST /orders").Where(func(*http.Request) bool {
			read = body.read.Load()
			return true
		}).Do(httptestx.Handle)
		answer := u.hear(u.request(ctx, "POST", body))
		if read < 1<<20 {
			return answer + "; less than 1 MiB"
		}
		return fmt.Sprintf("%s; %d MiB", answer, read>>20)
	})
}

// The first attempt of such an upload is refused. Is it sent again?
func TestUploadFromAStreamThatIsRefused(t *testing.T) {
	ask(t, found{
		retryable: "201",
		failsafe:  "201",
		resilient: "503",
	}, func(ctx context.Context, u subject) string {
		u.On("POST /orders").Script(httptestx.Unavailable(0))
		return u.hear(u.request(ctx, "POST", &zeros{left: 1 << 20}))
	})
}

// An http.RoundTripper must not change the request. Is it the same afterwards?
func TestRequestOfTheCaller(t *testing.T) {
	ask(t, found{
		retryable: "another body",
		failsafe:  "another body",
		resilient: "unchanged",
	}, func(ctx context.Context, u subject) string {
		req := u.request(ctx, "POST", strings.NewReader("{}"))
		body := req.Body
		resp, err := u.client.Transport.RoundTrip(req)
		if err != nil {
			return "error"
		}
		_ = resp.Body.Close()
		if req.Body != body {
			return "another body"
		}
		return "unchanged"
	})
}
