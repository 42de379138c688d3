package httptestx_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// mistaken loads rules, and returns what is wrong with them, a line each.
func mistaken(srv *httptestx.Server, rules string) string {
	if err := srv.LoadRules(strings.NewReader(rules)); err != nil {
		return strings.ReplaceAll(err.Error(), "httptestx: ", "")
	}
	return ""
}

func TestDocumentThatIsNoneIsRefused(t *testing.T) {
	srv := httptestx.NewServer(t, ok)
	for rules, want := range map[string]string{
		"":                                 "line 1: unexpected end of JSON input",
		"{\n\"rules\": [,]}":               "line 2: invalid character ',' looking for beginning of value",
		"\n\n[]":                           `line 3: the document: must be an object, is []`,
		"null":                             `line 1: the document: must be an object, is null`,
		"{}":                               `line 1: the document: "rules" is missing`,
		"\n{\"rules\": [],\n \"rule\": 1}": "line 3: rule: there is no such field; there are rules, seed",
		"{\"rules\": [], \"a b\": 1}":      `line 1: "a b": there is no such field; there are rules, seed`,
		"{\"rules\": [],\n\"rules\": []}":  "line 2: rules: is given twice",
		"{\"rules\": {}}":                  "line 1: rules: must be a list of rules, is {}",
		"{\"rules\": null}":                "line 1: rules: must be a list of rules, is null",
		"{\"rules\": [1,\nnull]}": "line 1: rules[0]: must be a rule, such as {\"on\": \"POST /orders\", \"do\": [\"handle\", \"reset\"]}, is 1\n" +
			"line 2: rules[1]: must be a rule, such as {\"on\": \"POST /orders\", \"do\": [\"handle\", \"reset\"]}, is null",
		"{\"rules\": [],\n\"seed\": -1}":       `line 2: seed: must be a whole number of 64 bits, or one as text such as "0x51f3", is -1`,
		"{\"rules\": [],\n\"seed\": \"x\"}":    `line 2: seed: must be a whole number of 64 bits, or one as text such as "0x51f3", is "x"`,
		"{\"rules\": [],\n\"seed\": 1e3}":      `line 2: seed: must be a whole number of 64 bits, or one as text such as "0x51f3", is 1e3`,
		"{\"rules\": [],\n\"seed\": \"\xff\"}": "line 2: not UTF-8",
	} {
		is.New(t).Equal(mistaken(srv, rules), want) // where, and what
	}
}

func TestRuleThatCannotBeMeantIsRefused(t *testing.T) {
	srv := httptestx.NewServer(t, ok)
	for fields, want := range map[string]string{
		`"do": ["handle"]`:                          `rules[0]: a rule has either "on", with a pattern, or "conn": true`,
		`"on": "/", "conn": true, "do": ["handle"]`: `rules[0]: a rule has either "on", with a pattern, or "conn": true`,
		`"on": "/"`: `rules[0]: a rule has either "do", with a plan, or "script", with a list of plans`,
		`"on": "/", "do": ["handle"], "script": [["handle"]]`:                    `rules[0]: a rule has either "do", with a plan, or "script", with a list of plans`,
		`"on": 1, "do": ["handle"]`:                                              `rules[0].on: must be a string, is 1`,
		`"on": "", "do": ["handle"]`:                                             `rules[0].on: http: invalid pattern`,
		`"on": "/{", "do": ["handle"]`:                                           `rules[0].on: parsing "/{": at offset 1: bad wildcard segment (must end with '}')`,
		`"on": "/", "probability": 1, "do": ["handle"]`:                          `rules[0].probability: there is no such field; there are on, header, per, between, nth, first, after, every, prob, do, script`,
		`"on": "/", "Do": ["handle"], "do": ["handle"]`:                          `rules[0].Do: there is no such field; there are on, header, per, between, nth, first, after, every, prob, do, script`,
		`"conn": true, "per": "K", "do": ["reset"]`:                              `rules[0].per: there is no such field; there are conn, between, nth, first, after, every, prob, do, script`,
		`"conn": false, "do": ["reset"]`:                                         `rules[0].conn: must be true, is false`,
		`"on": "/", "header": ["K"], "do": ["handle"]`:                           `rules[0].header: must be an object such as {"Retry-After": "2"}, is ["K"]`,
		`"on": "/", "header": {"K": 1}, "do": ["handle"]`:                        `rules[0].header.K: must be a string, is 1`,
		`"on": "/", "header": {"K": [1]}, "do": ["handle"]`:                      `rules[0].header.K[0]: must be a string, is 1`,
		`"on": "/", "header": {"K:": "1"}, "do": ["handle"]`:                     `rules[0].header."K:": not the name of a header`,
		`"on": "/", "per": 1, "do": ["handle"]`:                                  `rules[0].per: must be a string, is 1`,
		`"on": "/", "per": "", "do": ["handle"]`:                                 `rules[0].per: not the name of a header`,
		`"on": "/", "nth": 1, "do": ["handle"]`:                                  `rules[0].nth: must be a list of whole numbers, such as [1, 3], is 1`,
		`"on": "/", "nth": [], "do": ["handle"]`:                                 `rules[0].nth: requests are counted from 1, is []`,
		`"on": "/", "nth": [1, 0], "do": ["handle"]`:                             `rules[0].nth: requests are counted from 1, is [1,0]`,
		`"on": "/", "nth": [1, 1.5], "do": ["handle"]`:                           `rules[0].nth[1]: must be a whole number, is 1.5`,
		`"on": "/", "first": 0, "do": ["handle"]`:                                `rules[0].first: n must be 1 or more, is 0`,
		`"on": "/", "after": -1, "do": ["handle"]`:                               `rules[0].after: n must not be negative, is -1`,
		`"on": "/", "every": "2", "do": ["handle"]`:                              `rules[0].every: must be a whole number, is "2"`,
		`"on": "/", "prob": 1.5, "do": ["handle"]`:                               `rules[0].prob: p must be 0 to 1, is 1.5`,
		`"on": "/", "prob": null, "do": ["handle"]`:                              `rules[0].prob: must be a number, is null`,
		`"on": "/", "between": ["0s", "1s"], "do": ["handle"]`:                   `rules[0].between: must be an object, is ["0s","1s"]`,
		`"on": "/", "between": {"from": "1s"}, "do": ["handle"]`:                 `rules[0].between: "to" is missing`,
		`"on": "/", "between": {"from": "1s", "to": 2}, "do": ["handle"]`:        `rules[0].between.to: must be a duration such as "1.5s", is 2`,
		`"on": "/", "between": {"from": "1s", "to": "soon"}, "do": ["handle"]`:   `rules[0].between.to: must be a duration such as "1.5s", is "soon"`,
		`"on": "/", "between": {"from": "1s", "to": "1000ms"}, "do": ["handle"]`: `rules[0].between: the window is empty, is {"from":"1s","to":"1000ms"}`,
		`"on": "/", "script": []`:                                                `rules[0].script: no plan`,
		`"on": "/", "script": "stall"`:                                           `rules[0].script: must be a list of plans, is "stall"`,
		`"on": "/", "script": ["stall", ["handle", "handle"]]`:                   `rules[0].script[1][1]: handle stands twice in one plan`,
		`"on": "/", "do": ["handle"], "nth": [0], "first": 0, "after": "a fairly long piece of text, too long"`: "rules[0].nth: requests are counted from 1, is [0]\nline 2: rules[0].first: n must be 1 or more, is 0\n" +
			`line 2: rules[0].after: must be a whole number, is "a fairly long piece of text, too long"`,
	} {
		is.New(t).Equal(mistaken(srv, "{\"rules\": [\n{"+fields+"}]}"), "line 2: "+want) // where, and what
	}
}

const (
	forms = "{...} with delay, latency, status, informational, send, sendraw, slow, malformed, resetstream, goaway, handshakefail"
	steps = "read, handle, sendheaders, reset, close, hang, refusestream, refuse, accept, nosuchhost; and " + forms
)

func TestPlanThatCannotBeMeantIsRefused(t *testing.T) {
	srv := httptestx.NewServer(t, ok)
	for plan, want := range map[string]string{
		`[]`:                               `do: no answer: end the plan with handle, status, reset, close or hang`,
		`["read"]`:                         `do: no answer: end the plan with handle, status, reset, close or hang`,
		`null`:                             `do: must be a plan: a list of steps, such as ["handle", "reset"], or the name of a ready one, is null`,
		`"reset"`:                          `do: there is no plan "reset"; there are lists of steps, such as ["handle", "reset"]; resetbeforeread, resetbeforehandler, lostresponse, lostresponseeof, stall; and {...} with truncatedbody, slowbody, unavailable, toomanyrequests`,
		`{"slow": 1}`:                      `do: there is no such plan; there are {...} with truncatedbody, slowbody, unavailable, toomanyrequests`,
		`{"slowbody": "x"}`:                `do.slowbody: must be a duration such as "1.5s", is "x"`,
		`{"truncatedbody": -1}`:            `do: send(-1): negative`,
		`{"unavailable": "-1s"}`:           `do: status(503): negative Retry-After -1s`,
		`{"unavailable": "1s", "a":1}`:     `do.a: there is no such field; there is unavailable`,
		`["Handle"]`:                       `do[0]: there is no step "Handle"; there are ` + steps,
		`[{}]`:                             `do[0]: there is no such step; there are ` + forms,
		`[{"handle": true}]`:               `do[0]: there is no such step; there are ` + forms,
		`["delay"]`:                        `do[0]: delay needs a value: {"delay": ...}`,
		`[["handle"]]`:                     `do[0]: must be a step, such as "handle" or {"delay": "2s"}, is ["handle"]`,
		`["handle", {"delay": 2}]`:         `do[1].delay: must be a duration such as "1.5s", is 2`,
		`["handle", {"delay": "-2s"}]`:     `do[1]: delay(-2s): negative`,
		`["reset", "handle"]`:              `do[1]: handle after reset: a plan ends with reset`,
		`["refuse"]`:                       `do[0]: refuse is a step of a connection: OnConn`,
		`["handle", "refusestream"]`:       `do[1]: refusestream after handle: it tells the client that the request was not processed (RFC 9113, section 8.7); the option Dishonest allows it`,
		`[{"status": 103}]`:                `do[0]: status(103): not a final status code, 200 to 999`,
		`[{"status": "503"}]`:              `do[0].status: must be a whole number, is "503"`,
		`[{"status": 503, "headers": {}}]`: `do[0].headers: there is no such field; there are status, header`,
		`[{"status": 503, "status": 504}]`: `do[0].status: is given twice`,
		`[{"status": 503, "delay": "1s"}]`: `do[0].delay: there is no such field; there are status, header`,
		`[{"status": 503, "header": {"A": "b\n"}}]`:                             `do[0]: status(503): malformed header "A": "b\n"`,
		`[{"informational": 200}, "handle"]`:                                    `do[0]: informational(200): not an informational status code, 100 to 199 except 101`,
		`["handle", {"send": -1}]`:                                              `do[1]: send(-1): negative`,
		`[{"sendraw": ""}]`:                                                     `do[0]: sendraw(): nothing to send`,
		`[{"sendraw": 1}]`:                                                      `do[0].sendraw: must be a string, or {"base64": "..."}, is 1`,
		`[{"sendraw": {"base64": "*"}}]`:                                        `do[0].sendraw.base64: illegal base64 data at input byte 0`,
		`[{"sendraw": {}}]`:                                                     `do[0].sendraw: "base64" is missing`,
		`[{"slow": 2}, "handle"]`:                                               `do[0]: "every" is missing`,
		`[{"slow": 0, "every": "1s"}, "handle"]`:                                `do[0]: slow(0, 1s): want 1 byte or more`,
		`[{"malformed": "body"}]`:                                               `do[0].malformed: must be one of statusline, header, contentlength, chunk, gzip, garbage, badhpack, hugeframe, is "body"`,
		`[{"resetstream": "OOPS"}]`:                                             `do[0].resetstream: must be the name of an HTTP/2 error code, such as REFUSED_STREAM, or its number, is "OOPS"`,
		`[{"resetstream": 4294967296}]`:                                         `do[0].resetstream: must be the name of an HTTP/2 error code, or its number, is 4294967296`,
		`[{"goaway": "NO_ERROR"}]`:                                              `do[0]: "last" is missing`,
		`[{"goaway": "NO_ERROR", "last": "this"}]`:                              `do[0].last: must be "beforethis" or "includingthis", is "this"`,
		`[{"latency": "1s"}, "handle"]`:                                         `do[0].latency: must be a distribution, such as {"fixed": "10ms"}, is "1s"`,
		`[{"latency": {"normal": {}}}, "handle"]`:                               `do[0].latency: there is no such distribution; there are {...} with fixed, uniform, lognormal, quantiles`,
		`[{"latency": {"fixed": "1s", "x": 1}}, "handle"]`:                      `do[0].latency.x: there is no such field; there is fixed`,
		`[{"latency": {"uniform": {"least": "2s"}}}, "handle"]`:                 `do[0].latency.uniform: "most" is missing`,
		`[{"latency": {"lognormal": {"median": "0s", "p99": "1s"}}}, "handle"]`: `do[0]: latency(lognormal(0s, p99 1s): want 0 < median <= p99)`,
		`[{"latency": {"quantiles": {}}}, "handle"]`:                            `do[0].latency.quantiles: must be a list such as [{"p": 0.9, "d": "10ms"}, {"p": 1, "d": "1s"}], is {}`,
		`[{"latency": {"quantiles": [{"p": 0.5, "d": "1s"}]}}, "handle"]`:       `do[0]: latency(quantiles: the last P must be 1, for the longest delay)`,
		`[{"latency": {"quantiles": [{"p": "1", "d": "1s"}]}}, "handle"]`:       `do[0].latency.quantiles[0].p: must be a number, is "1"`,
	} {
		is.New(t).Equal(mistaken(srv, "{\"rules\": [\n\n{\"on\": \"/\", \"do\": "+plan+"}]}"), "line 3: rules[0]."+want) // where, and what
	}
}

func TestPlanOfAConnectionThatCannotBeMeantIsRefused(t *testing.T) {
	srv := httptestx.NewServer(t, ok)
	for plan, want := range map[string]string{
		`[]`:                         `do: no step: want delay, refuse, accept, handshakefail, nosuchhost, reset or close`,
		`["handle"]`:                 `do[0]: handle is a step of a request: want delay, refuse, accept, handshakefail, nosuchhost, reset or close`,
		`["refuse", "refuse"]`:       `do[1]: refuse after refuse: a plan ends with refuse`,
		`"stall"`:                    `do: handle is a step of a request: want delay, refuse, accept, handshakefail, nosuchhost, reset or close`,
		`[{"handshakefail": 256}]`:   `do[0].handshakefail: must be the number of a TLS alert, 0 to 255, is 256`,
		`[{"handshakefail": "x"}]`:   `do[0].handshakefail: must be the number of a TLS alert, 0 to 255, is "x"`,
		"[{\"delay\": \"1s\"},\n 5]": "do[1]: must be a step, such as \"handle\" or {\"delay\": \"2s\"}, is 5",
	} {
		got := mistaken(srv, "{\"rules\": [{\"conn\": true, \"do\": "+plan+"}]}")
		_, got, _ = strings.Cut(got, "rules[0].")
		is.New(t).Equal(got, want) // where, and what
	}
}

func TestPlanThatTheServerCannotDoIsRefused(t *testing.T) {
	protocols := func(set ...func(*http.Protocols, bool)) httptestx.Option {
		var p http.Protocols
		for _, f := range set {
			f(&p, true)
		}
		return httptestx.WithProtocols(p)
	}
	http2 := protocols((*http.Protocols).SetUnencryptedHTTP2)
	all := protocols((*http.Protocols).SetHTTP1, (*http.Protocols).SetUnencryptedHTTP2)
	address := httptestx.WithAddress("127.0.0.1:0")
	for _, tt := range []struct {
		rule, want string
		opts       []httptestx.Option
	}{
		{`"on": "/", "do": ["refusestream"]`, "rules[0].do[0]: refusestream cannot be done: the server speaks HTTP/1 only, in which nothing says that a request was not processed", nil},
		{`"on": "/", "do": ["refusestream"]`, "", []httptestx.Option{all}},
		{`"on": "/", "do": ["handle", {"malformed": "chunk"}]`, "", []httptestx.Option{all}},
		{`"on": "/", "do": ["handle", {"malformed": "gzip"}]`, "", []httptestx.Option{http2}},
		{`"on": "/", "do": ["handle", {"malformed": "chunk"}]`, "rules[0].do[1]: malformed(chunk) cannot be done: the server speaks HTTP/2 only, whose responses are frames, not text", []httptestx.Option{http2}},
		{`"on": "/", "do": [{"malformed": "badhpack"}]`, "", []httptestx.Option{all}},
		{`"on": "/", "do": [{"malformed": "badhpack"}]`, "rules[0].do[0]: malformed(badhpack) cannot be done: the server speaks HTTP/1 only, whose responses are text, not frames", nil},
		{`"conn": true, "do": [{"delay": "1s"}, "nosuchhost"]`, "rules[0].do[1]: nosuchhost cannot be done: the server is not in memory, and the system looks names up", nil},
		{`"conn": true, "do": [{"handshakefail": 40}]`, "rules[0].do[0]: handshakefail(40) cannot be done: the server is in cleartext", nil},
		{`"conn": true, "do": [{"handshakefail": 40}]`, "", []httptestx.Option{httptestx.WithTLS()}},
	} {
		is := is.New(t)
		rules, want := `{"rules": [{`+tt.rule+`}]}`, tt.want
		if want != "" {
			want = "line 1: " + want
		}
		is.Equal(mistaken(httptestx.NewServer(t, ok, tt.opts...), rules), "")                    // in memory more is possible, and what it will be is open
		is.Equal(mistaken(httptestx.NewServer(t, ok, append(tt.opts, address)...), rules), want) // it is known where it will listen
		started := httptestx.NewServer(t, ok, tt.opts...)
		if strings.Contains(tt.rule, "handshakefail") && want == "" {
			started.StartTLS()
		} else {
			started.Start()
		}
		is.Equal(mistaken(started, rules), want) // or where it does
	}
}

func TestDishonestPlanIsLoadedIfItIsAllowed(t *testing.T) {
	is := is.New(t)
	srv := httptestx.NewServer(t, ok, httptestx.Dishonest())
	is.Equal(mistaken(srv, `{"rules": [{"on": "/", "do": ["handle", "refusestream"]}]}`), "") // as in Go
}
