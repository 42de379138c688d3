// Package soundness_test plays many calls over a network and against a server
// that fail at random, and holds what the library concluded against what the
// server did (docs/adr/0006):
//
//   - a request that is concluded to be unprocessed has not been processed
//   - a request that must not be repeated is not processed twice
//   - no more requests arrive than are told of
//
// A request is processed when a handler has read its body to the end without an
// error, or, if it has no body, has begun. What is out of the claim: a handler that
// acts on headers alone, or on a part of the body; one that reads on after an error,
// to which net/http says io.EOF; one that acts and then answers 408, 421, 425, 429 or
// 503. Nor can anything be said for a request without a body whose HTTP/2 stream the
// server resets with PROTOCOL_ERROR after it acted, which net/http itself repeats,
// or that a base of the user's own sends after its RoundTrip has returned.
//
// All that happens is decided by a seed. How the calls interleave is not, so a
// failure comes back in most runs of its seed, and not in each.
//
//	RESILIENT_STRESS=1       plays 50,000 calls over each protocol, any larger number so many
//	RESILIENT_STRESS_SEED=N  decides otherwise, or again
package soundness_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/matryer/is"
)

// perWorld is how many calls share a client and a server.
const perWorld = 250

func TestConclusionsHoldWhateverFails(t *testing.T) {
	t.Parallel()
	s, n := scale(t, 1000, 50_000)
	for _, p := range []protocol{http1, http1TLS, http2TLS, h2c} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			tally := &tally{n: map[string]int{}}
			for i := range seed((n + perWorld - 1) / perWorld) {
				synctest.Test(t, func(t *testing.T) {
					newWorld(p, s+i, tally).play(t, perWorld)
				})
				if t.Failed() {
					t.Fatalf("to play this world again: RESILIENT_STRESS=%d RESILIENT_STRESS_SEED=%d", perWorld, s+i)
				}
			}
			t.Logf("seed %d\n%v", s, tally)
			happenedEnough(t, p, tally, n)
		})
	}
}

func TestConclusionsHoldOnRealSockets(t *testing.T) {
	t.Parallel()
	s, n := scale(t, perWorld, 2500)
	for _, p := range []protocol{http1, http1TLS, http2TLS, h2c} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			tally := &tally{n: map[string]int{}}
			for i := range seed(n / perWorld) {
				w := newWorld(p, s+i, tally)
				w.real = true
				w.play(t, perWorld)
			}
			t.Logf("seed %d\n%v", s, tally)
		})
	}
}

// scale returns the seed, and how many calls are played for each protocol.
func scale(t *testing.T, small, full int) (seed, int) {
	s, n := uint64(1), small
	if k, err := strconv.Atoi(os.Getenv("RESILIENT_STRESS")); err == nil && k > 0 {
		s, n = rand.Uint64(), full
		if k > 1 {
			n = min(k, 1_000_000)
		}
	}
	if given := os.Getenv("RESILIENT_STRESS_SEED"); given != "" {
		var err error
		if s, err = strconv.ParseUint(given, 0, 64); err != nil {
			t.Fatalf("RESILIENT_STRESS_SEED: %v", err)
		}
	}
	return seed(s), n
}

// happenedEnough fails the test if it shows nothing: each kind of evidence must have
// been met, and the handler must have run where nobody could know.
func happenedEnough(t *testing.T, p protocol, tally *tally, calls int) {
	if calls < 10_000 {
		return // on a busy machine, chance alone may leave a kind out
	}
	is := is.New(t)
	floors := map[string]int{ // in 100,000 calls
		"calls: the handler ran":                                            20_000,
		"unknown, and the handler ran":                                      5000,
		"unknown, and the handler did not run":                              2000,
		"concluded unprocessed by status":                                   1000,
		"concluded unprocessed without a connection":                        200,
		"concluded unprocessed before the headers were written":             200,
		"concluded unprocessed with a body, after the headers were written": 1000,
		"told: re-dispatched":                                               200,
		"told: replayed by net/http":                                        200,
		"told: retried after unprocessed":                                   1000,
		"told: denied as ambiguous":                                         1000,
	}
	if overHTTP2(p) {
		floors["concluded unprocessed by REFUSED_STREAM"] = 200
		floors["concluded unprocessed by GOAWAY"] = 200
	}
	if encrypted(p) {
		floors["concluded unprocessed by an alert"] = 50
	}
	for what, floor := range floors {
		if want := calls * floor / 100_000; tally.count(what) < want {
			t.Logf("%s: %d times, want %d", what, tally.count(what), want)
			is.Fail() // too little of it happened to show anything
		}
	}
}
