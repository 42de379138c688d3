package httptestx_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

func TestGuideConnections(t *testing.T) {
	srv := httptestx.NewServer(t, place)
	srv.OnConn().Script(
		httptestx.Plan(httptestx.Refuse),     // connection refused
		httptestx.Plan(httptestx.NoSuchHost), // lookup: no such host
		httptestx.Plan(httptestx.Reset),      // connected, and reset at the first byte
		httptestx.Plan(httptestx.Accept),     // connected, and silence
	)

	is := is.New(t)
	is.Equal(postOrder(t.Context(), srv), "connect: connection refused")
	is.Equal(postOrder(t.Context(), srv), "lookup httptestx.test: no such host")
	is.Equal(postOrder(t.Context(), srv), "read: connection reset by peer")
	is.Equal(len(srv.Exchanges()), 0) // no request has arrived, so nothing can have been processed
}

func TestGuideHandshake(t *testing.T) {
	handler := place
	srv := httptestx.NewServer(t, handler, httptestx.WithTLS())
	srv.OnConn().First(1).Do(httptestx.HandshakeFail(40)) // 40 is handshake_failure

	is := is.New(t)
	is.Equal(postOrder(t.Context(), srv), "tls: handshake failure")
	is.Equal(postOrder(t.Context(), srv), `201 after "": "placed"`) // the second connection is good
}

func TestGuideHTTP2(t *testing.T) {
	handler := hello
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	srv := httptestx.NewServer(t, handler, httptestx.WithTLS(), httptestx.WithProtocols(protocols))
	srv.On("/refused").First(1).Do(httptestx.RefuseStream) // not processed, and the client is told so
	srv.On("/reset").Do(httptestx.Handle, httptestx.ResetStream(httptestx.ErrCodeInternal))
	srv.On("/away").Do(httptestx.GoAway(httptestx.ErrCodeNo, httptestx.IncludingThis), httptestx.Handle)
	srv.On("/broken").Do(httptestx.Malformed(httptestx.BadHPACK)) // and HugeFrame

	is := is.New(t)
	is.Equal(fetch(srv, "/refused"), "200 hello") // net/http sends it again by itself
	is.Equal(fetch(srv, "/reset"), "stream error: stream ID 5; INTERNAL_ERROR; received from peer")
	is.Equal(fetch(srv, "/away"), "200 hello") // the last on this connection
	is.Equal(fetch(srv, "/broken"), "connection error: COMPRESSION_ERROR")
	is.Equal(fetch(srv, "/next"), "200 hello")
	is.Equal(records(srv), []string{
		"1.1 /refused not handled, refused", "1.3 /refused handled, answered", "1.5 /reset handled, reset",
		"1.7 /away handled, answered", "2.1 /broken not handled, closed", "3.1 /next handled, answered",
	}) // connection and stream, and the truth
}

func TestGuideProxy(t *testing.T) {
	placed := 0
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { placed++ }))
	defer upstream.Close()
	srv := httptestx.NewProxy(t, upstream.URL)
	srv.On("POST /orders").Script(
		httptestx.Unavailable(0), // upstream hears nothing
		httptestx.LostResponse,   // upstream has answered, and the client does not know
	)

	is := is.New(t)
	is.Equal(postOrder(t.Context(), srv), `503 after "": "Service Unavailable"`)
	is.Equal(postOrder(t.Context(), srv), "read: connection reset by peer")
	is.Equal(postOrder(t.Context(), srv), `200 after "": ""`)
	upstream.Close()
	is.Equal(placed, 2) // by the second and the third
}

func TestGuideLoopback(t *testing.T) {
	handler := hello
	srv := httptestx.NewServer(t, handler)
	srv.Start() // or StartTLS; URL is http://127.0.0.1:port now
	resp, err := http.Get(srv.URL)

	is := is.New(t)
	is.NoErr(err) // any client reaches it
	resp.Body.Close()
	is.True(strings.HasPrefix(srv.URL, "http://127.0.0.1:") || strings.HasPrefix(srv.URL, "http://[::1]:")) // as the guide says
}
