package resilient_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
	"github.com/matryer/is"
)

// asks is a plan that answers with 503 and these headers.
func asks(kv ...string) []httptestx.Step { return httptestx.Plan(httptestx.Status(503, kv...)) }

// The backoff, which Retry-After replaces, is 7 s. A bubble's time
// begins at a full second.
func TestServerSaysWhenToComeAgain(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) func(time.Time) string {
		return func(now time.Time) string { return now.Add(d).UTC().Format(http.TimeFormat) }
	}
	is := func(v string) func(time.Time) string { return func(time.Time) string { return v } }
	for name, c := range map[string]struct {
		header string
		value  func(time.Time) string
		wait   time.Duration
		asked  bool
	}{
		"seconds":           {"Retry-After", is("3"), 3 * time.Second, true},
		"more than backoff": {"Retry-After", is("3600"), time.Hour, true},
		"at once":           {"Retry-After", is("0"), 0, true},
		"date":              {"Retry-After", in(3 * time.Second), 3 * time.Second, true},
		"date of RFC 850":   {"Retry-After", is("Saturday, 01-Jan-00 00:00:03 GMT"), 3 * time.Second, true},
		"date of asctime":   {"Retry-After", is("Sat Jan  1 00:00:03 2000"), 3 * time.Second, true},
		"now":               {"Retry-After", in(0), 0, true},
		"past":              {"Retry-After", in(-10 * time.Second), 0, true},
		"milliseconds":      {"Retry-After-Ms", is("1500"), 1500 * time.Millisecond, true},
		"parts of them":     {"X-Ms-Retry-After-Ms", is("0.5"), 500 * time.Microsecond, true},
		"negative":          {"Retry-After", is("-5"), 7 * time.Second, false},
		"fraction":          {"Retry-After", is("1.5"), 7 * time.Second, false},
		"garbage":           {"Retry-After", is("soon"), 7 * time.Second, false},
		"empty":             {"Retry-After", is(""), 7 * time.Second, false},
		"list":              {"Retry-After", is("12, 30"), 7 * time.Second, false},
		"garbage millis":    {"Retry-After-Ms", is("NaN"), 7 * time.Second, false},
		"negative millis":   {"Retry-After-Ms", is("-1"), 7 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assertWait(t, 503, c.header, c.value, c.wait, c.asked)
		})
	}
}

func TestEveryStatusThatIsRetriedMaySayWhen(t *testing.T) {
	t.Parallel()
	for _, status := range []int{408, 429, 500, 502, 503, 504, 529} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			assertWait(t, status, "Retry-After", func(time.Time) string { return "3" }, 3*time.Second, true)
		})
	}
}

func assertWait(t *testing.T, status int, header string, value func(time.Time) string, wait time.Duration, asked bool) {
	t.Helper()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		start := time.Now()
		w.On("/").Script(httptestx.Plan(httptestx.Status(status, header, value(start))))
		resp, err := w.client(retrying(every(7 * time.Second))).Get(w.URL)
		is.NoErr(err)                                                        // the retry is answered
		is.Equal(read(w.T, resp), "ok")                                      // in full
		is.Equal(w.arrivals(start), []time.Duration{0, wait})                // exactly when it was due
		is.Equal(eventsOf[resilient.RetryScheduled](w)[0].Delay, wait)       // as was said beforehand
		is.Equal(eventsOf[resilient.RetryScheduled](w)[0].RetryAfter, asked) // with whose wish it was
	})
}

// Dates have seconds, the clock has nanoseconds: a date is never rounded to an
// earlier time.
func TestDateIsNeverActedOnEarly(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		time.Sleep(999*time.Millisecond + 999999)
		due := time.Now().Add(2 * time.Second).Truncate(time.Second)
		w.On("/").Script(asks("Retry-After", due.UTC().Format(http.TimeFormat)))
		resp, err := w.client(retrying(every(7 * time.Second))).Get(w.URL)
		is.NoErr(err) // the retry is answered
		read(w.T, resp)
		is.Equal(w.Exchanges()[1].Arrived, due) // at the date, to the nanosecond
	})
}

func TestMillisecondsGoBeforeSeconds(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		start := time.Now()
		w.On("/").Script(asks("Retry-After", "1", "Retry-After-Ms", "250", "X-Ms-Retry-After-Ms", "999"))
		resp, err := w.client(retrying(every(7 * time.Second))).Get(w.URL)
		is.NoErr(err) // the retry is answered
		read(w.T, resp)
		is.Equal(w.arrivals(start), []time.Duration{0, 250 * time.Millisecond}) // the finer word counts
	})
}

func TestRetryAfterCanBeDisregarded(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"1", "99999999999"} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, "ok"), func(w *world) {
				is := is.New(w.T)
				start := time.Now()
				w.On("/").Script(asks("Retry-After", value))
				resp, err := w.client(retrying(resilient.RetryAfter(false), every(7*time.Second))).Get(w.URL)
				is.NoErr(err) // the retry is answered
				read(w.T, resp)
				is.Equal(w.arrivals(start), []time.Duration{0, 7 * time.Second}) // after our own wait
				is.True(!eventsOf[resilient.RetryScheduled](w)[0].RetryAfter)    // as is told
			})
		})
	}
}

// The backoff moves on when the server's word replaces it, and its cap does not
// shorten what the server asks for.
func TestRetryAfterReplacesOneStepOfTheBackoff(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		start := time.Now()
		w.On("/").Script(asks(), asks("Retry-After", "30"), asks())
		c := w.client(retrying(resilient.MaxRetries(3), resilient.Backoff(time.Second, 4*time.Second), resilient.NoJitter))
		resp, err := c.Get(w.URL)
		is.NoErr(err) // the third retry is answered
		read(w.T, resp)
		is.Equal(w.arrivals(start), []time.Duration{0, time.Second, 31 * time.Second, 35 * time.Second}) // 1, 30 for 2, 4
	})
}

// Too long a wait is no wait: the response is handed back at once, and nothing
// is sent before its time.
func TestServerThatAsksForTooLongAWaitGetsNoRetry(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		value    string
		policy   []resilient.RetryOption
		total    time.Duration
		deadline time.Duration
		reason   string // of the denial; none: the retry is made after the wait
	}{
		"above the maximum":                  {value: "61", policy: longest(time.Minute), reason: "retry_after"},
		"the maximum":                        {value: "60", policy: longest(time.Minute)},
		"an hour":                            {value: "3600", policy: longest(10 * time.Second), total: 30 * time.Second, reason: "retry_after"},
		"above the total":                    {value: "31", total: 30 * time.Second, reason: "retry_after"},
		"within the total":                   {value: "29", total: 30 * time.Second},
		"below the maximum, above the total": {value: "50", policy: longest(time.Minute), total: 30 * time.Second, reason: "deadline"},
		"above the deadline":                 {value: "31", deadline: 30 * time.Second, reason: "deadline"},
		"the deadline":                       {value: "30", deadline: 30 * time.Second, reason: "deadline"},
		"within the deadline":                {value: "29", deadline: 30 * time.Second},
		"an hour, nothing bounds it":         {value: "3600"},
		"the longest maximum":                {value: "86400", policy: longest(day)},
		"beyond the longest":                 {value: "86401", policy: longest(day), reason: "retry_after"},
		"3000 years":                         {value: "99999999999", reason: "retry_after"},
		"3000 years, bounded":                {value: "99999999999", policy: longest(day), total: day, reason: "retry_after"},
		"more than a number":                 {value: "99999999999999999999999999", reason: "retry_after"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, "ok"), func(w *world) {
				is := is.New(w.T)
				w.On("/").Script(asks("Retry-After", c.value))
				ctx := w.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				r, _ := http.NewRequestWithContext(ctx, "GET", w.URL, nil)
				b := retrying(every(0)).Retry(c.policy...)
				if c.total > 0 {
					b = b.Timeout(resilient.Total(c.total))
				}
				start := time.Now()
				resp, err := w.client(b).Do(r)
				is.NoErr(err) // it is answered
				if c.reason == "" {
					is.Equal(read(w.T, resp), "ok") // by the retry
					n, _ := strconv.Atoi(c.value)
					is.Equal(w.arrivals(start), []time.Duration{0, time.Duration(n) * time.Second}) // when it was asked for
					return
				}
				is.Equal(read(w.T, resp), "Service Unavailable")  // by the first attempt
				is.Equal(resp.Header.Get("Retry-After"), c.value) // whose headers say when
				is.Equal(w.arrived(), 1)                          // nothing was sent early
				is.Equal(time.Since(start), time.Duration(0))     // and nobody waited in vain
				is.Equal(w.denials(), []string{c.reason})         // for this reason
			})
		})
	}
}

func longest(d time.Duration) []resilient.RetryOption {
	return []resilient.RetryOption{resilient.MaxRetryAfter(d)}
}

// What was asked of an earlier attempt is not asked of the next.
func TestEachResponseSpeaksForItself(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, "ok"), func(w *world) {
		is := is.New(w.T)
		start := time.Now()
		w.On("/").Script(asks("Retry-After", "30", "Connection", "close"), httptestx.LostResponse)
		resp, err := w.client(retrying(every(7 * time.Second))).Get(w.URL)
		is.NoErr(err) // the second retry is answered
		read(w.T, resp)
		is.Equal(w.arrivals(start), []time.Duration{0, 30 * time.Second, 37 * time.Second}) // an error asks for nothing
	})
}
