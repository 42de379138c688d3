package resilient_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/cenkalti/backoff/v5"
	"github.com/matryer/is"
)

func TestRetryRanges(t *testing.T) {
	t.Parallel()
	retry := func(o resilient.RetryOption) resilient.Builder { return alone().Retry(o) }
	expect(t, map[string]ruling{
		"retries below":       {retry(resilient.MaxRetries(-1)), "Retry(MaxRetries(-1)): must be 0 or more; 0, or Retry(Off), is for none"},
		"no retries":          {retry(resilient.MaxRetries(0)), ""},
		"many retries":        {retry(resilient.MaxRetries(math.MaxInt)), ""},
		"base below":          {retry(resilient.Backoff(-1, sec)), "Retry(Backoff(-1ns, 1s)): the base must be 0s to 24h; a base of 0 does not wait"},
		"no base":             {retry(resilient.Backoff(0, 0)), ""},
		"largest base":        {retry(resilient.Backoff(24*hour, 0)), ""},
		"base above":          {retry(resilient.Backoff(25*hour, 0)), "Retry(Backoff(25h, 0s)): the base must be 0s to 24h; a base of 0 does not wait"},
		"cap below":           {retry(resilient.Backoff(0, -1)), "Retry(Backoff(0s, -1ns)): the cap must be 0s to 24h; 0 is none"},
		"as large as base":    {retry(resilient.Backoff(sec, sec)), ""},
		"largest cap":         {retry(resilient.Backoff(sec, 24*hour)), ""},
		"cap above":           {retry(resilient.Backoff(sec, 25*hour)), "Retry(Backoff(1s, 25h)): the cap must be 0s to 24h; 0 is none"},
		"jitter below":        {retry(resilient.Jitter(-1)), "Retry(Jitter(-1)): must be Decorrelated, FullJitter or NoJitter; Decorrelated is the usual one"},
		"no jitter chosen":    {retry(resilient.Jitter(0)), "Retry(Jitter(0)): must be Decorrelated, FullJitter or NoJitter; a policy that is on needs it, and Retry(Off) turns it off"},
		"jitter above":        {retry(resilient.Jitter(4)), "Retry(Jitter(4)): must be Decorrelated, FullJitter or NoJitter; Decorrelated is the usual one"},
		"full jitter":         {retry(resilient.FullJitter), ""},
		"no jitter":           {retry(resilient.NoJitter), ""},
		"Retry-After below":   {retry(resilient.MaxRetryAfter(-1)), "Retry(MaxRetryAfter(-1ns)): must be 0s to 24h; the nearest is 0s"},
		"no Retry-After":      {retry(resilient.MaxRetryAfter(0)), ""},
		"largest Retry-After": {retry(resilient.MaxRetryAfter(24 * hour)), ""},
		"Retry-After above":   {retry(resilient.MaxRetryAfter(25 * hour)), "Retry(MaxRetryAfter(25h)): must be 0s to 24h; the nearest is 24h"},
		"buffer below":        {retry(resilient.BufferLimit(-1)), "Retry(BufferLimit(-1)): must be 0 or more; the nearest is 0"},
		"no buffer":           {retry(resilient.BufferLimit(0)), ""},
		"large buffer":        {retry(resilient.BufferLimit(1 << 30)), ""},
		"off":                 {retry(resilient.Off), ""},
	})
}

func TestRetryMethodsMustBeMethods(t *testing.T) {
	t.Parallel()
	retry := func(o ...resilient.RetryOption) resilient.Builder { return alone().Retry(o...) }
	expect(t, map[string]ruling{
		"some":            {retry(resilient.RetryMethods("GET", "M-SEARCH")), ""},
		"none at all":     {retry(resilient.RetryMethods()), "Retry(RetryMethods()): must name a method; Retry(Off) retries none"},
		"an empty one":    {retry(resilient.RetryMethods("GET", "")), `Retry(RetryMethods("GET", "")): must be HTTP methods; give each by itself, as GET`},
		"two in one":      {retry(resilient.RetryMethods("GET,PUT")), `Retry(RetryMethods("GET,PUT")): must be HTTP methods; give each by itself, as GET`},
		"not ASCII":       {retry(resilient.ExceptMethods("PÖST")), `Retry(ExceptMethods("PÖST")): must be HTTP methods; give each by itself, as GET`},
		"a space":         {retry(resilient.ExceptMethods("POST ")), `Retry(ExceptMethods("POST ")): must be HTTP methods; give each by itself, as GET`},
		"no exceptions":   {retry(resilient.ExceptMethods()), ""},
		"of another case": {retry(resilient.ExceptMethods("post")), ""},
		"both lists": {
			retry(resilient.RetryMethods("GET"), resilient.ExceptMethods("POST")),
			`Retry(RetryMethods("GET")): excludes Retry(ExceptMethods("POST")); give one of them`,
		},
		"both lists, one inherited": {
			retry(resilient.SafeMethodsOnly).Retry(resilient.RetryMethods("GET")),
			`Retry(RetryMethods("GET")): excludes Retry(ExceptMethods("POST", "PUT", "PATCH", "DELETE", "CONNECT")); give one of them`,
		},
		"exceptions taken away": {
			retry(resilient.SafeMethodsOnly).Retry(resilient.ExceptMethods(), resilient.RetryMethods("GET")), "",
		},
	})
}

func TestRetryFilledInHalfNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	retries := "Retry(MaxRetries(0)): must be 1 or more; a policy that is on needs it, and Retry(Off) turns it off"
	jitter := "Retry(Jitter(0)): must be Decorrelated, FullJitter or NoJitter; a policy that is on needs it, and Retry(Off) turns it off"
	both := retries + "\n" + `resilient: client "x": ` + jitter
	expect(t, map[string]ruling{
		"retries alone": {only(func(c *resilient.Config) { c.Retry.MaxRetries = 2 }), jitter},
		"jitter alone":  {only(func(c *resilient.Config) { c.Retry.Jitter = resilient.FullJitter }), retries},
		"base alone":    {only(func(c *resilient.Config) { c.Retry.BackoffBase = sec }), both},
		"switch alone":  {only(func(c *resilient.Config) { c.Retry.RetryAfter = true }), both},
		"function alone": {only(func(c *resilient.Config) {
			c.Retry.RetryIf = func(resilient.Attempt) bool { return true }
		}), both},
		"a backoff of one's own needs no jitter": {only(func(c *resilient.Config) {
			c.Retry.MaxRetries = 2
			c.Retry.BackoffFunc = func() backoff.BackOff { return &backoff.ZeroBackOff{} }
		}), ""},
		"enough": {only(func(c *resilient.Config) {
			c.Retry.MaxRetries, c.Retry.Jitter = 2, resilient.NoJitter
		}), ""},
	})
}

func TestMaxRetriesOfZeroTurnsRetriesOff(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := resilient.New("x")
	off := resilient.RetryPolicy{}
	is.Equal(b.Retry(resilient.MaxRetries(0)).Config().Retry, off)                                       // by itself
	is.Equal(b.Retry(resilient.MaxRetries(0), resilient.Backoff(sec, 2*sec)).Config().Retry, off)        // whatever else is said
	is.Equal(b.JSON([]byte(`{"retry": {"maxRetries": 0, "jitter": "full"}}`)).Config().Retry, off)       // in a document
	is.Equal(b.Retry(resilient.MaxRetries(0), resilient.MaxRetries(4)).Config().Retry.MaxRetries, 4)     // unless it is not the last word
	is.Equal(b.Retry(resilient.MaxRetries(0)).Retry().Config().Retry, resilient.Standard.Config().Retry) // a later verb switches on
	is.Equal(b.Retry(resilient.Off, resilient.MaxRetries(0)).Config().Retry, off)                        // after Off
	is.Equal(b.Retry(resilient.MaxRetries(0), resilient.Off).Config().Retry, off)                        // before it
	is.True(mistakes(by(func(c *resilient.Config) { c.Retry.MaxRetries = 0 })) != "")                    // in a Config, it may have been forgotten
	is.True(mistakes(alone().Retry(resilient.Off, resilient.FullJitter)) != "")                          // nor does Off swallow what follows
}

func TestRetryOptionsSetTheirField(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := resilient.New("x").Retry(
		resilient.MaxRetries(7), resilient.Backoff(sec, 9*sec), resilient.FullJitter,
		resilient.BackoffFunc(func() backoff.BackOff { return backoff.NewConstantBackOff(42) }),
		resilient.RetryAfter(false), resilient.MaxRetryAfter(5*sec), resilient.RetryMethods("GET", "PUT"),
		resilient.BufferLimit(99), resilient.RetryIf(func(a resilient.Attempt) bool { return a.Number == 3 }),
	).Config()
	is.Equal(c.Retry.BackoffFunc().NextBackOff(), time.Duration(42)) // the backoff is there
	is.True(c.Retry.RetryIf(resilient.Attempt{Number: 3}))           // so is the test
	c.Retry.BackoffFunc, c.Retry.RetryIf = nil, nil
	is.Equal(c.Retry, resilient.RetryPolicy{
		MaxRetries: 7, BackoffBase: sec, BackoffCap: 9 * sec, Jitter: resilient.FullJitter,
		MaxRetryAfter: 5 * sec, Methods: []string{"GET", "PUT"}, BufferLimit: 99,
	}) // each to its own
	is.Equal(resilient.New("x").Retry(resilient.SafeMethodsOnly).Config().Retry.ExceptMethods,
		[]string{"POST", "PUT", "PATCH", "DELETE", "CONNECT"}) // a list that has a name
}

// Exponential backoff is taken for meant when it is asked for after a function.
func TestBackoffTakesABackoffFuncAway(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := resilient.New("x").Retry(resilient.BackoffFunc(func() backoff.BackOff { return &backoff.ZeroBackOff{} }))
	is.True(b.Config().Retry.BackoffFunc != nil)                                                 // there it is
	is.True(b.Retry(resilient.Backoff(sec, 0)).Config().Retry.BackoffFunc == nil)                // gone, by the option
	is.True(b.JSON([]byte(`{"retry": {"backoffCap": "1s"}}`)).Config().Retry.BackoffFunc == nil) // and by a document
	is.True(b.Retry(resilient.MaxRetries(2)).Config().Retry.BackoffFunc != nil)                  // not by what has nothing to do with it
}

func TestJitterHasATextForm(t *testing.T) {
	t.Parallel()
	for text, j := range map[string]resilient.Jitter{
		`"decorrelated"`: resilient.Decorrelated, `"full"`: resilient.FullJitter, `"none"`: resilient.NoJitter,
	} {
		t.Run(text, func(t *testing.T) {
			is := is.New(t)
			got, err := json.Marshal(j)
			is.NoErr(err)               // it has one
			is.Equal(string(got), text) // this one
			var back resilient.Jitter
			is.NoErr(json.Unmarshal(got, &back)) // which is read
			is.Equal(back, j)                    // as the same
		})
	}
	is := is.New(t)
	_, err := resilient.Jitter(0).MarshalText()
	is.Equal(err.Error(), `resilient: Retry(Jitter(0)): has no text form; Decorrelated is the usual one`) // what is no jitter has none
	var j resilient.Jitter
	is.Equal(j.UnmarshalText([]byte("Full")).Error(), `resilient: Jitter("Full"): must be decorrelated, full or none; Decorrelated is the usual one`) // case matters
	is.Equal(j, resilient.Jitter(0))                                                                                                                  // and nothing is set
}
