package differential

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// An allowance is a difference that is known: in the exchanges that it is of, what
// the lines have of it is replaced on both sides.
type allowance struct {
	of      func(s session, x exchange) bool // nil: all
	what    *regexp.Regexp
	becomes string
}

// allowances are the differences that are meant, or that any RoundTripper makes.
var allowances = []allowance{
	// http.Client ends a request over any other RoundTripper than its own by Request.Cancel as well, and which of
	// the two is first decides about the text. In virtual time the bare client's own text is not certain either:
	// it looks whether the deadline has passed, at the very instant of the deadline.
	{of: clientTimeout, what: regexp.MustCompile(`^caller: .* Cancel (true|false)$`)},
	{of: clientTimeout, what: regexp.MustCompile(`^caller: .*fails: (text|types) .*$`)},
	{of: clientTimeout, what: regexp.MustCompile(`^caller: (closing the body|reading behind the end).*$`)},

	// Over HTTP/2 net/http itself makes a copy of some requests. The library says what was the caller's.
	{of: overTwo, what: regexp.MustCompile(`^caller: for the request: the caller's.*$`)},

	// Over HTTP/2 it is chance whether Close still finds the request alive that was ended so, in the bare client too.
	{of: cancelledTwo, what: regexp.MustCompile(`^caller: (closing the body|a second Close).*$`)},

	// Of a caller who has left, before a call or a redirect, the library does not even ask the transport.
	{of: left, what: regexp.MustCompile(`^caller: trace: .*$`)},
	// For that it has no stream, so those of later calls have other numbers.
	{what: regexp.MustCompile(`stream ID \d+`), becomes: "stream ID n"},
	// It returns the context's error as well as the cause. Over HTTP/2 net/http returns the one or the other.
	{of: leftWithCause, what: regexp.MustCompile(`^(caller: fails: text .*)resilient: client .*: context (canceled|deadline exceeded): `), becomes: "$1"},
	{of: leftWithCause, what: regexp.MustCompile(`^caller: fails: (types|is|can) .*$`)},
	{of: leftWithCauseTwo, what: regexp.MustCompile(`^caller: fails: text .*$`)},

	// Read and Close of a body that was read to its end and closed are not asked of the transport again.
	{what: regexp.MustCompile(`^caller: (reading after|a second) Close: .*$`)},

	// What net/http refuses to send over HTTP/2 it refuses only when it has a connection. If that was used before, the
	// library takes the refusal for one of a dead connection, and tries another.
	{of: refusedByTwo, what: regexp.MustCompile(`^.*(connection: .*|trace: .*)$`)},

	// How much of a response has come into the buffers is chance, if it is read after its caller has left.
	{of: leftIdle, what: regexp.MustCompile(`^caller: body: .*$`)},

	// How far a body gets that fails, whose answer comes first, or whose caller leaves, is chance.
	{of: cutShort, what: regexp.MustCompile(`, \d+ bytes were read of it$`)},
	{of: cutShort, what: regexp.MustCompile(`^server, .*: (body|trailer at the end).*$`)},
}

func clientTimeout(_ session, x exchange) bool { return x.Caller.Leaves == "Client.Timeout" }
func overTwo(s session, _ exchange) bool       { return s.Protocol.two() }
func left(_ session, x exchange) bool          { return x.Caller.Leaves != "" }
func leftIdle(s session, x exchange) bool      { return left(s, x) && x.Caller.Idle > 0 }
func cancelledTwo(s session, x exchange) bool {
	return s.Protocol.two() && x.Caller.Leaves == "Request.Cancel"
}
func leftBefore(_ session, x exchange) bool    { return strings.HasPrefix(x.Caller.Leaves, "before") }
func leftWithCause(_ session, x exchange) bool { return strings.HasSuffix(x.Caller.Leaves, "cause") }

func leftWithCauseTwo(s session, x exchange) bool { return s.Protocol.two() && leftWithCause(s, x) }

func failingTwo(s session, x exchange) bool {
	return s.Protocol.two() && (x.Request.Body.Off != 0 || strings.HasPrefix(x.Request.Body.Kind, "failing"))
}

func cutShort(s session, x exchange) bool {
	early := func(a answer) bool { return a.Reads != "" }
	return x.Request.Body.Kind != "" && (left(s, x) || failingTwo(s, x) || slices.ContainsFunc(x.Answers, early))
}

// refusedByTwo is of all exchanges of a session, for the later ones find other connections.
func refusedByTwo(s session, _ exchange) bool {
	return s.Protocol.two() && slices.ContainsFunc(s.Exchanges, func(x exchange) bool {
		connection := 0
		for _, f := range x.Request.Headers {
			switch f.Name {
			case "Upgrade":
				return true
			case "Connection":
				connection++
			}
		}
		return connection > 1 || x.Request.Host == "ho st" || x.Request.Opaque != ""
	})
}

// allowed are the lines without what is allowed to differ.
func allowed(s session, i int, lines []string) []string {
	var x exchange
	if i < len(s.Exchanges) {
		x = s.Exchanges[i]
	}
	var kept []string
	for _, line := range lines {
		for _, a := range allowances {
			if a.of == nil || a.of(s, x) {
				line = a.what.ReplaceAllString(line, a.becomes)
			}
		}
		if line != "" {
			kept = append(kept, line)
		}
	}
	return kept
}

// hangs reports whether it took somebody to hang up: there is nothing to compare with then.
func hangs(line string) bool {
	return strings.HasPrefix(line, "caller: returns after "+patience.String()) || strings.HasPrefix(line, "caller: has read after "+patience.String())
}

// differences tells which lines of an exchange are seen on one side only, or else
// where their order is another one.
func differences(s session, i int, bare, resilient record) string {
	want, got := allowed(s, i, bare[i]), allowed(s, i, resilient[i])
	if slices.Equal(want, got) || slices.ContainsFunc(want, hangs) {
		return ""
	}
	var b strings.Builder
	tell := func(who string, lines, others []string) {
		others = slices.Clone(others)
		for _, line := range lines {
			if i := slices.Index(others, line); i >= 0 {
				others = slices.Delete(others, i, i+1)
				continue
			}
			fmt.Fprintf(&b, "  %s %s\n", who, line)
		}
	}
	tell("bare:     ", want, got)
	tell("resilient:", got, want)
	if b.Len() == 0 {
		return fmt.Sprintf("  the same, in another order:\n%s", strings.Join(got, "\n"))
	}
	return b.String()
}
