package ring_test

import (
	"slices"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/ring"
	"github.com/matryer/is"
)

// windowModel is a window that remembers every event and counts them anew each time.
type windowModel struct {
	width             time.Duration
	now               time.Duration // the latest seen
	requests, retries []time.Duration
}

func (m *windowModel) counts() ring.Counts {
	return ring.Counts{Requests: m.within(m.requests), Retries: m.within(m.retries)}
}

func (m *windowModel) within(events []time.Duration) (n uint64) {
	for _, at := range events {
		if m.now/m.width-at/m.width <= 30 {
			n++
		}
	}
	return n
}

// configure makes every event that is held one of the end of its bucket, or of now.
func (m *windowModel) configure(now, span time.Duration) {
	m.now = max(m.now, now)
	old, bucket := m.width, m.now/m.width
	m.now = max(now, bucket*old) // if now went back within the bucket: the window keeps no more of it
	m.width = (span + 29) / 30
	for _, events := range []*[]time.Duration{&m.requests, &m.retries} {
		kept := slices.DeleteFunc(*events, func(at time.Duration) bool { return bucket-at/old > 30 })
		for i, at := range kept {
			kept[i] = min(at/old*old+old-1, m.now)
		}
		*events = kept
	}
}

// FuzzWindow reads its input as a schedule, two bytes a step: what happens, and how much later.
func FuzzWindow(f *testing.F) {
	f.Add(uint32(30), []byte("a request here and there"))
	f.Add(uint32(1), []byte{0, 1, 1, 1, 2, 1, 3, 1, 0, 255, 1, 200, 2, 7, 3, 31, 3, 32})
	f.Add(uint32(3000), []byte{0, 0, 1, 0, 1, 0, 2, 0, 0, 99, 1, 100, 3, 101, 0, 250, 1, 251, 3, 252, 2, 240, 3, 3})
	f.Add(uint32(31), []byte{1, 60, 1, 61, 1, 62, 3, 63, 2, 64, 0, 255, 3, 254, 1, 253, 3, 130, 3, 0})
	f.Fuzz(func(t *testing.T, span uint32, schedule []byte) {
		if span == 0 || len(schedule) > 2000 {
			return
		}
		is := is.New(t)
		window := ring.NewWindow(time.Duration(span))
		model := &windowModel{width: (time.Duration(span) + 29) / 30}
		var now time.Duration
		var early ring.Mark // of some reading before
		var since int       // the number of retries since then
		book := func(mark ring.Mark, want bool) {
			is.Equal(window.AddRetry(mark), want) // a mark is good until the next retry, and no longer
			if want {
				model.retries = append(model.retries, model.now)
				since++
			}
		}
		for ; len(schedule) >= 2; schedule = schedule[2:] {
			action := schedule[0] % 4
			if action == 0 { // the one action that is told no time
				book(early, since == 0)
				continue
			}
			now += pause(schedule[1], model.width)
			model.now = max(model.now, now)
			if action == 1 {
				window.AddRequest(now)
				model.requests = append(model.requests, model.now)
				continue
			}
			counts, mark := window.Read(now)
			is.Equal(counts, model.counts()) // the window and the list of events differ
			if action == 2 {
				book(mark, true)
			} else {
				early, since = mark, 0
			}
		}
	})
}

// pause turns a byte into a step in time: mostly some buckets, at times far ahead or back.
func pause(b byte, width time.Duration) time.Duration {
	switch {
	case b < 100:
		return time.Duration(b) * width / 50
	case b < 200:
		return time.Duration(b-100) * width
	case b < 240:
		return -time.Duration(b-200) * width
	case b < 250:
		return 1 << 40
	default:
		return -1 << 40
	}
}
