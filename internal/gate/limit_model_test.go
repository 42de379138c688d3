package gate_test

import (
	"slices"
	"testing"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/matryer/is"
	"pgregory.net/rapid"
)

// limitModel is a limit as one would explain it: a number and a list.
type limitModel struct {
	permits, places int
	inUse           int
	queue           []*gate.Waiter
	served          []*gate.Waiter // and not released yet
}

// decision is what comes of entering.
func (m *limitModel) decision() gate.Decision {
	switch {
	case m.inUse < m.permits:
		return gate.Admitted
	case len(m.queue) < m.places:
		return gate.Queued
	default:
		return gate.Refused
	}
}

// release frees a permit, and serves whoever it is for.
func (m *limitModel) release() {
	m.inUse--
	m.serve()
}

func (m *limitModel) serve() {
	for m.inUse < m.permits && len(m.queue) > 0 {
		m.served, m.queue = append(m.served, m.queue[0]), m.queue[1:]
		m.inUse++
	}
}

func (m *limitModel) configure(permits, places int) {
	m.permits, m.places = permits, places
	m.serve()
}

// limitDuel plays one schedule to a limit and to its model.
type limitDuel struct {
	is    *is.I
	limit *gate.Limit
	model *limitModel
}

func newLimitDuel(t *rapid.T) *limitDuel {
	permits, places := rapid.IntRange(1, 4).Draw(t, "permits"), rapid.IntRange(0, 4).Draw(t, "queue")
	return &limitDuel{is.New(t), gate.NewLimit(permits, places), &limitModel{permits: permits, places: places}}
}

func (d *limitDuel) enter(*rapid.T) {
	want := d.model.decision()
	w := enter(d.is, d.limit, want)
	switch want {
	case gate.Admitted:
		d.model.inUse++
	case gate.Queued:
		d.model.queue = append(d.model.queue, w)
	}
}

func (d *limitDuel) release(*rapid.T) {
	if d.model.inUse == 0 {
		d.is.True(recovered(d.limit.Release) != nil) // released what nobody held
		return
	}
	d.limit.Release()
	d.model.release()
}

func (d *limitDuel) abandon(t *rapid.T) {
	if len(d.model.queue) == 0 {
		t.Skip("nobody waits")
	}
	i := rapid.IntRange(0, len(d.model.queue)-1).Draw(t, "waiter")
	d.is.True(!d.limit.Abandon(d.model.queue[i])) // a waiter in the queue has no permit
	d.model.queue = slices.Delete(d.model.queue, i, i+1)
}

func (d *limitDuel) abandonTooLate(t *rapid.T) {
	if len(d.model.served) == 0 {
		t.Skip("nobody was served")
	}
	d.is.True(d.limit.Abandon(d.model.served[0])) // a served waiter has a permit
	d.model.served = d.model.served[1:]
	d.release(t)
}

func (d *limitDuel) configure(t *rapid.T) {
	permits, places := rapid.IntRange(1, 6).Draw(t, "permits"), rapid.IntRange(0, 4).Draw(t, "queue")
	d.limit.Configure(permits, places)
	d.model.configure(permits, places)
}

func (d *limitDuel) compare(*rapid.T) {
	d.is.Equal(stats(d.limit), [2]int{d.model.inUse, len(d.model.queue)}) // the counts differ
	for _, w := range d.model.queue {
		d.is.True(!ready(w)) // served before its turn
	}
	for _, w := range d.model.served {
		d.is.True(ready(w)) // its turn has come
	}
}

func (d *limitDuel) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"enter": d.enter, "release": d.release, "abandon": d.abandon, "abandon too late": d.abandonTooLate, "": d.compare,
	}
}

func TestLimitAgreesWithANumberAndAList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { t.Repeat(newLimitDuel(t).actions()) })
}

func TestLimitAgreesWithANumberAndAListWhileItIsConfigured(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := newLimitDuel(t)
		actions := d.actions()
		actions["enter, again"] = d.enter // or it would hardly ever be full
		actions["configure"] = d.configure
		t.Repeat(actions)
	})
}
