package httptestx

import (
	"net/http"
	"os"
	"strconv"
)

// Option changes how a server is set up; see [NewServer].
type Option func(*settings)

type settings struct {
	seed          uint64
	keyHeaders    []string
	attemptHeader string
	strict        bool
	tls           bool
	protocols     http.Protocols
	dishonest     bool
}

// defaultSeed makes a test with chance in it repeat itself. A run that should
// explore sets the environment variable.
const defaultSeed = 1

// seedEnv names the environment variable that replaces the default seed.
const seedEnv = "HTTPTESTX_SEED"

// WithSeed sets the seed of [Rule.Prob]. Without it the seed is that of the
// environment variable HTTPTESTX_SEED (decimal, or hexadecimal after 0x), or else
// always the same.
func WithSeed(seed uint64) Option { return func(s *settings) { s.seed = seed } }

// WithKeyHeader names the request header that tells calls apart in the
// [Ledger]. Without it that is Idempotency-Key, or X-Idempotency-Key.
func WithKeyHeader(name string) Option {
	return func(s *settings) { s.keyHeaders = []string{name} }
}

// WithAttemptHeader names a request header in which the client under test
// counts its attempts. With it [Ledger.Replays] knows for certain what
// net/http has sent again by itself.
func WithAttemptHeader(name string) Option {
	return func(s *settings) { s.attemptHeader = name }
}

// Strict fails the test at its end for each [Rule.Script] with plans that were
// not used, for each key that was seen, and for each other rule that never
// applied.
func Strict() Option { return func(s *settings) { s.strict = true } }

// WithTLS makes a server in memory one with TLS; its URL begins with https. On loopback
// that is [Server.StartTLS].
func WithTLS() Option { return func(s *settings) { s.tls = true } }

// WithProtocols sets what the server, and its [Server.Client], speak; without it that
// is HTTP/1.1. Protocols that do not fit, such as HTTP/2 over TLS on a server in
// cleartext, are left out; those that are left are negotiated as net/http does. HTTP/2 in
// cleartext is by prior knowledge: the client uses it if HTTP/1 is not in the set. Config.Protocols,
// where it is set, goes before, but the client does not know it.
func WithProtocols(p http.Protocols) Option { return func(s *settings) { s.protocols = p } }

// Dishonest allows plans that refuse a request ([RefuseStream], or [GoAway] with BeforeThis)
// after [Handle] has processed it, or after a part of the answer was sent, and lets requests
// be handled that a GOAWAY has refused: servers do that, against the RFC, and clients that
// believe them send the request again.
func Dishonest() Option { return func(s *settings) { s.dishonest = true } }

func defaults(t TB) settings {
	t.Helper()
	s := settings{
		seed:       seedFromEnv(t),
		keyHeaders: []string{"Idempotency-Key", "X-Idempotency-Key"},
	}
	s.protocols.SetHTTP1(true)
	return s
}

func seedFromEnv(t TB) uint64 {
	t.Helper()
	text := os.Getenv(seedEnv)
	if text == "" {
		return defaultSeed
	}
	seed, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		t.Fatalf("httptestx: %s=%q: not a number of 64 bits", seedEnv, text)
	}
	return seed
}

// describe starts the record of a request.
func (s *Server) describe(r *http.Request, stream uint32) *Exchange {
	x := &Exchange{
		Stream:  stream,
		Proto:   r.Proto,
		Method:  r.Method,
		Host:    r.Host,
		Path:    r.URL.Path,
		Query:   r.URL.RawQuery,
		Header:  r.Header.Clone(),
		Attempt: r.Header.Get(s.settings.attemptHeader),
	}
	for _, name := range s.settings.keyHeaders {
		if x.Key == "" {
			x.Key = r.Header.Get(name)
		}
	}
	if r.Body == http.NoBody {
		x.Read = ReadComplete
	}
	return x
}
