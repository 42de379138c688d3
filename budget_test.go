package resilient_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

const orBudgetOff = "; a policy that is on needs it, and Budget(Off) turns it off"

func TestBudgetRanges(t *testing.T) {
	t.Parallel()
	ratio := func(r float64) resilient.Builder { return alone().Budget(resilient.RetryRatio(r)) }
	window := func(d time.Duration) resilient.Builder { return alone().Budget(resilient.SamplingDuration(d)) }
	minimum := func(n int) resilient.Builder { return alone().Budget(resilient.MinimumThroughput(n)) }
	low := func(n int) resilient.Builder { return alone().Budget(resilient.LowVolumeRetries(n)) }
	name := func(s string) resilient.Builder { return alone().Budget(resilient.BudgetName(s)) }
	expect(t, map[string]ruling{
		"ratio below":     {ratio(-1e-9), "Budget(RetryRatio(-1e-09)): must be 0 to 1; a tenth is 0.1"},
		"no ratio":        {ratio(0), ""},
		"ratio":           {ratio(0.05), ""},
		"all":             {ratio(1), ""},
		"ratio above":     {ratio(1.0000001), "Budget(RetryRatio(1.0000001)): must be 0 to 1; a tenth is 0.1"},
		"ratio NaN":       {ratio(math.NaN()), "Budget(RetryRatio(NaN)): must be 0 to 1; a tenth is 0.1"},
		"ratio infinite":  {ratio(math.Inf(1)), "Budget(RetryRatio(+Inf)): must be 0 to 1; a tenth is 0.1"},
		"window below":    {window(sec - 1), "Budget(SamplingDuration(999.999999ms)): must be 1s to 24h; the nearest is 1s"},
		"no window":       {window(0), "Budget(SamplingDuration(0s)): must be 1s to 24h" + orBudgetOff},
		"shortest window": {window(sec), ""},
		"longest window":  {window(24 * hour), ""},
		"window above":    {window(25 * hour), "Budget(SamplingDuration(25h)): must be 1s to 24h; the nearest is 24h"},
		"minimum below":   {minimum(-1), "Budget(MinimumThroughput(-1)): must be 1 or more; the nearest is 1"},
		"no minimum":      {minimum(0), "Budget(MinimumThroughput(0)): must be 1 or more" + orBudgetOff},
		"minimum of one":  {minimum(1), ""},
		"huge minimum":    {minimum(math.MaxInt), ""},
		"no minimum, but low volume retries": {
			alone().Budget(resilient.MinimumThroughput(0), resilient.LowVolumeRetries(1)), "",
		},
		"negative minimum, for all that": {
			alone().Budget(resilient.MinimumThroughput(-1), resilient.LowVolumeRetries(1)),
			"Budget(MinimumThroughput(-1)): must be 0 or more; the nearest is 0",
		},
		"low volume below": {low(-1), "Budget(LowVolumeRetries(-1)): must be 0 or more; the nearest is 0"},
		"no low volume":    {low(0), ""},
		"low volume":       {low(10), ""},
		"name":             {name("inventory-backend"), ""},
		"no name":          {name(""), ""},
		"bad name":         {name("a\tb"), `Budget(BudgetName("a\tb")): must be printable UTF-8; it is part of events, metrics and errors`},
		"long name":        {name(strings.Repeat("a", 201)), `Budget(BudgetName("` + strings.Repeat("a", 201) + `")): must be at most 200 bytes long; shorten it`},
		"off":              {alone().Budget(resilient.Off), ""},
		"all zeros, which is not off when it is said": {
			alone().Budget(resilient.RetryRatio(0), resilient.SamplingDuration(0), resilient.MinimumThroughput(0)),
			"Budget(SamplingDuration(0s)): must be 1s to 24h" + orBudgetOff + "\n" +
				`resilient: client "x": Budget(MinimumThroughput(0)): must be 1 or more` + orBudgetOff,
		},
	})
}

func TestBudgetFilledInHalfNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	expect(t, map[string]ruling{
		"ratio alone": {
			only(func(c *resilient.Config) { c.Budget.RetryRatio = 0.1 }),
			"Budget(SamplingDuration(0s)): must be 1s to 24h" + orBudgetOff + "\n" +
				`resilient: client "x": Budget(MinimumThroughput(0)): must be 1 or more` + orBudgetOff,
		},
		"without a minimum": {
			only(func(c *resilient.Config) { c.Budget.RetryRatio, c.Budget.SamplingDuration = 0.1, sec }),
			"Budget(MinimumThroughput(0)): must be 1 or more" + orBudgetOff,
		},
		"without a window": {
			only(func(c *resilient.Config) { c.Budget.RetryRatio, c.Budget.MinimumThroughput = 0.1, 1 }),
			"Budget(SamplingDuration(0s)): must be 1s to 24h" + orBudgetOff,
		},
		"name alone": {
			only(func(c *resilient.Config) { c.Budget.Name = "y" }),
			"Budget(SamplingDuration(0s)): must be 1s to 24h" + orBudgetOff + "\n" +
				`resilient: client "x": Budget(MinimumThroughput(0)): must be 1 or more` + orBudgetOff,
		},
		"without a ratio, which is a ratio of none": {
			only(func(c *resilient.Config) { c.Budget.SamplingDuration, c.Budget.MinimumThroughput = sec, 1 }), "",
		},
		"whole": {
			only(func(c *resilient.Config) { c.Budget = resilient.Conservative.Config().Budget }), "",
		},
	})
}

func TestBudgetOptionsSetTheirField(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := resilient.New("x").Budget(resilient.RetryRatio(0.3), resilient.SamplingDuration(7*sec),
		resilient.MinimumThroughput(5), resilient.LowVolumeRetries(2), resilient.BudgetName("y")).Config()
	is.Equal(c.Budget, resilient.BudgetPolicy{
		RetryRatio: 0.3, SamplingDuration: 7 * sec, MinimumThroughput: 5, LowVolumeRetries: 2, Name: "y",
	}) // each to its own
	is.Equal(c.Breaker, resilient.Standard.Config().Breaker) // what the breaker has of the same name is untouched
}
