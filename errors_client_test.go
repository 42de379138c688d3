package resilient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// errUnder is the error that a base transport has of its own.
var errUnder = errors.New("broken pipe")

// known are the errors that callers ask for.
var known = map[string]error{
	"circuit open":      resilient.ErrCircuitOpen,
	"concurrency limit": resilient.ErrConcurrencyLimit,
	"rate limited":      resilient.ErrRateLimited,
	"no endpoint":       resilient.ErrNoEndpoint,
	"attempt timeout":   resilient.ErrAttemptTimeout,
	"total timeout":     resilient.ErrTotalTimeout,
	"body idle":         resilient.ErrBodyIdle,
	"deadline exceeded": context.DeadlineExceeded,
	"canceled":          context.Canceled,
	"browser closed":    errBrowserClosed,
	"under":             errUnder,
}

// kinds returns the names of the known errors that err is.
func kinds(err error) map[string]bool {
	found := map[string]bool{}
	for name, target := range known {
		if errors.Is(err, target) {
			found[name] = true
		}
	}
	return found
}

// with is a request to the world's server with a context.
func (w *world) with(ctx context.Context) *http.Request {
	r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
	return r
}

// occupy makes a call that lasts until it is let go.
func (w *world) occupy(c *http.Client) (letGo func()) {
	w.Helper()
	resp, err := c.Get(w.URL)
	if err != nil {
		w.Fatal(err)
	}
	return func() { resp.Body.Close() }
}

// What callers can ask for is all looked for below.
func TestEveryExportedErrorIsKnown(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	source, err := os.ReadFile("words.go")
	is.NoErr(err)
	exported := regexp.MustCompile(`(?m)^\tErr\w+ = errors\.New\("(.*)"\)`).FindAllStringSubmatch(string(source), -1)
	is.True(len(exported) >= 7) // they stand where they stood
	var texts []string
	for _, err := range known {
		texts = append(texts, err.Error())
	}
	for _, e := range exported {
		is.True(slices.Contains(texts, e[1])) // add it to known, and a row to the table
	}
}

// Every error that the library makes, through a real client.
func TestEveryErrorIsFoundThroughTheClientsError(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for _, row := range slices.Concat(errorsOfGates(p), errorsOfTime(), errorsOfCallers(), errorsOfTransports()) {
			t.Run(row.name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, always(200, strings.Repeat("x", 100)), func(w *world) {
					is := is.New(w.T)
					b := resilient.New("orders").Defaults(resilient.None).Transport(w.Client().Transport).Registry(w.registry)
					if row.build != nil {
						b = row.build(b)
					}
					c, err := b.Build()
					is.NoErr(err)
					err = row.call(w, c)
					want := map[string]bool{}
					for _, name := range row.is {
						want[name] = true
					}
					is.Equal(kinds(err), want) // what it is, and what it is not
					is.Equal(isTimeout(err), row.timeout)
					var outer *url.Error
					if errors.As(err, &outer) { // all but those of a body
						is.Equal(outer.Timeout(), row.timeout) // as most ask
						err = outer.Err
					}
					is.Equal(err.Error(), row.text)
				})
			})
		}
	})
}

// A caller who is gone while an attempt is on its way gets what net/http gives.
func TestCallersOwnErrorStaysHisOwn(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		for name, leaving := range leavings {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.bubble(t, always(200, ""), func(w *world) {
					is := is.New(w.T)
					w.On("/").Do(httptestx.Stall...)
					var texts []string
					for _, c := range []*http.Client{w.client(busy()), w.Client()} { // through the library, and without
						r, leave := leaving(w.with(w.Context()))
						var left sync.WaitGroup
						left.Go(func() {
							time.Sleep(time.Second)
							leave()
						})
						_, err := c.Do(r)
						left.Wait()
						var outer *url.Error
						is.True(errors.As(err, &outer))
						texts = append(texts, fmt.Sprint(err, outer.Timeout(), errors.Is(err, errBrowserClosed)))
						if !p.http2 { // which tells no cause
							is.Equal(outer.Timeout(), name == "deadline")
							is.Equal(errors.Is(err, errBrowserClosed), strings.HasSuffix(name, "cause"))
						}
					}
					is.Equal(texts[0], texts[1]) // there is no difference
					synctest.Wait()
				})
			})
		}
	})
}

// An error of the library is a net.Error where it is a timeout, as net/http's are.
func TestTimeoutsAreNetErrors(t *testing.T) {
	t.Parallel()
	bothVersions(t, func(t *testing.T, p protocol) {
		p.bubble(t, always(200, ""), func(w *world) {
			is := is.New(w.T)
			w.On("/").Do(httptestx.Stall...)
			rt := w.client(counted().Timeout(resilient.PerAttempt(time.Second))).Transport
			_, err := rt.RoundTrip(w.with(w.Context()))
			netErr, ok := err.(net.Error) //nolint:errorlint // url.Error asserts likewise
			is.True(ok)
			is.True(netErr.Timeout())
		})
	})
}

// An http2Conn says that HTTP/2 was agreed on.
type http2Conn struct{ net.Conn }

func (http2Conn) ConnectionState() tls.ConnectionState {
	return tls.ConnectionState{NegotiatedProtocol: "h2"}
}
