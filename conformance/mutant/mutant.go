// Package mutant holds transports that are broken on purpose, each in one way that users of a RoundTripper would suffer from.
// That a test notices each of them shows that the conformance check is able to see such a fault in the library.
package mutant

import "net/http"

// A Mutant hands requests on to another transport, and keeps all promises of a RoundTripper but one.
type Mutant struct {
	Name string
	Seen string // the test that has to notice

	trip  func(base http.RoundTripper, req *http.Request) (*http.Response, error)
	holds bool // CloseIdleConnections is not forwarded
}

// All returns the mutants.
func All() []Mutant {
	all := append(requestFaults(), contextFaults()...)
	all = append(all, errorFaults()...)
	return append(all, responseFaults()...)
}

// Wrapper returns what makes the transports of the mutant of this name. It reports whether there is such a mutant.
func Wrapper(name string) (wrap func(base http.RoundTripper) http.RoundTripper, ok bool) {
	for _, m := range All() {
		if m.Name == name {
			return func(base http.RoundTripper) http.RoundTripper { return &transport{base, m} }, true
		}
	}
	return nil, false
}

type transport struct {
	base   http.RoundTripper
	mutant Mutant
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.mutant.trip(t.base, req)
}

func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok && !t.mutant.holds {
		c.CloseIdleConnections()
	}
}

func plain(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	return base.RoundTrip(req)
}

// sending is a fault in the request that the base gets.
func sending(fault func(*http.Request) *http.Request) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return func(base http.RoundTripper, req *http.Request) (*http.Response, error) {
		return base.RoundTrip(fault(req))
	}
}

// failing is a fault in the error that the caller gets.
func failing(fault func(error) error) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return func(base http.RoundTripper, req *http.Request) (*http.Response, error) {
		resp, err := base.RoundTrip(req)
		if err != nil {
			err = fault(err)
		}
		return resp, err
	}
}

// answering is a fault in the response that the caller gets.
func answering(fault func(*http.Response) *http.Response) func(http.RoundTripper, *http.Request) (*http.Response, error) {
	return func(base http.RoundTripper, req *http.Request) (*http.Response, error) {
		resp, err := base.RoundTrip(req)
		if err == nil && resp.Body != nil {
			resp = fault(resp)
		}
		return resp, err
	}
}
