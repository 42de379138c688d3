package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

const usage = `Usage: httptestx [flags] [rules.json]

Serves HTTP, and misbehaves as the rules say. Without -upstream it answers with what it was
asked, as JSON; with it, it forwards requests, and the rules decide what becomes of them and
of the answers. Without rules all is well. The rules are read from standard input if the
argument is "-".

Examples:
  httptestx rules.json
  httptestx -tls rules.json
  httptestx -listen :9090 -upstream http://127.0.0.1:9000 -admin 127.0.0.1:8474 rules.json
  curl -X PUT --data-binary @rules.json http://127.0.0.1:8474/rules

rules.json:
  {"seed": 42, "rules": [
    {"on": "POST /orders", "per": "Idempotency-Key", "script": ["lostresponse", {"unavailable": "30s"}]},
    {"on": "GET /", "prob": 0.1, "do": [{"delay": "2s"}, "handle"]}
  ]}

Flags:
`

// config is what the flags say.
type config struct {
	listen, admin, upstream string
	tls, h2c, http1, http2  bool
	cert, key               string
	seed                    uint64
	seedIsGiven             bool
	idempotent, dishonest   bool
	keep                    uint
	grace                   time.Duration
	rules                   string // a file; "-" for standard input, "" for none
}

// parse reads the command line. If that asks for help it writes it to w, and returns [flag.ErrHelp].
func parse(args []string, w io.Writer) (*config, error) {
	c := &config{}
	fs := c.flags()
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(w, usage)
			fs.SetOutput(w)
			fs.PrintDefaults()
		}
		return nil, err
	}
	fs.Visit(func(f *flag.Flag) { c.seedIsGiven = c.seedIsGiven || f.Name == "seed" })
	if fs.NArg() > 1 {
		return nil, fmt.Errorf("one file of rules at most, and flags before it; got %q", fs.Args())
	}
	c.rules = fs.Arg(0)
	return c, c.complete()
}

func (c *config) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("httptestx", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // a mistake is told in one line, not by all of the help
	fs.Usage = func() {}
	fs.StringVar(&c.listen, "listen", "127.0.0.1:8080", "serve on this `address`; without a host it is the loopback one")
	fs.StringVar(&c.admin, "admin", "", "answer questions about what happened, and take new rules, on this loopback `address`; GET / lists them")
	fs.StringVar(&c.upstream, "upstream", "", "forward requests to the server at this `URL`")
	fs.BoolVar(&c.tls, "tls", false, "serve HTTPS: HTTP/1.1 and HTTP/2. The authority to trust is at /ca.pem of -admin")
	fs.StringVar(&c.cert, "cert", "", "serve HTTPS with the certificate in this PEM `file`; needs -key")
	fs.StringVar(&c.key, "key", "", "the `file` with the key of -cert")
	fs.BoolVar(&c.h2c, "h2c", false, "serve HTTP/2 in cleartext as well, by prior knowledge")
	fs.BoolVar(&c.http1, "http1", false, "serve HTTP/1.1 only")
	fs.BoolVar(&c.http2, "http2", false, "serve HTTP/2 only")
	fs.Uint64Var(&c.seed, "seed", 0, "decide what chance decides by this `number`, and not by that of the rules or of HTTPTESTX_SEED")
	fs.BoolVar(&c.idempotent, "idempotent", false, "repeat the first answer to an Idempotency-Key instead of acting again")
	fs.BoolVar(&c.dishonest, "dishonest", false, "allow rules that refuse a request after it was processed")
	fs.UintVar(&c.keep, "keep", 1000, "remember the last `n` exchanges; 0 for all")
	fs.DurationVar(&c.grace, "grace", 5*time.Second, "when stopped, let running requests take this `time` to end")
	return fs
}

// complete checks what the flags say together, and puts in what follows.
func (c *config) complete() (err error) {
	switch {
	case (c.cert == "") != (c.key == ""):
		return errors.New("-cert and -key need each other")
	case c.http1 && (c.http2 || c.h2c):
		return errors.New("-http1 is HTTP/1.1 only: leave out -http2 and -h2c")
	case c.upstream != "" && !isURL(c.upstream):
		return fmt.Errorf("-upstream %q: want a URL such as http://127.0.0.1:9000", c.upstream)
	}
	c.tls = c.tls || c.cert != ""
	if c.tls && c.h2c {
		return errors.New("-h2c is for cleartext: leave it out, HTTP/2 is served with TLS anyway")
	}
	if c.listen, err = address("-listen", c.listen); err != nil {
		return err
	}
	if c.admin == "" {
		return nil
	}
	if c.admin, err = address("-admin", c.admin); err == nil && !isLoopback(c.admin) {
		err = fmt.Errorf("-admin %s: not a loopback address; whoever reaches it controls the server", c.admin)
	}
	return err
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// address puts the loopback address where there is no host: to be reached by others must be asked for.
func address(name, addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("%s %q: want host:port", name, addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// options are the server's.
func (c *config) options() []httptestx.Option {
	var p http.Protocols
	p.SetHTTP1(!c.http2)
	p.SetHTTP2(c.tls && !c.http1)
	p.SetUnencryptedHTTP2(!c.tls && (c.h2c || c.http2))
	opts := []httptestx.Option{
		httptestx.WithAddress(c.listen), httptestx.WithProtocols(p), httptestx.WithLastExchanges(c.keep),
	}
	if c.tls {
		opts = append(opts, httptestx.WithTLS())
	}
	if c.seedIsGiven {
		opts = append(opts, httptestx.WithSeed(c.seed))
	}
	if c.dishonest {
		opts = append(opts, httptestx.Dishonest())
	}
	return opts
}

// protocols are what is served, in words.
func (c *config) protocols() string {
	switch {
	case c.http2:
		return "HTTP/2"
	case c.http1 || !c.tls && !c.h2c:
		return "HTTP/1.1"
	}
	return "HTTP/1.1 and HTTP/2"
}
