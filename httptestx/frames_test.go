package httptestx

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"testing"
	"testing/synctest"

	"github.com/matryer/is"
)

// untag takes the tags out of a stream of frames again, and gives back the flags; it is as
// slow and simple as it gets. tagged are the streams.
func untag(b []byte) (plain []byte, tagged []uint32) {
	for last := -1; ; {
		h, frame, rest, ok := cutFrame(b)
		if !ok {
			return append(plain, b...), tagged
		}
		b = rest
		if h.kind == frameContinuation && bytes.Equal(frame[frameHeadLen:], tagFor(h.stream)) {
			plain[last+4] |= flagEndHeaders
			tagged = append(tagged, h.stream)
			continue
		}
		last = len(plain)
		plain = append(plain, frame...)
	}
}

const flagEndStream = 0x1

func headers(stream uint32, flags byte, payload string) []byte {
	return appendFrame(nil, frameHeaders, flags, stream, []byte(payload))
}

func TestTaggerMarksEachRequestOnce(t *testing.T) {
	is := is.New(t)
	in := bytes.Join([][]byte{
		appendFrame(nil, 4, 0, 0, make([]byte, 12)),                       // SETTINGS
		headers(1, flagEndHeaders, "a"),                                   // a request
		headers(3, 0, "b"),                                                // one whose header goes on
		appendFrame(nil, frameContinuation, 0, 3, []byte("c")),            // and on
		appendFrame(nil, frameContinuation, flagEndHeaders, 3, nil),       // and ends
		appendFrame(nil, frameData, 0, 1, []byte("body")),                 // a body
		headers(1, flagEndHeaders|flagEndStream, "trailer"),               // trailers are not tagged
		headers(5, flagEndHeaders|flagEndStream|0x8|0x20, "\x01\x00\x00"), // padding and priority change nothing
	}, nil)
	var tags tagger
	out := tags.feed(nil, in)
	plain, tagged := untag(out)
	is.Equal(tagged, []uint32{1, 3, 5}) // one tag a request
	is.True(bytes.Equal(plain, in))     // and nothing else is new
	is.Equal(tags.last, uint32(5))      // the highest stream
	want := append(headers(1, 0, "a"), appendFrame(nil, frameContinuation, flagEndHeaders, 1,
		[]byte("\x00\x10httptestx-stream\x011"))...)
	is.True(bytes.Contains(out, want)) // a literal field in a frame of its own
}

// FuzzFramesIn feeds the tagger with anything in pieces of any size.
func FuzzFramesIn(f *testing.F) {
	f.Add(headers(1, flagEndHeaders, "a"), uint8(1))
	f.Add(append(headers(1, 0, "a"), appendFrame(nil, frameContinuation, flagEndHeaders, 1, []byte("b"))...), uint8(7))
	f.Add(append(headers(3, flagEndHeaders, "a"), headers(3, flagEndHeaders|flagEndStream, "t")...), uint8(200))
	f.Add([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), uint8(3))
	f.Add(headers(1<<31, flagEndHeaders, ""), uint8(9))
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		var whole, pieces tagger
		want := whole.feed(nil, in)
		var got []byte
		for rest := in; len(rest) > 0; {
			n := min(len(rest), int(size)+1)
			got = pieces.feed(got, rest[:n])
			rest = rest[n:]
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("in pieces of %d: %x, at once: %x", int(size)+1, got, want)
		}
		complete := in[:len(in)-len(cutAll(in))]
		plain, tagged := untag(new(tagger).feed(nil, complete))
		if !bytes.Equal(plain, complete) && !mayBeTag(in) {
			t.Fatalf("%x became %x", complete, plain)
		}
		for i, stream := range tagged {
			if stream%2 == 0 || i > 0 && stream <= tagged[i-1] && !mayBeTag(in) {
				t.Fatalf("tags are not in order: %v", tagged)
			}
		}
	})
}

// cutAll returns what is behind the last whole frame.
func cutAll(b []byte) []byte {
	for ok := true; ok; {
		_, _, b, ok = cutFrame(b)
	}
	return b
}

// mayBeTag reports whether untag could take something of the input for a tag.
func mayBeTag(in []byte) bool { return bytes.Contains(in, []byte(lowerStreamField)) }

// FuzzFramesOut writes anything in pieces of any size, with our own frames in between.
func FuzzFramesOut(f *testing.F) {
	f.Add(appendFrame(headers(1, flagEndHeaders, "a"), frameData, flagEndStream, 1, []byte("body")), uint8(1), uint8(0))
	f.Add(appendFrame(headers(1, flagEndHeaders, "a"), frameReset, 0, 1, make([]byte, 4)), uint8(5), uint8(2))
	f.Add([]byte{0, 0, 0}, uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, size, at uint8) {
		var wire bytes.Buffer
		o := newOutbound(&wire)
		for i, rest := 0, in; len(rest) > 0; i++ {
			if i == int(at) {
				o.resetStream(1, ErrCodeCancel)
				o.goAway(1, ErrCodeNo)
			}
			n := min(len(rest), int(size)+1)
			if k, err := o.Write(rest[:n]); k != n || err != nil {
				t.Fatalf("wrote %d of %d, %v", k, n, err)
			}
			rest = rest[n:]
		}
		if got := append(withoutOurs(t, wire.Bytes()), o.tail...); !bytes.Equal(got, dropped(in, int(at)*(int(size)+1))) {
			t.Fatalf("%x became %x", in, wire.Bytes())
		}
	})
}

// withoutOurs returns the frames that came from outside, and fails if they are not whole.
func withoutOurs(t *testing.T, b []byte) (plain []byte) {
	ours := appendFrame(nil, frameReset, 0, 1, binary.BigEndian.AppendUint32(nil, uint32(ErrCodeCancel)))
	ours = appendFrame(ours, frameGoAway, 0, 0, []byte{0, 0, 0, 1, 0, 0, 0, 0})
	for len(b) > 0 {
		if rest, ok := bytes.CutPrefix(b, ours); ok {
			return append(plain, rest...)
		}
		_, frame, rest, ok := cutFrame(b)
		if !ok {
			t.Fatalf("a frame is cut: %x", b)
		}
		plain, b = append(plain, frame...), rest
	}
	return plain
}

// dropped returns in without what a reset of stream 1 drops: its DATA and RST_STREAM frames that
// are not whole in the first n bytes.
func dropped(in []byte, n int) (kept []byte) {
	whole := len(in)
	for {
		h, frame, rest, ok := cutFrame(in)
		if !ok {
			return append(kept, in...)
		}
		late := whole-len(rest) > n
		if !late || h.stream != 1 || h.kind != frameData && h.kind != frameReset {
			kept = append(kept, frame...)
		}
		in = rest
	}
}

func TestOutboundSendsNothingAfterItsClose(t *testing.T) {
	is := is.New(t)
	var wire bytes.Buffer
	o := newOutbound(&wire)
	o.close(7)
	n, err := o.Write(headers(1, flagEndHeaders, "a"))
	is.NoErr(err)                                                                               // net/http need not know
	is.Equal(n, frameHeadLen+1)                                                                 // it believes all was sent
	is.Equal(wire.Bytes(), appendFrame(nil, frameGoAway, 0, 0, []byte{0, 0, 0, 7, 0, 0, 0, 0})) // the GOAWAY was the last
	o.close(5)
	is.Equal(wire.Len(), 17) // and the only one
}

func TestOutboundAwaitsWhatIsToLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		o := newOutbound(io.Discard)
		passed := false
		go func() {
			o.await(t.Context(), 1, amount{blocks: 2, bytes: 5})
			passed = true
		}()
		for _, frame := range [][]byte{
			headers(1, flagEndHeaders, "1xx"), headers(1, 0, "a"), appendFrame(nil, frameContinuation, flagEndHeaders, 1, nil),
			appendFrame(nil, frameData, 0, 3, []byte("other")), appendFrame(nil, frameData, 0, 1, []byte("12345")),
		} {
			synctest.Wait()
			is.True(!passed) // not all has left
			o.Write(frame[:5])
			o.Write(frame[5:])
		}
		synctest.Wait()
		is.True(passed) // it has
	})
}

func TestOutboundAwaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	newOutbound(nil).await(ctx, 1, amount{blocks: 1}) // returns
}
