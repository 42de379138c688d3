package resilient

import (
	"net/url"
	"strings"
)

// hidden stands where something was that may be secret, as the semantic conventions of OpenTelemetry want it.
const hidden = "REDACTED"

// redacted is a URL without the user and the values of its query, which may be secret. A parameter without a name is a
// value. It has no fragment, which nobody is sent, and nothing of an opaque URL but its host.
func redacted(u *url.URL) string {
	clean := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath, ForceQuery: u.ForceQuery}
	if u.User != nil {
		clean.User = url.UserPassword(hidden, hidden)
	}
	clean.RawQuery = redactedQuery(u.RawQuery)
	return clean.String()
}

func redactedQuery(query string) string {
	if query == "" {
		return ""
	}
	parameters := strings.Split(query, "&")
	for i, p := range parameters {
		name, _, named := strings.Cut(p, "=")
		if parameters[i] = hidden; named {
			parameters[i] = name + "=" + hidden
		}
	}
	return strings.Join(parameters, "&")
}
