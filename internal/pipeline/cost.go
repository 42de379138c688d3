package pipeline

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

type costKey struct{}

// A quote is what a caller says that his calls cost, and where he settles it.
type quote struct {
	tokens int64
	charge atomic.Pointer[charge] // of the last attempt
}

// A toll is what a call notes about the rate limit.
type toll struct {
	quote  *quote  // what the caller says that it costs
	costs  int64   // what an attempt takes
	priced bool    // costs is worked out
	charge *charge // what the last one has taken
}

// A charge is what an attempt has taken from its rate limit.
type charge struct {
	state *State
	lane  *Lane
	taken atomic.Int64
	prior *charge // what the caller would settle but for this one
}

// settle replaces what was taken by what was used.
func (c *charge) settle(used int64) {
	c.lane.Rate.Settle(c.state.Now(), c.taken.Swap(used), used)
}

// WithCost sets what each attempt of the calls made with the context takes from the rate limit.
func WithCost(ctx context.Context, tokens int64) context.Context {
	return context.WithValue(ctx, costKey{}, &quote{tokens: tokens})
}

// Settle replaces what the last attempt made with the context has taken by what
// it used. It reports whether there was one.
func Settle(ctx context.Context, used int64) bool {
	q, _ := ctx.Value(costKey{}).(*quote)
	if q == nil {
		return false
	}
	c := q.charge.Load()
	if c == nil {
		return false
	}
	c.settle(used)
	return true
}

// cost is what an attempt of the call takes. It is worked out once.
func (k *call) cost() int64 {
	if k.priced {
		return k.costs
	}
	k.priced = true
	if q, _ := k.ctx().Value(costKey{}).(*quote); q != nil {
		k.quote, k.costs = q, q.tokens
	} else if f := k.Rate.Cost; f != nil {
		r, done := k.glimpse()
		k.costs = f(r)
		done()
	} else {
		k.costs = 1
	}
	return k.costs
}

// glimpse is the caller's request with a copy of its body to look at, as far as
// that can be had without taking it from the attempts.
func (k *call) glimpse() (r *http.Request, done func()) {
	r = k.req.WithContext(k.ctx())
	r.Header = k.header
	body := k.body.glimpse()
	if body != http.NoBody {
		body = &copied{ReadCloser: body}
	}
	r.Body, r.GetBody = body, nil
	return r, func() { _ = body.Close() }
}

// A copied body is closed once, whoever does.
type copied struct {
	io.ReadCloser
	closed bool
}

func (c *copied) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	return c.ReadCloser.Close()
}

// charged notes that an attempt has taken tokens.
func (k *call) charged(tokens int64) {
	k.charge = &charge{state: k.state, lane: k.lane()}
	k.charge.taken.Store(tokens)
	if k.quote != nil {
		k.charge.prior = k.quote.charge.Swap(k.charge)
	}
}

// refund gives back what an attempt has taken that was not sent.
func (k *call) refund(now time.Duration) {
	k.lane().Rate.Return(now, k.charge.taken.Swap(0))
	if k.quote != nil {
		k.quote.charge.CompareAndSwap(k.charge, k.charge.prior)
	}
	k.charge = nil
}

// glimpse returns a copy of the body to look at, none if there is no body or none
// can be had. What is read of one without GetBody is kept for the attempts, so it
// ends where no more can be kept.
func (s *source) glimpse() io.ReadCloser {
	switch {
	case s == nil:
	case s.again != nil:
		return &lent{again: s.again}
	case s.keeps:
		r := s.reader()
		s.begun = false
		return struct {
			io.Reader
			io.Closer
		}{io.LimitReader(r, int64(s.limit)), r}
	}
	return http.NoBody
}

// A lent body is got when it is read. It may be the caller's own: the GetBody of some SDKs winds their one body back instead
// of copying it. Asked once more, it does so for the attempt.
type lent struct {
	again  func() (io.ReadCloser, error)
	body   io.ReadCloser // nil: it was not read
	closed bool
}

func (l *lent) Read(p []byte) (int, error) {
	if l.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if l.body == nil {
		l.body = l.get()
	}
	return l.body.Read(p)
}

func (l *lent) Close() error {
	l.closed = true
	if l.body == nil {
		return nil
	}
	err := l.body.Close()
	_ = l.get().Close()
	return err
}

// get is what GetBody gives, or no body.
func (l *lent) get() io.ReadCloser {
	if body, err := l.again(); err == nil && body != nil {
		return body
	}
	return http.NoBody
}
