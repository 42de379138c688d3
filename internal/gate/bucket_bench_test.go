package gate_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
)

// The time is fixed in the first pair, so that all callers find the level worked out, and moves in the second.

func BenchmarkBucket(b *testing.B) {
	rate := gate.Rate{Tokens: trillion, Per: sec}
	run(b, "take/bucket", func(bucket *gate.Bucket) {
		bucket.Take(0, 1, 0)
		bucket.Return(0, 1)
	}, gate.NewBucket(rate, trillion))
	run(b, "take/mutex", func(bucket *mutexBucket) {
		bucket.take(0, 1)
		bucket.take(0, -1)
	}, &mutexBucket{perSecond: trillion, burst: trillion, level: trillion})

	run(b, "refill/bucket", func(bucket *movingBucket) { bucket.Take(bucket.tick(), 1, 0) },
		&movingBucket{Bucket: gate.NewBucket(rate, 1000)})
	run(b, "refill/mutex", func(bucket *movingMutexBucket) { bucket.take(bucket.tick(), 1) },
		&movingMutexBucket{mutexBucket: mutexBucket{perSecond: trillion, burst: 1000, level: 1000}})

	run(b, "refuse/bucket", func(bucket *gate.Bucket) { bucket.Take(0, 1, 0) }, drained(rate, 1000))
	run(b, "refuse/mutex", func(bucket *mutexBucket) { bucket.take(0, 1) }, &mutexBucket{perSecond: trillion, burst: 1000})
}

// mutexBucket is a bucket as one would write it in a minute: a float behind a lock, and nobody can wait.
type mutexBucket struct {
	mu                      sync.Mutex
	perSecond, burst, level float64
	latest                  time.Duration
}

func (m *mutexBucket) take(now time.Duration, n float64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.level = min(m.level+(now-m.latest).Seconds()*m.perSecond, m.burst)
	m.latest = now
	if m.level < n {
		return false
	}
	m.level -= n
	return true
}

// ticker is a clock that moves on when somebody looks. Each goroutine may see its own order: that is what clocks do.
type ticker struct{ now atomic.Int64 }

func (t *ticker) tick() time.Duration { return time.Duration(t.now.Add(3)) }

type movingBucket struct {
	ticker
	*gate.Bucket
}

type movingMutexBucket struct {
	ticker
	mutexBucket
}
