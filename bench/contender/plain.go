package contender

import (
	"net/http"

	"github.com/a-seed-e0941262/resilient"
)

func bare(base http.RoundTripper) http.RoundTripper { return base }

// resilientTransport is a preset, with more permits.
func resilientTransport(base http.RoundTripper) http.RoundTripper {
	rt, err := resilient.New("bench").Registry(resilient.NewRegistry()).
		Defaults(resilient.Conservative).
		Concurrency(resilient.Permits(permits)).
		Transport(base).
		BuildTransport()
	if err != nil {
		panic(err)
	}
	return rt
}

// clientTimeout is what net/http has.
func clientTimeout(base http.RoundTripper) Do {
	return through(&http.Client{Transport: base, Timeout: total})
}

// clientTimeoutWrapped is the same over any transport that is not net/http's own, for which net/http starts goroutines.
func clientTimeoutWrapped(base http.RoundTripper) Do {
	return through(&http.Client{Transport: wrapper{base}, Timeout: total})
}

type wrapper struct{ base http.RoundTripper }

func (w wrapper) RoundTrip(r *http.Request) (*http.Response, error) { return w.base.RoundTrip(r) }
