package differential

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// dice draw what happens. The same seed always draws the same.
type dice struct{ *rand.Rand }

// one draws one of several.
func one[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

// in reports true once in n draws.
func (d dice) in(n int) bool { return d.IntN(n) == 0 }

// some draws each with a chance of one in n.
func some[T any](d dice, n int, of []T) []T {
	var drawn []T
	for _, v := range of {
		if d.in(n) {
			drawn = append(drawn, v)
		}
	}
	return drawn
}

// generate draws a session: the n-th of a seed.
func generate(seed, n uint64) session {
	d := dice{rand.New(rand.NewPCG(seed, n))}
	s := session{Protocol: protocol(d.IntN(4)), Settings: d.settings()}
	s.Settings.Endpoint = s.Settings.Endpoint && !s.Settings.PerAuthority // which exclude each other
	for range 1 + d.IntN(sessionLength) {
		x := d.exchange(s.Protocol)
		// The bare client's Close waits until a request is off its connection, also when reading the body has failed.
		// With the library that is so only for a body that was read to its end.
		for s.Settings.OneStream && x.breaks() || s.Settings.Endpoint && x.elsewhere() {
			x = d.exchange(s.Protocol)
		}
		s.Exchanges = append(s.Exchanges, x)
	}
	if s.Protocol.two() && slices.ContainsFunc(s.Exchanges, exchange.closes) {
		s.Settings.Hasty = false // the next request may still meet the connection that is on its way out
	}
	return s
}

// breaks reports whether one of the bodies is not read to its end.
func (x exchange) breaks() bool {
	if left(session{}, x) || x.Caller.Reads == "half" || x.Caller.Reads == "nothing" {
		return true
	}
	return slices.ContainsFunc(x.Answers, func(a answer) bool {
		long := a.Size > 2000 || a.Pieces > 0 // for http.Client, that reads only so much before it follows a redirect
		return a.Aborts || a.broken() || a.Declares != "" && (a.Declares == "more" || a.Surprise || a.Trailers != nil) ||
			long && a.Status >= 300 && a.Status < 400
	})
}

// elsewhere reports whether an endpoint would make a difference to an exchange: that is about more than one place, or
// one that is not addressed as usual, which an endpoint brings home. Or else its answer asks for time, which it gets.
func (x exchange) elsewhere() bool {
	q := x.Request
	if q.Host != "" || q.Opaque != "" || q.Scheme != "" || q.NoURL || q.Method == "CONNECT" || strings.HasPrefix(q.URL, home+":") {
		return true
	}
	return slices.ContainsFunc(x.Answers, func(a answer) bool {
		return slices.ContainsFunc(a.Headers, func(f field) bool {
			leads := f.Name == "Location" && (strings.Contains(f.Value, ":") || strings.HasPrefix(f.Value, "//"))
			return leads || strings.HasPrefix(f.Name, "Retry-After")
		})
	})
}

// closes reports whether the server closes a connection after one of its answers.
func (x exchange) closes() bool {
	return slices.ContainsFunc(x.Answers, func(a answer) bool {
		return slices.Contains(a.Headers, field{"Connection", "close"})
	})
}

// sessionLength is the most exchanges in one session.
const sessionLength = 24

func (d dice) settings() settings {
	return settings{
		NoCompression: d.in(4), HeaderTimeout: d.in(4), Jar: d.in(2), Hasty: d.in(6), OneStream: d.in(3),
		PerAuthority: d.in(3), Endpoint: d.in(4), TotalIncludesBody: d.in(3), UnprocessedOnly: d.in(3), SafeMethodsOnly: d.in(4),
		BufferLimit: one(d, 0, 100, 64<<10, 1<<20),
	}
}

// exchange draws one, as often as it takes.
func (d dice) exchange(p protocol) exchange {
	for {
		if x := d.any(p); x.certain(p) {
			return x
		}
	}
}

// any draws an exchange. No two of the times that are drawn below meet at the same
// instant, where chance would decide.
func (d dice) any(p protocol) exchange {
	x := exchange{Request: d.request(p), Caller: d.caller()}
	for range 3 {
		if !d.in(4) {
			break
		}
		x.Answers = append(x.Answers, d.redirect(p))
	}
	last := d.answer(x.Caller)
	if !p.two() && d.in(30) {
		x.Request.Headers = append(x.Request.Headers, field{"Connection", "Upgrade"}, field{"Upgrade", "echo"})
		last = answer{Status: 101, Size: d.size()}
	}
	x.Answers = append(x.Answers, last)
	return x
}

func (d dice) request(p protocol) request {
	q := request{Method: d.method(), URL: d.url(), Headers: d.headers(), Close: d.in(20), Chunked: d.in(30)}
	switch {
	case d.in(20):
		q.Host = one(d, "virtual.test", "virtual.test:81", "ho st", "UPPER.test")
	case d.in(40):
		q.Opaque = one(d, "//opaque.test/%2f", "*", "/opaque?x")
	case d.in(50):
		q.Method, q.Opaque = "OPTIONS", "*"
	case d.in(100):
		q.Scheme = one(d, "ftp", "x", strings.ToUpper(p.scheme()))
	case d.in(200):
		q.NoURL = true
	case d.in(190):
		q.NoMap, q.Headers = true, nil
	}
	if d.in(2) {
		q.Body = d.body()
	}
	if q.Body.Kind != "" && d.in(10) {
		q.Trailer = some(d, 2, []string{"X-Sum", "X-Other"})
	}
	return q
}

func (d dice) method() string {
	if d.in(2) {
		return one(d, "GET", "POST")
	}
	return one(d, "", "GET", "HEAD", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "PURGE", "get",
		"BREW", "M-SEARCH", "BAD METHOD", "PRI", "CONNECT")
}

func (d dice) url() string {
	if d.in(2) {
		return ""
	}
	return home + one(d, "/", "/a", "/a%2Fb", "/a/../b", "//a", "/ü", "/a b", "/?q=1&q=2", "?q", "/?", "/a?q=%zz", "/;p?;", "/#here",
		":80/port", ":8080/port", "/"+content(2000)) + one(d, "", "", "", "?from=%20+")
}

func (d dice) headers() []field {
	if d.in(3) {
		return nil
	}
	drawn := some(d, 15, []field{
		{"X-Mine", "1"}, {"X-Mine", "2"}, {"x-raw", "as it is"}, {"X-Empty", ""}, {"X-Space", "  in the middle  "},
		{"User-Agent", "mine"}, {"User-Agent", ""}, {"Accept-Encoding", "gzip"}, {"Accept-Encoding", "identity"},
		{"Range", "bytes=0-"}, {"Connection", "close"}, {"Connection", "keep-alive"}, {"Expect", "100-continue"},
		{"Idempotency-Key", "key"}, {"X-Idempotency-Key", ""}, {"Authorization", "Bearer secret"}, {"Cookie", "mine=1"},
		{"Cookie", "two=2; three=3"}, {"Content-Type", "text/x"}, {"Te", "trailers"}, {"Referer", "http://referer.test/"},
		{"Content-Length", "99"}, {"Host", "ignored.test"}, {"Transfer-Encoding", "chunked"}, {"Trailer", "X-Said"},
		{"Cache-Control", "no-store"}, {"If-None-Match", `"etag"`}, {"Keep-Alive", "1"}, {"Proxy-Connection", "close"},
	})
	if d.in(60) {
		drawn = append(drawn, one(d, field{"Bad Name", "x"}, field{"X-Bad", "a\nb"}, field{"", "x"}, field{"X-Bad", "a\x00b"}))
	}
	return drawn
}

func (d dice) body() body {
	b := body{
		Kind: one(d, "NoBody", "bytes", "strings", "buffer", "opaque", "opaque", "known", "known", "unsaid", "empty", "pipe",
			"failing", "failing, known"),
		Size: d.size(), GetBody: d.in(2),
	}
	if d.in(3) {
		b.Piece = one(d, 1, 7, 1000, 4096)
		b.Size = min(b.Size, 20*b.Piece)
	}
	if d.in(5) {
		b.Size = min(b.Size, 10<<10) // not a window of HTTP/2
		b.Pause = one(d, 1100*time.Microsecond, 130*time.Millisecond, 3100*time.Millisecond)
	}
	if d.in(30) {
		b.Off = one(d, -5, -1, 1, 5, 1000)
		b.Size = max(b.Size, 10)
	}
	return b
}

func (d dice) size() int {
	switch d.IntN(10) {
	case 0:
		return 0
	case 1:
		return 1
	case 2:
		return one(d, 4<<10, 32<<10, 64<<10) + d.IntN(3) - 1
	case 3:
		return d.IntN(biggest)
	default:
		return d.IntN(2000)
	}
}

func (d dice) caller() caller {
	c := caller{Direct: d.in(6), Trace: d.in(4)}
	if d.in(6) {
		c.Leaves = one(d, "before", "before, with a cause", "cancel", "cause", "deadline", "deadline, with a cause",
			"Client.Timeout", "Request.Cancel")
		c.After = one(d, 1230*time.Microsecond, 1570*time.Millisecond, 5590*time.Millisecond)
	}
	if d.in(5) {
		c.Stops, c.Hops = one(d, "last response", "error"), d.IntN(3)
	}
	if d.in(2) {
		c.Reads = one(d, "half", "nothing", "to the end", "and after")
	}
	if d.in(10) {
		c.Idle = one(d, 1270*time.Microsecond, 61*time.Second)
	}
	return c
}

func (d dice) answer(c caller) answer {
	a := answer{
		Status: d.status(), Size: d.size(), Headers: d.answerHeaders(), Gzip: d.in(8), Duplex: d.in(6),
		Declares: one(d, "", "", "right"),
	}
	if d.in(3) {
		a.Reads = one(d, "some", "nothing", "last")
	}
	if d.in(8) || c.Leaves != "" && d.in(2) {
		a.Delay = one(d, 97*time.Millisecond, 7*time.Second, 179*time.Second)
	}
	if d.in(4) {
		a.Pieces = 1 + d.IntN(4)
		a.Pause = one(d, 0, 1030*time.Microsecond, 7300*time.Millisecond)
	}
	if d.in(8) {
		a.Hints = some(d, 2, []int{103, 102, 103})
	}
	a.Surprise = d.in(10)
	if d.in(8) {
		a.Trailers = some(d, 2, []string{"X-Sum", "X-More"})
	}
	switch {
	case d.in(40):
		a.Declares = "more"
	case d.in(39):
		a.Aborts, a.Size, a.Pieces = true, 100+a.Size, 1+d.IntN(3) // after the headers
	}
	return a
}

// status is any of them; those that are worth a retry as well, since the budget allows none.
func (d dice) status() int {
	switch d.IntN(3) {
	case 0:
		return 0
	case 1:
		return one(d, 200, 201, 202, 203, 204, 205, 206, 226, 300, 304, 305, 400, 401, 404, 407, 408, 412, 413, 417, 421, 425,
			429, 451, 500, 501, 502, 503, 504, 505, 511)
	}
	return 200 + d.IntN(400)
}

func (d dice) answerHeaders() []field {
	return some(d, 15, []field{
		{"X-Theirs", "1"}, {"X-Theirs", "2"}, {"x-lower", "as it is"}, {"Content-Type", "text/x"}, {"Connection", "close"},
		{"Set-Cookie", "a=1; Path=/"}, {"Set-Cookie", "a=; Max-Age=0; Path=/"}, {"Set-Cookie", "b=2; Secure; HttpOnly"},
		{"Set-Cookie", "c=3; Max-Age=100"}, {"Set-Cookie", "no cookie"}, {"Retry-After", "1"}, {"Retry-After", "3600"},
		{"Retry-After", "soon"}, {"Retry-After-Ms", "100"}, {"Content-Encoding", "br"}, {"Etag", `"etag"`}, {"Location", "/elsewhere"},
		{"Www-Authenticate", `Basic realm="x"`}, {"Date", "then"}, {"Alt-Svc", "h3=\":443\""}, {"Content-Encoding", "gzip"},
	})
}

func (d dice) redirect(p protocol) answer {
	a := d.answer(caller{})
	a.Status = one(d, 301, 302, 303, 307, 308)
	if d.in(20) {
		return a // which has no Location, or "/elsewhere"
	}
	where := one(d, "/next", "next?x=1", "//other.test/x", p.scheme()+"://other.test/y?z", p.scheme()+"://user:secret@"+home+"/", "#here", "")
	if d.in(20) {
		where = one(d, "http://[bad", "ftp://other.test/", "mailto:x")
	}
	a.Headers = append(a.Headers, field{"Location", where})
	return a
}
