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

// settle replaces what was taken by what was used, if that has been said.
func (u *usage) settle() {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	tokens, ok := u.meter.Tokens()
	if ok && !u.settled {
		u.settled = true
		u.charge.settle(tokens)
	}
}
