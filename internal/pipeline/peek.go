package pipeline

import (
	"io"
	"net/http"

	"github.com/a-seed-e0941262/resilient/internal/quota"
)

// A peeked body is one whose beginning has been looked at. Its reader gets all of it.
//
// The beginning is read by a goroutine of its own, because a server may let it wait,
// and the caller then gets the response without a look at it. The goroutine ends
// with that Read, which closing the body or the end of the attempt's context ends;
// until it has, nobody else reads.
type peeked struct {
	io.ReadCloser
	ready chan struct{} // closed when the rest is the reader's
	head  []byte
	err   error
}

// peek returns how the body of a response begins, as far as it comes soon.
func (k *call) peek(a *attempt, resp *http.Response) []byte {
	if resp.Body == nil || resp.Body == http.NoBody {
		return nil
	}
	p := &peeked{ReadCloser: resp.Body, ready: make(chan struct{})}
	resp.Body = p
	go p.fill()
	timer := k.Clock.NewTimer(k.within(k.Discard.Time))
	defer timer.Stop()
	select {
	case <-p.ready:
		return p.head
	case <-timer.Chan():
	case <-a.req.Context().Done():
	}
	return nil
}

func (p *peeked) fill() {
	defer close(p.ready)
	p.head = make([]byte, quota.Head)
	n := 0
	for n < len(p.head) && p.err == nil {
		var m int
		m, p.err = p.ReadCloser.Read(p.head[n:])
		n += m
	}
	p.head = p.head[:n]
}

func (p *peeked) Read(b []byte) (int, error) {
	<-p.ready
	switch {
	case len(p.head) > 0:
		n := copy(b, p.head)
		p.head = p.head[n:]
		return n, nil
	case p.err != nil:
		return 0, p.err
	}
	return p.ReadCloser.Read(b)
}
