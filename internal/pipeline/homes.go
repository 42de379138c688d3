package pipeline

import "sync"

// maxHomes is how many keys are remembered at least; twice as many at most.
const maxHomes = 8192

// homes remembers which endpoint has served a key. It has two halves: when the young
// one is full it becomes the old one, whose keys are forgotten unless they were
// asked for meanwhile.
type homes struct {
	mu         sync.Mutex
	young, old map[string]int
}

// of is the endpoint that a key has to stay with, -1 if none is known.
func (h *homes) of(key string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, ok := h.young[key]
	if ok {
		return i
	}
	if i, ok = h.old[key]; !ok {
		return -1
	}
	h.put(key, i)
	return i
}

func (h *homes) set(key string, i int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.put(key, i)
}

func (h *homes) put(key string, i int) {
	if _, known := h.young[key]; !known && len(h.young) >= maxHomes || h.young == nil {
		h.young, h.old = make(map[string]int), h.young
	}
	h.young[key] = i
}
