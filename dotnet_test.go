package resilient_test

import (
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// A section as it stands in an appsettings.json, with all that may be said there.
const httpResilience = `{
	"TotalRequestTimeout": {"Timeout": "00:00:40"},
	"AttemptTimeout": {"Timeout": "00:00:08.5", "Name": "attempt"},
	"RateLimiter": {"DefaultRateLimiterOptions": {"PermitLimit": 200, "QueueLimit": "50", "QueueProcessingOrder": "OldestFirst"}},
	"Retry": {
		"MaxRetryAttempts": 2, "Delay": "00:00:00.2000000", "MaxDelay": "0.00:00:02", "BackoffType": "Exponential",
		"UseJitter": "True", "ShouldRetryAfterHeader": false, "Name": "retry",
		"RetryBudget": {"RetryRatio": "0.05", "SamplingDuration": "00:01:00", "MinimumThroughput": 50}
	},
	"CircuitBreaker": {"FailureRatio": 0.2, "MinimumThroughput": 20, "SamplingDuration": "00:00:30", "BreakDuration": "00:00:15"}
}`

func TestSettingsOfDotnetAreReadAsTheyAre(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := resilient.New("catalog").JSON([]byte(httpResilience))
	_, err := b.Registry(resilient.NewRegistry()).Build()
	is.NoErr(err)
	want := resilient.Standard.Config()
	want.Timeout.Total, want.Timeout.PerAttempt = 40*time.Second, 8500*time.Millisecond
	want.Concurrency = resilient.ConcurrencyPolicy{Permits: 200, Queue: 50}
	want.Retry.MaxRetries, want.Retry.BackoffBase, want.Retry.BackoffCap = 2, 200*time.Millisecond, 2*time.Second
	want.Retry.RetryAfter = false
	want.Budget = resilient.BudgetPolicy{RetryRatio: 0.05, SamplingDuration: time.Minute, MinimumThroughput: 50}
	want.Breaker = resilient.BreakerPolicy{
		FailureRatio: 0.2, MinimumThroughput: 20, SamplingDuration: 30 * time.Second, BreakDuration: 15 * time.Second,
	}
	is.Equal(b.Config(), want)
}

func TestBackoffOfDotnetBecomesOneOfOurs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		document string
		jitter   resilient.Jitter
		most     time.Duration
		problem  string
	}{
		"exponential":           {`"BackoffType": "Exponential"`, resilient.Decorrelated, 0, ""},
		"exponential, even":     {`"BackoffType": "Exponential", "UseJitter": false`, resilient.NoJitter, 0, ""},
		"without jitter":        {`"UseJitter": false`, resilient.NoJitter, 0, ""},
		"constant":              {`"BackoffType": "Constant"`, resilient.NoJitter, 3 * time.Second, ""},
		"constant, with jitter": {`"BackoffType": "Constant", "UseJitter": true`, 0, 0, `JSON(Retry.BackoffType: "Constant"): has no counterpart here; use Exponential, or Constant without UseJitter, or BackoffFunc`},
		"linear":                {`"BackoffType": "Linear"`, 0, 0, `JSON(Retry.BackoffType: "Linear"): has no counterpart here; use Exponential, or Constant without UseJitter, or BackoffFunc`},
		"mistyped":              {`"BackoffType": "Expo"`, 0, 0, `JSON(Retry.BackoffType: "Expo"): must be Exponential or Constant; Exponential is the usual one`},
		"unknown":               {`"MaxRetries": 1`, 0, 0, `JSON(Retry.MaxRetries): line 1: there is no such setting; there are MaxRetryAttempts, Delay, MaxDelay, BackoffType, UseJitter, ShouldRetryAfterHeader, Name, RetryBudget; read as .NET settings because of the capital letter: keys of this library begin in lower case, as retry.maxRetries`},
		"another order":         {`"Delay": "3"`, 0, 0, `JSON(Retry.Delay: "3"): line 1: must be a duration such as "30s" or "00:00:30"; write "3s" if seconds are meant`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			b := resilient.New("x").Registry(resilient.NewRegistry()).JSON([]byte(`{"Retry": {"Delay": "00:00:03", ` + c.document + `}}`))
			if c.document == `"Delay": "3"` {
				b = resilient.New("x").Registry(resilient.NewRegistry()).JSON([]byte(`{"Retry": {` + c.document + `}}`))
			}
			_, err := b.Build()
			if c.problem != "" {
				is.True(err != nil)
				is.Equal(err.Error(), `resilient: client "x": `+c.problem)
				return
			}
			is.NoErr(err)
			is.Equal(b.Config().Retry.Jitter, c.jitter)
			is.Equal(b.Config().Retry.BackoffCap, c.most)
		})
	}
}

func TestDurationsAreReadInBothForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "00:00:30": 30 * time.Second, "01:02:03": time.Hour + 2*time.Minute + 3*time.Second,
		"1.00:00:00": 24 * time.Hour, "00:00:00.0000001": 100, "0:00:05": 5 * time.Second,
	} {
		is := is.New(t)
		var c resilient.Config
		is.NoErr(c.UnmarshalJSON([]byte(`{"timeout": {"total": "` + text + `"}}`)))
		is.Equal(c.Timeout.Total, want)
	}
	for _, text := range []string{"00:30", "24:00:00", "00:60:00", "00:00:60", "-00:00:01", "00:00:00.00000001", "10000.00:00:00", " 00:00:01"} {
		is := is.New(t)
		var c resilient.Config
		is.True(c.UnmarshalJSON([]byte(`{"timeout": {"total": "`+text+`"}}`)) != nil) // it is neither
	}
}

func TestUnknownKeyIsToldWhatWasProbablyMeant(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"Breaker": "", "braeker": "did you mean breaker?", "timeuot": "did you mean timeout?", "concurency": "did you mean concurrency?",
		"perauthority": "did you mean perAuthority?", "retries": "did you mean retry?", "retires": "did you mean retry?", "zzz": "there are timeout, ",
	} {
		is := is.New(t)
		_, err := resilient.New("x").Registry(resilient.NewRegistry()).JSON([]byte(`{"retry": {}, "` + key + `": {}}`)).Build()
		is.True(err != nil)
		if want != "" {
			is.True(strings.Contains(err.Error(), want)) // the name is near, or all are listed
		}
	}
}

func TestDocumentMaySayWhichFormItHas(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := resilient.New("x").Registry(resilient.NewRegistry()).JSON([]byte(`{"$schema": "../client.json", "retry": {"maxRetries": 2}}`))
	_, err := b.Build()
	is.NoErr(err)
	is.Equal(b.Config().Retry.MaxRetries, 2)
	_, err = resilient.New("x").JSON([]byte(`{"retry": {"$schema": "x"}}`)).Build()
	is.True(err != nil) // only of the whole
}
