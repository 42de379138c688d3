package resilient_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

const msec, sec, hour = time.Millisecond, time.Second, time.Hour

func clientWith(timeout time.Duration) *http.Client { return &http.Client{Timeout: timeout} }

func TestPresetYieldsToTheUser(t *testing.T) {
	t.Parallel()
	b := resilient.New("x")
	for name, row := range map[string]struct {
		b                        resilient.Builder
		total, attempt, sampling time.Duration
	}{
		"nothing given":                           {b, 30 * sec, 10 * sec, 30 * sec},
		"attempt to a smaller total":              {b.Timeout(resilient.Total(5 * sec)), 5 * sec, 5 * sec, 30 * sec},
		"not to one that is as long":              {b.Timeout(resilient.Total(10 * sec)), 10 * sec, 10 * sec, 30 * sec},
		"total to a larger attempt, and sampling": {b.Timeout(resilient.PerAttempt(40 * sec)), 40 * sec, 40 * sec, 80 * sec},
		"sampling to a larger attempt":            {b.Timeout(resilient.PerAttempt(16 * sec)), 30 * sec, 16 * sec, 32 * sec},
		"not to one that fits":                    {b.Timeout(resilient.PerAttempt(15 * sec)), 30 * sec, 15 * sec, 30 * sec},
		"attempt to a smaller sampling":           {b.Breaker(resilient.SamplingDuration(8 * sec)), 30 * sec, 4 * sec, 8 * sec},
		"not to one that fits ":                   {b.Breaker(resilient.SamplingDuration(20 * sec)), 30 * sec, 10 * sec, 20 * sec},
		"attempt to both":                         {b.Timeout(resilient.Total(5 * sec)).Breaker(resilient.SamplingDuration(8 * sec)), 5 * sec, 4 * sec, 8 * sec},
		"sampling to an attempt of the user":      {b.Timeout(resilient.Total(60*sec), resilient.PerAttempt(20*sec)), 60 * sec, 20 * sec, 40 * sec},
		"in a document":                           {b.JSON([]byte(`{"timeout": {"perAttempt": "20s"}}`)), 30 * sec, 20 * sec, 40 * sec},
		"breaker in a document":                   {b.JSON([]byte(`{"breaker": {"samplingDuration": "8s"}}`)), 30 * sec, 4 * sec, 8 * sec},
		"a breaker switched on again":             {b.Breaker(resilient.SamplingDuration(50*sec), resilient.Off).Breaker().Timeout(resilient.PerAttempt(20 * sec)), 30 * sec, 20 * sec, 40 * sec},
		"whatever the order":                      {b.Timeout(resilient.Total(5 * sec)).Defaults(resilient.Standard), 5 * sec, 5 * sec, 30 * sec},
		"a strategy switched on":                  {b.Timeout(resilient.PerAttempt(20 * sec)).Breaker().Defaults(resilient.None), 0, 20 * sec, 40 * sec},
		"AI":                                      {b.Defaults(resilient.AI).Timeout(resilient.PerAttempt(90 * sec)), 180 * sec, 90 * sec, 180 * sec},
		"no attempt timeout: no rule":             {b.Timeout(resilient.PerAttempt(0)).Breaker(resilient.SamplingDuration(sec)), 30 * sec, 0, sec},
		"no total timeout: no rule":               {b.Timeout(resilient.Total(0), resilient.PerAttempt(14*sec)), 0, 14 * sec, 30 * sec},
		"a client's Timeout is the user's":        {b.Client(clientWith(6 * sec)), 6 * sec, 6 * sec, 30 * sec},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			c := row.b.Config()
			is.Equal(c.Timeout.Total, row.total)                            // the total timeout
			is.Equal(c.Timeout.PerAttempt, row.attempt)                     // the attempt timeout
			is.Equal(c.Breaker.SamplingDuration, row.sampling)              // the breaker's sampling duration
			is.Equal(mistakes(row.b.Registry(resilient.NewRegistry())), "") // and it builds
		})
	}
}

func TestBackoffOfAPresetYieldsToTheUser(t *testing.T) {
	t.Parallel()
	b := resilient.New("x").Defaults(resilient.AI) // 2s to 30s
	for name, row := range map[string]struct {
		document    string
		base, limit time.Duration
	}{
		"cap to a larger base":  {`{"retry": {"backoffBase": "60s"}}`, 60 * sec, 60 * sec},
		"base to a smaller cap": {`{"retry": {"backoffCap": "1s"}}`, sec, sec},
		"a cap of none is none": {`{"retry": {"backoffCap": "0s"}}`, 2 * sec, 0},
		"nothing if they fit":   {`{"retry": {"backoffBase": "10s"}}`, 10 * sec, 30 * sec},
		"both given":            {`{"retry": {"backoffBase": "1s", "backoffCap": "4s"}}`, sec, 4 * sec},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			b := b.JSON([]byte(row.document))
			is.Equal(b.Config().Retry.BackoffBase, row.base)            // the base
			is.Equal(b.Config().Retry.BackoffCap, row.limit)            // the cap
			is.Equal(mistakes(b.Registry(resilient.NewRegistry())), "") // and it builds
		})
	}
}

// The same values twice: by verbs, and in a Config written by hand, where everything is the user's.
func TestTwoValuesOfTheUserThatDoNotFitAreAnError(t *testing.T) {
	t.Parallel()
	byHand := func(change func(*resilient.Config)) resilient.Builder {
		c := resilient.Standard.Config()
		change(&c)
		return alone().Defaults(c)
	}
	for name, row := range map[string]struct {
		b    resilient.Builder
		want string
	}{
		"attempt over total": {
			alone().Timeout(resilient.Total(5*sec), resilient.PerAttempt(8*sec)),
			`Timeout(PerAttempt(8s)): must not exceed Timeout(Total(5s)); shorten the attempt or give the call more time`,
		},
		"attempt over total by hand": {
			byHand(func(c *resilient.Config) { c.Timeout.Total = 5 * sec }),
			`Timeout(PerAttempt(10s)): must not exceed Timeout(Total(5s)); shorten the attempt or give the call more time`,
		},
		"attempt over total in a document": {
			alone().JSON([]byte(`{"timeout": {"total": "5s", "perAttempt": "8s"}}`)),
			`Timeout(PerAttempt(8s)): must not exceed Timeout(Total(5s)); shorten the attempt or give the call more time`,
		},
		"attempt over a client's Timeout": {
			alone().Client(clientWith(5 * sec)).Timeout(resilient.PerAttempt(8 * sec)),
			`Timeout(PerAttempt(8s)): must not exceed Client(&http.Client{Timeout: 5s}); shorten the attempt or give the call more time`,
		},
		"sampling below twice the attempt": {
			alone().Timeout(resilient.PerAttempt(8 * sec)).Breaker(resilient.SamplingDuration(10 * sec)),
			`Breaker(SamplingDuration(10s)): must be at least twice Timeout(PerAttempt(8s)); sample for 16s or more, or shorten the attempt`,
		},
		"sampling below twice the attempt by hand": {
			byHand(func(c *resilient.Config) { c.Breaker.SamplingDuration = 19 * sec }),
			`Breaker(SamplingDuration(19s)): must be at least twice Timeout(PerAttempt(10s)); sample for 20s or more, or shorten the attempt`,
		},
		"base over cap": {
			alone().Retry(resilient.Backoff(3*sec, 2*sec)),
			`Retry(Backoff(3s, 2s)): the base must not exceed the cap; a cap of 0 is none`,
		},
		"base over cap by hand": {
			byHand(func(c *resilient.Config) { c.Retry.BackoffCap = sec }),
			`Retry(Backoff(2s, 1s)): the base must not exceed the cap; a cap of 0 is none`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(mistakes(row.b), `resilient: client "x": `+row.want) // both values are named
		})
	}
}

// A value out of range is reported by itself: what it would do to others is no news.
func TestValueOutOfRangeIsReportedOnce(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		b    resilient.Builder
		want string
	}{
		"total":    {alone().Timeout(resilient.Total(5 * msec)), `Timeout(Total(5ms)): must be 10ms to 24h, or 0 for none; the nearest is 10ms`},
		"attempt":  {alone().Timeout(resilient.PerAttempt(25 * hour)), `Timeout(PerAttempt(25h)): must be 10ms to 24h, or 0 for none; the nearest is 24h`},
		"sampling": {alone().Breaker(resilient.SamplingDuration(499 * msec)), `Breaker(SamplingDuration(499ms)): must be 500ms or more; the nearest is 500ms`},
		"base":     {alone().Defaults(resilient.AI).Retry(resilient.Backoff(25*hour, 30*sec)), `Retry(Backoff(25h, 30s)): the base must be 0s to 24h; a base of 0 does not wait`},
		"client":   {alone().Client(clientWith(5 * msec)), `Client(&http.Client{Timeout: 5ms}): must be 10ms to 24h, or 0 for none; the nearest is 10ms`},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(mistakes(row.b), `resilient: client "x": `+row.want) // the one mistake
		})
	}
}
