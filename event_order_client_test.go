package resilient_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// The events of a call tell its story in order, whatever other calls do meanwhile: a letter for each.
func TestEventsOfACallComeInOrder(t *testing.T) {
	t.Parallel()
	type callKey struct{}
	letters := map[string]string{
		"resilient.Waited": "w", "resilient.AttemptDone": "a", "resilient.RetryScheduled": "r", "resilient.RetryDenied": "n",
		"resilient.Rejected": "x", "resilient.EndpointSkipped": "s", "resilient.CallDone": "d", "resilient.BodyCut": "c",
		"resilient.BreakerChanged": "", // may be told a moment late, by another call
	}
	// A wait, then attempts with retries between them, perhaps a refusal at the end; then the call is done.
	story := regexp.MustCompile(`^w?(s*w?ar)*(s*x|s*w?an?|)d$`)
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same every time
		var dice sync.Mutex
		w.On("/").Func(func(*http.Request, int) []httptestx.Step {
			dice.Lock()
			defer dice.Unlock()
			steps := [][]httptestx.Step{
				httptestx.Plan(httptestx.Handle), httptestx.Unavailable(0), httptestx.Unavailable(time.Second), httptestx.LostResponse,
				httptestx.Plan(httptestx.Hang),
			}
			return append(httptestx.Plan(httptestx.Delay(time.Duration(random.IntN(500))*time.Millisecond)), steps[random.IntN(len(steps))]...)
		})
		var mu sync.Mutex
		stories := map[int]string{}
		c := w.client(resilient.New("orders").Timeout(resilient.PerAttempt(2*time.Second)).
			Retry(resilient.MaxRetries(2), every(time.Second)).Concurrency(resilient.Permits(8), resilient.Queue(20)).
			RateLimit(resilient.PerSecond(5), resilient.Wait(time.Second)).
			Endpoints(resilient.RoundRobin, resilient.Endpoint{URL: "http://a.test"}, resilient.Endpoint{URL: "http://b.test"}).
			Breaker(resilient.FailureRatio(0.9), resilient.MinimumThroughput(5), resilient.SamplingDuration(4*time.Second),
				resilient.BreakDuration(time.Second)).
			Observe(func(ctx context.Context, e resilient.Event) {
				mu.Lock()
				defer mu.Unlock()
				stories[ctx.Value(callKey{}).(int)] += letters[fmt.Sprintf("%T", e)]
			}))
		var calls sync.WaitGroup
		for i := range 60 {
			calls.Go(func() {
				r, _ := http.NewRequestWithContext(context.WithValue(w.Context(), callKey{}, i), "GET", "http://any.test", nil)
				if resp, err := c.Do(r); err == nil {
					read(w.T, resp)
				}
			})
		}
		calls.Wait()
		is.Equal(len(stories), 60)
		all := ""
		for _, s := range stories {
			all += s
			if !story.MatchString(s) {
				t.Errorf("the events of a call were %q", s)
			}
		}
		is.Equal(missing("wanrxsd", all), "") // the test has seen each kind
	})
}

// missing are the letters that are not in text.
func missing(letters, text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(text, r) {
			return -1
		}
		return r
	}, letters)
}
