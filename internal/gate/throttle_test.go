package gate_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
	"pgregory.net/rapid"
)

func TestThrottleLastsAsLongAsTheLongestAnswerAsked(t *testing.T) {
	t.Parallel()
	var throttle gate.Throttle
	for _, step := range []struct {
		at, extend, left time.Duration
	}{
		{at: 0, left: 0},
		{at: 5 * sec, extend: 0, left: 0},
		{at: 5 * sec, extend: -time.Hour, left: 0},
		{at: 10 * sec, extend: 30 * sec, left: 30 * sec},
		{at: 20 * sec, extend: 5 * sec, left: 20 * sec}, // a shorter answer does not shorten it
		{at: 20 * sec, extend: 20 * sec, left: 20 * sec},
		{at: 20 * sec, extend: 20*sec + 1, left: 20*sec + 1},
		{at: 40 * sec, left: 1},
		{at: 40*sec + 1, left: 0},
		{at: time.Hour, left: 0},
		{at: time.Hour, extend: -1, left: 0},
		{at: time.Hour, extend: sec, left: sec}, // it begins again
		{at: -time.Hour, left: time.Hour + sec}, // before the base is at the base
		{at: -time.Hour, extend: 2 * time.Hour, left: 2 * time.Hour},
		{at: time.Hour, extend: ever, left: ever - time.Hour}, // for ever, and not around the corner
		{at: ever, extend: ever, left: 0},
	} {
		is := is.New(t)
		throttle.Extend(step.at, step.extend)
		is.Equal(throttle.Until(step.at), step.left) // it ends at another time than the latest that was asked for
	}
}

func TestThrottleIsOverWhenCleared(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var throttle gate.Throttle
	throttle.Extend(0, ever)
	throttle.Clear()
	is.Equal(throttle.Until(0), time.Duration(0)) // it was cleared
	throttle.Extend(0, sec)
	is.Equal(throttle.Until(0), sec) // and may be asked for again
}

func TestThrottleAgreesWithAListOfEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		is := is.New(t)
		var throttle gate.Throttle
		var ends []time.Duration
		moment := rapid.Map(rapid.Int64Range(-10, 1<<62-1), func(n int64) time.Duration { return time.Duration(n) })
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			now, length := moment.Draw(t, "now"), moment.Draw(t, "length")
			if rapid.IntRange(0, 9).Draw(t, "clear") == 0 {
				throttle.Clear()
				ends = nil
			} else if throttle.Extend(now, length); length > 0 {
				ends = append(ends, max(now, 0)+length)
			}
			look := max(moment.Draw(t, "look"), 0)
			var left time.Duration
			for _, end := range ends {
				left = max(left, end-look)
			}
			is.Equal(throttle.Until(look), left) // the latest end counts
		}
	})
}

// Many answers at once: the longest counts, whoever comes last.
func TestThrottleKeepsTheLongestOfManyAnswersAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var throttle gate.Throttle
	var longest atomic.Int64
	together(func(r *rand.Rand) {
		var mine, before time.Duration
		for range 30_000 {
			length := throttle.Until(0) + time.Duration(r.IntN(4)) // a little more, so that there is always something to do
			mine = max(mine, length)
			throttle.Extend(0, length)
			left := throttle.Until(0)
			if left < mine || left < before {
				t.Error("an answer was shortened by another")
			}
			before = left
		}
		for known := longest.Load(); known < int64(mine); known = longest.Load() {
			longest.CompareAndSwap(known, int64(mine))
		}
	})
	is.Equal(throttle.Until(0), time.Duration(longest.Load())) // the longest was lost
}

func TestThrottleDoesNotAllocate(t *testing.T) {
	is := is.New(t)
	var throttle gate.Throttle
	var now time.Duration
	is.Equal(testing.AllocsPerRun(100, func() {
		now += sec
		throttle.Extend(now, sec)
		throttle.Until(now)
		throttle.Clear()
	}), 0.0) // it allocates
}

func BenchmarkThrottle(b *testing.B) {
	throttle := new(gate.Throttle)
	throttle.Extend(0, time.Hour)
	run(b, "until/throttle", func(throttle *gate.Throttle) { throttle.Until(sec) }, throttle)
	run(b, "until/mutex", (*mutexBudget).request, new(mutexBudget))
}
