package resilient_test

import (
	"math"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

const orBreakerOff = "; a policy that is on needs it, and Breaker(Off) turns it off"

func TestBreakerRanges(t *testing.T) {
	t.Parallel()
	ratio := func(r float64) resilient.Builder { return alone().Breaker(resilient.FailureRatio(r)) }
	minimum := func(n int) resilient.Builder { return alone().Breaker(resilient.MinimumThroughput(n)) }
	window := func(d time.Duration) resilient.Builder { return alone().Breaker(resilient.SamplingDuration(d)) }
	pause := func(d time.Duration) resilient.Builder { return alone().Breaker(resilient.BreakDuration(d)) }
	expect(t, map[string]ruling{
		"ratio below":     {ratio(-0.1), "Breaker(FailureRatio(-0.1)): must be 0 to 1; a tenth is 0.1"},
		"any failure":     {ratio(0), ""},
		"all failures":    {ratio(1), ""},
		"ratio above":     {ratio(1.1), "Breaker(FailureRatio(1.1)): must be 0 to 1; a tenth is 0.1"},
		"ratio NaN":       {ratio(math.NaN()), "Breaker(FailureRatio(NaN)): must be 0 to 1; a tenth is 0.1"},
		"ratio infinite":  {ratio(math.Inf(-1)), "Breaker(FailureRatio(-Inf)): must be 0 to 1; a tenth is 0.1"},
		"minimum below":   {minimum(1), "Breaker(MinimumThroughput(1)): must be 2 or more; the nearest is 2"},
		"no minimum":      {minimum(0), "Breaker(MinimumThroughput(0)): must be 2 or more" + orBreakerOff},
		"least minimum":   {minimum(2), ""},
		"huge minimum":    {minimum(math.MaxInt), ""},
		"window below":    {window(499 * msec), "Breaker(SamplingDuration(499ms)): must be 500ms or more; the nearest is 500ms"},
		"no window":       {window(0), "Breaker(SamplingDuration(0s)): must be 500ms or more" + orBreakerOff},
		"shortest window": {window(500 * msec), ""},
		"huge window":     {window(math.MaxInt64), ""},
		"break below":     {pause(499 * msec), "Breaker(BreakDuration(499ms)): must be 500ms or more; the nearest is 500ms"},
		"no break":        {pause(0), "Breaker(BreakDuration(0s)): must be 500ms or more" + orBreakerOff},
		"shortest break":  {pause(500 * msec), ""},
		"huge break":      {pause(math.MaxInt64), ""},
		"off":             {alone().Breaker(resilient.Off), ""},
	})
}

func TestBreakerFilledInHalfNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	without := func(change func(*resilient.BreakerPolicy)) resilient.Builder {
		return by(func(c *resilient.Config) { change(&c.Breaker) })
	}
	all := "Breaker(MinimumThroughput(0)): must be 2 or more" + orBreakerOff + "\n" +
		`resilient: client "x": Breaker(SamplingDuration(0s)): must be 500ms or more` + orBreakerOff + "\n" +
		`resilient: client "x": Breaker(BreakDuration(0s)): must be 500ms or more` + orBreakerOff
	expect(t, map[string]ruling{
		"ratio alone":  {only(func(c *resilient.Config) { c.Breaker.FailureRatio = 0.5 }), all},
		"switch alone": {only(func(c *resilient.Config) { c.Breaker.BreakUntilRetryAfter = true }), all},
		"function alone": {only(func(c *resilient.Config) {
			c.Breaker.BreakDurationFunc = func(resilient.Break) time.Duration { return 0 }
		}), all},
		"without a minimum": {
			without(func(p *resilient.BreakerPolicy) { p.MinimumThroughput = 0 }),
			"Breaker(MinimumThroughput(0)): must be 2 or more" + orBreakerOff,
		},
		"without a window": {
			without(func(p *resilient.BreakerPolicy) { p.SamplingDuration = 0 }),
			"Breaker(SamplingDuration(0s)): must be 500ms or more" + orBreakerOff,
		},
		"without a break": {
			without(func(p *resilient.BreakerPolicy) { p.BreakDuration = 0 }),
			"Breaker(BreakDuration(0s)): must be 500ms or more" + orBreakerOff,
		},
		"without a ratio, which is any failure": {
			without(func(p *resilient.BreakerPolicy) { p.FailureRatio = 0 }), "",
		},
	})
}

func TestBreakerOptionsSetTheirField(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := resilient.New("x").Budget().Breaker(resilient.FailureRatio(0.3), resilient.MinimumThroughput(5),
		resilient.SamplingDuration(50*sec), resilient.BreakDuration(9*sec), resilient.BreakUntilRetryAfter(true),
		resilient.BreakDurationFunc(func(resilient.Break) time.Duration { return 42 })).Config()
	is.Equal(c.Breaker.BreakDurationFunc(resilient.Break{}), time.Duration(42)) // the function is there
	c.Breaker.BreakDurationFunc = nil
	is.Equal(c.Breaker, resilient.BreakerPolicy{
		FailureRatio: 0.3, MinimumThroughput: 5, SamplingDuration: 50 * sec, BreakDuration: 9 * sec, BreakUntilRetryAfter: true,
	}) // each to its own
	is.Equal(c.Budget, resilient.Conservative.Config().Budget) // what the budget has of the same name is untouched
}
