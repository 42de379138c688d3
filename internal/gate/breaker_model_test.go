package gate_test

import (
	"slices"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
)

// breakerModel is a breaker written from the rules and not from the code: it remembers every outcome and every
// ticket, and has no generations.
type breakerModel struct {
	config    gate.BreakerConfig
	now       time.Duration // the latest seen
	state     gate.BreakerState
	outcomes  []modelOutcome
	tickets   map[*modelTicket]bool // those whose outcome still matters
	breaks    int                   // ever, to tell one from another
	breakEnd  time.Duration         // if open
	breakFrom time.Duration
	probe     *modelTicket // if half-open and pending
	probeFrom time.Duration
	probeEnd  time.Duration // of its timeout
	halfOpens uint64
	changes   uint64
}

type modelOutcome struct {
	at     time.Duration
	failed bool
}

type modelTicket struct{ probe bool }

func newBreakerModel(c gate.BreakerConfig) *breakerModel {
	return &breakerModel{config: c, tickets: map[*modelTicket]bool{}}
}

func (m *breakerModel) sums() (requests, failures uint64) {
	width := (m.config.Sampling + 9) / 10
	for _, o := range m.outcomes {
		if m.now/width-o.at/width < 10 {
			requests++
			if o.failed {
				failures++
			}
		}
	}
	return requests, failures
}

// configure makes every outcome one of the end of its tenth, or of now, and forgets what is gone already.
func (m *breakerModel) configure(c gate.BreakerConfig) {
	old := (m.config.Sampling + 9) / 10
	m.outcomes = slices.DeleteFunc(m.outcomes, func(o modelOutcome) bool { return m.now/old-o.at/old >= 10 })
	for i, o := range m.outcomes {
		m.outcomes[i].at = min(o.at/old*old+old-1, m.now)
	}
	m.config = c
}

// become changes the state. All tickets of the old one are void.
func (m *breakerModel) become(to gate.BreakerState) gate.Transition {
	m.changes++
	change := gate.Transition{From: m.state, To: to, Number: m.changes, HalfOpens: m.halfOpens}
	change.Requests, change.Failures = m.sums()
	m.state = to
	m.probe = nil
	clear(m.tickets)
	switch to {
	case gate.Open:
		m.breaks++
		m.breakFrom, m.breakEnd = m.now, m.now+m.config.Break
		change.Break = m.config.Break
	case gate.Closed:
		m.outcomes, m.halfOpens = nil, 0
	}
	return change
}

func (m *breakerModel) admit() (ticket *modelTicket, change gate.Transition) {
	switch {
	case m.state == gate.Isolated, m.wait() > 0, m.pending():
		return nil, change
	case m.state == gate.Closed:
		ticket = &modelTicket{}
	default:
		if m.state == gate.Open {
			m.halfOpens++
			change = m.become(gate.HalfOpen)
		}
		delete(m.tickets, m.probe)
		ticket = &modelTicket{probe: true}
		m.probe, m.probeFrom, m.probeEnd = ticket, m.now, m.now+m.config.ProbeTimeout
	}
	m.tickets[ticket] = true
	return ticket, change
}

// pending reports whether a probe is out and within its time.
func (m *breakerModel) pending() bool {
	return m.state == gate.HalfOpen && m.probe != nil && m.now < m.probeEnd
}

// wait is the RetryAfter of whoever is refused.
func (m *breakerModel) wait() time.Duration {
	if m.state == gate.Open {
		return max(0, m.breakEnd-m.now)
	}
	if m.pending() {
		return max(0, m.probeFrom+m.config.Break-m.now)
	}
	return 0
}

func (m *breakerModel) settle(t *modelTicket, o gate.Outcome) (change gate.Transition) {
	switch {
	case !m.tickets[t]:
	case t.probe && o == gate.Success:
		return m.become(gate.Closed)
	case t.probe && o == gate.Failure:
		return m.become(gate.Open)
	case t.probe:
		m.probe = nil
		delete(m.tickets, t)
	case o != gate.Ignored:
		m.outcomes = append(m.outcomes, modelOutcome{m.now, o == gate.Failure})
		requests, failures := m.sums()
		if o == gate.Failure && requests >= m.config.Minimum && failures*million >= requests*m.config.FailureRatioPPM {
			return m.become(gate.Open)
		}
	}
	return change
}

func (m *breakerModel) hold(number int, length time.Duration) {
	if m.state == gate.Open && m.breaks == number && m.now < m.breakEnd {
		m.breakEnd = m.breakFrom + max(0, length)
	}
}

func (m *breakerModel) stateByClock() gate.BreakerState {
	if m.state == gate.Open && m.now >= m.breakEnd {
		return gate.HalfOpen
	}
	return m.state
}
