package httptestx

import (
	"bytes"
	"net/http"
	"slices"
)

// Effect records a side effect of the handler that is serving r, such as
// "charge" or "mail sent". Outside a [Server] it does nothing.
//
// Without it, each run of the handler for an unsafe method (any but GET, HEAD,
// OPTIONS, TRACE and QUERY) is one effect named "METHOD path", unless the
// handler itself answered 4xx or 503, which says that it did nothing. Once a handler
// of the server has called Effect, only such calls count.
func Effect(r *http.Request, name string) {
	if log, ok := r.Context().Value(entryKey{}).(entry); ok {
		log.effect(name)
	}
}

// entryKey is the context key of a request's entry in the journal.
type entryKey struct{}

// Ledger says what the requests did, by idempotency key. The key "" stands for
// all requests without one. A Ledger is a snapshot.
type Ledger struct {
	exchanges []Exchange
	named     bool        // only what was given to Effect counts
	again     map[int]int // what net/http may have sent again; see resends
}

// only is the ledger with some of its exchanges.
func (l Ledger) only(list []Exchange) Ledger { return Ledger{list, l.named, l.again} }

// Ledger returns what the requests did so far.
func (s *Server) Ledger() Ledger {
	return newLedger(s.Exchanges())
}

func newLedger(list []Exchange) Ledger {
	named := slices.ContainsFunc(list, func(x Exchange) bool { return len(x.effects) > 0 })
	return Ledger{list, named, resends(list)}
}

// Keys returns the idempotency keys in order of their first arrival.
func (l Ledger) Keys() []string {
	var keys []string
	seen := make(map[string]bool)
	for _, x := range l.exchanges {
		if x.Key != "" && !seen[x.Key] {
			seen[x.Key] = true
			keys = append(keys, x.Key)
		}
	}
	return keys
}

// Arrivals returns how many requests with the key arrived.
func (l Ledger) Arrivals(key string) int { return len(l.of(key)) }

// Executions returns how many requests with the key the handler was run for; with
// [Idempotent], the handler in it.
func (l Ledger) Executions(key string) int {
	return l.count(key, func(x Exchange) bool { return x.Handled })
}

// Effects returns how often the named effect happened for requests with the key.
func (l Ledger) Effects(name, key string) int {
	n := 0
	for _, x := range l.of(key) {
		for _, effect := range l.effects(x) {
			if effect == name {
				n++
			}
		}
	}
	return n
}

// Replays returns how many requests with the key got the first answer again, from
// [Idempotent].
func (l Ledger) Replays(key string) int {
	return l.count(key, func(x Exchange) bool { return x.Replayed })
}

// Conflicts returns how many requests with the key [Idempotent] refused: with 409
// because the first was running, or with 422 because it was another request.
func (l Ledger) Conflicts(key string) int {
	return l.count(key, func(x Exchange) bool { return x.Conflict })
}

func (l Ledger) count(key string, f func(Exchange) bool) int {
	n := 0
	for _, x := range l.exchanges {
		if x.Key == key && f(x) {
			n++
		}
	}
	return n
}

// of returns the exchanges with the key.
func (l Ledger) of(key string) []Exchange {
	var list []Exchange
	for _, x := range l.exchanges {
		if x.Key == key {
			list = append(list, x)
		}
	}
	return list
}

// effects returns the names of what x did. While the handler runs, its answer
// is not known, and it is taken to act.
func (l Ledger) effects(x Exchange) []string {
	if l.named {
		return x.effects
	}
	refused := x.answer == http.StatusServiceUnavailable || x.answer >= 400 && x.answer < 500
	if !x.Handled || refused || safe(x.Method) {
		return nil
	}
	return []string{x.Method + " " + x.Path}
}

func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, "QUERY":
		return true
	}
	return false
}

// identity is what tells calls apart, except for the body. The host does not:
// a call may be repeated at another endpoint.
type identity struct{ key, method, path, query string }

func (x *Exchange) identity() identity { return identity{x.Key, x.Method, x.Path, x.Query} }

// sameBody compares as far as both bodies were read: a request that was cut, or
// whose body was not asked for, is equal to those that it may be a part of.
func (x *Exchange) sameBody(y *Exchange) bool {
	if x.Read == ReadComplete && y.Read == ReadComplete {
		return x.digest == y.digest && x.length == y.length
	}
	n := min(len(x.Body), len(y.Body))
	return bytes.Equal(x.Body[:n], y.Body[:n])
}

// call is the exchanges that serve one call of the client, in order of arrival.
type call []Exchange

// calls groups the exchanges. A key names its call. Without a key, a request
// joins an earlier equal one unless the client had been told of a success when
// it arrived: then it had no reason to repeat itself, so the request is a new call.
//
// Arrivals come in order, so a call that one request cannot join because of a
// success is closed for all later ones, and open keeps only the others.
func (l Ledger) calls() []*call {
	var calls []*call
	open := make(map[identity][]*call)
	for _, x := range l.exchanges {
		id := x.identity()
		if x.Key != "" {
			id = identity{key: x.Key}
		}
		open[id] = slices.DeleteFunc(open[id], x.cannotRepeat)
		at := slices.IndexFunc(open[id], x.fits)
		if at < 0 {
			at = len(open[id])
			open[id] = append(open[id], &call{})
			calls = append(calls, open[id][at])
		}
		*open[id][at] = append(*open[id][at], x)
	}
	return calls
}

// cannotRepeat reports whether the client had its answer to c when x arrived.
func (x *Exchange) cannotRepeat(c *call) bool {
	return x.Key == "" && slices.ContainsFunc(*c, func(y Exchange) bool {
		return y.succeeded() && y.doneAt < x.arrivedAt
	})
}

// fits reports whether x is equal to all of c, of the same identity.
func (x *Exchange) fits(c *call) bool {
	return x.Key != "" || !slices.ContainsFunc(*c, func(y Exchange) bool { return !x.sameBody(&y) })
}
