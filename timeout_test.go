package resilient_test

import (
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// A ruling is a configuration and what Build has to say about it, without the client's name: "" if it is fine.
type ruling struct {
	b    resilient.Builder
	want string
}

// expect compares rulings with those of Build.
func expect(t *testing.T, rulings map[string]ruling) {
	t.Helper()
	for name, r := range rulings {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			want := r.want
			if want != "" {
				want = `resilient: client "x": ` + want
			}
			is.Equal(mistakes(r.b), want) // as the rule says
		})
	}
}

// by is a Config written by hand, that is Standard's but for the change.
func by(change func(*resilient.Config)) resilient.Builder {
	c := resilient.Standard.Config()
	change(&c)
	return alone().Defaults(c)
}

// only is a Config written by hand that has nothing but what the change sets.
func only(change func(*resilient.Config)) resilient.Builder {
	c := resilient.Config{}
	change(&c)
	return alone().Defaults(c)
}

func TestTimeoutRanges(t *testing.T) {
	t.Parallel()
	none := alone().Defaults(resilient.None)
	rule := "must be 10ms to 24h, or 0 for none"
	rulings := map[string]ruling{}
	for setting, option := range map[string]func(time.Duration) resilient.TimeoutOption{
		"Total": resilient.Total, "PerAttempt": resilient.PerAttempt, "BodyIdle": resilient.BodyIdle,
	} {
		const least, most, bare = "the nearest is 10ms", "the nearest is 24h", "a bare number is nanoseconds: write 30*time.Second for thirty seconds"
		for value, fix := range map[time.Duration]string{
			-1: least, 0: "", 1: bare, 10*msec - 1: least, 10 * msec: "", sec: "", 24 * hour: "", 24*hour + 1: most,
		} {
			r := ruling{b: none.Timeout(option(value))}
			if fix != "" {
				r.want = "Timeout(" + setting + "(" + trimmed(value) + ")): " + rule + "; " + fix
			}
			rulings[setting+" "+value.String()] = r
		}
	}
	expect(t, rulings)
}

// trimmed is a duration of these tests as messages print it.
func trimmed(d time.Duration) string {
	if d == 24*hour+1 {
		return "24h0m0.000000001s"
	}
	return d.String()
}

func TestTotalIncludesBodyNeedsATotal(t *testing.T) {
	t.Parallel()
	want := "Timeout(TotalIncludesBody(true)): needs a total timeout; set Total as well"
	expect(t, map[string]ruling{
		"without":    {alone().Defaults(resilient.None).Timeout(resilient.TotalIncludesBody(true)), want},
		"by hand":    {only(func(c *resilient.Config) { c.Timeout.TotalIncludesBody = true }), want},
		"with":       {alone().Timeout(resilient.TotalIncludesBody(true)), ""},
		"not wanted": {alone().Defaults(resilient.None).Timeout(resilient.TotalIncludesBody(false)), ""},
	})
}

// What is accepted is passed on as it is: the totals are not rounded, nor is a zero taken for a default.
func TestTimeoutOptionsSetTheirField(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.Equal(resilient.New("x").Defaults(resilient.None).Timeout(
		resilient.Total(41*sec), resilient.PerAttempt(13*sec), resilient.BodyIdle(7*sec), resilient.TotalIncludesBody(true),
	).Config().Timeout, resilient.TimeoutPolicy{
		Total: 41 * sec, PerAttempt: 13 * sec, BodyIdle: 7 * sec, TotalIncludesBody: true,
	}) // each to its own
	is.Equal(resilient.New("x").Timeout(resilient.Total(0)).Config().Timeout,
		resilient.TimeoutPolicy{PerAttempt: 10 * sec}) // zero is none, and only of this one
}
