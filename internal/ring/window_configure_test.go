package ring_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/ring"
	"github.com/matryer/is"
)

func TestWindowKeepsWhatItHoldsWhenItsSpanChanges(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		to     time.Duration
		at     time.Duration // of the change; one event a second came before, from 0 to 30
		held   uint64        // right after it
		last   time.Duration // at which the latest event is still held
		oldest time.Duration // at which all are that were held after the change
	}{
		{"the same", 30 * sec, 30*sec + 1, 31, 61*sec - 1, 31*sec - 1},
		{"the same buckets", 30*sec - 29, 30*sec + 1, 31, 61*sec - 1, 31*sec - 1},
		{"longer", 60 * sec, 30*sec + 1, 31, 92*sec - 1, 62*sec - 1}, // buckets of two seconds, the first of which was over at 2
		{"much longer", 30 * time.Hour, 30*sec + 1, 31, 31*time.Hour - 1, 31*time.Hour - 1},
		{"shorter", 15 * sec, 30*sec + 1, 16, 45*sec + 500*ms - 1, 31*sec - 1},              // the event of 15 counts as of 16, less a nanosecond
		{"much shorter", 300 * ms, 30*sec + 1, 2, 30*sec + 310*ms - 1, 30*sec + 300*ms - 1}, // so does that of 29, as of 30
		{"later", 15 * sec, 45 * sec, 1, 46*sec - 1, 46*sec - 1},                            // that of 29 is a nanosecond too old
		{"too late", 15 * sec, 50 * sec, 0, 0, 0},
		{"the longest", math.MaxInt64, 30*sec + 1, 31, math.MaxInt64, math.MaxInt64},
		{"the shortest", 1, 30*sec + 1, 2, 30*sec + 31, 30*sec + 29},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			held := func(at time.Duration) uint64 {
				w := ring.NewWindow(30 * sec)
				for i := range 31 {
					w.AddRequest(time.Duration(i) * sec)
				}
				w.Configure(row.at, row.to, nil)
				counts, _ := w.Read(at)
				return counts.Requests
			}
			is.Equal(held(row.at), row.held) // what is within the new span, rounded up to old buckets
			if row.held == 0 {
				return
			}
			is.Equal(held(row.oldest), row.held) // the oldest has left too early
			is.True(held(row.last) > 0)          // the latest has left too early
			if row.last < math.MaxInt64 {
				is.True(held(row.oldest+1) < row.held) // the oldest stays too long
				is.Equal(held(row.last+1), uint64(0))  // the latest stays too long
			}
		})
	}
}

func TestWindowReturnsTheTermsOfTheReading(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := ring.NewWindow(30 * sec)
	_, _, terms := w.ReadTerms(0)
	is.Equal(terms, nil) // nobody has set any
	w.Configure(0, 30*sec, "first")
	_, mark, terms := w.ReadTerms(0)
	is.Equal(terms, "first") // those of the last change
	_, _, terms = w.ReadTerms(time.Hour)
	is.Equal(terms, "first") // also after a rotation
	w.Configure(time.Hour, sec, "second")
	_, _, terms = w.ReadTerms(time.Hour)
	is.Equal(terms, "second") // and no longer than they are in force

	is.True(w.AddRetry(mark)) // what was decided before, and nobody was admitted since
	counts, _ := w.Read(time.Hour)
	is.Equal(counts, ring.Counts{Retries: 1}) // is in the new window
	counts, _ = w.Read(time.Hour + sec)
	is.Equal(counts, ring.Counts{Retries: 1}) // for as long as any
}

func TestWindowChangeOfSpanIsRefusedWithoutATrace(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := ring.NewWindow(30 * sec)
	w.AddRequest(0)
	is.Equal(recovered(func() { w.Configure(0, 0, "terms") }), "ring: the span must be above zero, got 0s") // a window needs a span
	counts, _, terms := w.ReadTerms(30 * sec)
	is.Equal(counts, ring.Counts{Requests: 1}) // the old span is in force
	is.Equal(terms, nil)                       // and the old terms
}

func TestWindowChangeOfSpanGoesNoFurtherBackThanItsBucket(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := ring.NewWindow(30 * sec)
	w.AddRequest(100*sec + 900*ms)
	w.Configure(-sec, 300*ms, nil) // by a clock that went back
	for at, want := range map[time.Duration]uint64{0: 1, 100*sec + 310*ms - 1: 1} {
		counts, _ := w.Read(at)
		is.Equal(counts.Requests, want) // the window stands still at the beginning of the bucket
	}
	counts, _ := w.Read(100*sec + 310*ms)
	is.Equal(counts.Requests, uint64(0)) // and goes on from there
}

func TestWindowChangeOfTermsDoesNotMakeReadingAllocate(t *testing.T) {
	is := is.New(t)
	w := ring.NewWindow(30 * sec)
	w.Configure(0, sec, &struct{ n int }{1})
	is.Equal(testing.AllocsPerRun(100, func() { // a reading with terms allocates
		w.AddRequest(0)
		_, mark, _ := w.ReadTerms(0)
		w.AddRetry(mark)
	}), 0.0)
}

func TestWindowAgreesWithAListOfEventsWhileItsSpanChanges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		is := is.New(t)
		r := rand.New(rand.NewPCG(seed, 8))
		spans := []time.Duration{1, 29, 30, 31, 1000, time.Duration(1 + r.Int64N(100_000)), 300_000, 1 << 30}
		window, model := ring.NewWindow(30), &windowModel{width: 1}
		var now time.Duration
		for range 200 {
			now += pause(byte(r.Uint32()), model.width)
			if r.IntN(15) == 0 {
				span := spans[r.IntN(len(spans))]
				window.Configure(now, span, nil)
				model.configure(now, span)
			}
			model.now = max(model.now, now)
			counts, mark := window.Read(now)
			if want := model.counts(); counts != want {
				is.Equal(counts, want) // the window and the list of events differ
			}
			if r.IntN(2) == 0 {
				window.AddRequest(now)
				model.requests = append(model.requests, model.now)
			} else {
				is.True(window.AddRetry(mark)) // nobody else is there
				model.retries = append(model.retries, model.now)
			}
		}
	}
}

// terms are those of the n-th change, and how many retries they let the window hold.
type terms struct{ n, limit int }

// As in the test of rotations: ordered by their marks, the admitted retries are one story, in which no retry is above the
// limit of its terms and the window's start never goes back. Here the terms are part of it: they never go back either.
// One that was admitted by the terms before, on a reading from after the change, would do so.
func TestWindowAdmitsNoRetryTooManyWhileSpanAndTermsChange(t *testing.T) {
	t.Parallel()
	const each, span = 3_000, 30 * sec
	type admitted struct {
		mark    ring.Mark
		retries uint64
		terms   terms
	}
	w := ring.NewWindow(span)
	w.Configure(0, span, terms{0, 20})
	var clock, changes atomic.Int64
	var mu, changing sync.Mutex
	var all []admitted
	together(func(r *rand.Rand) {
		var mine []admitted
		for i := range each {
			now := time.Duration(clock.Add(r.Int64N(int64(span / 300))))
			if i%20 == 0 {
				changing.Lock() // so that they are numbered in the order in which they come into force
				w.Configure(now, span/time.Duration(1+r.IntN(40)), terms{int(changes.Add(1)), 10 + r.IntN(30)})
				changing.Unlock()
			}
			for {
				counts, mark, in := w.ReadTerms(now)
				if i%7 == 0 {
					runtime.Gosched() // a decision that takes its time
				}
				if counts.Retries >= uint64(in.(terms).limit) {
					break
				}
				if w.AddRetry(mark) {
					mine = append(mine, admitted{mark, counts.Retries, in.(terms)})
					break
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, mine...)
	})

	is := is.New(t)
	is.True(len(all) > 5000) // hardly anything was admitted
	slices.SortFunc(all, func(a, b admitted) int { return cmp.Compare(a.mark, b.mark) })
	var start uint64
	var last terms
	seen := 0
	for i, a := range all {
		is.Equal(a.mark, ring.Mark(i))             // two retries have one mark, or nobody has it
		is.True(uint64(a.mark)-a.retries >= start) // the start of the window went back
		is.True(a.terms.n >= last.n)               // a retry was admitted by terms that were no longer in force
		if a.terms != last {
			seen++
		}
		start, last = uint64(a.mark)-a.retries, a.terms
	}
	is.True(seen > 100) // terms hardly ever changed between two retries
}
