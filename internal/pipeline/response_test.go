package pipeline

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
	"github.com/jonboulle/clockwork"
	"github.com/matryer/is"
)

// A countingPool counts what is given back.
type countingPool struct{ released atomic.Int32 }

func (*countingPool) Acquire(*http.Request) *State { return nil }
func (p *countingPool) Release(*State)             { p.released.Add(1) }

// texts are errors that say what they are.
type texts struct{}

func (texts) Rejected(g Gate, _ time.Duration, causes ...error) error {
	return errors.Join(append([]error{errors.New(g.String())}, causes...)...)
}

func (texts) TimedOut(l Limit, _ time.Duration, cause error) error {
	return errors.Join(errors.New([]string{"total", "attempt", "body idle"}[l]), cause)
}
func (texts) Interrupted(err, cause, last error) error { return errors.Join(err, cause, last) }
func (texts) NoResponse() error                        { return errors.New("neither") }
func (texts) Resent() error                            { return errors.New("resent") }
func (texts) TooLarge(int64, int64) error              { return errors.New("too large") }
func (texts) NegativeCost(int64) error                 { return errors.New("negative") }
func (texts) Skipped(string, Gate, time.Duration, ...error) error {
	return errors.New("skipped")
}
func (texts) Refused(error) bool { return false }
func (texts) Status(int) error   { return errors.New("status") }

// answeredCall is a call with a permit and with a response that has a body.
func answeredCall(t *testing.T, body io.ReadCloser) (k *call, resp *http.Response, pool *countingPool) {
	t.Helper()
	pool = &countingPool{}
	k = newCall(t, Config{Pool: pool, Errors: texts{}, Discard: DiscardConfig{Bytes: 10, Time: time.Second}})
	k.state.Limit = gate.NewLimit(1, 0)
	k.state.Limit.Enter()
	k.permit = true
	k.attempt = &attempt{attemptContext: attemptContext{call: k, gear: &gear{}}}
	resp = &http.Response{StatusCode: 200, Body: body}
	k.attempt.own(k, resp)
	k.last = k.answered(k.attempt, resp)
	return k, resp, pool
}

func TestCallEndsOnceWithItsBody(t *testing.T) {
	is := is.New(t)
	for range 500 { // whoever is first: the hand-over, the end, or a close
		body := &countedBody{Reader: strings.NewReader("x")}
		k, resp, pool := answeredCall(t, body)
		var all sync.WaitGroup
		all.Go(func() { k.handOver(resp) })
		all.Go(func() { _, _ = io.Copy(io.Discard, resp.Body) })
		all.Go(func() { resp.Body.Close() })
		all.Wait()
		is.Equal(pool.released.Load(), int32(1)) // the state
		inUse, _ := k.state.Limit.Stats()
		is.Equal(inUse, 0) // and the permit, once: twice would have panicked
	}
}

func TestCallOutlivesItsHandOver(t *testing.T) {
	is := is.New(t)
	k, resp, pool := answeredCall(t, &countedBody{Reader: strings.NewReader("x")})
	k.handOver(resp)
	is.Equal(pool.released.Load(), int32(0)) // there is a body to come
	n, err := resp.Body.Read(make([]byte, 10))
	is.NoErr(err)
	is.Equal(n, 1)
	is.Equal(pool.released.Load(), int32(0)) // its end has not been seen
	_, err = resp.Body.Read(make([]byte, 10))
	is.Equal(err, io.EOF)
	is.Equal(pool.released.Load(), int32(1))
}

func TestBodyThatIsOverBeforeItIsHandedOverEndsTheCall(t *testing.T) {
	is := is.New(t)
	for _, body := range []io.ReadCloser{nil, http.NoBody, &countedBody{Reader: strings.NewReader("")}} {
		k, resp, pool := answeredCall(t, body)
		_, err := resp.Body.Read(make([]byte, 1)) // as an observer must not, but may
		is.Equal(err, io.EOF)
		k.handOver(resp)
		is.Equal(pool.released.Load(), int32(1))
		is.Equal(resp.Body == http.NoBody, body == nil || body == http.NoBody) // NoBody is itself
	}
}

func TestErrorOfABodyIsExplained(t *testing.T) {
	cut := errors.New("cut")
	for _, row := range []struct {
		name  string
		err   error
		idled bool
		rang  bool
		left  bool
		want  string
	}{
		{name: "end", err: io.EOF, want: "EOF"},
		{name: "end, though late", err: io.EOF, idled: true, rang: true, want: "EOF"},
		{name: "failure", err: cut, want: "cut"},
		{name: "idle", err: cut, idled: true, want: "body idle\ncut"},
		{name: "no time left", err: cut, rang: true, want: "total\ncut"},
		{name: "idle, with no time left", err: cut, idled: true, rang: true, want: "body idle\ncut"},
		{name: "caller left", err: cut, idled: true, rang: true, left: true, want: "cut"},
	} {
		t.Run(row.name, func(t *testing.T) {
			is := is.New(t)
			k, _, _ := answeredCall(t, &countedBody{Reader: strings.NewReader("x")})
			ctx, cancel := context.WithCancel(k.ctx())
			defer cancel()
			k.req = k.req.WithContext(ctx)
			if row.left {
				cancel()
			}
			if row.rang {
				k.attempt.limit = LimitTotal
				k.attempt.alarm = setAlarm(k.Clock, 0, func() {})
				for !k.attempt.alarm.rang() {
					runtime.Gosched()
				}
			}
			b := &k.attempt.body
			b.watch = &watch{idled: row.idled}
			is.Equal(b.explain(row.err).Error(), row.want)
		})
	}
}

// A stuckBody yields nothing until it is closed.
type stuckBody struct {
	closed chan struct{}
	once   sync.Once
}

func (b *stuckBody) Read([]byte) (int, error) { <-b.closed; return 0, errors.New("closed") }

func (b *stuckBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

func TestDiscardIsBoundedInBytes(t *testing.T) {
	is := is.New(t)
	for _, row := range []struct{ has, read int }{{0, 0}, {9, 9}, {10, 10}, {11, 11}, {1000, 11}} { // one more shows whether it ends
		rest := strings.NewReader(strings.Repeat("x", row.has))
		body := &countedBody{Reader: rest}
		k, _, pool := answeredCall(t, body)
		k.discard()
		is.Equal(row.has-rest.Len(), row.read)
		is.Equal(body.closes.Load(), int32(1))
		is.Equal(pool.released.Load(), int32(0)) // the call goes on
	}
}

func TestDiscardIsBoundedInTime(t *testing.T) {
	is := is.New(t)
	k, _, _ := answeredCall(t, &stuckBody{closed: make(chan struct{})})
	clock := k.Clock.(*clockwork.FakeClock)
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.discard()
	}()
	is.NoErr(clock.BlockUntilContext(t.Context(), 1))
	clock.Advance(time.Second)
	<-done // though the transport heeds no context
}

func TestAlarmRingsOrIsStopped(t *testing.T) {
	is := is.New(t)
	clock := clockwork.NewFakeClock()
	rung := make(chan struct{}, 1)
	a := setAlarm(clock, time.Second, func() { rung <- struct{}{} })
	is.True(a.stop()) // in time
	is.True(a.stop()) // and again
	is.True(!a.rang())
	clock.Advance(time.Minute)
	is.Equal(len(rung), 0) // it never rings

	a = setAlarm(clock, time.Second, func() { rung <- struct{}{} })
	clock.Advance(time.Second)
	<-rung
	is.True(a.rang())
	is.True(!a.stop()) // too late
	is.True(!a.stop())

	a = nil
	is.True(a.stop()) // none never rings
	is.True(!a.rang())
}

// Stopping an alarm and its ringing race: one of them wins, and both know which.
func TestAlarmThatIsStoppedAsItRings(t *testing.T) {
	is := is.New(t)
	for range 500 {
		var rang atomic.Bool
		clock := clockwork.NewFakeClock()
		a := setAlarm(clock, time.Second, func() { rang.Store(true) })
		var all sync.WaitGroup
		all.Go(func() { clock.Advance(time.Second) })
		stopped := a.stop()
		all.Wait()
		is.Equal(stopped, !a.rang())
		if stopped {
			is.True(!rang.Load()) // and it stays so
		}
	}
}
