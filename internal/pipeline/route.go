package pipeline

import (
	"net/http"
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
	// empty, nothing has to. Nil is the same.
	Key func(*http.Request) string
}

// A router is where a pipeline has got to with its endpoints.
type router struct {
	begins atomic.Uint64 // calls so far
	homes  homes
}

// routing is what a call notes about endpoints.
type routing struct {
	endpoint *Endpoint // of the attempt; nil: there are none
	begun    bool
	turn     int      // where the call begins
	stickTo  string   // key of what has to stay; "" is nothing
	home     int      // the endpoint that it has to stay with; -1: any
	tried    uint64   // a bit for each endpoint that the call was sent to
	hurried  bool     // another endpoint may serve the attempt at once
	refused  *refusal // why the last one that was asked does not
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
			k.setOut()
			soonest, best, causes := -1, refusal{}, []error(nil)
			k.hurried = true
			for i := range k.places() {
				resp, err := k.visit(i, next)
				if k.refused == nil {
					return resp, err
				}
				causes = append(causes, k.refused.err)
				if soonest < 0 || k.refused.sooner(best) {
					soonest, best = i, *k.refused
				}
			}
			k.hurried = false
			if best.gate == GateRate && best.after <= k.patience() {
				if resp, err := k.visit(soonest, next); k.refused == nil {
					return resp, err
				}
			}
			return nil, k.reject(GateEndpoints, best.after, causes...)
		}
	}
}

// sooner reports whether r ends before other does, as far as is known.
func (r refusal) sooner(other refusal) bool {
	return r.after > 0 && (other.after == 0 || r.after < other.after)
}

// setOut decides once where the call begins.
func (k *call) setOut() {
	if k.begun {
		return
	}
	k.begun, k.home = true, -1
	if !k.Route.First {
		k.turn = int((k.begins.Add(1) - 1) % uint64(len(k.Route.Turns)))
	}
	if f := k.Route.Key; f != nil {
		if k.stickTo = f(k.req); k.stickTo != "" {
			k.home = k.homes.of(k.stickTo)
		}
	}
}

// places yields the endpoints in the order in which the attempt is to try them: those
// that the call has not been sent to first. What has a home goes nowhere else.
func (k *call) places() func(func(int) bool) {
	return func(yield func(int) bool) {
		if k.home >= 0 {
			yield(k.home)
			return
		}
		turns := k.Route.Turns
		before := k.tried
		for _, again := range [...]bool{false, true} {
			var seen uint64
			for n := range turns {
				i := turns[(k.turn+n)%len(turns)]
				bit := uint64(1) << i
				if seen&bit != 0 || (before&bit != 0) != again {
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
	k.endpoint, k.lane, k.refused = e, e.Lane, nil
	if left := e.Lane.Throttle.Until(k.state.Now()); left > 0 {
		return nil, k.turnAway(GateThrottle, left)
	}
	sent := k.sent
	resp, err := next(k)
	if k.sent != sent {
		k.tried |= 1 << i
		k.learn(i)
	}
	return resp, err
}

// turnAway refuses an attempt. Where there are endpoints another one may have it.
func (k *call) turnAway(g Gate, after time.Duration, causes ...error) error {
	if k.endpoint == nil {
		return k.reject(g, after, causes...)
	}
	k.emit(Event{Kind: Skipped, Gate: g, Delay: after})
	k.refused = &refusal{g, after, k.Errors.Skipped(k.endpoint.Name, g, after, causes...)}
	return k.refused.err
}

// learn draws from the attempt's outcome what concerns the next ones: an endpoint
// that says when to come again is left alone until then, and what has to stay with
// the one that served it is noted.
func (k *call) learn(i int) {
	resp := k.last.Response
	switch {
	case resp == nil:
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusServiceUnavailable:
		if d, ok := k.askedFor(); ok {
			k.lane.Throttle.Extend(k.state.Now(), min(d, unreasonable))
		}
	case k.stickTo != "" && resp.StatusCode < http.StatusBadRequest:
		k.homes.set(k.stickTo, i)
	}
}

// elsewhere is what is left of a wait that the server has asked for: it has asked for
// one endpoint, and another may serve the retry earlier.
func (k *call) elsewhere(asked time.Duration) time.Duration {
	if k.endpoint == nil {
		return asked
	}
	return min(asked, k.soonest())
}

// soonest is how long it takes until an endpoint may serve an attempt.
func (k *call) soonest() time.Duration {
	best, now := forever, k.state.Now()
	for i := range k.places() {
		l := k.Route.Endpoints[i].Lane
		best = min(best, max(l.Throttle.Until(now), k.shutFor(l)))
	}
	return best
}
