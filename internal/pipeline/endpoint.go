package pipeline

import (
	"net/http"
	"net/url"
	"slices"
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

// readdress makes the attempt's request go to the endpoint. It changes nothing that
// belongs to the caller.
func (e *Endpoint) readdress(r *http.Request) {
	r.URL = e.resolve(r.URL)
	r.Host = "" // that of the URL
	if e.Header == nil && e.Rewrite == nil && e.URL.User == nil {
		return
	}
	r.Header = r.Header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if u := e.URL.User; u != nil { // which net/http's client has a look at, and its transport has not
		password, _ := u.Password()
		r.SetBasicAuth(u.Username(), password)
	}
	for name, values := range e.Header {
		r.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	if e.Rewrite != nil {
		e.Rewrite(r)
	}
}

// resolve puts the base before what the caller asks for.
func (e *Endpoint) resolve(u *url.URL) *url.URL {
	to := url.URL{Scheme: e.URL.Scheme, Host: e.URL.Host, ForceQuery: u.ForceQuery, RawQuery: u.RawQuery, Fragment: u.Fragment}
	to.RawPath = e.prefix()
	if path := escapedPath(u); path != "" {
		to.RawPath += "/" + strings.TrimPrefix(path, "/")
	}
	if path, err := url.PathUnescape(to.RawPath); err == nil {
		to.Path = path
	}
	if q := e.URL.RawQuery; q != "" {
		to.RawQuery = strings.TrimSuffix(q+"&"+u.RawQuery, "&")
	}
	return &to
}

// prefix is what the paths of the base begin with, without a slash at its end.
func (e *Endpoint) prefix() string { return strings.TrimSuffix(e.URL.EscapedPath(), "/") }

// escapedPath is the path that a request for u has. An opaque one is as it is sent.
func escapedPath(u *url.URL) string {
	if u.Opaque == "" {
		return u.EscapedPath()
	}
	if rest, ok := strings.CutPrefix(u.Opaque, "//"); ok {
		_, path, _ := strings.Cut(rest, "/")
		return "/" + path
	}
	return u.Opaque
}

// translate turns a redirect within the endpoint into one within what the caller
// asked for: he knows neither its host nor its prefix, and both would come on top.
func (e *Endpoint) translate(resp *http.Response, sent, asked *url.URL) {
	location := resp.Header.Get("Location")
	if location == "" {
		return
	}
	to, err := sent.Parse(location)
	if err != nil || origin(to) != origin(e.URL) {
		return
	}
	rest, below := strings.CutPrefix(to.EscapedPath(), e.prefix())
	if !below || rest != "" && rest[0] != '/' {
		return
	}
	back := *to
	back.Scheme, back.Host, back.User = asked.Scheme, asked.Host, nil
	back.RawQuery = e.ownQuery(to.RawQuery)
	back.RawPath = rest
	if back.Path, err = url.PathUnescape(rest); err == nil && !leads(asked, location, &back) {
		resp.Header.Set("Location", back.String())
	}
}

// leads reports whether a location takes one who is at from there as it is, as most
// relative ones do.
func leads(from *url.URL, location string, there *url.URL) bool {
	to, err := from.Parse(location)
	if err != nil {
		return false
	}
	to.User = nil
	return to.String() == there.String()
}

// ownQuery is a query without the base's, with which it begins if the server has kept it.
func (e *Endpoint) ownQuery(q string) string {
	rest, has := strings.CutPrefix(q, e.URL.RawQuery)
	switch {
	case !has || e.URL.RawQuery == "":
	case rest == "":
		return ""
	case rest[0] == '&':
		return rest[1:]
	}
	return q
}

// origin is scheme, host and port, in one form however they are written.
func origin(u *url.URL) string {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
