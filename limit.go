package resilient

import (
	"math"
	"strconv"
)

// ConcurrencyPolicy bounds how many calls run at once. A call holds its permit from its start, through retries and the
// waits between them, until its response body has ended or is closed. The zero policy is off.
type ConcurrencyPolicy struct {
	// Permits is how many calls may run at once: 1 to 2147483647. A call beyond them is queued, or refused with
	// [ErrConcurrencyLimit].
	Permits int

	// Queue is how many calls may wait for a permit, in the order of their arrival: 0 to 2147483647. At 0 none waits. A
	// call that waits ends with its context.
	Queue int
}

// A ConcurrencyOption changes one setting of a [ConcurrencyPolicy].
type ConcurrencyOption interface{ concurrency(*draft) }

type concurrencyFunc func(*draft)

func (f concurrencyFunc) concurrency(d *draft) { f(d) }

// Permits is how many calls may run at once: 1 to 2147483647. It sets [ConcurrencyPolicy].Permits.
func Permits(n int) ConcurrencyOption {
	return concurrencyFunc(func(d *draft) { d.Concurrency.Permits = n })
}

// Queue is how many calls may wait for a permit: 0 to 2147483647. It sets [ConcurrencyPolicy].Queue.
func Queue(n int) ConcurrencyOption {
	return concurrencyFunc(func(d *draft) { d.Concurrency.Queue = n })
}

func (off) concurrency(d *draft) {
	d.Concurrency = ConcurrencyPolicy{}
	d.given &^= usesConcurrency
}

// off reports whether nothing is set. If something is, check sees to it that everything is that must be.
func (p ConcurrencyPolicy) off() bool { return p == ConcurrencyPolicy{} }

func (d *draft) startConcurrency() {
	d.given |= usesConcurrency
	if d.Concurrency.off() {
		d.Concurrency = Standard.Config().Concurrency
	}
}

func (d *draft) applyConcurrency(opts []ConcurrencyOption) {
	d.startConcurrency()
	for _, o := range opts {
		if o == nil {
			d.refuseNil("Concurrency(%s)")
			continue
		}
		o.concurrency(d)
	}
}

// maxPlaces bounds permits and places in the queue: the gate keeps both counts in one word.
const maxPlaces = math.MaxInt32

func (d *draft) checkConcurrency() {
	p := d.Concurrency
	if p.off() && !d.given.has(usesConcurrency) {
		return
	}
	d.checkCount("Concurrency(Permits(%s))", p.Permits, 1, maxPlaces)
	d.checkCount("Concurrency(Queue(%s))", p.Queue, 0, maxPlaces)
}

// settings is what clients that share a limit must agree on.
func (p ConcurrencyPolicy) settings() []term {
	return []term{
		{"Permits", strconv.Itoa(p.Permits)},
		{"Queue", strconv.Itoa(p.Queue)},
	}
}
