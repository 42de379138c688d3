package resilient_test

import (
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

func TestConcurrencyRanges(t *testing.T) {
	t.Parallel()
	const most = 2147483647
	permits := func(n int) resilient.Builder { return alone().Concurrency(resilient.Permits(n)) }
	queue := func(n int) resilient.Builder { return alone().Concurrency(resilient.Queue(n)) }
	expect(t, map[string]ruling{
		"permits below":    {permits(-1), "Concurrency(Permits(-1)): must be 1 to 2147483647; the nearest is 1"},
		"no permits":       {permits(0), "Concurrency(Permits(0)): must be 1 to 2147483647; a policy that is on needs it, and Concurrency(Off) turns it off"},
		"one permit":       {permits(1), ""},
		"most permits":     {permits(most), ""},
		"permits above":    {permits(most + 1), "Concurrency(Permits(2147483648)): must be 1 to 2147483647; the nearest is 2147483647"},
		"queue below":      {queue(-1), "Concurrency(Queue(-1)): must be 0 to 2147483647; the nearest is 0"},
		"no queue":         {queue(0), ""},
		"longest queue":    {queue(most), ""},
		"queue above":      {queue(most + 1), "Concurrency(Queue(2147483648)): must be 0 to 2147483647; the nearest is 2147483647"},
		"off":              {alone().Concurrency(resilient.Off), ""},
		"filled in half":   {only(func(c *resilient.Config) { c.Concurrency.Queue = 5 }), "Concurrency(Permits(0)): must be 1 to 2147483647; a policy that is on needs it, and Concurrency(Off) turns it off"},
		"filled in enough": {only(func(c *resilient.Config) { c.Concurrency.Permits = 5 }), ""},
	})
}

func TestConcurrencyOptionsSetTheirField(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.Equal(resilient.New("x").Concurrency(resilient.Permits(7), resilient.Queue(3)).Config().Concurrency,
		resilient.ConcurrencyPolicy{Permits: 7, Queue: 3}) // each to its own
}
