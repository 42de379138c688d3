package gate_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

func TestBucketTellsTheWaitWithoutTaking(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := drained(perMinute(60), 10)
	is.Equal(b.Wait(0, 3), 3*sec)                       // what Take would say
	is.Equal(b.Wait(500*ms, 1), 500*ms)                 // at that time
	is.Equal(b.Wait(500*ms, 0), time.Duration(0))       // nothing costs nothing
	is.Equal(b.Wait(500*ms, 11), ever)                  // it never holds that many
	is.Equal(b.Wait(10*sec, 10), time.Duration(0))      // full, to the last token
	is.Equal(b.State(10*sec).Available, int64(10))      // and nothing was taken
	is.True(recovered(func() { b.Wait(0, -1) }) != nil) // a negative number of tokens
}

func TestBucketTellsTheWaitThatTakeWouldTell(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := rand.New(rand.NewPCG(5, 5))
	b := gate.NewBucket(gate.Rate{Tokens: 7, Per: 1000}, 20)
	var now time.Duration
	for range 2000 {
		now += time.Duration(r.Int64N(1000))
		n := r.Int64N(21)
		told := b.Wait(now, n)
		_, wait := b.Take(now, n, time.Duration(r.Int64N(3000)))
		is.Equal(told, wait) // they disagree
	}
}
