package httptestx

// isFrame reports whether the malformation is of HTTP/2.
func (m Malformation) isFrame() bool { return m == BadHPACK || m == HugeFrame }

// breaksFrame reports whether s is a malformation of HTTP/2.
func (s Step) breaksFrame() bool { return s.op == opMalformed && Malformation(s.n).isFrame() }

// maxFrame is the largest length that the head of a frame can name (RFC 9113, section 4.1).
const maxFrame = 1<<24 - 1

// frame returns the frame for a stream. Of a huge one the head says enough.
func (m Malformation) frame(stream uint32) []byte {
	if m == BadHPACK {
		return appendFrame(nil, frameHeaders, flagEndHeaders, stream, []byte{0x80}) // field number 0, which there is not
	}
	head := appendFrame(nil, frameData, 0, stream, nil)
	head[0], head[1], head[2] = maxFrame>>16, maxFrame>>8&0xff, maxFrame&0xff
	return head
}

// breakFrame sends a frame with which no client can go on, and ends the connection.
func (x *run) breakFrame(st Step, kind Malformation) EndState {
	if x.r.ProtoMajor != 2 {
		return x.cannot(st, "its responses are text, not frames")
	}
	if x.left() {
		return x.gone()
	}
	frame := kind.frame(x.log.x.Stream)
	x.log.update(func(e *Exchange) { e.Sent, e.Bytes = SentRaw, int64(len(frame)) })
	x.log.end(EndClosed)
	x.conn.out.awaitSettings(x.conn.life)
	x.conn.end(EndClosed)
	x.conn.out.sendLast(frame)
	x.conn.finish()
	return EndClosed
}
