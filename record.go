package resilient

import (
	"context"
	"errors"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/a-seed-e0941262/resilient/internal/history"
	"github.com/a-seed-e0941262/resilient/internal/pipeline"
)

// recording returns what tells a recorder of a call; nil if there is none.
func recording(state *pipeline.State, to pipeline.Recorder) func(pipeline.Event) {
	if to == nil {
		return nil
	}
	return func(e pipeline.Event) { to.Record(state.Now(), e) }
}

// record has all states keep a history from now on, those that are made later, too.
func (r *Registry) record() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recording = true
	for _, s := range r.clients {
		s.mu.Lock()
		s.recording = true
		s.each(s.keepHistory)
		s.mu.Unlock()
	}
}

// keepHistory has a state keep its history if that is wanted. It wants mu held, or a state that nobody else has.
func (s *shared) keepHistory(state *pipeline.State) {
	if s.recording && state.Recorder() == nil {
		state.RecordTo(history.New(endingOf))
	}
}

// historyOf is that of a state; nil if none is kept.
func historyOf(state *pipeline.State) *history.Log {
	l, _ := state.Recorder().(*history.Log)
	return l
}

// endingOf is what the error of a call, or of an attempt, says about how it ended.
func endingOf(err error) history.Ending {
	switch {
	case errors.Is(err, ErrTotalTimeout):
		return history.TimedOut
	case errors.Is(err, ErrAttemptTimeout):
		return history.Other
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return history.Left
	default:
		return history.Other
	}
}

// recordByHand notes a change that was made by hand in the history of every state that the breaker serves. It wants mu
// held.
func (s *shared) recordByHand(l *pipeline.Lane, t gate.Transition) {
	c := history.Change{
		At: s.now(), Endpoint: s.endpointOf(l), From: t.From.String(), To: t.To.String(),
		Requests: t.Requests, Failures: t.Failures, ByHand: true,
	}
	s.each(func(state *pipeline.State) {
		if log := historyOf(state); log != nil && (c.Endpoint != "" || l == &state.Lane) {
			log.Changed(c)
		}
	})
}

// endpointOf is the name of a lane's endpoint; "" if it is a state's own.
func (s *shared) endpointOf(l *pipeline.Lane) string {
	for name, lane := range s.lanes {
		if lane == l {
			return name
		}
	}
	return ""
}
