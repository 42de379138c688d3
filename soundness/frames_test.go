package soundness_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"sync"
)

// The frames and codes of HTTP/2 that are of use here (RFC 9113, sections 6 and 7).
const (
	frameData, frameHeaders, frameReset, frameGoAway = 0, 1, 3, 7

	flagEndHeaders = 4

	codeNone, codeProtocol, codeInternal, codeFlow, codeRefused, codeCancel, codeCalm, codeHTTP1 = 0, 1, 2, 3, 7, 8, 11, 13
)

// streamHeader tells a handler the number of its stream.
const streamHeader = "x-stream"

// A tap is a connection of HTTP/2, decrypted, as the server has it. It knows the
// frames, so that it can say on behalf of the server what net/http never says.
type tap struct {
	net.Conn
	cable *cable
	fate  func(stream uint32) fate // of each new stream

	in    *bufio.Reader
	ready []byte // for the server to read
	begun bool   // the preface has passed
	last  uint32 // the highest stream that the server has seen
	gone  bool   // later streams have been refused with a GOAWAY

	mu    sync.Mutex
	out   []byte // less than a frame
	held  []byte // what is ours and must come after the server's first frame
	spoke bool   // the server has
	reset map[uint32]bool
}

// A fate is what a stream meets before the server sees it.
type fate int

const (
	passes     fate = iota
	goneBelow       // GOAWAY: neither this stream nor a later one was or will be processed
	goneAbove       // GOAWAY after this stream, and then the connection is closed
	goneBroken      // GOAWAY below it with the code of an error
)

func newTap(conn net.Conn, c *cable, f func(uint32) fate) *tap {
	return &tap{Conn: conn, cable: c, fate: f, in: bufio.NewReader(conn), reset: map[uint32]bool{}}
}

func (t *tap) Read(p []byte) (int, error) {
	for len(t.ready) == 0 {
		if err := t.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, t.ready)
	t.ready = t.ready[n:]
	return n, nil
}

// next lets the server have another frame.
func (t *tap) next() error {
	if !t.begun {
		t.begun = true
		t.ready = make([]byte, 24)
		_, err := io.ReadFull(t.in, t.ready)
		return err
	}
	var head [9]byte
	if _, err := io.ReadFull(t.in, head[:]); err != nil {
		return err
	}
	frame := append(make([]byte, 0, 64+length(head[:])), head[:]...)
	frame = frame[:9+length(head[:])]
	if _, err := io.ReadFull(t.in, frame[9:]); err != nil {
		return err
	}
	t.ready = t.pass(frame)
	return nil
}

// pass returns what the server gets of a frame.
func (t *tap) pass(frame []byte) []byte {
	stream := streamOf(frame)
	if frame[3] == frameHeaders && stream > t.last && !t.gone {
		t.meet(stream, t.fate(stream))
		if stream <= t.last && frame[4]&flagEndHeaders != 0 {
			return number(frame, stream)
		}
	}
	if t.gone && stream > t.last {
		return nil
	}
	return frame
}

// meet does what is to happen at a new stream, and counts it if the server gets it.
// The word of a GOAWAY is kept.
func (t *tap) meet(stream uint32, f fate) {
	t.gone = f != passes
	switch f {
	case goneBelow:
		t.goAway(t.last, codeNone)
	case goneBroken:
		t.goAway(t.last, codeCalm)
	case goneAbove:
		t.last = stream
		t.goAway(t.last, codeNone)
		t.cable.cut(cut{outward, 200, byClose})
	case passes:
		t.last = stream
	}
}

// number adds a header with the number of the stream: literal, without indexing,
// so that it makes no difference to the headers that come later.
func number(frame []byte, stream uint32) []byte {
	n := strconv.Itoa(int(stream))
	frame = append(frame, 0, byte(len(streamHeader)))
	frame = append(frame, streamHeader...)
	frame = append(frame, byte(len(n)))
	frame = append(frame, n...)
	size := len(frame) - 9
	frame[0], frame[1], frame[2] = byte(size>>16), byte(size>>8), byte(size)
	return frame
}

// Write keeps the parts of frames together, so that ours come in between.
func (t *tap) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out = append(t.out, p...)
	var whole []byte
	for len(t.out) >= 9 && len(t.out) >= 9+length(t.out) {
		frame := t.out[:9+length(t.out)]
		t.out = t.out[len(frame):]
		if kind := frame[3]; t.reset[streamOf(frame)] && (kind == frameData || kind == frameReset) {
			continue
		}
		whole = append(whole, frame...)
	}
	if len(whole) > 0 {
		t.spoke = true
		whole = append(whole, t.held...)
		t.held = nil
	}
	if _, err := t.Conn.Write(whole); err != nil {
		return 0, err
	}
	return len(p), nil
}

// say sends a frame in the server's name.
func (t *tap) say(frame []byte) {
	if !t.spoke {
		t.held = append(t.held, frame...)
		return
	}
	t.Conn.Write(frame)
}

// resetStream ends a stream in the server's name. What the server says about it
// later is dropped.
func (t *tap) resetStream(stream uint32, code uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reset[stream] = true
	t.say(binary.BigEndian.AppendUint32(header(4, frameReset, stream), code))
}

func (t *tap) goAway(last, code uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.say(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(header(8, frameGoAway, 0), last), code))
}

func header(size, kind byte, stream uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{0, 0, size, kind, 0}, stream)
}

func length(head []byte) int { return int(head[0])<<16 | int(head[1])<<8 | int(head[2]) }

func streamOf(frame []byte) uint32 { return binary.BigEndian.Uint32(frame[5:]) &^ (1 << 31) }
