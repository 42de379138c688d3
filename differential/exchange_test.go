package differential

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// A session is a client, a server, and some exchanges one after the other. The
// zero value of everything below is the simplest case that there is, so that an
// exchange is told, and made simpler, field by field.
type session struct {
	Protocol  protocol
	Settings  settings
	Exchanges []exchange
}

// A protocol is what client and server speak.
type protocol int

const (
	http1 protocol = iota
	http1TLS
	http2TLS
	http2Clear
)

func (p protocol) String() string {
	return [...]string{"HTTP/1.1", "HTTP/1.1 over TLS", "HTTP/2 over TLS", "HTTP/2 without TLS"}[p]
}

func (p protocol) scheme() string {
	if p == http1TLS || p == http2TLS {
		return "https"
	}
	return "http"
}

func (p protocol) two() bool { return p >= http2Clear || p == http2TLS }

// settings are those of the transport under both clients, and of the strategies
// on top of the one.
type settings struct {
	NoCompression bool
	HeaderTimeout bool // of the transport: a minute
	Jar           bool
	Hasty         bool // the next call is made at once
	OneStream     bool // the server of HTTP/2 takes one request at a time on a connection

	PerAuthority      bool
	Endpoint          bool // there is one: where the requests go anyhow
	TotalIncludesBody bool
	UnprocessedOnly   bool
	SafeMethodsOnly   bool
	BufferLimit       int
}

// An exchange is a call of an http.Client, and what the server answers: one after
// the other to each request that arrives, and the last to all further ones.
type exchange struct {
	Request request
	Caller  caller
	Answers []answer
}

// A request is what the caller asks for.
type request struct {
	Method  string
	URL     string // behind the scheme; "" is the server's root
	Scheme  string // if it is another one
	Opaque  string // instead of the path
	NoURL   bool
	Host    string
	Headers []field
	NoMap   bool // of headers, which is nil then
	Body    body
	Close   bool
	Chunked bool     // says TransferEncoding
	Trailer []string // announced, and set at the end of the body
}

// A field is one line of a header. Its name is not made canonical.
type field struct{ Name, Value string }

// A body is what the caller sends.
type body struct {
	Kind    string // "" is nil
	Size    int
	GetBody bool
	Off     int // the declared length is off by so much
	Pause   time.Duration
	Piece   int // the most that one Read brings; 0 is all
}

// A caller is the one who makes the call and reads the response.
type caller struct {
	Direct bool   // through RoundTrip
	Leaves string // how; "" is that he stays
	After  time.Duration
	Trace  bool
	Hops   int // redirects that are followed, if Stops is set
	Stops  string
	Reads  string        // how; "" is all of it, and Close
	Idle   time.Duration // before he reads
}

// An answer is what the server does with one request.
type answer struct {
	Reads    string // of the request's body; "" is all of it, first
	Duplex   bool   // HTTP/1 may write before it has read
	Delay    time.Duration
	Hints    []int // informational responses
	Status   int   // 0 is 200
	Headers  []field
	Declares string // the Content-Length; "" leaves it to net/http
	Size     int
	Pieces   int // written and flushed one by one; 0 is one, not flushed
	Pause    time.Duration
	Gzip     bool
	Trailers []string
	Surprise bool // one trailer more, that was not announced
	Aborts   bool // hangs up in the middle of the body
}

// tell writes v in one line, without what is zero.
func tell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Struct:
		var parts []string
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() && (f.Kind() != reflect.Slice || f.Len() > 0) {
				parts = append(parts, v.Type().Field(i).Name+": "+tell(f))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, tell(v.Index(i)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	default:
		return fmt.Sprint(v.Interface())
	}
}

func (s session) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "over %v, settings %s\n", s.Protocol, tell(reflect.ValueOf(s.Settings)))
	for i, x := range s.Exchanges {
		fmt.Fprintf(&b, "exchange %d\n  request %s\n  caller  %s\n", i+1, tell(reflect.ValueOf(x.Request)), tell(reflect.ValueOf(x.Caller)))
		for _, a := range x.Answers {
			fmt.Fprintf(&b, "  answer  %s\n", tell(reflect.ValueOf(a)))
		}
	}
	return b.String()
}
