package resilient

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/a-seed-e0941262/resilient/internal/pipeline"
	"github.com/jonboulle/clockwork"
	"github.com/matryer/is"
)

func TestAuthorityIsSchemeHostAndPort(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"http://example.com/":              "http://example.com:80",
		"https://example.com/a/b?c=d#e":    "https://example.com:443",
		"https://example.com:443/":         "https://example.com:443",
		"http://example.com:443/":          "http://example.com:443",
		"http://example.com:/":             "http://example.com:80",
		"HTTP://Example.COM/":              "http://example.com:80",
		"https://user:secret@example.com/": "https://example.com:443",
		"http://127.0.0.1:8080/":           "http://127.0.0.1:8080",
		"http://[::1]/":                    "http://[::1]:80",
		"https://[2001:DB8::1]:8443/":      "https://[2001:db8::1]:8443",
		"http://[fe80::1%25en0]/":          "http://[fe80::1%en0]:80",
		"http://example.com./":             "http://example.com.:80",
		"ftp://example.com/":               "ftp://example.com",
		"unix:///run/a.sock":               "unix://",
		"//example.com/":                   "example.com",
		"/only/a/path":                     "",
	} {
		t.Run(raw, func(t *testing.T) {
			is := is.New(t)
			u, err := url.Parse(raw)
			is.NoErr(err)                           // a URL
			is.Equal(authorityOf(u).String(), want) // whom it goes to
			is.Equal(authorityOf(u).clone(), authorityOf(u))
		})
	}
	is.New(t).Equal(authorityOf(nil), authority{}) // a request without a URL goes to nobody
}

// room is for how many authorities there is, in these tests.
const room = 24

// newPool returns a pool with little room, on a fake clock.
func newPool(t *testing.T, b Builder) (*shared, *clockwork.FakeClock) {
	t.Helper()
	clock := clockwork.NewFakeClock()
	d := b.Registry(NewRegistry()).Clock(clock).PerAuthority().draft()
	if err := d.check(); err != nil {
		t.Fatal(err)
	}
	d.complete()
	s, err := d.registry.join(d)
	if err != nil {
		t.Fatal(err)
	}
	is.New(t).Equal(s.most, 1024) // as released
	s.most = room
	return s, clock
}

func to(host int) *http.Request {
	return &http.Request{URL: &url.URL{Scheme: "http", Host: fmt.Sprintf("h%d.test", host)}}
}

func hold(s *shared, host int) *pipeline.State { return s.Acquire(to(host)) }

// touch is a call that is over at once.
func touch(s *shared, host int) *pipeline.State {
	state := hold(s, host)
	s.Release(state)
	return state
}

// has reports whether there is a state for an authority, without calling it.
func (s *shared) has(host int) bool {
	_, found := s.slots.Load(authorityOf(to(host).URL))
	return found
}

// fill takes all the room, for the hosts from 0 up.
func fill(s *shared, clock *clockwork.FakeClock) {
	for host := range room {
		touch(s, host)
		clock.Advance(time.Millisecond)
	}
}

func TestAuthorityKeepsItsState(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, _ := newPool(t, New("x").Budget())
	a, b := touch(s, 1), touch(s, 2)
	is.True(a != b)                                     // another authority, another state
	is.True(a == touch(s, 1))                           // the same, the same
	is.Equal(a.Authority, "http://h1.test:80")          // which says whose it is
	is.True(a.Breaker != nil && a.Breaker != b.Breaker) // with gates of its own
	is.True(a.Limit != nil && a.Limit != b.Limit)       // all
	is.True(a.Budget != nil && a.Budget != b.Budget)    // three
	is.Equal(a.Leases.Load(), int64(0))                 // and nobody in it
}

func TestStateOfOneIsForAll(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	d := New("x").Registry(NewRegistry()).draft()
	d.complete()
	pool, err := d.registry.join(d)
	is.NoErr(err)                                       // without PerAuthority
	is.True(pool.Acquire(to(1)) == pool.Acquire(to(2))) // there is one
	is.Equal(pool.Acquire(to(1)).Authority, "")         // that is nobody's
}

func TestFindingAStateAllocatesNothing(t *testing.T) {
	s, _ := newPool(t, New("x"))
	req := to(1)
	touch(s, 1)
	is.New(t).Equal(testing.AllocsPerRun(100, func() { s.Release(s.Acquire(req)) }), 0.0) // once it is there
}

func TestAuthoritiesAreBoundedTheOldestGoes(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, clock := newPool(t, New("x")) // its windows are 30s long
	fill(s, clock)
	touch(s, 0) // is the latest now
	touch(s, room)
	is.Equal(s.count, room) // there are no more than before
	is.True(s.has(0))       // the one that was called again is there
	is.True(!s.has(1))      // the one that was not is gone
	is.True(s.has(2))       // and no other
	is.True(s.has(room))    // for the new one
}

func TestForgetfulStatesGoAllAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, clock := newPool(t, New("x").Defaults(Conservative))
	fill(s, clock)
	held := hold(s, 0)
	open, counted, charged := hold(s, 1), hold(s, 2), hold(s, 3)
	open.Breaker.Hold(open.Now(), trip(open), time.Hour)
	clock.Advance(31 * time.Second) // longer than any window, and the break that the settings give
	settle(counted, gate.Success)
	charged.Budget.Request(charged.Now())
	for _, state := range []*pipeline.State{open, counted, charged} {
		s.Release(state) // the call was long, and is over now
	}
	touch(s, 4)
	touch(s, room)
	is.Equal(s.count, 6)        // all go that remember nothing
	is.True(s.has(0))           // the one in use stays
	is.True(s.has(1))           // the one whose circuit is open
	is.True(s.has(2))           // the one with something in its breaker's window
	is.True(s.has(3))           // the one with something in its budget's window
	is.True(s.has(4))           // the one that was called just now
	is.True(hold(s, 0) == held) // it is the same as before
}

// trip opens a breaker and returns the generation of its break.
func trip(state *pipeline.State) uint64 {
	for {
		if change := settle(state, gate.Failure); change.To == gate.Open {
			return change.Generation
		}
	}
}

func settle(state *pipeline.State, o gate.Outcome) gate.Transition {
	return state.Breaker.Settle(state.Now(), state.Breaker.Admit(state.Now()).Ticket, o)
}

// A budget that all authorities draw on is no reason to keep the state of one.
func TestNamedBudgetKeepsNoState(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, clock := newPool(t, New("x").Budget(BudgetName("all")))
	fill(s, clock)
	clock.Advance(31 * time.Second)
	state := touch(s, 0)
	state.Budget.Request(state.Now())
	touch(s, room)
	is.Equal(s.count, 2) // the one that was called just now, and the new one
}

func TestStateInUseIsNeverEvicted(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, clock := newPool(t, New("x"))
	states := make([]*pipeline.State, room+10)
	for host := range states {
		states[host] = hold(s, host)
	}
	clock.Advance(time.Hour)
	is.Equal(s.count, room+10) // rather too many than one that is lost
	for host, state := range states {
		is.True(hold(s, host) == state) // every one is what it was
		s.Release(state)
		s.Release(state)
	}
	touch(s, len(states))
	is.True(s.count <= room) // when they are over, the bound holds again
}

func TestBoundHoldsAgainWhenNothingIsForgotten(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, _ := newPool(t, New("x"))
	for host := range room + 10 {
		hold(s, host)
	}
	s.slots.Range(func(_, l any) bool {
		s.Release(&l.(*slot).State)
		return true
	})
	touch(s, room+10)
	is.Equal(s.count, room) // as many go as are too many
}

// Many goroutines call many more authorities than there is room for. A state in use is alone in that for its authority, and
// is never retired: each call claims its authority's state, and finds it claimed only by others who hold the same.
func TestNoTwoStatesOfOneAuthorityAreInUse(t *testing.T) {
	t.Parallel()
	const hosts, goroutines, calls = room + 8, 8, 1000
	s, clock := newPool(t, New("x").Defaults(None).Breaker())
	type claim struct {
		mu    sync.Mutex
		state *pipeline.State
		by    int
	}
	claims := make([]claim, hosts)
	var all sync.WaitGroup
	var evicted atomic.Int64
	for g := range goroutines {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(g)))
			for range calls {
				host := random.IntN(hosts)
				state := hold(s, host)
				c := &claims[host]
				c.mu.Lock()
				if c.by > 0 && c.state != state {
					t.Errorf("authority %d has two states in use", host)
				}
				if c.state != nil && c.state != state {
					evicted.Add(1)
				}
				c.state = state
				c.by++
				c.mu.Unlock()
				if state.Leases.Load() < 1 {
					t.Errorf("authority %d has a state in use without a lease", host)
				}
				if random.IntN(100) == 0 {
					clock.Advance(time.Second)
				}
				c.mu.Lock()
				c.by-- // before Release: from then on it may be evicted
				c.mu.Unlock()
				s.Release(state)
			}
		})
	}
	all.Wait()
	is := is.New(t)
	is.True(evicted.Load() > 0) // there was something to it
	is.True(s.count <= room)    // the bound holds
	s.slots.Range(func(_, l any) bool {
		is.Equal(l.(*slot).Leases.Load(), int64(0)) // every lease was given back, and no mark is left
		return true
	})
}

// Leases are taken and given back while somebody evicts whatever is idle, all the time.
func TestLeaseAndEvictionNeverBothSucceed(t *testing.T) {
	t.Parallel()
	s, _ := newPool(t, New("x").Defaults(None))
	var callers, evictor sync.WaitGroup
	var over atomic.Bool
	evictor.Go(func() {
		for !over.Load() {
			s.mu.Lock()
			s.evict()
			s.mu.Unlock()
		}
	})
	for range 4 {
		callers.Go(func() {
			for range 20_000 {
				state := hold(s, 1)
				if state.Leases.Load() < 1 {
					t.Error("a state in use has been retired")
				}
				s.Release(state)
			}
		})
	}
	callers.Wait()
	over.Store(true)
	evictor.Wait()
}

// An authority is called by many, while others need its room whenever it is idle. One call holds it all the time, so every
// outcome must be on the one state.
func TestNothingIsLostWhileInUse(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, _ := newPool(t, New("x").Defaults(None).Breaker())
	held := hold(s, 0)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 1000 {
				state := hold(s, 0)
				settle(state, gate.Success)
				s.Release(state)
				touch(s, 1+g*1000+i) // far more than there is room for
			}
		})
	}
	all.Wait()
	is.True(hold(s, 0) == held)                                     // it is the one from the beginning
	is.Equal(held.Breaker.Stats(held.Now()).Requests, uint64(4000)) // with every outcome in it
}

func TestHostsThatDifferOnlyInCaseShareAState(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, _ := newPool(t, New("x"))
	var states []*pipeline.State
	for _, raw := range []string{"http://h.test/a", "HTTP://H.TEST:80/b", "http://user@h.test/c"} {
		u, err := url.Parse(raw)
		is.NoErr(err) // a URL
		states = append(states, s.Acquire(&http.Request{URL: u}))
	}
	is.Equal(len(slices.Compact(states)), 1) // one state for all
}
