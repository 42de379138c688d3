package quota_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/quota"
	"github.com/matryer/is"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// header makes headers of names and values in turn.
func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// told is an allowance of which everything is told.
func told(limit, remaining int64, reset time.Duration) quota.Allowance {
	return quota.Allowance{Limit: limit, Remaining: remaining, Reset: reset, HasLimit: true, HasRemaining: true, HasReset: true}
}

func TestLimitsAreReadOfEveryProvider(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		header http.Header
		want   quota.Limits
	}{
		{"OpenAI", header(
			"x-ratelimit-limit-requests", "5000", "x-ratelimit-remaining-requests", "4999", "x-ratelimit-reset-requests", "12ms",
			"x-ratelimit-limit-tokens", "160000", "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "6m0s",
		), quota.Limits{Requests: told(5000, 4999, 12*time.Millisecond), Tokens: told(160000, 0, 6*time.Minute)}},
		{"Azure, older", header("x-ratelimit-remaining-requests", "79", "x-ratelimit-remaining-tokens", "61353"),
			quota.Limits{Requests: quota.Allowance{Remaining: 79, HasRemaining: true},
				Tokens: quota.Allowance{Remaining: 61353, HasRemaining: true}}},
		{"Azure, newer", header("x-ratelimit-limit-tokens", "30000", "x-ratelimit-remaining-tokens", "0",
			"x-ratelimit-reset-tokens", "55"), quota.Limits{Tokens: told(30000, 0, 55*time.Second)}},
		{"Azure, the other spelling", header("x-rate-limit-reset-tokens", "55", "x-ratelimit-remaining-requests", "5"),
			quota.Limits{Requests: quota.Allowance{Remaining: 5, HasRemaining: true},
				Tokens: quota.Allowance{Reset: 55 * time.Second, HasReset: true}}},
		{"Azure, both spellings", header("x-rate-limit-reset-tokens", "55", "x-ratelimit-remaining-tokens", "0"),
			quota.Limits{Tokens: quota.Allowance{Reset: 55 * time.Second, HasRemaining: true, HasReset: true}}},
		{"Azure, nonsense", header("x-ratelimit-limit-tokens", "-1", "x-ratelimit-remaining-tokens", "-1",
			"x-ratelimit-reset-tokens", "0"), quota.Limits{}},
		{"zeros", header("x-ratelimit-limit-tokens", "0", "x-ratelimit-remaining-tokens", "0"), quota.Limits{}},
		{"Anthropic", header(
			"anthropic-ratelimit-requests-limit", "50", "anthropic-ratelimit-requests-remaining", "49",
			"anthropic-ratelimit-requests-reset", "2026-11-30T12:00:01Z",
			"anthropic-ratelimit-tokens-limit", "48000", "anthropic-ratelimit-tokens-remaining", "8000",
			"anthropic-ratelimit-tokens-reset", "2026-11-30T12:00:50Z",
			"anthropic-ratelimit-input-tokens-limit", "40000", "anthropic-ratelimit-input-tokens-remaining", "39000",
			"anthropic-ratelimit-input-tokens-reset", "2026-11-30T12:00:02Z",
			"anthropic-ratelimit-output-tokens-limit", "8000", "anthropic-ratelimit-output-tokens-remaining", "0",
			"anthropic-ratelimit-output-tokens-reset", "2026-11-30T13:00:59+01:00",
		), quota.Limits{Requests: told(50, 49, time.Second), Tokens: told(8000, 0, 59*time.Second)}},
		{"GitHub", header("x-ratelimit-limit", "60", "x-ratelimit-remaining", "0", "x-ratelimit-reset", "1796040090"),
			quota.Limits{Requests: told(60, 0, 90*time.Second)}},
		{"the same left of two", header(
			"anthropic-ratelimit-input-tokens-remaining", "0", "anthropic-ratelimit-input-tokens-reset", "2026-11-30T12:00:02Z",
			"anthropic-ratelimit-output-tokens-remaining", "0", "anthropic-ratelimit-output-tokens-reset", "2026-11-30T12:00:01Z",
		), quota.Limits{Tokens: quota.Allowance{Reset: 2 * time.Second, HasRemaining: true, HasReset: true}}},
		{"a limit only", header("x-ratelimit-limit-tokens", "5"),
			quota.Limits{Tokens: quota.Allowance{Limit: 5, HasLimit: true}}},
		{"none", http.Header{}, quota.Limits{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(quota.ReadLimits(c.header, noon), c.want) // the quota is another
		})
	}
}

func TestResetIsReadInEveryForm(t *testing.T) {
	t.Parallel()
	const ignored = 0
	for value, want := range map[string]time.Duration{
		"6m0s":                  6 * time.Minute,
		"8.64s":                 8640 * time.Millisecond,
		"12ms":                  12 * time.Millisecond,
		"1h2m3s":                time.Hour + 2*time.Minute + 3*time.Second,
		"55":                    55 * time.Second,
		"0.5":                   500 * time.Millisecond,
		"1796040010":            10 * time.Second,
		"1796040000":            ignored, // it has passed
		"1796040010000":         ignored, // milliseconds are nobody's
		"2026-11-30T12:00:10Z":  10 * time.Second,
		"2026-11-30T12:00:10.5": ignored, // no zone
		"2026-11-30T11:59:59Z":  ignored,
		"0":                     ignored,
		"0s":                    ignored,
		"-1":                    ignored,
		"-5s":                   ignored,
		"":                      ignored,
		"soon":                  ignored,
		"NaN":                   ignored,
		"Inf":                   ignored,
		"1e300":                 ignored,
	} {
		t.Run(value, func(t *testing.T) {
			is := is.New(t)
			got := quota.ReadLimits(header("x-ratelimit-reset-tokens", value), noon).Tokens
			is.Equal(got.Reset, want)               // the time of reset is another
			is.Equal(got.HasReset, want != ignored) // it is told although it can't be read, or the reverse
		})
	}
}

func TestWaitIsUntilTheResetOfWhatIsUsedUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"tokens used up", header("x-ratelimit-remaining-requests", "10", "x-ratelimit-reset-requests", "1h",
			"x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "8.64s"), 8640 * time.Millisecond},
		{"both used up", header("x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "20s",
			"x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "8.64s"), 20 * time.Second},
		{"neither", header("x-ratelimit-remaining-requests", "1", "x-ratelimit-reset-requests", "20s"), 0},
		{"a reset without a word on what remains", header("x-rate-limit-reset-tokens", "55",
			"x-ratelimit-remaining-requests", "3"), 55 * time.Second},
		{"what is used up comes before what is not told", header("x-ratelimit-reset-requests", "1h",
			"x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "2s"), 2 * time.Second},
		{"nonsense", header("x-ratelimit-remaining-tokens", "-1", "x-ratelimit-reset-tokens", "0"), 0},
		{"a reset that has passed", header("anthropic-ratelimit-tokens-remaining", "0",
			"anthropic-ratelimit-tokens-reset", "2026-11-30T11:00:00Z"), 0},
		{"output tokens only", header("anthropic-ratelimit-input-tokens-remaining", "5",
			"anthropic-ratelimit-input-tokens-reset", "2026-11-30T13:00:00Z", "anthropic-ratelimit-output-tokens-remaining", "0",
			"anthropic-ratelimit-output-tokens-reset", "2026-11-30T12:00:07Z"), 7 * time.Second},
		{"Retry-After is not its business", header("Retry-After", "5"), 0},
		{"none", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			got, ok := quota.Wait(c.header, noon)
			is.Equal(got, c.want)    // the wait is another
			is.Equal(ok, c.want > 0) // a wait of nothing is none
		})
	}
}

func TestShouldRetryIsTheServersWord(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][2]bool{"true": {true, true}, "false": {false, true}, "": {}, "1": {}, "True": {}} {
		is := is.New(t)
		retry, said := quota.ShouldRetry(header("x-should-retry", value))
		is.Equal([2]bool{retry, said}, want) // the word was understood otherwise
	}
}

func FuzzHeaders(f *testing.F) {
	for _, s := range []string{"6m0s", "55", "-1", "0", "1796040010", "2026-11-30T12:00:10Z", "NaN", "1e300", "9223372036854775808"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, remaining, reset string) {
		h := header("x-ratelimit-remaining-tokens", remaining, "x-ratelimit-reset-tokens", reset,
			"anthropic-ratelimit-requests-remaining", remaining, "anthropic-ratelimit-requests-reset", reset)
		l := quota.ReadLimits(h, noon)
		for _, a := range []quota.Allowance{l.Requests, l.Tokens} {
			if a.Remaining < 0 || a.Reset < 0 || a.HasReset != (a.Reset > 0) || a.HasRemaining && a.Remaining == 0 && !a.HasReset {
				t.Fatalf("%q, %q: %+v", remaining, reset, a)
			}
		}
		if d, ok := quota.Wait(h, noon); d < 0 || ok != (d > 0) {
			t.Fatalf("%q, %q: %v, %v", remaining, reset, d, ok)
		}
	})
}
