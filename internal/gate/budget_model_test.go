package gate_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
)

// budgetModel is a budget that remembers every event, written from the rule and not from the code: the time of each, in
// buckets, oldest first; what is older than thirty buckets is dropped from the front.
type budgetModel struct {
	config            gate.BudgetConfig
	now               time.Duration // the latest seen
	requests, retries []int64       // in which bucket
}

func (m *budgetModel) bucket() int64 {
	width := (m.config.Window + 29) / 30
	return int64(m.now / width)
}

func (m *budgetModel) at(now time.Duration) {
	m.now = max(m.now, now)
	for len(m.requests) > 0 && m.bucket()-m.requests[0] > 30 {
		m.requests = m.requests[1:]
	}
	for len(m.retries) > 0 && m.bucket()-m.retries[0] > 30 {
		m.retries = m.retries[1:]
	}
}

// configure makes every event one of the end of its bucket, or of now.
func (m *budgetModel) configure(now time.Duration, c gate.BudgetConfig) {
	m.at(now)
	old, began := (m.config.Window+29)/30, m.bucket()
	m.now = max(now, time.Duration(began)*old) // if now went back within the bucket: the window keeps no more of it
	m.config = c
	width := (c.Window + 29) / 30
	for _, events := range [][]int64{m.requests, m.retries} {
		for i, bucket := range events {
			end := time.Duration(bucket+1)*old - 1
			events[i] = int64(min(end, m.now) / width)
		}
	}
	m.at(now)
}

func (m *budgetModel) request() { m.requests = append(m.requests, m.bucket()) }

// allowed returns how many retries the window may hold, or false if that is not in force.
func (m *budgetModel) allowed() (int, bool) {
	share := len(m.requests) * int(m.config.RatioPPM) / million // these are small numbers
	if floor := int(m.config.LowVolume); floor > 0 {
		return max(share, floor), true
	}
	return share, len(m.requests) >= int(m.config.Minimum)
}

func (m *budgetModel) retry() bool {
	if allowed, inForce := m.allowed(); inForce && len(m.retries)+1 > allowed {
		return false
	}
	m.retries = append(m.retries, m.bucket())
	return true
}

func (m *budgetModel) state() gate.BudgetState {
	s := gate.BudgetState{Requests: uint64(len(m.requests)), Retries: uint64(len(m.retries)), Phase: gate.Enforcing}
	allowed, inForce := m.allowed()
	s.Allowance = uint64(allowed)
	if !inForce {
		s.Allowance, s.Phase = gate.Unlimited, gate.BelowMinimum
	} else if len(m.retries)+1 > allowed {
		s.Phase = gate.Exhausted
	}
	return s
}

// randomBudget returns settings that make every branch of the rule common.
func randomBudget(r *rand.Rand) gate.BudgetConfig {
	ratios := []uint64{0, 1, 100_000, 290_000, 500_000, million, r.Uint64N(million + 1)}
	windows := []time.Duration{1, 29, 31, sec, 30 * sec, 24 * time.Hour, time.Duration(1 + r.Int64N(int64(time.Minute)))}
	minimums := []uint64{0, 1, 5, 100, r.Uint64N(40)}
	floors := []uint64{0, 0, 1, 10}
	return gate.BudgetConfig{
		RatioPPM:  ratios[r.IntN(len(ratios))],
		Window:    windows[r.IntN(len(windows))],
		Minimum:   minimums[r.IntN(len(minimums))],
		LowVolume: floors[r.IntN(len(floors))],
	}
}

// randomPause is mostly within a bucket, often some buckets, at times a whole window, far ahead, or back.
func randomPause(r *rand.Rand, window time.Duration) time.Duration {
	width := int64(window)/30 + 1
	switch n := r.IntN(1000); {
	case n < 600:
		return 0
	case n < 900:
		return time.Duration(r.Int64N(width))
	case n < 980:
		return time.Duration(r.Int64N(4 * width))
	case n < 988:
		return time.Duration(r.Int64N(40 * width))
	case n < 990:
		return 1 << 40
	default:
		return -time.Duration(r.Int64N(35 * width))
	}
}

// 400000 random steps, each compared with the model: every answer, and all of the state.
func TestBudgetAgreesWithAListOfEvents(t *testing.T) {
	t.Parallel()
	const schedules, steps = 250, 1600
	for seed := range uint64(schedules) {
		r := rand.New(rand.NewPCG(seed, 1))
		config := randomBudget(r)
		budget, model := gate.NewBudget(config), &budgetModel{config: config}
		share := 1 + r.IntN(9) // of ten events, how many are requests
		var now time.Duration
		for range steps {
			now += randomPause(r, config.Window)
			model.at(now)
			if r.IntN(10) < share {
				budget.Request(now)
				model.request()
			} else if got, want := budget.Retry(now), model.retry(); got != want {
				t.Fatalf("seed %d: retry is %v, want %v: %+v with %+v", seed, got, want, budget.State(now), config)
			}
			if got, want := budget.State(now), model.state(); got != want {
				t.Fatalf("seed %d: state is %+v, want %+v with %+v", seed, got, want, config)
			}
		}
	}
}

// The real-time promise: whatever interval no longer than the window is looked at, if the last retry in it was
// admitted in force, then the retries in it are within the share of the requests since one bucket before it.
func TestBudgetBoundsTheRetriesOfEveryInterval(t *testing.T) {
	t.Parallel()
	tight := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		config := randomBudget(r)
		config.Window = 30 * time.Duration(1+r.Int64N(1000)) // whole buckets
		width := config.Window / 30
		budget := gate.NewBudget(config)
		var requests, admitted []time.Duration
		var now time.Duration
		load := r.Int64N(2 * int64(width)) // the mean pause, from a storm to a trickle
		for range 1000 {
			now += time.Duration(r.Int64N(load + 1))
			if r.IntN(3) > 0 {
				budget.Request(now)
				requests = append(requests, now)
				continue
			}
			state := budget.State(now)
			if !budget.Retry(now) {
				continue
			}
			admitted = append(admitted, now)
			if state.Phase == gate.BelowMinimum {
				continue
			}
			within := since(admitted, now-config.Window+1)
			base := since(requests, now/width*width-config.Window)
			bound := max(base*int(config.RatioPPM)/million, int(config.LowVolume))
			is.New(t).True(within <= bound) // an interval as long as the window has too many retries
			if within == bound {
				tight++
			}
		}
	}
	is.New(t).True(tight > 1000) // the bound is so loose that the test says nothing
}

// since counts the events from a moment on. They are in order.
func since(events []time.Duration, from time.Duration) int {
	n := len(events)
	for n > 0 && events[n-1] >= from {
		n--
	}
	return len(events) - n
}
