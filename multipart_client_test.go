package resilient_test

import (
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// formed writes a form into a pipe, on a goroutine of its own, as one does with
// files. It returns how that ends.
func formed(file string) (body *io.PipeReader, contentType string, written chan error) {
	pr, pw := io.Pipe()
	form := multipart.NewWriter(pw)
	written = make(chan error, 1)
	go func() {
		part, err := form.CreateFormFile("file", "order.txt")
		for rest := file; err == nil && rest != ""; {
			n := min(len(rest), 1000)
			_, err = io.WriteString(part, rest[:n])
			rest = rest[n:]
		}
		if err == nil {
			err = form.Close()
		}
		_ = pw.CloseWithError(err)
		written <- err
	}()
	return pr, form.FormDataContentType(), written
}

// go-resty/resty#1186: whatever becomes of the call, the goroutine that writes the
// form does not wait for somebody to read it.
func TestWriterOfAFormIsLetGoHoweverTheCallEnds(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		size   int
		plans  [][]httptestx.Step
		spoil  func(*world)
		status int
	}{
		"answered":               {size: 10_000, status: 200},
		"answered, large":        {size: 1 << 20, status: 200},
		"retried":                {size: 10_000, plans: plans(1, httptestx.Read, httptestx.Status(503)), status: 200},
		"too large for a retry":  {size: 1 << 20, plans: plans(1, httptestx.Read, httptestx.Status(503)), status: 503},
		"refused while it comes": {size: 1 << 20, plans: plans(1, httptestx.Status(413)), status: 413},
		"lost while it comes":    {size: 1 << 20, plans: plans(3, httptestx.Reset)},
		"refused by the circuit": {size: 1 << 20, spoil: func(w *world) { _ = w.registry.Isolate("orders") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothVersions(t, func(t *testing.T, p protocol) {
				p.bubble(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					if f, _, err := r.FormFile("file"); err == nil {
						_, _ = io.Copy(rw, f)
					}
				}), func(w *world) {
					is := is.New(w.T)
					if row.plans != nil {
						w.On("/").Script(row.plans...)
					}
					c := w.client(retrying().Breaker())
					if row.spoil != nil {
						row.spoil(w)
					}
					file := strings.Repeat("x", row.size)
					body, contentType, written := formed(file)
					r, _ := http.NewRequest("PUT", w.URL, body)
					r.Header.Set("Content-Type", contentType)
					resp, err := c.Do(r)
					is.Equal(err == nil, row.status > 0) // an answer, or none
					if err == nil {
						is.Equal(resp.StatusCode, row.status)
						is.True(read(w.T, resp) == file || row.status != 200) // which has read the file
					}
					werr := <-written                         // it comes back, in any case
					is.True(werr == nil || row.status != 200) // with all written, or told that nobody reads
				})
			})
		})
	}
}

// plans is as many times the same plan.
func plans(n int, steps ...httptestx.Step) [][]httptestx.Step {
	return slices.Repeat([][]httptestx.Step{httptestx.Plan(steps...)}, n)
}
