package resilient_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

func TestSettleReplacesWhatWasTaken(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		taken   int
		used    []int
		missing int // of 100 then
	}{
		"as estimated":    {40, []int{40}, 40},
		"less":            {40, []int{15}, 15},
		"nothing":         {40, []int{0}, 0},
		"more":            {40, []int{70}, 70},
		"a debt":          {40, []int{300}, 300},
		"for nothing":     {0, []int{25}, 25},
		"corrected":       {40, []int{70, 50}, 50},
		"and once more":   {40, []int{0, 300, 20}, 20},
		"refused, not so": {40, []int{-1}, 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, always(200, ""), func(w *world) {
				is := is.New(w.T)
				c := w.client(metered(resilient.Burst(100)))
				ctx := resilient.WithCost(w.Context(), row.taken)
				_, err := w.callWith(ctx, c)
				is.NoErr(err)
				for _, used := range row.used {
					is.Equal(resilient.Settle(ctx, used), used >= 0)
				}
				is.Equal(w.missing(c, 100), row.missing)
			})
		})
	}
}

// What is owed is paid before anything else is sent.
func TestDebtIsPaidFirst(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered(resilient.Burst(10), resilient.Wait(time.Hour)))
		ctx := resilient.WithCost(w.Context(), 10)
		begin := time.Now()
		_, err := w.callWith(ctx, c)
		is.NoErr(err)
		is.True(resilient.Settle(ctx, 15)) // five are owed
		w.served(c, 1, 200)
		is.Equal(w.arrivals(begin), []time.Duration{0, 6 * time.Minute})
		_, err = w.callWith(resilient.WithCost(w.Context(), 0), c)
		is.NoErr(err) // what costs nothing has nothing to wait for
	})
}

func TestCreditIsNeverAboveTheBurst(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered(resilient.Burst(10)))
		ctx := resilient.WithCost(w.Context(), 6)
		_, err := w.callWith(ctx, c)
		is.NoErr(err)
		time.Sleep(4 * time.Minute)
		is.True(resilient.Settle(ctx, 0)) // 4 + 4 + 6 tokens
		_, err = w.callWith(resilient.WithCost(w.Context(), 10), c)
		is.NoErr(err)
		is.Equal(rejection(second(w.call(c))).RetryAfter, time.Minute) // ten, and no more
	})
}

// Of several attempts the last one is settled: the ones before have brought nothing.
func TestSettleIsForTheLastAttempt(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered(resilient.Burst(100)).Retry(resilient.MaxRetries(2), every(0)))
		ctx := resilient.WithCost(w.Context(), 10)
		_, err := w.callWith(ctx, c)
		is.NoErr(err)
		is.True(resilient.Settle(ctx, 3))
		is.Equal(w.missing(c, 100), 23)
	})
}

// Of several calls with one context, too; and with PerCall there is one charge.
func TestSettleIsForTheLastCallOfAContext(t *testing.T) {
	t.Parallel()
	bubble(t, always(503, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered(resilient.Burst(100), resilient.PerCall).Retry(resilient.MaxRetries(2), every(0)))
		ctx := resilient.WithCost(w.Context(), 10)
		for range 2 {
			_, err := w.callWith(ctx, c)
			is.NoErr(err)
		}
		is.True(resilient.Settle(ctx, 3))
		is.Equal(w.missing(c, 100), 13)
	})
}

func TestSettleWithoutAnAttemptDoesNothing(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered(resilient.Burst(10)))
		w.served(c, 1, 200)
		is.True(!resilient.Settle(w.Context(), 5)) // a context without a cost
		ctx := resilient.WithCost(w.Context(), 3)
		is.True(!resilient.Settle(ctx, 5)) // which nothing was called with yet
		_, err := w.callWith(ctx, w.client(resilient.New("unlimited").Defaults(resilient.None)))
		is.NoErr(err)
		is.True(!resilient.Settle(ctx, 5)) // or without a rate limit
		_, err = w.callWith(resilient.WithCost(ctx, 11), c)
		is.True(errors.Is(err, resilient.ErrRateLimited))
		is.True(!resilient.Settle(ctx, 5)) // or was refused
		is.True(!resilient.Settle(context.Background(), 5))
		is.Equal(w.missing(c, 10), 1)
	})
}

// What was used is owed at once, and those who wait already keep their time.
func TestSettleDoesNotConcernThoseWhoWait(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(metered(resilient.Wait(time.Hour)))
		ctx := resilient.WithCost(w.Context(), 1)
		begin := time.Now()
		_, err := w.callWith(ctx, c)
		is.NoErr(err)
		waiting := make(chan error)
		go func() {
			_, err := w.call(c)
			waiting <- err
		}()
		synctest.Wait()
		is.True(resilient.Settle(ctx, 4)) // three more
		w.served(c, 1, 200)
		is.NoErr(<-waiting)
		is.Equal(w.arrivals(begin), []time.Duration{0, time.Minute, 5 * time.Minute})
	})
}

// With endpoints it is the bucket of the one that served.
func TestSettleIsForTheEndpointThatServed(t *testing.T) {
	t.Parallel()
	bubble(t, always(200, ""), func(w *world) {
		is := is.New(w.T)
		c := w.client(spread(resilient.RoundRobin, places("a", "b")...).RateLimit(resilient.PerMinute(1), resilient.Burst(10)))
		ctx := resilient.WithCost(w.Context(), 4)
		_, err := w.callWith(ctx, c)
		is.NoErr(err)
		w.served(c, 1, 200)
		is.True(resilient.Settle(ctx, 10))
		for range 9 {
			w.served(c, 1, 200)
		}
		is.Equal(w.visited(), "a b b b b b b b b b b") // a has none, b has ten
	})
}
