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
	waits map[*call]chan struct{} // of those that have waited: closed when they are cancelled
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
	delete(u.waits, k)
}

// leaving is closed when the call is cancelled. Only waits need it, so only they have it made.
func (u *underway) leaving(k *call) <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.waits[k] == nil {
		if u.waits == nil {
			u.waits = map[*call]chan struct{}{}
		}
		u.waits[k] = make(chan struct{})
		if k.cancelled.Load() {
			close(u.waits[k])
		}
	}
	return u.waits[k]
}

// CancelRequest ends the call of a request: an attempt by the base's own means,
// with the base's own error, and a wait at once. Without a call it does nothing.
func (p *Pipeline) CancelRequest(req *http.Request) {
	p.mu.Lock()
	var attempt *http.Request
	if k := p.calls[req]; k != nil {
		attempt = k.trying.Load()
		if quit := p.waits[k]; !k.cancelled.Swap(true) && quit != nil {
			close(quit)
		}
	}
	p.mu.Unlock()
	if c, ok := p.Base.(canceller); ok && attempt != nil {
		c.CancelRequest(attempt)
	}
}
