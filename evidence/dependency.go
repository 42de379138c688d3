package main

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// What the dependency is like in all scenarios.
const (
	headroom   = 1.3                   // its capacity, as a multiple of the calls that there are
	latency    = 20 * time.Millisecond // of an answer, besides the time in the queue
	queueLimit = 3.0                   // seconds of work at whole capacity that may wait; more is refused
	refusing   = 0.05                  // what it takes to refuse a request, as a share of the work of doing it
	items      = 1000                  // that can be asked for
)

// A dependency is a service with a queue: first come, first served. It does not see that a client has left, and does the
// work anyway, and so its goodput collapses when the queue is longer than clients wait.
type dependency struct {
	began    time.Time
	capacity float64 // requests a second
	trouble  trouble

	mu       sync.Mutex
	chance   *rand.Rand
	work     float64         // that was accepted so far, in seconds at whole capacity
	arrivals []time.Duration // since it began
}

func newDependency(s scenario) *dependency {
	return &dependency{
		began:    time.Now(),
		capacity: headroom * s.fleet.load(),
		trouble:  s.trouble,
		chance:   rand.New(rand.NewPCG(s.seed, 0)),
	}
}

// plan says what becomes of a request that arrives now. It is the function of a rule of the server.
func (d *dependency) plan(r *http.Request, _ int) []httptestx.Step {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Since(d.began)
	d.arrivals = append(d.arrivals, now)
	if d.trouble.at(now) {
		if d.trouble.hangs {
			return httptestx.Plan(httptestx.Hang)
		}
		if d.fails(r) {
			return httptestx.Plan(httptestx.Status(http.StatusBadGateway))
		}
	}
	wait, ok := d.accept(now)
	if !ok {
		return httptestx.Plan(httptestx.Delay(latency), httptestx.Status(http.StatusServiceUnavailable))
	}
	return httptestx.Plan(httptestx.Delay(wait+latency), httptestx.Handle)
}

// fails reports whether a request fails in the trouble, for what it asks or by chance.
func (d *dependency) fails(r *http.Request) bool {
	item, err := strconv.Atoi(r.PathValue("item"))
	return err == nil && float64(item) < d.trouble.lost*items || d.chance.Float64() < d.trouble.fails
}

// accept puts a request at the end of the queue and returns how long it takes until it is done.
func (d *dependency) accept(now time.Duration) (wait time.Duration, ok bool) {
	done := d.trouble.done(now)
	d.work = max(d.work, done)
	if d.work-done > queueLimit {
		d.work += refusing / d.capacity
		return 0, false
	}
	d.work += 1 / d.capacity
	return d.trouble.until(d.work) - now, true
}
