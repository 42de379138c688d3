package resilient

import (
	"math"
	"strconv"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
)

// BudgetPolicy bounds retries to a share of the calls over a sliding window, so that a dependency in trouble gets no more
// than that on top of its load. A retry that the budget does not cover is not made, and the caller gets the outcome at
// hand. The zero policy is off.
type BudgetPolicy struct {
	// RetryRatio is how many retries there may be for each call in the window: 0 to 1, kept in parts per million; the
	// allowance is rounded down. 0 allows none but those that MinimumThroughput or LowVolumeRetries let through. The idea
	// and the usual tenth are those of Google's SRE book, chapter "Handling Overload".
	RetryRatio float64

	// SamplingDuration is the window over which calls and retries are counted: 1s to 24h.
	SamplingDuration time.Duration

	// MinimumThroughput is the number of calls in the window below which every retry is made: 1 or more. With 1 the ratio
	// is in force from the first call on. It is unused, and may be 0, if LowVolumeRetries is set.
	MinimumThroughput int

	// LowVolumeRetries, if it is not 0, replaces MinimumThroughput: the window may hold that many retries however few
	// calls there are. With it a client of little traffic has a budget, too.
	LowVolumeRetries int

	// Name is the budget's name within the [Registry]: clients whose budgets have one name draw on one budget. Empty means
	// the client's own name, or with [Builder.PerAuthority] a budget for each authority. Otherwise up to 200 bytes of
	// printable text.
	Name string
}

// A BudgetOption changes one setting of a [BudgetPolicy].
type BudgetOption interface{ budget(*draft) }

type budgetFunc func(*draft)

func (f budgetFunc) budget(d *draft) { f(d) }

// RetryRatio is how many retries there may be for each call: 0 to 1. It sets [BudgetPolicy].RetryRatio.
func RetryRatio(ratio float64) BudgetOption {
	return budgetFunc(func(d *draft) { d.Budget.RetryRatio = ratio })
}

// LowVolumeRetries is how many retries the window may hold however few calls there are: 0 or more, 0 for the rule of
// the minimum throughput. It sets [BudgetPolicy].LowVolumeRetries.
func LowVolumeRetries(n int) BudgetOption {
	return budgetFunc(func(d *draft) { d.Budget.LowVolumeRetries = n })
}

// BudgetName names a budget that clients of other names can draw on as well: up to 200 bytes of printable text, or ""
// for a budget of the client's own. It sets [BudgetPolicy].Name.
func BudgetName(name string) BudgetOption {
	return budgetFunc(func(d *draft) { d.Budget.Name = name })
}

func (off) budget(d *draft) {
	d.Budget = BudgetPolicy{}
	d.given &^= usesBudget
}

// off reports whether nothing is set. If something is, check sees to it that everything is that must be.
func (p BudgetPolicy) off() bool { return p == BudgetPolicy{} }

// startBudget takes Conservative's values, for Standard has no budget.
func (d *draft) startBudget() {
	d.given |= usesBudget
	if d.Budget.off() {
		d.Budget = Conservative.Config().Budget
	}
}

func (d *draft) applyBudget(opts []BudgetOption) {
	d.startBudget()
	for _, o := range opts {
		if o == nil {
			d.refuseNil("Budget(%s)")
			continue
		}
		o.budget(d)
	}
}

const (
	minBudgetSampling = time.Second
	maxBudgetSampling = 24 * time.Hour
)

func (d *draft) checkBudget() {
	p := d.Budget
	if p.off() && !d.given.has(usesBudget) {
		return
	}
	d.checkRatio("Budget(RetryRatio(%s))", p.RetryRatio)
	d.checkDuration("Budget(SamplingDuration(%s))", p.SamplingDuration, minBudgetSampling, maxBudgetSampling, "")
	d.checkCount("Budget(LowVolumeRetries(%s))", p.LowVolumeRetries, 0, math.MaxInt)
	least := 1
	if p.LowVolumeRetries > 0 {
		least = 0
	}
	d.checkCount("Budget(MinimumThroughput(%s))", p.MinimumThroughput, least, math.MaxInt)
	if p.Name != "" {
		d.checkName("Budget(BudgetName(%s))", p.Name)
	}
}

// settings is what clients that share a budget must agree on.
func (p BudgetPolicy) settings() []term {
	return []term{
		{"RetryRatio", decimal(p.RetryRatio)},
		{"SamplingDuration", short(p.SamplingDuration)},
		{"MinimumThroughput", strconv.Itoa(p.MinimumThroughput)},
		{"LowVolumeRetries", strconv.Itoa(p.LowVolumeRetries)},
	}
}

// config is the policy as the gate takes it.
func (p BudgetPolicy) config() gate.BudgetConfig {
	return gate.BudgetConfig{
		RatioPPM:  ppm(p.RetryRatio),
		Window:    p.SamplingDuration,
		Minimum:   uint64(p.MinimumThroughput),
		LowVolume: uint64(p.LowVolumeRetries),
	}
}

// ppm is a ratio in parts per million, the form in which gates multiply without error.
func ppm(ratio float64) uint64 { return uint64(math.Round(ratio * 1e6)) }
