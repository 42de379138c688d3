package differential

import (
	"slices"
	"strings"
)

// certain reports whether all bare clients see the same in the exchange: where
// chance decides, or something hangs, there is nothing to compare with.
func (x exchange) certain(p protocol) bool {
	q := x.Request
	switch {
	case leftBefore(session{}, x) && q.refusable(): // which of the two is told?
		return false
	case !leftBefore(session{}, x) && x.Caller.Leaves != "" && x.Caller.After == 0: // before or after what?
		return false
	case strings.EqualFold(q.Scheme, "http") && p.scheme() != "http", strings.EqualFold(q.Scheme, "https") && p.scheme() != "https":
		return false
	case p.two() && q.Close && leftBefore(session{}, x): // does it cost the connection, of which nothing was asked?
		return false
	case p.two() && q.Method == "BAD METHOD": // which is refused without a connection, and sent if there is one
		return false
	case q.Trailer != nil && q.Body.Pause > 0 && !p.two(): // net/http may write the names while the caller sets the values
		return false
	case q.Opaque == "*" && q.Body.Kind != "": // the server hangs up without an answer of ours
		return false
	case q.Method == "CONNECT" && q.Body.Kind != "" && !p.two(): // the server takes it for another request
		return false
	case !p.two() && q.Body.inMemory() && q.Body.Off != 0:
		// The bare client finds out before it sends anything. With the library the
		// headers are out by then (docs/adr/0010).
		return false
	}
	return !slices.ContainsFunc(x.Answers, func(a answer) bool {
		return a.uncertain(p, q) || a.Aborts && !a.halfway(q.Method) || x.Caller.Leaves != "" && a.refusable()
	})
}

// refusable reports whether net/http may refuse to send the request.
func (q request) refusable() bool {
	return q.Method == "BAD METHOD" || q.Host == "ho st" || q.Scheme != "" || q.NoURL || q.NoMap || q.Opaque != "" ||
		slices.ContainsFunc(q.Headers, func(f field) bool {
			return slices.Contains([]string{"", "Bad Name", "X-Bad", "Upgrade", "Connection"}, f.Name)
		})
}

// refusable reports whether net/http may refuse to follow a redirect.
func (a answer) refusable() bool {
	return slices.ContainsFunc(a.Headers, func(f field) bool {
		return f.Name == "Location" && !strings.HasPrefix(f.Value, "http") && strings.Contains(f.Value, ":") || strings.Contains(f.Value, "bad")
	})
}

// halfway reports whether there is a body to hang up in, and its headers are out.
func (a answer) halfway(method string) bool {
	return a.Size > 1 && a.Pieces > 0 && method != "HEAD" && a.Status != 204 && a.Status != 304
}

// broken reports whether the body is not the gzip that it says it is.
func (a answer) broken() bool {
	return !a.Gzip && slices.Contains(a.Headers, field{"Content-Encoding", "gzip"})
}

// uncertain is an answer that comes before the whole of a body that does not go out at once.
func (a answer) uncertain(p protocol, q request) bool {
	b := q.Body
	if a.broken() && (a.Pieces > 0 || a.Reads == "last" || a.Trailers != nil || a.Surprise || a.Size > 2000) {
		return true // is the end of the body seen before it fails?
	}
	early := a.Reads != "" && b.Kind != "" && (b.Kind != "NoBody" || q.Trailer != nil)
	switch {
	case !early:
		return false
	case b.Off != 0 || strings.HasPrefix(b.Kind, "failing"): // which comes first?
		return true
	case b.Size > 2000 || b.Pause > 0 || b.Piece > 0:
		// Over HTTP/1 the server hangs up on what is left, and the client may still be writing. Over HTTP/2 it takes back
		// the stream. And when a response's body fails there, the bare client waits for a Read of the request's body,
		// where the one with the library doesn't.
		return true
	case p.two(): // the client takes back what is left of the body, and the server waits in vain
		return a.Reads == "last" && a.Status > 299
	}
	return a.Duplex && a.Reads != "last"
}
