package pipeline

import (
	"net/http"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/jonboulle/clockwork"
	"github.com/matryer/is"
)

// A context may serve for as long as the program runs. What it keeps must not grow with its calls.
func TestQuoteKeepsTheLastChargeOnly(t *testing.T) {
	is := is.New(t)
	clock := clockwork.NewFakeClock()
	pool := newPool(clock)
	pool.Rate = gate.NewBucket(gate.Rate{Tokens: 1, Per: time.Minute}, 100)
	p := New(Config{
		Base:  base(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200}, nil }),
		Clock: clock, Pool: pool, Errors: texts{}, Rate: RateConfig{On: true},
	})
	ctx := WithCost(t.Context(), 1)
	for range 10 {
		r, _ := http.NewRequestWithContext(ctx, "GET", "http://x.test", nil)
		_, err := p.RoundTrip(r)
		is.NoErr(err) // it is sent
	}
	kept := 0
	for c := ctx.Value(costKey{}).(*quote).charge.Load(); c != nil; c = c.prior {
		kept++
	}
	is.True(kept <= 2) // the last one, and perhaps the one that it replaced
}
