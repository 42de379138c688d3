package httptestx

import (
	"context"
	"encoding/binary"
	"io"
	"sync"
)

// outbound is what the server sends on an HTTP/2 connection: the frames of
// net/http, and between them our own. net/http does not know of those, so what it sends
// afterwards for a stream that was reset is dropped. Its HEADERS are not: they carry
// state of the compression.
type outbound struct {
	w io.Writer

	writing sync.Mutex // held while bytes leave, which can take long
	tail    []byte     // the beginning of a frame whose rest is to come; guarded by writing

	mu      sync.Mutex // guards what follows; taken after writing
	changed sync.Cond
	reset   map[uint32]bool
	sent    map[uint32]amount // by stream; one that has ended may still be asked for
	begun   bool              // something was sent, so SETTINGS was: it is the first
	gone    bool              // a GOAWAY was sent
	closed  bool              // nothing may follow
}

// amount is how much of an answer has left.
type amount struct {
	blocks int // header blocks, 1xx included
	bytes  int // of DATA
}

func newOutbound(w io.Writer) *outbound {
	o := &outbound{w: w, reset: make(map[uint32]bool), sent: make(map[uint32]amount)}
	o.changed.L = &o.mu
	return o
}

// Write sends the whole frames in what net/http has written so far.
func (o *outbound) Write(p []byte) (int, error) {
	o.writing.Lock()
	defer o.writing.Unlock()
	o.tail = append(o.tail, p...)
	var out []byte
	rest := o.tail
	for {
		h, frame, after, ok := cutFrame(rest)
		if !ok {
			break
		}
		if rest = after; o.passes(h) {
			out = append(out, frame...)
		}
	}
	o.tail = append(o.tail[:0], rest...)
	if err := o.send(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// passes reports whether a frame of net/http may leave.
func (o *outbound) passes(h frameHead) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	return !o.reset[h.stream] || h.kind != frameData && h.kind != frameReset
}

// send writes whole frames, and counts them when they have left. The caller
// holds writing.
func (o *outbound) send(frames []byte) error {
	if len(frames) == 0 {
		return nil
	}
	if _, err := o.w.Write(frames); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		h, _, rest, ok := cutFrame(frames)
		if !ok {
			break
		}
		o.count(h)
		frames = rest
	}
	o.begun = true
	o.changed.Broadcast()
	return nil
}

func (o *outbound) count(h frameHead) {
	if h.stream == 0 {
		return
	}
	a := o.sent[h.stream]
	switch {
	case h.endsHeaders():
		a.blocks++
	case h.kind == frameData:
		a.bytes += h.length
	}
	o.sent[h.stream] = a
}

// await returns when so much of the answer has left, or ctx has ended. net/http
// collects frames before it writes them, also after a flush; what we send must not
// overtake them.
func (o *outbound) await(ctx context.Context, stream uint32, want amount) {
	o.waitFor(ctx, func() bool {
		return o.sent[stream].blocks >= want.blocks && o.sent[stream].bytes >= want.bytes
	})
}

// awaitSettings returns when the server's SETTINGS have left, or ctx has ended. A client
// must get them first (RFC 9113, section 3.4).
func (o *outbound) awaitSettings(ctx context.Context) {
	o.waitFor(ctx, func() bool { return o.begun })
}

// waitFor returns when done, which is called under the lock, is true, or ctx has ended.
func (o *outbound) waitFor(ctx context.Context, done func() bool) {
	defer context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changed.Broadcast()
	})()
	o.mu.Lock()
	defer o.mu.Unlock()
	for ctx.Err() == nil && !done() {
		o.changed.Wait()
	}
}

// resetStream sends a RST_STREAM, and gives the stream up.
func (o *outbound) resetStream(stream uint32, code ErrCode) {
	o.writing.Lock()
	defer o.writing.Unlock()
	o.giveUp(stream)
	_ = o.send(appendFrame(nil, frameReset, 0, stream, binary.BigEndian.AppendUint32(nil, uint32(code))))
}

// giveUp drops what net/http will send for a stream.
func (o *outbound) giveUp(stream uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reset[stream] = true
}

// goAway sends a GOAWAY: the streams above last were not, and will not be,
// processed.
func (o *outbound) goAway(last uint32, code ErrCode) {
	o.writing.Lock()
	defer o.writing.Unlock()
	o.sendGoAway(last, code)
}

func (o *outbound) sendGoAway(last uint32, code ErrCode) {
	o.mu.Lock()
	o.gone = true
	o.mu.Unlock()
	payload := binary.BigEndian.AppendUint32(nil, last)
	payload = binary.BigEndian.AppendUint32(payload, uint32(code))
	_ = o.send(appendFrame(nil, frameGoAway, 0, 0, payload))
}

// sendLast sends a frame that nothing follows, not even a GOAWAY.
func (o *outbound) sendLast(frame []byte) {
	o.shut()
	o.writing.Lock()
	defer o.writing.Unlock()
	o.mu.Lock()
	o.gone = true
	o.mu.Unlock()
	_, _ = o.w.Write(frame)
}

// shut drops what net/http will send from now on.
func (o *outbound) shut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// close sends a GOAWAY, unless one was sent, and nothing any more.
func (o *outbound) close(last uint32) {
	o.shut()
	o.writing.Lock()
	defer o.writing.Unlock()
	o.mu.Lock()
	gone := o.gone
	o.mu.Unlock()
	if !gone {
		o.sendGoAway(last, ErrCodeNo)
	}
}
