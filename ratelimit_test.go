package resilient_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

func TestRateLimitRules(t *testing.T) {
	t.Parallel()
	const (
		orOff  = "; a policy that is on needs it, and RateLimit(Off) turns it off"
		noRate = "RateLimit: needs a rate, for the quota is yours to know; give PerSecond or PerMinute, or turn it off with RateLimit(Off)"
		tokens = "must be 1 to 1000000000000"
	)
	limit := func(options ...resilient.RateLimitOption) resilient.Builder { return alone().RateLimit(options...) }
	policy := func(p resilient.RateLimitPolicy) resilient.Builder {
		return by(func(c *resilient.Config) { c.RateLimit = p })
	}
	rate := resilient.PerSecond(1)
	expect(t, map[string]ruling{
		"per second":      {limit(rate), ""},
		"per minute":      {limit(resilient.PerMinute(1e12)), ""},
		"no rate":         {limit(), noRate},
		"a burst only":    {limit(resilient.Burst(3)), noRate},
		"off":             {limit(resilient.Off), ""},
		"off again":       {limit(resilient.Burst(3), resilient.Off), ""},
		"zero rate":       {limit(resilient.PerSecond(0)), "RateLimit(Tokens(0)): " + tokens + orOff},
		"negative rate":   {limit(resilient.PerMinute(-5)), "RateLimit(Tokens(-5)): " + tokens + "; the nearest is 1"},
		"rate above":      {limit(resilient.PerMinute(1e12 + 1)), "RateLimit(Tokens(1000000000001)): " + tokens + "; the nearest is 1000000000000"},
		"zero burst":      {limit(rate, resilient.Burst(0)), "RateLimit(Burst(0)): " + tokens + orOff},
		"negative burst":  {limit(rate, resilient.Burst(-3)), "RateLimit(Burst(-3)): " + tokens + "; the nearest is 1"},
		"most burst":      {limit(rate, resilient.Burst(1e12)), ""},
		"burst above":     {limit(rate, resilient.Burst(1e12+1)), "RateLimit(Burst(1000000000001)): " + tokens + "; the nearest is 1000000000000"},
		"wait":            {limit(rate, resilient.Wait(24*time.Hour)), ""},
		"negative wait":   {limit(rate, resilient.Wait(-1)), "RateLimit(Wait(-1ns)): must be 0s to 24h; the nearest is 0s"},
		"wait above":      {limit(rate, resilient.Wait(24*time.Hour+1)), "RateLimit(Wait(24h0m0.000000001s)): must be 0s to 24h; the nearest is 24h"},
		"nil cost":        {limit(rate, resilient.Cost(nil)), "RateLimit(Cost(nil)): must not be nil; leave it out, or give one"},
		"nil option":      {limit(rate, nil), "RateLimit(nil): must not be nil; leave it out, or give one"},
		"by hand":         {policy(resilient.RateLimitPolicy{Tokens: 1, Per: time.Millisecond, Burst: 1}), ""},
		"by hand, day":    {policy(resilient.RateLimitPolicy{Tokens: 1, Per: 24 * time.Hour, Burst: 1}), ""},
		"no period":       {policy(resilient.RateLimitPolicy{Tokens: 1, Burst: 1}), "RateLimit(Per(0s)): must be 1ms to 24h" + orOff},
		"period below":    {policy(resilient.RateLimitPolicy{Tokens: 1, Per: time.Millisecond - 1, Burst: 1}), "RateLimit(Per(999.999µs)): must be 1ms to 24h; the nearest is 1ms"},
		"period above":    {policy(resilient.RateLimitPolicy{Tokens: 1, Per: 24*time.Hour + 1, Burst: 1}), "RateLimit(Per(24h0m0.000000001s)): must be 1ms to 24h; the nearest is 24h"},
		"no burst":        {policy(resilient.RateLimitPolicy{Tokens: 2, Per: time.Second}), "RateLimit(Burst(0)): " + tokens + orOff},
		"filled in half":  {policy(resilient.RateLimitPolicy{PerCall: true}), noRate},
		"nothing at hand": {policy(resilient.RateLimitPolicy{}), ""},
	})
}

// The bucket holds what comes in over the period, unless it is said what it holds: in whatever order.
func TestBurstIsTheRateUnlessGiven(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		builder resilient.Builder
		burst   int
	}{
		"a rate":             {alone().RateLimit(resilient.PerSecond(7)), 7},
		"two rates":          {alone().RateLimit(resilient.PerSecond(7)).RateLimit(resilient.PerMinute(9)), 9},
		"burst after":        {alone().RateLimit(resilient.PerSecond(7), resilient.Burst(3)), 3},
		"burst before":       {alone().RateLimit(resilient.Burst(3), resilient.PerSecond(7)), 3},
		"burst long before":  {alone().RateLimit(resilient.Burst(3)).RateLimit(resilient.PerSecond(7)), 3},
		"burst before off":   {alone().RateLimit(resilient.Burst(3)).RateLimit(resilient.Off).RateLimit(resilient.PerSecond(7)), 7},
		"another option":     {alone().RateLimit(resilient.PerSecond(7)).RateLimit(resilient.PerCall), 7},
		"a document":         {alone().JSON([]byte(`{"rateLimit": {"tokens": 7, "per": "1s"}}`)), 7},
		"another rate in it": {alone().RateLimit(resilient.PerSecond(7)).JSON([]byte(`{"rateLimit": {"tokens": 9}}`)), 9},
		"a burst in it":      {alone().JSON([]byte(`{"rateLimit": {"burst": 3, "tokens": 7, "per": "1s"}}`)), 3},
		"by hand": {by(func(c *resilient.Config) {
			c.RateLimit = resilient.RateLimitPolicy{Tokens: 2, Per: time.Second, Burst: 3}
		}).RateLimit(resilient.PerSecond(7)), 3}, // all that is there is meant
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(row.builder.Config().RateLimit.Burst, row.burst)
			is.Equal(mistakes(row.builder), "")
		})
	}
}

func TestRateLimitIsReadFromDocuments(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	want := resilient.RateLimitPolicy{
		Tokens: 30000, Per: time.Minute, Burst: 5000, Wait: 20 * time.Second, PerCall: true, SettleUsage: true, HeedServer: true,
	}
	document, err := json.Marshal(resilient.Config{RateLimit: want})
	is.NoErr(err)
	is.True(strings.Contains(string(document), `"rateLimit":{"tokens":30000,"per":"1m","burst":5000,"wait":"20s",`+
		`"perCall":true,"settleUsage":true,"heedServer":true}`))
	var back resilient.Config
	is.NoErr(json.Unmarshal(document, &back))
	is.True(reflect.DeepEqual(back.RateLimit, want)) // as it was
	is.True(reflect.DeepEqual(alone().JSON(document).Config().RateLimit, want))
	is.True(reflect.DeepEqual(alone().JSON(document).JSON([]byte(`{"rateLimit": "off"}`)).Config().RateLimit, resilient.RateLimitPolicy{}))
	is.True(strings.Contains(mistakes(alone().JSON([]byte(`{"rateLimit": {}}`))), "needs a rate")) // on, without one
	for document, want := range map[string]string{
		`{"rateLimit": {"tokens": 1.5}}`:  "rateLimit.tokens: 1.5",
		`{"rateLimit": {"per": 60}}`:      "rateLimit.per: 60",
		`{"rateLimit": {"perCall": 1}}`:   "rateLimit.perCall: 1",
		`{"rateLimit": {"cost": "x"}}`:    "rateLimit.cost",
		`{"rateLimit": {"Tokens": 1}}`:    "rateLimit.Tokens",
		`{"rateLimit": {"burst": "all"}}`: `rateLimit.burst: "all"`,
		`{"rateLimit": true}`:             "rateLimit: true",
	} {
		is.True(strings.Contains(mistakes(alone().JSON([]byte(document))), want)) // it names the place
	}
}
