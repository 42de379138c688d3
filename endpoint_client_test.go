package resilient_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// places are endpoints that are called by their host.
func places(names ...string) []resilient.Endpoint {
	var all []resilient.Endpoint
	for _, name := range names {
		all = append(all, resilient.Endpoint{URL: "http://" + name})
	}
	return all
}

// spread is a client that does nothing but to spread its calls.
func spread(by resilient.RoutingOption, endpoints ...resilient.Endpoint) resilient.Builder {
	return resilient.New("orders").Defaults(resilient.None).Endpoints(by, endpoints...)
}

// call makes a call to nowhere: the endpoints say where it goes.
func (w *world) call(c *http.Client) (int, error) {
	return w.callWith(w.Context(), c)
}

func (w *world) callWith(ctx context.Context, c *http.Client) (int, error) {
	w.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://nowhere.test/", strings.NewReader("order"))
	if err != nil {
		w.Fatal(err)
	}
	resp, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	read(w.T, resp)
	return resp.StatusCode, nil
}

// visited are the hosts at which requests have arrived, in order.
func (w *world) visited() string {
	var all []string
	for _, e := range w.Exchanges() {
		all = append(all, e.Host)
	}
	return strings.Join(all, " ")
}
var _ = is.New
var _ testing.TB
var _ time.Duration
