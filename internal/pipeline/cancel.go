package pipeline

import (
	"net/http"
	"sync"
)

// canceller is what net/http's transport still has for callers from before
// there were contexts.
type canceller interface{ CancelRequest(*http.Request) }

// underway finds the call that a request belongs to, for CancelRequest: what the
// base knows is the request of an attempt, not the caller's.
type underway struct {
	mu    sync.Mutex
	calls map[*http.Request]*call
}

func (u *underway) add(k *call) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.calls == nil {
		u.calls = map[*http.Request]*call{}
	}
	u.calls[k.req] = k
}

func (u *underway) remove(k *call) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.calls[k.req] == k { // a caller may use one request twice at once, though he shouldn't
		delete(u.calls, k.req)
	}
}

// trying notes which request stands for the call now.
func (u *underway) trying(k *call, attempt *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	k.trying = attempt
}

// CancelRequest ends the call of a request: an attempt by the base's own means,
// with the base's own error, and a wait at once. Without a call it does nothing.
func (p *Pipeline) CancelRequest(req *http.Request) {
	p.mu.Lock()
	k := p.calls[req]
	var attempt *http.Request
	if k != nil {
		attempt = k.trying
		if !k.cancelled {
			k.cancelled = true
			close(k.quit)
		}
	}
	p.mu.Unlock()
	if c, ok := p.Base.(canceller); ok && attempt != nil {
		c.CancelRequest(attempt)
	}
}
