package pipeline

import "sync"

// maxHomes is how many keys are remembered at least; twice as many at most.
const maxHomes = 8192

// homes remembers which lane has served a key, for the endpoints may be others by the
// next time. It has two halves: when the young
// one is full it becomes the old one, whose keys are forgotten unless they were
// asked for meanwhile.
type homes struct {
	mu         sync.Mutex
	young, old map[string]*Lane
}

// of is the lane that a key has to stay with, nil if none is known.
func (h *homes) of(key string) *Lane {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.young[key]; l != nil {
		return l
	}
	l := h.old[key]
	if l != nil {
		h.put(key, l)
	}
	return l
}

func (h *homes) set(key string, l *Lane) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.put(key, l)
}

func (h *homes) put(key string, l *Lane) {
	if _, known := h.young[key]; !known && len(h.young) >= maxHomes || h.young == nil {
		h.young, h.old = make(map[string]*Lane), h.young
	}
	h.young[key] = l
}
