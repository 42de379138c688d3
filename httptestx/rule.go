package httptestx

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Rule says which requests get a plan. [Server.On] starts one, the methods
// that return a Rule narrow it, and [Rule.Do], [Rule.Script] or [Rule.Func]
// puts it to work; it cannot be changed then. A Rule is a value: each method
// returns a changed copy, so one beginning can be shared.
//
// A rule counts the requests that get as far as it, past the rules before it,
// and that satisfy its pattern, Header, Where and Between. By that count, which
// Per keeps for each value of a header, Nth, First, After, Every and Prob decide
// whether the rule applies. All conditions must hold. If the rule does not
// apply, the next one is asked; the handler serves what no rule takes.
//
// A mistake in a rule, such as a malformed pattern or a plan without an answer,
// fails the test at once.
type Rule struct {
	srv     *Server
	begun   *beginning
	words   string // as written, for messages
	mux     *http.ServeMux
	accepts []func(*http.Request) bool // for a request to be counted
	selects []func(draw) bool          // for a counted request to get a plan
	per     string                     // header; "" counts all together
	clock   *stopwatch                 // of Between
}

// On starts a rule for the requests that match a [http.ServeMux] pattern:
// "/", "POST /orders", "example.com/orders/{id}". [http.Request.PathValue] works in
// Where and Func.
func (s *Server) On(pattern string) Rule {
	s.t.Helper()
	mux, err := muxFor(pattern)
	if err != nil {
		s.t.Fatalf("httptestx: On(%q): %v", pattern, err)
	}
	b := &beginning{words: fmt.Sprintf("On(%q)", pattern)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = append(s.begun, b)
	return Rule{srv: s, begun: b, words: b.words, mux: mux, clock: s.clock}
}

// beginning is one call of On. It is a mistake if no rule comes of it.
type beginning struct {
	words string
	used  bool // guarded by the server's lock
}

// matched is the handler behind a rule's pattern.
type matched struct{}

func (matched) ServeHTTP(http.ResponseWriter, *http.Request) {}

// muxFor returns a mux with just this pattern; ServeMux reports a malformed one
// by a panic.
func muxFor(pattern string) (mux *http.ServeMux, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	mux = http.NewServeMux()
	mux.Handle(pattern, matched{})
	return mux, nil
}

// muxMatches reports whether mux itself serves r, rather than redirect or refuse it.
func muxMatches(mux *http.ServeMux, r *http.Request) bool {
	h, _ := mux.Handler(r)
	_, ok := h.(matched)
	return ok
}

// Header takes only requests in which a value of the header is value.
func (r Rule) Header(name, value string) Rule { return r.with(whereHeader(name, value)) }

// Where takes only requests for which f is true. f must be safe for concurrent use.
// It cannot read the body, which is left for the plan.
func (r Rule) Where(f func(*http.Request) bool) Rule {
	return r.with(condition{words: "Where(f)", accepts: f})
}

// Between takes only requests that arrive in a window of time, counted from
// [NewServer], or the last [Server.Forget]: from is in it, to is not.
func (r Rule) Between(from, to time.Duration) Rule {
	r.srv.t.Helper()
	return r.must(whereBetween(r.clock, from, to))
}

// Per counts for each value of the header on its own, for instance for each
// idempotency key. Requests without the header are counted together. The count of
// a key does not depend on how concurrent calls are interleaved.
func (r Rule) Per(header string) Rule {
	r.per = header
	return r.say(fmt.Sprintf("Per(%q)", header))
}

// Nth applies to the n-th request, from 1, or to several.
func (r Rule) Nth(n ...int) Rule {
	r.srv.t.Helper()
	return r.must(whereNth(n))
}

// First applies to the first n requests, 1 or more.
func (r Rule) First(n int) Rule {
	r.srv.t.Helper()
	return r.must(whereFirst(n))
}

// After applies to all requests after the first n, 0 or more.
func (r Rule) After(n int) Rule {
	r.srv.t.Helper()
	return r.must(whereAfter(n))
}

// Every applies to each n-th request: n, 2n, and so on; n is 1 or more.
func (r Rule) Every(n int) Rule {
	r.srv.t.Helper()
	return r.must(whereEvery(n))
}

// Prob applies with probability p, 0 to 1. It is no generator that is drawn from
// in turn, but a hash of the seed, the rule's place, Per's value and the count: which
// requests are hit does not depend on the order in which goroutines run.
func (r Rule) Prob(p float64) Rule {
	r.srv.t.Helper()
	return r.must(whereProb(p))
}

// Do gives each request of the rule the same plan.
func (r Rule) Do(steps ...Step) {
	r.srv.t.Helper()
	plan := slices.Clone(steps)
	r.requireValid("Do", plan)
	r.activate("Do", nil, always(plan))
}

// Script gives the first request of the rule the first plan, the second the
// second, and so on (for each value of Per on its own). When the plans are used
// up the rule does not apply any more.
func (r Rule) Script(plans ...[]Step) {
	r.srv.t.Helper()
	r.require(len(plans) > 0, "Script()", "no plan")
	own := make([][]Step, len(plans))
	for i, plan := range plans {
		own[i] = slices.Clone(plan)
		r.requireValid(fmt.Sprintf("Script, plan %d", i+1), own[i])
	}
	r.activate("Script", own, inTurn(own))
}

// Func asks f for the plan; n counts the requests that the rule applied to, from
// 1 (for each value of Per on its own). A nil plan leaves the request to the
// next rule. f must be safe for concurrent use, and cannot read the body. A plan
// that is not valid fails the test, and the handler serves the request.
func (r Rule) Func(f func(r *http.Request, n int) []Step) {
	r.activate("Func", nil, f)
}

// must adds a condition, or fails the test for a mistake in it.
func (r Rule) must(c condition) Rule {
	r.srv.t.Helper()
	r.require(c.mistake == "", c.words, c.mistake)
	return r.with(c)
}

func (r Rule) say(words string) Rule {
	r.words += "." + words
	return r
}

func (r Rule) require(ok bool, words, complaint string) {
	r.srv.t.Helper()
	if !ok {
		r.reject(words, complaint)
	}
}

func (r Rule) requireValid(words string, plan []Step) {
	r.srv.t.Helper()
	if err := check(plan, r.srv.settings.dishonest); err != nil {
		r.reject(words, err.Error())
	}
}

// reject fails the test, which is then not told again that the rule has no plan.
func (r Rule) reject(words, complaint string) {
	r.srv.t.Helper()
	r.srv.mu.Lock()
	r.begun.used = true
	r.srv.mu.Unlock()
	r.srv.t.Fatalf("httptestx: %s.%s: %s", r.words, words, complaint)
}
