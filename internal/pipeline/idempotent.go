package pipeline

import (
	"context"
	"net/http"
)

type replayableKey struct{}

// WithReplayable marks the calls made with the context as safe to repeat.
func WithReplayable(ctx context.Context) context.Context {
	return context.WithValue(ctx, replayableKey{}, true)
}

// The headers that make a request safe to repeat, as net/http has them.
const (
	keyHeader  = "Idempotency-Key"
	xKeyHeader = "X-Idempotency-Key"
)

// idempotent reports whether the call may be repeated whatever became of an
// attempt (RFC 9110 section 9.2.2, and QUERY).
func (k *call) idempotent() bool {
	switch k.req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace,
		http.MethodPut, http.MethodDelete, "QUERY":
		return true
	}
	return hasKey(k.header) || k.ctx().Value(replayableKey{}) != nil
}

func hasKey(h http.Header) bool {
	_, ok := h[keyHeader]
	_, xok := h[xKeyHeader]
	return ok || xok
}

// key gives a POST or PATCH that has none an Idempotency-Key, one for all
// attempts of the call, in a header of its own.
func (k *call) key() {
	if k.NewKey == nil || hasKey(k.header) {
		return
	}
	if m := k.req.Method; m != http.MethodPost && m != http.MethodPatch {
		return
	}
	k.header = k.req.Header.Clone()
	if k.header == nil {
		k.header = http.Header{}
	}
	k.header.Set(keyHeader, k.NewKey())
}
