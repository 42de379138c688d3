package pipeline

import (
	"net/http"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/gate"
)

// limitRate has each attempt, or each call, take its cost from a token bucket. What
// is not sent after all is given back.
func limitRate(c RateConfig) stage {
	if !c.On {
		return nil
	}
	return func(next handler) handler {
		return func(k *call) (*http.Response, error) {
			if k.toll == nil {
				k.toll = &toll{}
			}
			if c.PerCall && k.charge != nil {
				return next(k)
			}
			if err := k.take(); err != nil {
				return nil, err
			}
			k.tick()
			sent := k.sent
			defer func() { // also if it panics
				if k.sent == sent || k.unsent() {
					k.refund(k.state.Now())
				} else {
					k.charge.prior = nil // it stands
				}
			}()
			return next(k)
		}
	}
}

// unsent reports that nothing was sent of the last attempt, which has ended.
func (k *call) unsent() bool {
	return k.last.Number == k.sent && k.last.Sends == 0 && k.last.Err != nil
}

// take takes what an attempt costs, after a wait if there is one to be had.
func (k *call) take() error {
	tokens := k.cost()
	if tokens < 0 {
		return k.Errors.NegativeCost(tokens)
	}
	switch grant, wait := k.lane().Rate.Take(k.state.Now(), tokens, k.patience()); grant {
	case gate.TooLarge:
		return k.reject(GateRate, 0, k.Errors.TooLarge(tokens, k.lane().Rate.State(k.state.Now()).Burst))
	case gate.TooSoon:
		return k.turnAway(GateRate, wait)
	default:
		k.charged(tokens)
		if wait == 0 {
			return nil
		}
		return k.standBy(wait)
	}
}

// standBy waits until the tokens that were taken are there.
func (k *call) standBy(wait time.Duration) error {
	since, ready := k.state.Now(), false
	defer func() { // also if an observer panics
		if !ready {
			k.refund(k.state.Now())
		}
	}()
	err := k.wait(wait)
	k.waited(GateRate, since)
	ready = err == nil
	return err
}

// patience is the longest wait for tokens: none while another endpoint may have
// some, and none that ends after the caller's time.
func (k *call) patience() time.Duration {
	if k.routing != nil && k.hurried {
		return 0
	}
	d := k.Rate.Wait
	if left, ok := k.timeLeft(); ok {
		d = min(d, left-1) // at the very end nothing can be sent any more
	}
	return max(0, d)
}
