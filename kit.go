package resilient

import (
	"slices"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
)

// A kit is what the clients of one name agreed on for the gates that they share: the
// settings of each strategy that one of them has on, and the client that set them.
type kit struct {
	concurrency ConcurrencyPolicy
	budget      BudgetPolicy
	rateLimit   RateLimitPolicy
	breaker     BreakerPolicy

	attempt time.Duration // the attempt timeout of the client that set the breaker
	drawsOn *string       // the name of the budget, "" if each state has its own; nil: there is none yet
	named   *namedBudget  // nil: each state has a budget of its own
	longest time.Duration // for which any gate remembers

	terms struct{ concurrency, budget, rateLimit, breaker terms }
}

// Terms are what clients that share a gate agreed on, the client that set them, and the preset that it begins with, if it
// is one. They are zero until there is one.
type terms struct {
	by       string
	preset   Preset
	settings []term
}

// A term is one setting, as it is typed.
type term struct{ option, value string }

func (t term) String() string { return t.option + "(" + t.value + ")" }

// agree notes where d asks for other settings than the terms are.
func (t terms) agree(d *draft, verb string, settings []term) {
	for i, held := range t.settings {
		if asked := settings[i]; asked != held {
			d.fault(ConfigError{
				Setting: verb + "(" + asked.String() + ")",
				Value:   asked.value,
				Rule:    "differs from " + held.String() + " of client " + quote(t.by) + ", which shares its state",
				Fix:     t.remedy(d, verb, asked, held),
			})
		}
	}
}

// remedy is what to do about a setting that differs. A value that is the preset's may be one that nobody has typed, so it is
// said where it comes from; if both are, it is the presets that differ.
func (t terms) remedy(d *draft, verb string, asked, held term) string {
	const same, or = "give both the same", ", or use another name or Registry"
	mine, theirs := d.preset.String(), t.preset.String()
	switch asksPreset, holdsPreset := d.preset.says(verb, asked), t.preset.says(verb, held); {
	case asksPreset && holdsPreset:
		return "this client begins with " + mine + ", the other with " + theirs + ": begin both with Defaults(resilient." + theirs + ")" + or
	case asksPreset:
		return "this value is " + mine + "'s: " + same + or
	case holdsPreset:
		return "the other's value is " + theirs + "'s: " + same + or
	}
	return same + or
}

// says reports whether a setting is as the preset has it, which has the strategy on.
func (p Preset) says(verb string, t term) bool {
	switch c := p.Config(); verb {
	case "Concurrency":
		return !c.Concurrency.off() && slices.Contains(c.Concurrency.settings(), t)
	case "Budget":
		return !c.Budget.off() && slices.Contains(c.Budget.settings(), t)
	case "Breaker":
		return !c.Breaker.off() && slices.Contains(c.Breaker.settings(), t)
	}
	return false
}

// agree notes where d asks for other gates than the kit has.
func (k *kit) agree(d *draft) {
	if !d.Concurrency.off() {
		k.terms.concurrency.agree(d, "Concurrency", d.Concurrency.settings())
	}
	if !d.Budget.off() {
		k.terms.budget.agree(d, "Budget", budgetSettings(d))
	}
	if !d.RateLimit.off() {
		k.terms.rateLimit.agree(d, "RateLimit", d.RateLimit.settings())
	}
	if !d.Breaker.off() {
		k.terms.breaker.agree(d, "Breaker", d.Breaker.settings())
	}
}

// budgetSettings are the budget's, and which one it is.
func budgetSettings(d *draft) []term {
	return append(d.Budget.settings(), term{"BudgetName", quote(budgetName(d))})
}

// add has the kit know what d, which agrees, is the first to have on. The budget is the
// named one, or nil if there is none.
func (k *kit) add(d *draft, b *namedBudget) {
	if k.terms.concurrency.settings == nil && !d.Concurrency.off() {
		k.concurrency, k.terms.concurrency = d.Concurrency, terms{d.name, d.preset, d.Concurrency.settings()}
	}
	if k.terms.budget.settings == nil && !d.Budget.off() {
		k.budget, k.named, k.terms.budget = d.Budget, b, terms{d.name, d.preset, budgetSettings(d)}
		name := budgetName(d)
		k.drawsOn = &name
	}
	if k.terms.rateLimit.settings == nil && !d.RateLimit.off() {
		k.rateLimit, k.terms.rateLimit = d.RateLimit, terms{d.name, d.preset, d.RateLimit.settings()}
	}
	if k.terms.breaker.settings == nil && !d.Breaker.off() {
		k.breaker, k.attempt, k.terms.breaker = d.Breaker, d.Timeout.PerAttempt, terms{d.name, d.preset, d.Breaker.settings()}
	}
	k.longest = max(k.longest, d.Budget.SamplingDuration, d.Breaker.SamplingDuration, d.Breaker.BreakDuration)
}

// limit returns g with the kit's settings, or a new limit if there is none; without
// settings it stays as it is. So do the other three.
func (k *kit) limit(g *gate.Limit) *gate.Limit {
	switch p := k.concurrency; {
	case p.off():
	case g == nil:
		return gate.NewLimit(p.Permits, p.Queue)
	default:
		g.Configure(p.Permits, p.Queue)
	}
	return g
}

func (k *kit) retryBudget(now time.Duration, g *gate.Budget) *gate.Budget {
	switch {
	case k.budget.off():
	case k.named != nil:
		return k.named.budget
	case g == nil:
		return gate.NewBudget(k.budget.config())
	default:
		g.Configure(now, k.budget.config())
	}
	return g
}

func (k *kit) bucket(now time.Duration, g *gate.Bucket) *gate.Bucket {
	switch p := k.rateLimit; {
	case p.off():
	case g == nil:
		return gate.NewBucket(p.rate(), int64(p.Burst))
	default:
		g.Configure(now, p.rate(), int64(p.Burst))
	}
	return g
}

func (k *kit) circuit(now time.Duration, g *gate.Breaker) *gate.Breaker {
	switch {
	case k.breaker.off():
	case g == nil:
		return gate.NewBreaker(k.breaker.config(k.attempt))
	default:
		g.Configure(now, k.breaker.config(k.attempt))
	}
	return g
}
