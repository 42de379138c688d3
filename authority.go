package resilient

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// An authority is where a request goes: scheme, host and port of its URL. The user is left out, and the Host header is not
// looked at, for the connection doesn't depend on it.
type authority struct{ scheme, host, port string }

// authorityOf allocates nothing if the URL's scheme and host are in lower case.
func authorityOf(u *url.URL) authority {
	if u == nil {
		return authority{}
	}
	a := authority{scheme: strings.ToLower(u.Scheme), host: strings.ToLower(u.Hostname()), port: u.Port()}
	if a.port == "" {
		switch a.scheme {
		case "http":
			a.port = "80"
		case "https":
			a.port = "443"
		}
	}
	return a
}

// String is scheme://host:port, without what is unknown, and "" if all is.
func (a authority) String() string {
	s := a.host
	if a.port != "" {
		s = net.JoinHostPort(a.host, a.port)
	}
	if a.scheme != "" {
		s = a.scheme + "://" + s
	}
	return s
}

// clone returns a copy that does not keep the whole URL in memory.
func (a authority) clone() authority {
	return authority{strings.Clone(a.scheme), strings.Clone(a.host), strings.Clone(a.port)}
}

// authorities are the states of the authorities that were called of late. There are no more of them than most, unless more
// are in use.
//
// # Why there is never a second state for an authority while the first is in use, and no use of an evicted one
//
// Leases counts the calls that hold a state; retired, a negative number, marks one that is evicted. A call takes a lease by
// compare-and-swap from a count that is not negative, and eviction marks by compare-and-swap from zero: whichever comes
// first, the other fails. So a retired state has no call, and gets none. States are retired, removed from the map, and made
// only under mu; a call that finds none, or a retired one, looks again under mu, where a state in the map is never
// retired. So a state is made only when the one before it is gone for good.
type authorities struct {
	slots sync.Map // from authority to *slot, changed under mu
	count int      // of slots
	most  int      // that there should be
}

// A slot is the state for one authority, and when a call last came for it.
type slot struct {
	pipeline.State
	key  authority
	used atomic.Int64 // in nanoseconds of State.Now
}

// retired is what Leases is for a state that is evicted, or about to be.
const retired = -1

// lease holds the state for a call, unless it is retired.
func (l *slot) lease() bool {
	for n := l.Leases.Load(); n >= 0; n = l.Leases.Load() {
		if l.Leases.CompareAndSwap(n, n+1) {
			l.used.Store(int64(l.Now()))
			return true
		}
	}
	return false
}

// Acquire returns the state for a request, which the caller owes a Release. It takes no lock if there is one.
func (s *shared) Acquire(req *http.Request) *pipeline.State {
	if !s.perAuthority {
		return s.only // nobody evicts it, so nobody counts
	}
	key := authorityOf(req.URL)
	if found, ok := s.slots.Load(key); ok {
		if l := found.(*slot); l.lease() {
			return &l.State
		}
	}
	return s.admit(key.clone())
}

// Release gives back what Acquire returned.
func (s *shared) Release(state *pipeline.State) {
	if s.perAuthority {
		state.Leases.Add(-1)
	}
}

// admit returns the leased state for an authority that there was none for a moment ago.
func (s *shared) admit(key authority) *pipeline.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.slots.Load(key); ok { // another call was faster
		if l := found.(*slot); l.lease() {
			return &l.State
		}
	}
	for s.count >= s.most && s.evict() {
	}
	l := &slot{State: pipeline.State{Authority: key.String(), Clock: s.clock, Epoch: s.epoch}, key: key}
	s.equip(&l.State)
	l.lease()
	s.slots.Store(key, l)
	s.count++
	return &l.State
}

// evict removes the states that remember nothing, or if there are none the one that was called longest ago. It removes none
// that is in use, and returns false if that leaves none: then there is one too many for a while.
//
// A state is retired before it is looked at, for a call might come and go between a look and the mark. Calls that meet the
// mark wait for mu.
func (s *shared) evict() bool {
	before := s.count
	var oldest *slot
	s.slots.Range(func(_, value any) bool {
		l := value.(*slot)
		switch {
		case !l.Leases.CompareAndSwap(0, retired):
		case s.forgetful(l):
			s.remove(l)
		case oldest == nil:
			oldest = l
		case l.used.Load() < oldest.used.Load():
			oldest.Leases.Store(0)
			oldest = l
		default:
			l.Leases.Store(0)
		}
		return true
	})
	switch {
	case oldest == nil:
	case s.count == before:
		s.remove(oldest)
	default:
		oldest.Leases.Store(0)
	}
	return s.count < before
}

func (s *shared) remove(l *slot) {
	s.slots.Delete(l.key)
	s.count--
}

// forgetful reports whether a state remembers nothing that one made anew would not know: its windows are empty, and its
// circuit is not held open. It looks into the windows only when that is likely.
func (s *shared) forgetful(l *slot) bool {
	now := l.Now()
	if now-time.Duration(l.used.Load()) <= s.kit.longest {
		return false
	}
	if l.Breaker != nil {
		b := l.Breaker.Stats(now)
		if b.Requests > 0 || b.State == gate.Open {
			return false
		}
	}
	if l.Rate != nil {
		if r := l.Rate.State(now); r.Available < r.Burst {
			return false
		}
	}
	if l.Budget == nil || s.kit.named != nil {
		return true
	}
	b := l.Budget.State(now)
	return b.Requests == 0 && b.Retries == 0
}
