package resilient_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// A protocol is what a server and its client speak.
type protocol struct {
	name       string
	tls, http2 bool
}

var (
	h1    = protocol{name: "HTTP1"}
	h1TLS = protocol{name: "HTTP1 over TLS", tls: true}
	h2    = protocol{name: "HTTP2 in cleartext", http2: true}
	h2TLS = protocol{name: "HTTP2 over TLS", tls: true, http2: true}
)

func (p protocol) options() []httptestx.Option {
	var protocols http.Protocols
	switch {
	case p.http2 && p.tls:
		protocols.SetHTTP2(true)
	case p.http2:
		protocols.SetUnencryptedHTTP2(true)
	default:
		protocols.SetHTTP1(true)
	}
	options := []httptestx.Option{httptestx.WithProtocols(protocols)}
	if p.tls {
		options = append(options, httptestx.WithTLS())
	}
	return options
}

// bubble is a bubble whose server speaks p.
func (p protocol) bubble(t *testing.T, h http.Handler, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newWorldIn(t, true, h, p.options()...)) })
}

// everyProtocol runs a test once over each protocol, in parallel.
func everyProtocol(t *testing.T, test func(t *testing.T, p protocol)) {
	t.Helper()
	for _, p := range []protocol{h1, h1TLS, h2, h2TLS} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}
