package pipeline

import (
	"net/http"
	"sync"

	"github.com/a-seed-e0941262/resilient/internal/quota"
)

// A usage reads along with a response's body for what the request has cost, and
// settles the charge for it when the body ends. The body may be closed while it is read.
type usage struct {
	charge *charge

	mu      sync.Mutex
	meter   quota.Meter
	settled bool
}

// usageOf returns what reads along with the response, nil if nothing does.
func (k *call) usageOf(resp *http.Response) *usage {
	if !k.Rate.Settle || k.charge == nil || resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil
	}
	return &usage{charge: k.charge}
}

func (u *usage) read(p []byte) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	_, _ = u.meter.Write(p)
}

// settle replaces what was taken by what was used, if that has been said. Of a body
// that was not read to its end it may be less than in the end, and gives nothing back.
func (u *usage) settle(whole bool) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	tokens, ok := u.meter.Tokens()
	if !ok || u.settled {
		return
	}
	u.settled = true
	if !whole {
		tokens = max(tokens, u.charge.taken.Load())
	}
	u.charge.settle(tokens)
}
