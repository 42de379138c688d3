package httptestx

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
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
// Requests that are going to run the handler, because they are in a [Delay] or read
// before their [Handle], are waited for, also if their client has gone. Of
// handlers that are still running the effects so far count.
func AtMostOnce(t testing.TB, s *Server) {
	t.Helper()
	ledger := newLedger(s.journal.settle())
	for _, c := range ledger.calls() {
		call, key := Ledger{*c, ledger.named}, (*c)[0].Key
		for _, name := range call.names() {
			if n := call.Effects(name, key); n > 1 {
				t.Errorf("httptestx: %s happened %d times%s, want at most 1 (%s)\n%s%s",
					name, n, ofKey(key), s.seedWords(), s.timeline(*c), hint(key))
			}
		}
	}
}

// ExactlyOnce fails the test unless the named effect happened once for the
// idempotency key; see [Effect] for the names. The key "" stands for all requests
// without one. It waits as [AtMostOnce] does.
func ExactlyOnce(t testing.TB, s *Server, name, key string) {
	t.Helper()
	ledger := newLedger(s.journal.settle())
	if n := ledger.Effects(name, key); n != 1 {
		t.Errorf("httptestx: %s happened %d times%s, want exactly 1 (%s)\n%s",
			name, n, ofKey(key), s.seedWords(), s.timeline(ledger.of(key)))
	}
}

// Arrivals fails the test unless n requests that match the pattern (as in
// [Server.On]) have arrived.
func Arrivals(t testing.TB, s *Server, pattern string, n int) {
	t.Helper()
	mux, err := muxFor(pattern)
	if err != nil {
		t.Fatalf("httptestx: Arrivals(%q): %v", pattern, err)
	}
	all := s.Exchanges()
	got := 0
	for _, x := range all {
		if muxMatches(mux, &http.Request{Method: x.Method, Host: x.Host, URL: &url.URL{Path: x.Path}}) {
			got++
		}
	}
	if got != n {
		t.Errorf("httptestx: %d requests for %q arrived, want %d (%s)\n%s", got, pattern, n, s.seedWords(), s.timeline(all))
	}
}

// names returns the effects in the ledger, each once, in order.
func (l Ledger) names() []string {
	var names []string
	for _, x := range l.exchanges {
		for _, name := range l.effects(x) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func ofKey(key string) string {
	if key == "" {
		return " without a key"
	}
	return fmt.Sprintf(" for key %q", key)
}

// hint follows the time-line of equal requests without a key.
func hint(key string) string {
	if key != "" {
		return ""
	}
	return "\n  The requests are equal, and none had been answered with success when the next arrived." +
		"\n  If they are separate calls, tell them apart by a key; see WithKeyHeader."
}
