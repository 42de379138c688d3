package pipeline

import (
	"net/http"
	"net/url"
	"strings"
)

// An Endpoint is a place that can serve all calls.
type Endpoint struct {
	Name    string
	URL     *url.URL // the base: scheme, host, and what path and query begin with
	Header  http.Header
	Rewrite func(*http.Request) // nil: nothing else is changed
	Lane    *Lane
}

// at is the name of the attempt's endpoint, "" if there are none.
func (k *call) at() string {
	if k.endpoint == nil {
		return ""
	}
	return k.endpoint.Name
}

// redirect makes the attempt's request go to an endpoint. It changes nothing that
// belongs to the caller.
func (e *Endpoint) redirect(r *http.Request) {
	r.URL = e.resolve(r.URL)
	r.Host = "" // that of the URL
	if e.Header == nil && e.Rewrite == nil {
		return
	}
	r.Header = r.Header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	for name, values := range e.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if e.Rewrite != nil {
		e.Rewrite(r)
	}
}

// resolve puts the base before what the caller asks for.
func (e *Endpoint) resolve(u *url.URL) *url.URL {
	to := *u
	to.Scheme, to.Host = e.URL.Scheme, e.URL.Host
	if e.URL.User != nil {
		to.User = e.URL.User
	}
	if prefix := strings.TrimSuffix(e.URL.Path, "/"); prefix != "" {
		to.RawPath = strings.TrimSuffix(e.URL.EscapedPath(), "/") + u.EscapedPath()
		to.Path = prefix + u.Path
	}
	switch {
	case e.URL.RawQuery == "":
	case u.RawQuery == "":
		to.RawQuery = e.URL.RawQuery
	default:
		to.RawQuery = e.URL.RawQuery + "&" + u.RawQuery
	}
	return &to
}
