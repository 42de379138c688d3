package ring

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/matryer/is"
)

func TestWindowKeepsItsTotalsOnSeparateCacheLines(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var w Window
	words := []uintptr{
		unsafe.Offsetof(w.width), unsafe.Offsetof(w.requests), unsafe.Offsetof(w.retries), unsafe.Offsetof(w.latest),
		unsafe.Sizeof(w),
	}
	for i := range len(words) - 1 {
		is.True(words[i+1]-words[i] >= cacheLine) // two words that different goroutines write share a line
	}
}

// Every retry here follows a request of its own, so no moment has more retries than requests. The start of a bucket is
// not one moment but two reads: only if the retries come first can it never show more of them.
func TestWindowReadsTheStartOfABucketRetriesFirst(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := NewWindow(windowBuckets)
	var stop atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		for !stop.Load() {
			w.requests.Add(1)
			w.retries.Add(1)
		}
	})
	for range 500_000 {
		start := w.totals()
		is.True(start.Retries <= start.Requests) // a retry slipped into the bucket before its request
	}
	stop.Store(true)
	writer.Wait()
}

// Here every window is a fresh one that gets one request at most. Only a reading that mixes two windows has more.
func TestWindowReadsTotalsOfOneWindowOnly(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := NewWindow(windowBuckets)
	var stop atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		for now := time.Duration(0); !stop.Load(); now += windowBuckets + 1 {
			w.AddRequest(now)
		}
	})
	for range 200_000 {
		counts, _ := w.Read(0)
		is.True(counts.Requests <= 1) // the totals of one window less the start of another
	}
	stop.Store(true)
	writer.Wait()
}
