// Package differential shows that a client of this library can't be told from
// one of net/http as long as there is nothing to repeat, to refuse or to cut.
//
// Random exchanges are made twice, each time between a client and a server of its
// own, in memory and in virtual time: by a bare [net/http.Client], and by one with
// every strategy on. Whatever the caller or the server can see must be the same. What is
// known to differ stands in allowances_test.go, and nowhere else.
//
// A run is reproduced by its seed, and a session of it by the seed and its number:
//
//	RESILIENT_SEED=42 go test ./differential
//	RESILIENT_SEED=42/17 go test ./differential
//	RESILIENT_SEED=random go test ./differential
//
// RESILIENT_EXCHANGES says how many exchanges there are at least.
package differential

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
)

func TestResilientClientCanNotBeToldFromABareOne(t *testing.T) {
	r := newRun(t, resilientTransport)
	r.play()
	t.Logf("RESILIENT_SEED=%d: %d exchanges in %d sessions; chance decided about %d exchanges",
		r.seed, r.exchanges, len(r.sessions), r.chance)
	if limit := max(10, r.exchanges/500); r.chance > limit {
		t.Errorf("chance decided about %d exchanges, want %d at most: what is drawn must be more certain", r.chance, limit)
	}
}

// resilientTransport has every strategy on but for GenerateKeys, which adds a header
// to POST and PATCH: that is all that it does. Endpoints are one, which is where the
// requests go anyhow. No retry is made, for the budget allows none; every other gate
// is asked before it.
func resilientTransport(base *http.Transport, in session) http.RoundTripper {
	s := in.Settings
	b := resilient.New("differential").Transport(base).Registry(resilient.NewRegistry()).
		Timeout(resilient.Total(10*time.Hour), resilient.PerAttempt(9*time.Hour), resilient.BodyIdle(8*time.Hour),
									resilient.TotalIncludesBody(s.TotalIncludesBody)).
		Concurrency(resilient.Permits(1), resilient.Queue(1)). // one that is not given back stops the next call
		Retry(resilient.MaxRetries(3), resilient.BufferLimit(s.BufferLimit)).
		Budget(resilient.RetryRatio(0), resilient.MinimumThroughput(1), resilient.SamplingDuration(24*time.Hour)).
		RateLimit(resilient.PerSecond(1_000_000), resilient.Cost(func(*http.Request) int { return 7 })).
		Breaker(resilient.MinimumThroughput(math.MaxInt32)).
		Observe(func(context.Context, resilient.Event) {})
	if s.PerAuthority {
		b = b.PerAuthority()
	}
	if s.Endpoint {
		b = b.Endpoints(resilient.RoundRobin, resilient.Endpoint{URL: in.Protocol.scheme() + "://" + home})
	}
	if s.UnprocessedOnly {
		b = b.Idempotency(resilient.UnprocessedOnly)
	}
	if s.SafeMethodsOnly {
		b = b.Retry(resilient.SafeMethodsOnly)
	}
	rt, err := b.BuildTransport()
	if err != nil {
		panic(err)
	}
	return rt
}

// A run is some sessions that are drawn from one seed.
type run struct {
	*testing.T
	wrap      wrapper
	seed      uint64
	sessions  []uint64 // their numbers
	exchanges int

	mu     sync.Mutex
	begun  int // sessions
	chance int // exchanges about which chance decided
	found  int // sessions in which something differs
}

const (
	usualSeed = 1
	atLeast   = 5000 // exchanges
	shown     = 5    // differences, then it is enough
)

func newRun(t *testing.T, wrap wrapper) *run {
	r := &run{T: t, wrap: wrap, seed: usualSeed}
	wanted := atLeast
	if s := os.Getenv("RESILIENT_EXCHANGES"); s != "" {
		wanted = int(number(t, s))
	}
	switch seed, only, one := strings.Cut(os.Getenv("RESILIENT_SEED"), "/"); {
	case one:
		r.seed, r.sessions = number(t, seed), []uint64{number(t, only)}
	case seed == "random":
		r.seed = rand.Uint64()
	case seed != "":
		r.seed = number(t, seed)
	}
	for n := uint64(0); r.sessions == nil || r.exchanges < wanted && r.sessions[0] == 0; n++ {
		r.sessions = append(r.sessions, n)
		r.exchanges += len(generate(r.seed, n).Exchanges)
	}
	return r
}

func number(t *testing.T, s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// play plays all sessions, some at a time.
func (r *run) play() {
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for n, ok := r.next(); ok; n, ok = r.next() {
				r.session(n)
			}
		})
	}
	workers.Wait()
}

// next is the number of the next session, unless enough was found in the others.
func (r *run) next() (n uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun == len(r.sessions) || r.found >= shown {
		return 0, false
	}
	r.begun++
	return r.sessions[r.begun-1], true
}

// session plays one, and tells the simplest one that shows the same if something differs.
func (r *run) session(n uint64) {
	s := generate(r.seed, n)
	over := false
	defer func() {
		if !over { // a bubble that fails, of a data race for instance, takes the goroutine with it
			r.Errorf("RESILIENT_SEED=%d/%d ends the test:\n%v", r.seed, n, s)
		}
	}()
	difference, chance := r.compare(s)
	over = true
	if !r.note(difference, chance) {
		return
	}
	simple := minimise(s, func(s session) bool {
		d, _ := r.compare(s)
		return d != ""
	})
	if d, _ := r.compare(simple); d != "" {
		s, difference = simple, d
	} else {
		difference += "It does not show every time, so that this is not the simplest case.\n"
	}
	r.Errorf("a difference, RESILIENT_SEED=%d/%d shows it:\n%v\n%s", r.seed, n, s, difference)
}

// note counts, and reports whether something was found.
func (r *run) note(difference string, chance int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chance += chance
	if difference != "" {
		r.found++
	}
	return difference != ""
}

// compare plays a session with both clients. It returns what differs in the first exchange in which something does,
// and about how many chance decided.
func (r *run) compare(s session) (difference string, chance int) {
	want, got := play(r.T, s, bare), play(r.T, s, r.wrap)
	if len(want) != len(got) { // a bubble that broke
		return fmt.Sprintf("  bare:      %d exchanges, %q\n  resilient: %d exchanges, %q\n",
			len(want), want[len(want)-1], len(got), got[len(got)-1]), 0
	}
	for i := range want {
		d := differences(s, i, want, got)
		switch {
		case d == "":
		case i == len(s.Exchanges) && chance > 0: // of the whole, which had its chances
		case r.byChance(s, i, want, got):
			chance++
		default:
			return fmt.Sprintf("in exchange %d:\n%s", i+1, d), chance
		}
	}
	return "", chance
}

// byChance reports whether chance decided about an exchange: the bare client sees
// at other times what the other one saw, or this one never sees it again.
func (r *run) byChance(s session, i int, want, got record) bool {
	const enough = 20
	for range enough {
		if again := play(r.T, s, bare); len(again) == len(got) && differences(s, i, again, got) == "" {
			return true
		}
	}
	for range enough {
		if again := play(r.T, s, r.wrap); len(again) != len(want) || differences(s, i, want, again) != "" {
			return false
		}
	}
	return true
}

func bare(base *http.Transport, _ session) http.RoundTripper { return base }
