package httptestx

import (
	"fmt"
	"net/http"
	"net/url"
)

// AtMostOnce fails the test for each call of which an effect happened more than
// once (see [Effect] for what an effect is).
//
// Requests with the same idempotency key belong to one call. Requests without a key
// belong to one call if their method, path, query and body are equal, and none of the
// earlier ones had been answered in full with a status below 400 when the next
// arrived: whoever was told of a success does not ask again. Separate
// calls that are equal, and overlap or follow a failure, cannot be told from
// repetitions; give them keys, or name a header that differs by [WithKeyHeader].
//
// PUT and DELETE may be repeated, because twice does what once does (RFC 9110,
// section 9.2.2): their runs count only if the handler calls Effect. [ExactlyOnce]
// counts them for whoever asks.
//
// Requests that are going to run the handler, because they are in a [Delay] or read
// before their [Handle], are waited for, also if their client has gone. Of
// handlers that are still running the effects so far count.
func AtMostOnce(t TB, s *Server) {
	t.Helper()
	ledger := newLedger(s.journal.settle())
	for _, c := range ledger.calls() {
		call, key := ledger.only(*c), (*c)[0].Key
		for _, name := range call.names(ledger.matters) {
			if n := call.Effects(name, key); n > 1 {
				t.Errorf("httptestx: %s happened %s%s, want at most 1 (%s)\n%s%s",
					name, times(n), ofKey(key), s.seedWords(), s.noted(*c, call.duplicates(name)), hint(key))
			}
		}
	}
}

// matters reports whether it matters that x's effects happen once.
func (l Ledger) matters(x Exchange) bool {
	return l.named || x.Method != http.MethodPut && x.Method != http.MethodDelete
}

// ExactlyOnce fails the test unless the named effect happened once for the
// idempotency key; see [Effect] for the names. The key "" stands for all requests
// without one. It waits as [AtMostOnce] does.
func ExactlyOnce(t TB, s *Server, name, key string) {
	t.Helper()
	ledger := newLedger(s.journal.settle())
	n := ledger.Effects(name, key)
	if n == 1 {
		return
	}
	call := ledger.only(ledger.of(key))
	help := ledger.known(key)
	switch {
	case n > 1 && key == "":
		help = alone
	case n > 1:
		help = hint(key)
	}
	t.Errorf("httptestx: %s happened %s%s, want exactly 1 (%s)\n%s%s",
		name, times(n), ofKey(key), s.seedWords(), s.noted(call.exchanges, call.duplicates(name)), help)
}

// Arrivals fails the test unless n requests that match the pattern (as in
// [Server.On]) have arrived.
func Arrivals(t TB, s *Server, pattern string, n int) {
	t.Helper()
	mux, err := muxFor(pattern)
	if err != nil {
		t.Fatalf("httptestx: Arrivals(%q): %v", pattern, err)
	}
	all := s.Exchanges()
	got, remarks := 0, make(notes)
	for _, x := range all {
		if muxMatches(mux, &http.Request{Method: x.Method, Host: x.Host, URL: &url.URL{Path: x.Path}}) {
			got++
			remarks[x.Seq] = fmt.Sprintf("%d of %d", got, n)
		}
	}
	if got != n {
		t.Errorf("httptestx: %s for %q arrived, want %d (%s)\n%s",
			plural(got, "request"), pattern, n, s.seedWords(), s.noted(all, remarks))
	}
}

func ofKey(key string) string {
	if key == "" {
		return " without a key"
	}
	return fmt.Sprintf(" for key %q", key)
}
