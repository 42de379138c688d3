package gate_test

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

func TestBudgetDecidesByItsNewSettingsOnWhatIsInTheWindow(t *testing.T) {
	t.Parallel()
	const all = 1000
	for _, row := range []struct {
		name   string
		change func(*gate.BudgetConfig)
		want   int // further retries
	}{
		{"nothing new", func(*gate.BudgetConfig) {}, 6},
		{"a higher ratio", func(c *gate.BudgetConfig) { c.RatioPPM = 200_000 }, 16},
		{"a lower ratio", func(c *gate.BudgetConfig) { c.RatioPPM = 50_000 }, 1},
		{"a ratio below what is booked", func(c *gate.BudgetConfig) { c.RatioPPM = 30_000 }, 0},
		{"a minimum above the requests", func(c *gate.BudgetConfig) { c.Minimum = 101 }, all},
		{"low volume", func(c *gate.BudgetConfig) { c.LowVolume = 20 }, 16},
		{"a longer window", func(c *gate.BudgetConfig) { c.Window = time.Hour }, 6},
		{"a shorter window", func(c *gate.BudgetConfig) { c.Window = sec }, 6},
		{"all of it", func(c *gate.BudgetConfig) {
			*c = gate.BudgetConfig{RatioPPM: 70_000, Window: time.Hour, Minimum: 50, LowVolume: 8}
		}, 4},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			c := conservative()
			b := gate.NewBudget(c)
			request(b, 10*sec, 100)
			is.Equal(retries(b, 10*sec, 4), 4) // of ten
			row.change(&c)
			b.Configure(10*sec, c)
			is.Equal(b.State(10*sec).Requests, uint64(100))               // requests were lost
			is.Equal(b.State(10*sec).Retries, uint64(4))                  // retries were forgiven
			is.Equal(retries(b, 10*sec, all), row.want)                   // the new settings, less what was booked under the old ones
			is.Equal(retries(b, 10*sec+c.Window, 1) > 0, row.want == all) // for as long as the new window
		})
	}
}

func TestBudgetKeepsRetriesAtLeastAsLongAsItsNewWindow(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := conservative()
	b := gate.NewBudget(c)
	request(b, 0, 100)
	is.Equal(retries(b, 0, 4), 4) // of ten
	request(b, 20*sec+500*ms, 100)
	is.Equal(retries(b, 20*sec+500*ms, 3), 3) // of the sixteen that are left
	c.Window = 6 * sec                        // buckets of 200 ms
	b.Configure(25*sec, c)
	is.Equal(b.State(25*sec), gate.BudgetState{100, 3, 10, gate.Enforcing})              // what is older has left, requests and retries alike
	is.Equal(b.State(27*sec-1), gate.BudgetState{100, 3, 10, gate.Enforcing})            // six seconds and one bucket from the end of the old bucket
	is.Equal(b.State(27*sec), gate.BudgetState{0, 0, gate.Unlimited, gate.BelowMinimum}) // and no longer

	request(b, 27*sec, 100)
	is.Equal(retries(b, 27*sec, 5), 5) // of ten
	c.Window = time.Minute
	b.Configure(28*sec, c)
	is.Equal(b.State(27*sec+time.Minute).Retries, uint64(5)) // as long as if it had been so from the start
	is.Equal(b.State(28*sec+time.Minute).Retries, uint64(0)) // and no longer
}

// Whoever applies the same settings again and again must not keep what is in the window from leaving it.
func TestBudgetWindowGoesOnWhenTheSameSettingsComeAgain(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b, plain := gate.NewBudget(conservative()), gate.NewBudget(conservative())
	for at := time.Duration(0); at < 100*sec; at += 300 * ms {
		for _, each := range []*gate.Budget{b, plain} {
			each.Request(at)
			each.Retry(at)
		}
		b.Configure(at, conservative())
		is.Equal(b.State(at), plain.State(at)) // it shows that settings were applied
	}
}

func TestBudgetAgreesWithAListOfEventsWhileItIsConfigured(t *testing.T) {
	t.Parallel()
	const schedules, steps = 150, 500
	for seed := range uint64(schedules) {
		r := rand.New(rand.NewPCG(seed, 6))
		config := randomBudget(r)
		budget, model := gate.NewBudget(config), &budgetModel{config: config}
		var now time.Duration
		for range steps {
			now += randomPause(r, model.config.Window)
			if r.IntN(30) == 0 {
				config = randomBudget(r)
				budget.Configure(now, config)
				model.configure(now, config)
			}
			model.at(now)
			if r.IntN(3) > 0 {
				budget.Request(now)
				model.request()
			} else if got, want := budget.Retry(now), model.retry(); got != want {
				t.Fatalf("seed %d: retry is %v, want %v: %+v with %+v", seed, got, want, budget.State(now), config)
			}
			if got, want := budget.State(now), model.state(); got != want {
				t.Fatalf("seed %d: state is %+v, want %+v with %+v", seed, got, want, config)
			}
		}
	}
}

// One goroutine gives and takes, all others want retries. Once it has taken, one retry may be booked that was decided
// before, for whoever decided at the same moment has lost to it; and that one was within the allowance of then.
func TestBudgetAdmitsNoRetryTooManyWhileItIsConfigured(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const requests, enough, more = 1000, 500, 2
	strict := gate.BudgetConfig{RatioPPM: 0, Window: 30 * sec, Minimum: 0, LowVolume: 0}
	b := gate.NewBudget(strict)
	request(b, 0, requests)
	var admitted, role atomic.Int64
	var over atomic.Bool
	together(func(r *rand.Rand) {
		if role.Add(1) > 1 {
			for !over.Load() {
				if b.Retry(0) {
					admitted.Add(1)
				}
				runtime.Gosched()
			}
			return
		}
		defer over.Store(true)
		for admitted.Load() < enough {
			before := b.State(0).Retries
			generous := strict
			generous.LowVolume, generous.Window = before+more, time.Duration(1+r.IntN(100))*sec
			b.Configure(0, generous)
			for range r.IntN(4) {
				runtime.Gosched()
			}
			b.Configure(0, strict)
			booked := b.State(0).Retries
			runtime.Gosched() // whoever is late comes now
			late := b.State(0).Retries
			if late > booked+1 {
				t.Error("retries were admitted by settings that were no longer in force")
			}
			if late > before+more {
				t.Error("more retries were admitted than the settings ever allowed")
			}
		}
	})
	is.Equal(b.State(0).Retries, uint64(admitted.Load())) // retries were lost or invented
	is.Equal(b.State(0).Requests, uint64(requests))       // requests were lost or invented
}

func TestBudgetDoesNotAllocateOnceItIsConfigured(t *testing.T) {
	is := is.New(t)
	b := gate.NewBudget(conservative())
	c := conservative()
	c.Window = time.Minute
	b.Configure(0, c)
	is.Equal(testing.AllocsPerRun(100, func() { b.Request(0) }), 0.0) // a request
	is.Equal(testing.AllocsPerRun(100, func() { b.Retry(0) }), 0.0)   // a retry
	is.Equal(testing.AllocsPerRun(100, func() { b.State(0) }), 0.0)   // a look
}

func TestBudgetKeepsItsSettingsIfNewOnesMakeNoSense(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := gate.NewBudget(conservative())
	request(b, 0, 100)
	before := b.State(0)
	for message, change := range map[string]func(*gate.BudgetConfig){
		"gate: a ratio must be at most 1000000 parts per million, got 1000001": func(c *gate.BudgetConfig) { c.RatioPPM = million + 1 },
		"ring: the span must be above zero, got 0s":                            func(c *gate.BudgetConfig) { c.Window = 0 },
	} {
		c := gate.BudgetConfig{RatioPPM: 1, Window: sec, Minimum: 1}
		change(&c)
		is.Equal(recovered(func() { gate.NewBudget(c) }), message) // a new budget
		is.Equal(recovered(func() { b.Configure(0, c) }), message) // and one that is in use
		is.Equal(b.State(0), before)                               // on which nothing has changed
	}
}
