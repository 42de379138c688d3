package pipeline

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// retryAfter is the delay that a response asks for: Retry-After-Ms or
// X-Ms-Retry-After-Ms in milliseconds, as Azure and OpenAI send, else
// Retry-After in whole seconds or as a date (RFC 9110 section 10.2.3). A date
// that has passed is no delay. What can't be read is ignored, as is a negative one.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	for _, name := range [...]string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if d, ok := milliseconds(h.Get(name)); ok {
			return d, true
		}
	}
	v := h.Get("Retry-After")
	if d, ok := seconds(v); ok {
		return d, true
	}
	at, err := http.ParseTime(v) // all three forms of RFC 9110 section 5.6.7
	if err != nil {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}

// seconds reads digits only; more of them than a duration can hold are the
// longest duration, not nonsense.
func seconds(v string) (time.Duration, bool) {
	for _, c := range []byte(v) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	if v == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n > int64(math.MaxInt64/time.Second) {
		return math.MaxInt64, true
	}
	return time.Duration(n) * time.Second, true
}

// milliseconds reads a number that may have a fraction.
func milliseconds(v string) (time.Duration, bool) {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0) || math.IsInf(f, 0) { // not <, for NaN must not pass
		return 0, false
	}
	return capped(f*float64(time.Millisecond), 0), true
}
