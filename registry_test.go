package resilient_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/jonboulle/clockwork"
	"github.com/matryer/is"
)

// in is a builder in a registry, with everything off.
func in(r *resilient.Registry, name string) resilient.Builder {
	return resilient.New(name).Defaults(resilient.None).Registry(r)
}

func get(t *testing.T, c *http.Client, url string) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func TestClientsOfOneNameShareTheirState(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	b := in(r, "inventory").Breaker().Budget().Concurrency().Transport(answer(200))
	get(t, b.MustBuild(), "http://x.test/")
	get(t, b.MustBuild(), "http://x.test/")
	got := r.Snapshot()
	is.Equal(len(got), 1)                        // one state
	is.Equal(got[0].Client, "inventory")         // of this name
	is.Equal(got[0].Authority, "")               // for whatever is called
	is.Equal(got[0].Breaker.Requests, uint64(2)) // both clients' attempts are in the breaker
	is.Equal(got[0].Budget.Requests, uint64(2))  // both clients' calls are in the budget
	is.Equal(got[0].Concurrency.InUse, 0)        // both have given their permit back

	get(t, in(r, "pricing").Breaker().Transport(answer(200)).MustBuild(), "http://x.test/")
	got = r.Snapshot()
	is.Equal(len(got), 2)                        // another name has a state of its own
	is.Equal(got[1].Client, "pricing")           // sorted by name
	is.Equal(got[1].Breaker.Requests, uint64(1)) // with its own count
	is.True(got[1].Budget == nil)                // and nothing that it has off
	is.True(got[1].Concurrency == nil)           // likewise

	get(t, in(resilient.NewRegistry(), "inventory").Breaker().Transport(answer(200)).MustBuild(), "http://x.test/")
	is.Equal(r.Snapshot()[0].Breaker.Requests, uint64(2)) // another registry has nothing to do with it
}

func TestClientsOfOneNameMustAgree(t *testing.T) {
	t.Parallel()
	fix := "; give both the same, or use another name or Registry"
	one, another := clockwork.NewFakeClock(), clockwork.NewFakeClock()
	for name, row := range map[string]struct {
		first, second func(resilient.Builder) resilient.Builder
		want          string
	}{
		"permits": {
			func(b resilient.Builder) resilient.Builder { return b.Concurrency(resilient.Permits(5)) },
			func(b resilient.Builder) resilient.Builder { return b.Concurrency(resilient.Permits(6)) },
			`Concurrency(Permits(6)): differs from Permits(5) of client "x", which shares its state` + fix,
		},
		"queue": {
			func(b resilient.Builder) resilient.Builder { return b.Concurrency() },
			func(b resilient.Builder) resilient.Builder { return b.Concurrency(resilient.Queue(6)) },
			`Concurrency(Queue(6)): differs from Queue(0) of client "x", which shares its state` + fix,
		},
		"budget": {
			func(b resilient.Builder) resilient.Builder { return b.Budget(resilient.RetryRatio(0.05)) },
			func(b resilient.Builder) resilient.Builder {
				return b.Budget(resilient.SamplingDuration(60*sec), resilient.LowVolumeRetries(1), resilient.MinimumThroughput(1))
			},
			`Budget(RetryRatio(0.1)): differs from RetryRatio(0.05) of client "x", which shares its state` + fix + "\n" +
				`resilient: client "x": Budget(SamplingDuration(1m)): differs from SamplingDuration(30s) of client "x", which shares its state` + fix + "\n" +
				`resilient: client "x": Budget(MinimumThroughput(1)): differs from MinimumThroughput(100) of client "x", which shares its state` + fix + "\n" +
				`resilient: client "x": Budget(LowVolumeRetries(1)): differs from LowVolumeRetries(0) of client "x", which shares its state` + fix,
		},
		"budget name": {
			func(b resilient.Builder) resilient.Builder { return b.Budget() },
			func(b resilient.Builder) resilient.Builder { return b.Budget(resilient.BudgetName("y")) },
			`Budget(BudgetName("y")): differs from BudgetName("x") of client "x", which shares its state` + fix,
		},
		"breaker": {
			func(b resilient.Builder) resilient.Builder { return b.Breaker() },
			func(b resilient.Builder) resilient.Builder {
				return b.Breaker(resilient.FailureRatio(0.7), resilient.MinimumThroughput(5), resilient.SamplingDuration(60*sec),
					resilient.BreakDuration(sec), resilient.BreakUntilRetryAfter(true), resilient.BreakDurationFunc(noBreak))
			},
			`Breaker(FailureRatio(0.7)): differs from FailureRatio(0.1) of client "x", which shares its state` + fix + "\n" +
				`resilient: client "x": Breaker(MinimumThroughput(5)): differs from MinimumThroughput(100) of client "x", which shares its state` + fix + "\n" +
				`resilient: client "x": Breaker(SamplingDuration(1m)): differs from SamplingDuration(30s) of client "x", which shares its state` + fix + "\n" +
				`resilient: client "x": Breaker(BreakDuration(1s)): differs from BreakDuration(5s) of client "x", which shares its state` + fix + "\n" +
				`resilient: client "x": Breaker(BreakUntilRetryAfter(true)): differs from BreakUntilRetryAfter(false) of client "x", which shares its state` + fix + "\n" +
				`resilient: client "x": Breaker(BreakDurationFunc(f)): differs from BreakDurationFunc(none) of client "x", which shares its state` + fix,
		},
		"functions, which cannot be told apart": {
			func(b resilient.Builder) resilient.Builder { return b.Breaker(resilient.BreakDurationFunc(noBreak)) },
			func(b resilient.Builder) resilient.Builder {
				return b.Breaker(resilient.BreakDurationFunc(func(resilient.Break) time.Duration { return sec }))
			},
			"",
		},
		"per authority": {
			func(b resilient.Builder) resilient.Builder { return b.Budget() },
			func(b resilient.Builder) resilient.Builder { return b.Budget().PerAuthority() },
			`PerAuthority(): another client of this name was built without it; give it to both or to none, or use another name or Registry`,
		},
		"not per authority": {
			func(b resilient.Builder) resilient.Builder { return b.Budget().PerAuthority() },
			func(b resilient.Builder) resilient.Builder { return b.Budget() },
			`PerAuthority(): is missing: another client of this name was built with it; give it to both or to none, or use another name or Registry`,
		},
		"clocks": {
			func(b resilient.Builder) resilient.Builder { return b.Clock(one) },
			func(b resilient.Builder) resilient.Builder { return b.Clock(another) },
			`Clock: another client of this name goes by another clock` + fix,
		},
		"the real clock and the default": {
			func(b resilient.Builder) resilient.Builder { return b },
			func(b resilient.Builder) resilient.Builder { return b.Clock(clockwork.NewRealClock()) },
			"",
		},
		"settings that are not shared": {
			func(b resilient.Builder) resilient.Builder { return b.Timeout(resilient.PerAttempt(sec)).Retry() },
			func(b resilient.Builder) resilient.Builder {
				return b.Timeout(resilient.PerAttempt(2 * sec)).Retry(resilient.MaxRetries(9)).Idempotency(resilient.GenerateKeys)
			},
			"",
		},
		"a strategy that one has off": {
			func(b resilient.Builder) resilient.Builder { return b.Breaker() },
			func(b resilient.Builder) resilient.Builder { return b.Budget() },
			"",
		},
		"the own name, given or not": {
			func(b resilient.Builder) resilient.Builder { return b.Budget() },
			func(b resilient.Builder) resilient.Builder { return b.Budget(resilient.BudgetName("x")) },
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			b := in(resilient.NewRegistry(), "x")
			is.Equal(mistakes(row.first(b)), "") // the first sets the terms
			want := row.want
			if want != "" {
				want = `resilient: client "x": ` + want
			}
			is.Equal(mistakes(row.second(b)), want) // the second is measured by them
			is.Equal(mistakes(row.first(b)), "")    // and has changed nothing if it failed
		})
	}
}

func noBreak(resilient.Break) time.Duration { return 0 }

func TestFailedBuildLeavesTheRegistryAlone(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	is.True(mistakes(in(r, "x").Retry(resilient.MaxRetries(-1))) != "")                                      // a mistake
	is.Equal(len(r.Snapshot()), 0)                                                                           // no trace of it
	is.Equal(mistakes(in(r, "x").Budget()), "")                                                              // a budget named x
	is.True(mistakes(in(r, "y").Breaker().Budget(resilient.BudgetName("x"), resilient.RetryRatio(1))) != "") // a conflict over it
	is.Equal(len(r.Snapshot()), 1)                                                                           // y is not there
	is.Equal(mistakes(in(r, "y").PerAuthority()), "")                                                        // and free to be another
}

func TestLaterClientSwitchesAStrategyOnForTheName(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	first := in(r, "x").Transport(answer(200)).PerAuthority().MustBuild()
	get(t, first, "http://a.test/")
	is.True(r.Snapshot()[0].Breaker == nil) // nobody has a breaker

	second := in(r, "x").Transport(answer(200)).PerAuthority().Breaker().MustBuild()
	get(t, second, "http://a.test/")
	get(t, first, "http://a.test/")
	get(t, first, "http://b.test/")
	got := r.Snapshot()
	is.Equal(len(got), 2)                        // two authorities
	is.Equal(got[0].Breaker.Requests, uint64(1)) // the second client's call is in the breaker of the state that there was
	is.Equal(got[1].Breaker.Requests, uint64(0)) // the new state has one, too, though the first client doesn't ask it
}

// Clients call while others of their name join and switch strategies on: for the race detector.
func TestJoiningWhileOthersCall(t *testing.T) {
	t.Parallel()
	r := resilient.NewRegistry()
	b := in(r, "x").Transport(answer(200)).PerAuthority()
	var all sync.WaitGroup
	for i, b := range []resilient.Builder{b, b.Breaker(), b.Budget().Retry(), b.Concurrency(), b.Breaker().Budget().Concurrency()} {
		all.Go(func() {
			for range 20 {
				c := b.MustBuild()
				for _, host := range []string{"a", "b", "c"} {
					resp, err := c.Get("http://" + host + ".test/")
					if err != nil {
						t.Error(i, err)
						return
					}
					resp.Body.Close()
				}
				_ = r.Snapshot()
			}
		})
	}
	all.Wait()
	is := is.New(t)
	is.Equal(r.Snapshot()[0].Breaker.Requests, uint64(40)) // those of the two that have a breaker
	is.Equal(r.Snapshot()[0].Budget.Requests, uint64(40))  // and of the two that have a budget
}

func TestBudgetIsSharedAcrossNamesByItsName(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	clock := clockwork.NewFakeClock()
	get(t, in(r, "inventory").Clock(clock).Budget().Transport(answer(200)).MustBuild(), "http://x.test/")
	clock.Advance(20 * sec) // the second begins when the window is half over
	get(t, in(r, "reports").Clock(clock).Budget(resilient.BudgetName("inventory")).Transport(answer(200)).MustBuild(), "http://x.test/")
	got := r.Snapshot()
	is.Equal(got[0].Budget.Requests, uint64(2)) // the calls of both
	is.Equal(got[1].Budget.Requests, uint64(2)) // in one budget
	clock.Advance(15 * sec)
	is.Equal(r.Snapshot()[1].Budget.Requests, uint64(1)) // with one window: the first call has left it
	is.Equal(r.Snapshot()[0].Budget.Requests, uint64(1)) // for both

	fix := "; give both the same, or use another name or Registry"
	is.Equal(mistakes(in(r, "audit").Clock(clock).Budget(resilient.BudgetName("inventory"), resilient.RetryRatio(0.5))),
		`resilient: client "audit": Budget(RetryRatio(0.5)): differs from RetryRatio(0.1) of client "inventory", which shares its state`+fix) // its settings bind all
	is.Equal(mistakes(in(r, "audit").Budget(resilient.BudgetName("inventory"))),
		`resilient: client "audit": Budget(BudgetName("inventory")): is measured on another clock, which client "inventory" began; `+
			`give both clients one Clock, and the first client of a name the budget`) // and so does its clock
}

// Who has said nothing about a breaker is told where its values come from.
func TestClientsOfOneNameThatBeginWithDifferentPresetsAreToldSo(t *testing.T) {
	t.Parallel()
	differs := `resilient: client "x": Breaker(FailureRatio(0.1)): differs from FailureRatio(0.5) of client "x", which shares its state; `
	for name, c := range map[string]struct {
		first, second func(resilient.Builder) resilient.Builder
		fix           string
	}{
		"two presets": {
			func(b resilient.Builder) resilient.Builder { return b.Defaults(resilient.Conservative) },
			func(b resilient.Builder) resilient.Builder { return b.Defaults(resilient.Standard) },
			"this client begins with Standard, the other with Conservative: begin both with Defaults(resilient.Conservative), or use another name or Registry",
		},
		"a builder that began with one": {
			func(b resilient.Builder) resilient.Builder {
				return b.Defaults(resilient.New("y").Defaults(resilient.Conservative))
			},
			func(b resilient.Builder) resilient.Builder { return b.Defaults(resilient.New("y")) },
			"this client begins with Standard, the other with Conservative: begin both with Defaults(resilient.Conservative), or use another name or Registry",
		},
		"a value by verb": {
			func(b resilient.Builder) resilient.Builder {
				return b.Defaults(resilient.Standard).Breaker(resilient.FailureRatio(0.5))
			},
			func(b resilient.Builder) resilient.Builder { return b.Defaults(resilient.Standard) },
			"this value is Standard's: give both the same, or use another name or Registry",
		},
		"a value by verb over a preset": {
			func(b resilient.Builder) resilient.Builder { return b.Defaults(resilient.Conservative) },
			func(b resilient.Builder) resilient.Builder { return b.Defaults(resilient.None).Breaker() },
			"the other's value is Conservative's: give both the same, or use another name or Registry",
		},
		"a config, and a verb": {
			func(b resilient.Builder) resilient.Builder { return b.Defaults(resilient.Conservative.Config()) },
			func(b resilient.Builder) resilient.Builder { return b.Defaults(resilient.None).Breaker() },
			"give both the same, or use another name or Registry",
		},
		"a config": {
			func(b resilient.Builder) resilient.Builder { return b.Defaults(resilient.Conservative.Config()) },
			func(b resilient.Builder) resilient.Builder { return b.Defaults(resilient.Standard) },
			"this value is Standard's: give both the same, or use another name or Registry",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			r := resilient.NewRegistry()
			is.Equal(mistakes(c.first(resilient.New("x").Registry(r))), "")             // the first sets the terms
			is.Equal(mistakes(c.second(resilient.New("x").Registry(r))), differs+c.fix) // and the second is told what differs
		})
	}
}

// A name whose time began by itself can't be told the time of a budget any more.
func TestBudgetOfAnotherNameCannotBeJoinedLater(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	is.Equal(mistakes(in(r, "inventory").Budget()), "") // a budget
	is.Equal(mistakes(in(r, "reports")), "")            // a client without one
	is.True(strings.Contains(mistakes(in(r, "reports").Budget(resilient.BudgetName("inventory"))),
		"is measured on another clock")) // which wants it after all
	is.Equal(mistakes(in(r, "reports").Budget()), "") // one of its own is no trouble
}

func TestBudgetsOfAuthorities(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	b := in(r, "x").PerAuthority().Transport(answer(200))
	each := b.Budget().MustBuild()
	get(t, each, "http://a.test/")
	get(t, each, "http://b.test/")
	got := r.Snapshot()
	is.Equal(got[0].Budget.Requests, uint64(1))                                                   // an authority has its own
	is.Equal(got[1].Budget.Requests, uint64(1))                                                   // and so has the other
	is.Equal(mistakes(in(r, "z").Budget(resilient.BudgetName("x"), resilient.RetryRatio(1))), "") // none of them is named x

	r = resilient.NewRegistry()
	all := b.Registry(r).Budget(resilient.BudgetName("all")).MustBuild()
	get(t, all, "http://a.test/")
	get(t, all, "http://b.test/")
	got = r.Snapshot()
	is.Equal(got[0].Budget.Requests, uint64(2)) // with a name it is one for all authorities
	is.Equal(got[1].Budget.Requests, uint64(2)) // and both show it
}

func TestIsolateHoldsEveryBreakerOfTheNameOpen(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	c := in(r, "x").PerAuthority().Breaker().Transport(answer(200)).MustBuild()
	get(t, c, "http://a.test/")
	is.NoErr(r.Isolate("x")) // by hand
	for _, host := range []string{"a", "later"} {
		_, err := c.Get("http://" + host + ".test/") //nolint:bodyclose // there is none
		is.True(err != nil)                          // an authority that was called before, and one that was not
	}
	for _, s := range r.Snapshot() {
		is.Equal(s.Breaker.State, "isolated") // and says why
	}
	is.NoErr(r.Isolate("x")) // once more, to no effect
	is.NoErr(r.Release("x")) // let go
	get(t, c, "http://a.test/")
	get(t, c, "http://later.test/")
	for _, s := range r.Snapshot() {
		is.Equal(s.Breaker.State, "closed")     // they are closed
		is.Equal(s.Breaker.Requests, uint64(1)) // and begin to count again
	}
}

func TestIsolationHoldsForABreakerThatIsMadeLater(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	b := in(r, "x").PerAuthority().Transport(answer(200))
	without := b.MustBuild()
	is.NoErr(errOf(b.Breaker())) // a client with one
	is.NoErr(r.Isolate("x"))     // is isolated
	get(t, without, "http://a.test/")
	is.Equal(r.Snapshot()[0].Breaker.State, "isolated") // the state that the other made is, too
}

func errOf(b resilient.Builder) error {
	_, err := b.BuildTransport()
	return err
}

func TestIsolateWantsANameThatThereIs(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	is.Equal(r.Isolate("x").Error(), `resilient: client "x": Isolate: no client of this name was built; the registry is empty`) // there is nobody
	for _, name := range []string{"b", "a"} {
		is.NoErr(errOf(in(r, name))) // two clients
	}
	is.Equal(r.Isolate("x").Error(), `resilient: client "x": Isolate: no client of this name was built; there are "a", "b"`) // they are named
	is.Equal(r.Release("x").Error(), `resilient: client "x": Release: no client of this name was built; there are "a", "b"`) // by both
	is.Equal(r.Isolate("a").Error(), `resilient: client "a": Isolate: it has no circuit breaker; build it with Breaker`)     // there is nothing to open
	for c := 'c'; c <= 'm'; c++ {
		is.NoErr(errOf(in(r, string(c)))) // many more
	}
	is.Equal(r.Isolate("x").Error(), `resilient: client "x": Isolate: no client of this name was built; `+
		`there are "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" and 3 more`) // they are not all listed
}

func TestZeroRegistryIsReady(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var r resilient.Registry
	is.Equal(len(r.Snapshot()), 0)                  // it is empty
	is.True(r.Isolate("x") != nil)                  // nobody is in it
	is.NoErr(errOf(in(&r, "x").Breaker().Budget())) // it can be joined
	is.Equal(len(r.Snapshot()), 1)                  // and has somebody then
}

// A clock whose type can't be compared is never the same one, rather than a panic.
func TestClockThatCannotBeCompared(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := resilient.NewRegistry()
	odd := oddClock{Clock: clockwork.NewRealClock(), list: []int{1}}
	is.NoErr(errOf(in(r, "x").Clock(odd)))       // the first may have it
	is.True(errOf(in(r, "x").Clock(odd)) != nil) // the second can't prove that it is the same
}

type oddClock struct {
	clockwork.Clock
	list []int
}
