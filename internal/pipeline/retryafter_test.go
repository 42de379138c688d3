package pipeline

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestRetryAfterIsReadInEveryForm(t *testing.T) {
	const ignored = -1
	for _, c := range []struct {
		name, header, value string
		want                time.Duration
	}{
		{"seconds", "Retry-After", "120", 2 * time.Minute},
		{"zero seconds", "Retry-After", "0", 0},
		{"leading zeros", "Retry-After", "007", 7 * time.Second},
		{"negative", "Retry-After", "-5", ignored},
		{"plus sign", "Retry-After", "+5", ignored},
		{"fraction", "Retry-After", "1.5", ignored},
		{"empty", "Retry-After", "", ignored},
		{"words", "Retry-After", "soon", ignored},
		{"a list", "Retry-After", "12, 30", ignored},
		{"more than a duration holds", "Retry-After", "99999999999", math.MaxInt64},
		{"more than an int64 holds", "Retry-After", "99999999999999999999999", math.MaxInt64},
		{"IMF date", "Retry-After", "Mon, 30 Nov 2026 12:00:03 GMT", 3 * time.Second},
		{"RFC 850 date", "Retry-After", "Monday, 30-Nov-26 12:00:03 GMT", 3 * time.Second},
		{"asctime date", "Retry-After", "Mon Nov 30 12:00:03 2026", 3 * time.Second},
		{"past date", "Retry-After", "Mon, 30 Nov 2026 11:59:50 GMT", 0},
		{"milliseconds", "Retry-After-Ms", "1500", 1500 * time.Millisecond},
		{"a fraction of milliseconds", "Retry-After-Ms", "2.5", 2500 * time.Microsecond},
		{"Azure's milliseconds", "X-Ms-Retry-After-Ms", "20", 20 * time.Millisecond},
		{"negative milliseconds", "Retry-After-Ms", "-1", ignored},
		{"NaN milliseconds", "Retry-After-Ms", "NaN", ignored},
		{"infinite milliseconds", "Retry-After-Ms", "Inf", ignored},
		{"too many milliseconds", "Retry-After-Ms", "1e300", math.MaxInt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			h := http.Header{}
			h.Set(c.header, c.value)
			got, ok := retryAfter(h, noon)
			if c.want == ignored {
				is.True(!ok) // it can't be read, so the backoff stands
				return
			}
			is.True(ok)           // it is understood
			is.Equal(got, c.want) // as the delay it means
		})
	}
}

func TestMillisecondsComeBeforeSeconds(t *testing.T) {
	is := is.New(t)
	h := http.Header{"Retry-After": {"2", "9"}, "Retry-After-Ms": {"1200"}}
	got, ok := retryAfter(h, noon)
	is.True(ok)
	is.Equal(got, 1200*time.Millisecond) // the finer one
	h.Del("Retry-After-Ms")
	got, _ = retryAfter(h, noon)
	is.Equal(got, 2*time.Second) // the first of two lines
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"120", "-5", "1.5", "Mon, 30 Nov 2026 12:00:03 GMT", "99999999999999999999", "NaN", ""} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, seconds, ms string) {
		d, ok := retryAfter(http.Header{"Retry-After": {seconds}, "Retry-After-Ms": {ms}}, noon)
		if d < 0 || !ok && d != 0 {
			t.Fatalf("Retry-After %q, Retry-After-Ms %q: %v, %v", seconds, ms, d, ok)
		}
	})
}
