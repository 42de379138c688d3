package ring

import (
	"sync"
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
		0, unsafe.Offsetof(w.requests), unsafe.Offsetof(w.retries), unsafe.Offsetof(w.latest),
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
	const events = 500_000
	w := NewWindow(windowBuckets)
	var writer sync.WaitGroup
	writer.Go(func() {
		for range events {
			w.requests.Add(1)
			w.retries.Add(1)
		}
	})
	for w.retries.Load() < events {
		start := w.totals()
		is.True(start.Retries <= start.Requests) // a retry slipped into the bucket before its request
	}
	writer.Wait()
}

// Here every window is a fresh one that gets one request at most. Only a reading that mixes two windows has more.
func TestWindowReadsTotalsOfOneWindowOnly(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const events = 100_000
	w := NewWindow(windowBuckets)
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range events {
			w.AddRequest(time.Duration(i) * (windowBuckets + 1))
		}
	})
	for w.requests.Load() < events {
		counts, _ := w.Read(0)
		is.True(counts.Requests <= 1) // the totals of one window less the start of another
	}
	writer.Wait()
}
