package pipeline

import (
	"math/bits"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// MaxEndpoints is how many endpoints there may be: a call notes in one word which
// ones it has tried.
const MaxEndpoints = 64

// RouteConfig spreads attempts over endpoints.
type RouteConfig struct {
	Endpoints []Endpoint // none: attempts go where the request says
	// Turns are the endpoints, by index, in the order in which calls begin with
	// them, over and over. Each is in it.
	Turns []int
	// First has all calls begin with the first turn.
	First bool
	// Key names what has to stay with the endpoint that served it before; if it is
	// empty, nothing has to. Nil is the same. It gets a copy of the body, as a cost
	// does.
	Key func(*http.Request) string
}

// A router is where a pipeline has got to with its endpoints.
type router struct {
	begins atomic.Uint64 // calls so far
	homes  homes
}

// routing is what a call notes about endpoints.
type routing struct {
	turn    int      // where the call begins
	stickTo string   // key of what has to stay; "" is nothing
	home    int      // the endpoint that it has to stay with; -1: any
	tried   uint64   // a bit for each endpoint that the call was sent to
	hurried bool     // another endpoint may serve the attempt at once
	refused *refusal // why the last one that was asked does not
}

// A refusal is why an endpoint does not serve an attempt.
type refusal struct {
	gate  Gate
	after time.Duration // until it may; 0 is not known
	err   error
}

// route sends each attempt to an endpoint: the next in turn that is not throttled and
// whose gates admit it. An attempt of a call that has tried one prefers another.
func route(c RouteConfig) stage {
	if len(c.Endpoints) == 0 {
		return nil
	}
	return func(next handler) handler {
		return func(k *call) (*http.Response, error) {
			if k.strays() {
				return next(k)
			}
			k.setOut()
			var t tour
			k.hurried = true
			for i := range k.places() {
				resp, err := k.visit(i, next)
				if k.refused == nil {
					return resp, err
				}
				t.refused(i, *k.refused)
			}
			k.hurried = false
			if t.refill.err != nil && t.refill.after <= k.patience() {
				if resp, err := k.visit(t.tokens, next); k.refused == nil {
					return resp, err
				}
			}
			if k.sent > 0 {
				t.causes = append(t.causes, lastFailure{k.problem()})
			}
			return nil, k.reject(GateEndpoints, t.soonest, t.causes...)
		}
	}
}

// A lastFailure is what the call itself has met before, wherever.
type lastFailure struct{ error }

func (e lastFailure) Error() string { return "last failure: " + e.error.Error() }

func (e lastFailure) Unwrap() error { return e.error }

// A tour is what came of asking all endpoints in vain.
type tour struct {
	causes  []error
	soonest time.Duration // until one of them may serve the attempt; 0 is not known
	tokens  int           // the endpoint that is the first to have tokens again
	refill  refusal       // of that one
}

func (t *tour) refused(i int, r refusal) {
	t.causes = append(t.causes, r.err)
	if r.after > 0 && (t.soonest == 0 || r.after < t.soonest) {
		t.soonest = r.after
	}
	if r.gate == GateRate && (t.refill.err == nil || r.after < t.refill.after) {
		t.tokens, t.refill = i, r
	}
}

// strays reports whether the request follows a redirect to somewhere else, which is
// none of the endpoints' business.
func (k *call) strays() bool {
	first := k.req
	for first.Response != nil && first.Response.Request != nil {
		first = first.Response.Request
	}
	return first != k.req && first.URL != nil && origin(first.URL) != origin(k.req.URL)
}

// setOut decides once where the call begins.
func (k *call) setOut() {
	if k.routing != nil {
		return
	}
	k.routing = &routing{home: -1}
	if !k.Route.First {
		k.turn = int((k.begins.Add(1) - 1) % uint64(len(k.Route.Turns)))
	}
	if f := k.Route.Key; f != nil {
		r, done := k.glimpse()
		k.stickTo = f(r)
		done()
		if k.stickTo != "" {
			k.home = k.placeOf(k.homes.of(k.stickTo))
		}
	}
}

// placeOf is the endpoint of a lane, -1 if it is none of them.
func (k *call) placeOf(l *Lane) int {
	return slices.IndexFunc(k.Route.Endpoints, func(e Endpoint) bool { return e.Lane == l })
}

// places yields the endpoints in the order in which the attempt is to try them: those
// that the call has not been sent to first, and when it has been sent to all, as if to
// none. What has a home goes nowhere else.
func (k *call) places() func(func(int) bool) {
	return func(yield func(int) bool) {
		if k.home >= 0 {
			yield(k.home)
			return
		}
		var seen uint64
		turns, tried := k.Route.Turns, k.tried
		for _, again := range [...]bool{false, true} {
			for n := 0; n < len(turns) && bits.OnesCount64(seen) < len(k.Route.Endpoints); n++ {
				i := turns[(k.turn+n)%len(turns)]
				bit := uint64(1) << i
				if seen&bit != 0 || (tried&bit != 0) != again {
					continue
				}
				seen |= bit
				if !yield(i) {
					return
				}
			}
		}
	}
}

// visit has an endpoint serve the attempt. If it does not, k.refused says why.
func (k *call) visit(i int, next handler) (*http.Response, error) {
	e := &k.Route.Endpoints[i]
	k.endpoint, k.refused = e, nil
	if left := e.Lane.Throttle.Until(k.tick()); left > 0 {
		return nil, k.turnAway(GateThrottle, left)
	}
	sent := k.sent
	resp, err := next(k)
	if k.sent != sent {
		k.been(i)
		k.learn()
	}
	return resp, err
}

// been notes that the call was sent to an endpoint. The next attempt begins after it.
func (k *call) been(i int) {
	if k.tried |= 1 << i; bits.OnesCount64(k.tried) == len(k.Route.Endpoints) {
		k.tried = 0
	}
	turns := k.Route.Turns
	for turns[k.turn] != i {
		k.turn = (k.turn + 1) % len(turns)
	}
	k.turn = (k.turn + 1) % len(turns)
}

// turnAway refuses an attempt. Where there are endpoints another one may have it.
func (k *call) turnAway(g Gate, after time.Duration, causes ...error) error {
	if k.endpoint == nil {
		return k.reject(g, after, causes...)
	}
	k.emit(Event{Kind: Skipped, Gate: g, Delay: after, Endpoint: k.endpoint.Name})
	k.refused = &refusal{g, after, k.Errors.Skipped(k.endpoint.Name, g, after, causes...)}
	return k.refused.err
}

// learn draws from the attempt's outcome what concerns the next ones: an endpoint
// that says when to come again is left alone until then, and what has to stay with
// the one that served it is noted.
func (k *call) learn() {
	resp := k.last.Response
	switch {
	case resp == nil:
	case busy(resp.StatusCode):
		if d, ok := k.askedFor(); ok && k.heeds() {
			k.lane().Throttle.Extend(k.state.Now(), min(d, tooFar))
		}
	case k.stickTo != "" && resp.StatusCode < http.StatusBadRequest:
		k.homes.set(k.stickTo, k.lane())
	}
}

// busy reports a status that speaks of the whole endpoint, and so does the time that comes with it. 529 is what AI services
// send for 503.
func busy(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == 529
}

// tooFar is as long as an endpoint may ask to be left alone: longer than any wait that
// is accepted, but not for good.
const tooFar = unreasonable + time.Second

// heeds reports whether a server's word on when to come again is heeded.
func (k *call) heeds() bool { return k.Retry.RetryAfter || k.Retry.Max == 0 }

// elsewhere is what is left of a wait that the server has asked for: it has asked for
// one endpoint, and another may serve the retry earlier.
func (k *call) elsewhere(asked time.Duration) time.Duration {
	if k.endpoint == nil {
		return asked
	}
	soonest, _ := k.soonest()
	return min(asked, soonest)
}
