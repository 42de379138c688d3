package soundness_test

import (
	"context"
	"net/http"
)

// A base is what the library sends its requests to.
type base int

const (
	own       base = iota // net/http's transport
	unknown               // one of which nothing is known
	copying               // one that sends a copy of the body
	impatient             // one that returns early, and goes on sending
)

// bases has them as often as worlds get them.
var bases = []base{own, own, own, unknown, own, own, copying, own, own, impatient}

func (b base) over(t *http.Transport) http.RoundTripper {
	switch b {
	case unknown:
		return wrapper{t, t.RoundTrip}
	case copying:
		return wrapper{t, func(r *http.Request) (*http.Response, error) { return sendCopy(t, r) }}
	case impatient:
		return wrapper{t, func(r *http.Request) (*http.Response, error) { return sendOn(t, r) }}
	default:
		return t
	}
}

type wrapper struct {
	transport *http.Transport
	send      func(*http.Request) (*http.Response, error)
}

func (w wrapper) RoundTrip(r *http.Request) (*http.Response, error) { return w.send(r) }

func (w wrapper) CloseIdleConnections() { w.transport.CloseIdleConnections() }

// sendCopy is what a transport does that reads the body first, to sign it.
func sendCopy(t *http.Transport, r *http.Request) (*http.Response, error) {
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		defer r.Body.Close()
		r = r.Clone(r.Context())
		r.Body, r.GetBody = body, nil
	}
	return t.RoundTrip(r)
}

// sendOn returns when the context is done, while the request goes on. The body of
// a response heeds the context.
func sendOn(t *http.Transport, r *http.Request) (*http.Response, error) {
	type result struct {
		resp *http.Response
		err  error
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	done := make(chan result)
	go func() {
		resp, err := t.RoundTrip(r.WithContext(ctx))
		select {
		case done <- result{resp, err}:
			context.AfterFunc(r.Context(), cancel)
		case <-r.Context().Done():
			cancel()
			if err == nil {
				resp.Body.Close()
			}
		}
	}()
	select {
	case got := <-done:
		return got.resp, got.err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}
