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
	seedIsFixed   bool // by WithSeed
	seedIsGiven   bool // by that, or the environment
	keep          int  // exchanges; 0 for all
	address       string
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

// WithSeed sets the seed of [Rule.Prob] and [Latency]. Without it the seed is that of the
// environment variable HTTPTESTX_SEED (decimal, or hexadecimal after 0x), or else that of
// the document given to [Server.LoadRules], or else always the same.
func WithSeed(seed uint64) Option {
	return func(s *settings) { s.seed, s.seedIsFixed, s.seedIsGiven = seed, true, true }
}

// WithKeyHeader names the request header that tells calls apart in the
// [Ledger]. Without it that is Idempotency-Key, or X-Idempotency-Key.
func WithKeyHeader(name string) Option {
	return func(s *settings) { s.keyHeaders = []string{name} }
}

// WithAttemptHeader names a request header in which the client under test
// counts its attempts. The time-line shows it, and where a key arrives twice with one number, a
// failure knows for certain that net/http has sent it again by itself; see [Ledger.Resent].
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

// WithAddress sets where [Server.Start] and [Server.StartTLS] listen, "127.0.0.1:8080" for instance.
// Without it that is a port of the loopback interface that the system chooses. Anybody who
// reaches the address can use the server, and what is behind it.
func WithAddress(addr string) Option { return func(s *settings) { s.address = addr } }

// WithLastExchanges makes the server remember the last n exchanges only, and those that are
// running, for programs that serve for long. Without it, and for zero, all are remembered. What
// is forgotten is missing in [Server.Exchanges], [Server.Wait] and [Server.Ledger].
func WithLastExchanges(n uint) Option { return func(s *settings) { s.keep = int(n) } }

func defaults(t TB) settings {
	t.Helper()
	s := settings{keyHeaders: []string{"Idempotency-Key", "X-Idempotency-Key"}}
	s.seed, s.seedIsGiven = seedFromEnv(t)
	s.protocols.SetHTTP1(true)
	return s
}

func seedFromEnv(t TB) (seed uint64, given bool) {
	t.Helper()
	text := os.Getenv(seedEnv)
	if text == "" {
		return defaultSeed, false
	}
	seed, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		t.Fatalf("httptestx: %s=%q: not a number of 64 bits", seedEnv, text)
	}
	return seed, true
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
