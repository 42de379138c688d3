package resilient_test

import (
	"fmt"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// The rows are those of the table in the documentation. A preset is frozen: a row that fails is not to be changed.
func TestPresetsAreFrozen(t *testing.T) {
	t.Parallel()
	presets := []resilient.Preset{resilient.None, resilient.Standard, resilient.Conservative, resilient.AI}
	for _, row := range []struct {
		setting string
		get     func(resilient.Config) any
		want    [4]any // None, Standard, Conservative, AI
	}{
		{"permits", func(c resilient.Config) any { return c.Concurrency.Permits }, [4]any{0, 1000, 1000, 1000}},
		{"queue", func(c resilient.Config) any { return c.Concurrency.Queue }, [4]any{0, 0, 0, 0}},
		{"total timeout", func(c resilient.Config) any { return c.Timeout.Total }, [4]any{"0s", "30s", "30s", "3m0s"}},
		{"total includes body", func(c resilient.Config) any { return c.Timeout.TotalIncludesBody }, [4]any{false, false, false, false}},
		{"attempt timeout", func(c resilient.Config) any { return c.Timeout.PerAttempt }, [4]any{"0s", "10s", "10s", "1m0s"}},
		{"body idle timeout", func(c resilient.Config) any { return c.Timeout.BodyIdle }, [4]any{"0s", "0s", "0s", "1m0s"}},
		{"max retries", func(c resilient.Config) any { return c.Retry.MaxRetries }, [4]any{0, 3, 1, 5}},
		{"backoff base", func(c resilient.Config) any { return c.Retry.BackoffBase }, [4]any{"0s", "2s", "2s", "2s"}},
		{"backoff cap", func(c resilient.Config) any { return c.Retry.BackoffCap }, [4]any{"0s", "0s", "0s", "30s"}},
		{"jitter", func(c resilient.Config) any { return c.Retry.Jitter }, [4]any{"Jitter(0)", "Decorrelated", "Decorrelated", "Decorrelated"}},
		{"Retry-After honoured", func(c resilient.Config) any { return c.Retry.RetryAfter }, [4]any{false, true, true, true}},
		{"longest Retry-After", func(c resilient.Config) any { return c.Retry.MaxRetryAfter }, [4]any{"0s", "0s", "0s", "1m0s"}},
		{"buffer limit", func(c resilient.Config) any { return c.Retry.BufferLimit }, [4]any{0, 65536, 65536, 65536}},
		{"methods", func(c resilient.Config) any { return c.Retry.Methods == nil && c.Retry.ExceptMethods == nil }, [4]any{true, true, true, true}},
		{"functions", func(c resilient.Config) any {
			return c.Retry.BackoffFunc == nil && c.Retry.RetryIf == nil && c.Breaker.BreakDurationFunc == nil
		}, [4]any{true, true, true, true}},
		{"ambiguous not retried", func(c resilient.Config) any { return c.Idempotency.UnprocessedOnly }, [4]any{false, false, true, false}},
		{"ambiguous statuses", func(c resilient.Config) any { return c.Idempotency.AmbiguousStatuses == nil }, [4]any{true, true, true, true}},
		{"keys generated", func(c resilient.Config) any { return c.Idempotency.GenerateKeys }, [4]any{false, false, false, false}},
		{"retry ratio", func(c resilient.Config) any { return c.Budget.RetryRatio }, [4]any{"0", "0", "0.1", "0.2"}},
		{"budget sampling", func(c resilient.Config) any { return c.Budget.SamplingDuration }, [4]any{"0s", "0s", "30s", "2m0s"}},
		{"budget minimum", func(c resilient.Config) any { return c.Budget.MinimumThroughput }, [4]any{0, 0, 100, 10}},
		{"low volume retries", func(c resilient.Config) any { return c.Budget.LowVolumeRetries }, [4]any{0, 0, 0, 0}},
		{"budget name", func(c resilient.Config) any { return c.Budget.Name }, [4]any{"", "", "", ""}},
		{"failure ratio", func(c resilient.Config) any { return c.Breaker.FailureRatio }, [4]any{"0", "0.1", "0.5", "0.7"}},
		{"breaker minimum", func(c resilient.Config) any { return c.Breaker.MinimumThroughput }, [4]any{0, 100, 100, 10}},
		{"breaker sampling", func(c resilient.Config) any { return c.Breaker.SamplingDuration }, [4]any{"0s", "30s", "30s", "2m0s"}},
		{"break", func(c resilient.Config) any { return c.Breaker.BreakDuration }, [4]any{"0s", "5s", "5s", "15s"}},
		{"break until Retry-After", func(c resilient.Config) any { return c.Breaker.BreakUntilRetryAfter }, [4]any{false, false, false, true}},
		{"per authority", func(c resilient.Config) any { return c.PerAuthority }, [4]any{false, false, false, false}},
	} {
		for i, preset := range presets {
			t.Run(row.setting+" of "+preset.String(), func(t *testing.T) {
				is := is.New(t)
				is.Equal(fmt.Sprint(row.get(preset.Config())), fmt.Sprint(row.want[i])) // it is what was released
			})
		}
	}
}

func TestEveryPresetIsSound(t *testing.T) {
	t.Parallel()
	for _, preset := range []resilient.Preset{resilient.None, resilient.Standard, resilient.Conservative, resilient.AI} {
		t.Run(preset.String(), func(t *testing.T) {
			is := is.New(t)
			is.Equal(mistakes(alone().Defaults(preset)), "")                                                     // it breaks no rule
			is.Equal(resilient.New("x").Defaults(preset).Config(), preset.Config())                              // nothing in it has to yield
			is.Equal(mistakes(alone().Defaults(preset.Config())), "")                                            // nor by hand
			is.Equal(resilient.New("x").Defaults(preset.Config()).Config(), preset.Config())                     // where nothing may
			is.Equal(resilient.New("x").Defaults(resilient.New("y").Defaults(preset)).Config(), preset.Config()) // nor at second hand
		})
	}
}

func TestNewWithoutDefaultsIsStandard(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.Equal(resilient.New("x").Config(), resilient.Standard.Config()) // the same values
}

func TestPresetConfigIsACopy(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := resilient.Standard.Config()
	c.Retry.MaxRetries = 99
	is.Equal(resilient.Standard.Config().Retry.MaxRetries, 3) // the preset is as it was

	c.Retry.Methods, c.Retry.ExceptMethods = []string{"GET"}, []string{"POST"}
	c.Idempotency.AmbiguousStatuses = []int{500}
	d := c.Config()
	d.Retry.Methods[0], d.Retry.ExceptMethods[0], d.Idempotency.AmbiguousStatuses[0] = "x", "x", 0
	is.Equal(c.Retry.Methods, []string{"GET"})                  // a copy of a Config has lists of its own
	is.Equal(c.Retry.ExceptMethods, []string{"POST"})           // all of them
	is.Equal(c.Idempotency.AmbiguousStatuses, []int{500})       // really
	is.Equal(resilient.Preset(42).Config(), resilient.Config{}) // what is no preset has nothing on
	is.Equal(resilient.Preset(42).String(), "Preset(42)")       // and no name
}
