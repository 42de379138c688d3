package resilient_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// What getting-started.md and replacing-http-defaultclient.md advise as the first change leaves time for the retry,
// whatever the first attempt ends with. Each call has a budget and a breaker of its own: they are asked about crowds.
func TestTimeoutsThatTheGuidesAdviseLeaveTimeForARetry(t *testing.T) {
	short := resilient.New("inventory").Defaults(resilient.Conservative).
		Timeout(resilient.Total(2*time.Second), resilient.PerAttempt(800*time.Millisecond))
	advised := short.Retry(resilient.Backoff(100*time.Millisecond, 500*time.Millisecond))
	for _, fault := range [][]httptestx.Step{httptestx.Unavailable(0), httptestx.Stall} {
		is := is.New(t)
		is.Equal(retriedInTime(t, advised, fault), 200)           // all
		is.True(retriedInTime(t, short, fault) < 180)             // with the preset's backoff some or most are denied,
		is.True(retriedInTime(t, short, fault) > 0)               // and it depends on jitter which
		is.Equal(short.Config().Retry.BackoffBase, 2*time.Second) // for its base is as long as the total
	}
	said := "a shorter total needs a shorter backoff: the preset's has a base of " + resilient.Conservative.Config().Retry.BackoffBase.String()
	for path, lines := range map[string][]string{
		"docs/guides/getting-started.md":              {"Total(2*time.Second), resilient.PerAttempt(800*time.Millisecond)", "Backoff(100*time.Millisecond, 500*time.Millisecond)"},
		"docs/guides/replacing-http-defaultclient.md": {"Total(2*time.Second), resilient.PerAttempt(800*time.Millisecond)", "Backoff(100*time.Millisecond, 500*time.Millisecond)"},
		"docs/strategies/timeouts.md":                 nil,
	} {
		text := flat(pageAt(t, path).text)
		is.New(t).True(strings.Contains(strings.ToLower(text), said)) // with the number of the preset
		for _, line := range lines {
			is.New(t).True(strings.Contains(text, line)) // it is what was played here
		}
	}
}

// retriedInTime is how many of 200 calls whose first attempt fails succeed.
func retriedInTime(t *testing.T, b resilient.Builder, fault []httptestx.Step) (succeeded int) {
	t.Helper()
	bubble(t, always(200, "ok"), func(w *world) {
		for i := range 200 {
			w.On(fmt.Sprintf("GET /%d", i)).First(1).Do(fault...)
			w.registry = resilient.NewRegistry()
			resp, err := w.client(b).Get(fmt.Sprintf("%s/%d", w.URL, i))
			if err != nil {
				continue
			}
			if read(w.T, resp); resp.StatusCode == http.StatusOK {
				succeeded++
			}
		}
	})
	return succeeded
}

// What docs/strategies/timeouts.md says of timeouts of which only one is given, and of an existing client's.
func TestDocsTellWhatBecomesOfTheOtherTimeout(t *testing.T) {
	b := resilient.New("inventory").Defaults(resilient.Conservative)
	existing := &http.Client{Timeout: 5 * time.Second}
	for name, tt := range map[string]struct {
		b    resilient.Builder
		want resilient.TimeoutPolicy
	}{
		"the attempt alone":       {b.Timeout(resilient.PerAttempt(60 * time.Second)), resilient.TimeoutPolicy{Total: time.Minute, PerAttempt: time.Minute}},
		"the total alone":         {b.Timeout(resilient.Total(2 * time.Second)), resilient.TimeoutPolicy{Total: 2 * time.Second, PerAttempt: 2 * time.Second}},
		"an existing client":      {b.Client(existing), resilient.TimeoutPolicy{Total: 5 * time.Second, PerAttempt: 5 * time.Second, TotalIncludesBody: true}},
		"with an attempt":         {b.Client(existing).Timeout(resilient.PerAttempt(time.Second)), resilient.TimeoutPolicy{Total: 5 * time.Second, PerAttempt: time.Second, TotalIncludesBody: true}},
		"with a total of its own": {b.Client(existing).Timeout(resilient.Total(20 * time.Second)), resilient.TimeoutPolicy{Total: 20 * time.Second, PerAttempt: 10 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) { is.New(t).Equal(tt.b.Config().Timeout, tt.want) })
	}
	for _, one := range []resilient.Builder{b.Timeout(resilient.Total(2 * time.Second)), b.Client(existing)} {
		bubble(t, always(200, "ok"), func(w *world) {
			is := is.New(w.T)
			w.On("/").First(1).Do(httptestx.Stall...)
			client := w.client(one)
			_, err := client.Get(w.URL)
			is.True(errors.Is(err, resilient.ErrTotalTimeout)) // the attempt's end is the call's
			is.Equal(w.arrived(), 1)                           // and nothing is retried
		})
	}
}

// What three pages say about low traffic has the numbers of the presets.
func TestDocsSayWhatTooFewCallsMean(t *testing.T) {
	is := is.New(t)
	c, s := resilient.Conservative.Config(), resilient.Standard.Config()
	is.Equal(c.Breaker.MinimumThroughput, s.Breaker.MinimumThroughput) // the pages say it of both
	is.Equal(c.Breaker.SamplingDuration, s.Breaker.SamplingDuration)   // the pages say it of both
	attempts := fmt.Sprintf("fewer than %d attempts in %s", c.Breaker.MinimumThroughput, c.Breaker.SamplingDuration.String())
	calls := fmt.Sprintf("fewer than %d calls in %s", c.Budget.MinimumThroughput, c.Budget.SamplingDuration.String())
	for path, said := range map[string][]string{
		"docs/strategies/retry.md":           {attempts, calls},
		"docs/strategies/circuit-breaker.md": {attempts},
		"docs/strategies/budget.md":          {calls},
	} {
		for _, words := range said {
			is.True(strings.Contains(flat(pageAt(t, path).text), words)) // as defaults.go has it
		}
	}
}

// What docs/strategies/timeouts.md shows of a report's line is in one.
func TestDocsShowTimeoutsAsAReportTellsThem(t *testing.T) {
	b := resilient.New("inventory").Defaults(resilient.None).Timeout(resilient.Total(2*time.Second), resilient.PerAttempt(800*time.Millisecond)).
		Retry(resilient.Backoff(500*time.Millisecond, 0), resilient.NoJitter)
	bubble(t, always(200, "ok"), func(w *world) {
		w.On("/").Do(httptestx.Stall...)
		ctx, report := resilient.WithReport(w.Context())
		req, err := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
		is := is.New(w.T)
		is.NoErr(err)
		_, err = w.client(b).Do(req)
		is.True(errors.Is(err, resilient.ErrTotalTimeout)) // in the second attempt
		text := flat(pageAt(w.T, "docs/strategies/timeouts.md").text)
		for _, shown := range []string{"attempt_timeout (may have been processed)", "ended by total_timeout after 2s"} {
			is.True(strings.Contains(text, "`"+shown+"`"))    // on the page
			is.True(strings.Contains(report.String(), shown)) // and in the line
		}
	})
}
