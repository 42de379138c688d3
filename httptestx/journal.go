package httptestx

import (
	"slices"
	"sync"
	"time"
)

// journal holds the exchanges of a server.
//
// One lock guards all of it: the list, the entries, and the logical clock that
// stamps arrivals and ends. No user code runs under it. Each change that
// somebody may wait for is followed by a broadcast under the lock.
type journal struct {
	mu      sync.Mutex
	changed sync.Cond
	list    []*Exchange
	most    int // to remember; 0 for all
	clock   int
	arrived int  // how many have, since epoch began
	ended   int  // how many of those have ended
	epoch   int  // goes up when all are forgotten
	closed  bool // nothing will end any more
}

func newJournal() *journal {
	j := &journal{}
	j.changed.L = &j.mu
	return j
}

// entry is the writer's handle on one exchange.
type entry struct {
	journal *journal
	x       *Exchange
}

// arrive records a request that came over c.
func (j *journal) arrive(c *conn, x *Exchange) entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	c.requests++
	j.clock++
	j.arrived++
	x.Seq, x.Conn, x.ConnSeq = j.arrived, c.id, c.requests
	x.Arrived, x.arrivedAt, x.at, x.epoch = time.Now(), j.clock, -1, j.epoch
	j.list = append(j.list, x)
	j.trim()
	if fate := c.of(x.Stream); fate != Running {
		j.conclude(x, fate) // its client was told before it arrived
	}
	return entry{j, x}
}

// update changes the exchange.
func (e entry) update(change func(x *Exchange)) {
	e.journal.mu.Lock()
	defer e.journal.mu.Unlock()
	change(e.x)
	e.journal.changed.Broadcast()
}

// end records how the exchange ended. The first end counts.
func (e entry) end(how EndState) {
	e.update(func(x *Exchange) {
		if x.End == Running {
			e.journal.conclude(x, how)
		}
	})
}

// conclude ends an exchange. The caller holds the lock.
func (j *journal) conclude(x *Exchange, how EndState) {
	j.clock++
	if x.epoch == j.epoch {
		j.ended++
	}
	x.End, x.Done, x.doneAt = how, time.Now(), j.clock
}

// trim forgets the oldest that has ended, if they are too many.
func (j *journal) trim() {
	if j.most == 0 || len(j.list) <= j.most {
		return
	}
	if i := slices.IndexFunc(j.list, func(x *Exchange) bool { return x.End != Running }); i >= 0 {
		j.list = slices.Delete(j.list, i, i+1)
	}
}

// forget begins anew. Exchanges that are running go on, unseen.
func (j *journal) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list, j.arrived, j.ended = nil, 0, 0
	j.epoch++
	j.changed.Broadcast()
}

// leave records that the plan of the exchange is over.
func (e entry) leave() { e.update(func(x *Exchange) { x.cut = false }) }

// effect records a side effect named by the handler.
func (e entry) effect(name string) {
	e.update(func(x *Exchange) { x.effects = append(x.effects, name) })
}

// snapshot returns copies of the exchanges in order of arrival. The slices in
// them are clipped: they only ever grow by append, which then copies.
func (j *journal) snapshot() []Exchange {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.copy()
}

func (j *journal) copy() []Exchange {
	list := make([]Exchange, len(j.list))
	for i, x := range j.list {
		list[i] = *x
		list[i].Body = slices.Clip(x.Body)
		list[i].effects = slices.Clip(x.effects)
	}
	return list
}

// wait returns the exchanges when n of them have ended; ok is false if the
// server was closed before.
func (j *journal) wait(n int) (list []Exchange, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.ended < n && !j.closed {
		j.changed.Wait()
	}
	return j.copy(), j.ended >= n
}

// settle returns the exchanges when none has its Handle still before it: a count
// of what happened would be early. Whether a handler returns is not waited for.
func (j *journal) settle() []Exchange {
	j.mu.Lock()
	defer j.mu.Unlock()
	for slices.ContainsFunc(j.list, (*Exchange).pending) {
		j.changed.Wait()
	}
	return j.copy()
}

// pending reports whether x is going to run the handler, if the client sends
// the whole request.
func (x *Exchange) pending() bool {
	if x.End != Running && !x.cut || x.Handled {
		return false
	}
	return x.at < 0 || slices.Contains(x.Plan[x.at:], Handle)
}

// close lets the waiters go.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	j.changed.Broadcast()
}
