package httptestx

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// NewProxy is [NewServer] with a real server, its URL upstream, behind it: [Handle]
// forwards the request. So any fault can stand before, behind or in the place of what the
// real server does; LostResponse is "upstream has answered, and the client does not know".
//
// A request is sent to upstream once, by HTTP/1.1 and on a connection of its own, so that the proxy
// adds no repeats to those under test. Where upstream does not answer, the proxy does, with 502 and the
// reason; [Exchange.Handled] then only says that it has tried. For other needs, give NewServer an
// [httputil.ReverseProxy].
func NewProxy(t TB, upstream string, opts ...Option) *Server {
	t.Helper()
	target, err := url.Parse(upstream)
	if err != nil || target.Scheme == "" || target.Host == "" {
		t.Fatalf("httptestx: NewProxy: upstream %q is not a URL such as http://127.0.0.1:8080", upstream)
	}
	return NewServer(t, proxyTo(target), opts...)
}

func proxyTo(upstream *url.URL) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			r.SetXForwarded()
		},
		Transport: &http.Transport{
			Proxy:              http.ProxyFromEnvironment,
			DisableKeepAlives:  true, // net/http repeats requests on connections that it reuses
			DisableCompression: true, // bytes pass as they are
		},
		FlushInterval: -1, // what upstream has sent is sent
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				panic(http.ErrAbortHandler) // nobody waits for an answer
			}
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprintln(w, err)
		},
	}
}
