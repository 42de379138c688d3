package pipeline

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/matryer/is"
	"pgregory.net/rapid"
)

// A countedBody counts its closes.
type countedBody struct {
	io.Reader
	closes atomic.Int32
}

func (b *countedBody) Close() error { b.closes.Add(1); return nil }

func newSource(body io.ReadCloser, length int64, limit int) *source {
	return sourceOf(&http.Request{Body: body, ContentLength: length}, true, limit)
}

func TestNoBodyStaysNoBody(t *testing.T) {
	is := is.New(t)
	for _, body := range []io.ReadCloser{nil, http.NoBody} {
		s := newSource(body, 0, 10)
		is.True(s.reader() == nil) // nothing is put in its place
		is.True(s.rewind())        // it can be sent any number of times
		s.finish()
	}
}

func TestSmallBodyIsKeptForTheNextAttempt(t *testing.T) {
	is := is.New(t)
	body := &countedBody{Reader: strings.NewReader("hello")}
	s := newSource(body, -1, 5)
	for range 3 {
		r := s.reader()
		b, err := io.ReadAll(r)
		is.NoErr(err)
		is.Equal(string(b), "hello") // each attempt has all of it
		r.seal()
		complete, bodyErr := r.whole()
		is.True(complete)   // and has handed it all out
		is.NoErr(bodyErr)   // without fault
		is.True(s.rewind()) // so that another attempt can have it
	}
	is.Equal(body.closes.Load(), int32(0)) // the caller's body is open while an attempt may come
	s.finish()
	is.Equal(body.closes.Load(), int32(1)) // and closed once when none will
}

func TestAttemptGoesOnWhereAnEarlierOneStopped(t *testing.T) {
	is := is.New(t)
	s := newSource(io.NopCloser(iotest.OneByteReader(strings.NewReader("abcdef"))), -1, 10)
	r := s.reader()
	_, err := io.ReadFull(r, make([]byte, 3))
	is.NoErr(err)
	r.seal()
	complete, _ := r.whole()
	is.True(!complete)  // three bytes are missing
	is.True(s.rewind()) // what was read is kept
	b, err := io.ReadAll(s.reader())
	is.NoErr(err)
	is.Equal(string(b), "abcdef") // the kept ones, then the rest
}

func TestBodyAboveTheLimitIsSentOnce(t *testing.T) {
	is := is.New(t)
	s := newSource(io.NopCloser(strings.NewReader("hello world")), -1, 5)
	r := s.reader()
	b, err := io.ReadAll(r)
	is.NoErr(err)
	is.Equal(string(b), "hello world") // the one attempt has all of it
	r.seal()
	is.True(!s.rewind())     // no other can
	is.Equal(len(s.kept), 0) // and nothing is held on to
	declared := newSource(io.NopCloser(strings.NewReader("hello world")), 11, 5)
	is.True(!declared.keeps) // a length that is known beforehand keeps nothing at all
}

func TestNothingIsReadAheadOfTheTransport(t *testing.T) {
	is := is.New(t)
	var pulled int
	body := io.NopCloser(readerFunc(func(p []byte) (int, error) { pulled += len(p); return len(p), nil }))
	r := newSource(body, -1, 1<<16).reader()
	is.Equal(pulled, 0) // not before it asks
	_, _ = r.Read(make([]byte, 7))
	is.Equal(pulled, 7) // and not more than it asks for
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestSealedReaderHandsOutNothing(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		is := is.New(t)
		req := &http.Request{Body: io.NopCloser(strings.NewReader("abc")), ContentLength: 3}
		if !keeps {
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("abc")), nil }
		}
		s := sourceOf(req, true, 10)
		r := s.reader()
		_, _ = r.Read(make([]byte, 1))
		r.seal()
		complete, _ := r.whole()
		is.True(!complete)
		n, err := r.Read(make([]byte, 9))
		is.Equal(n, 0)           // what was incomplete stays incomplete
		is.Equal(err, errSealed) // and the transport is told why
	}
}

func TestGetBodyGivesEachAttemptItsOwn(t *testing.T) {
	is := is.New(t)
	var made []*countedBody
	fresh := func() (io.ReadCloser, error) {
		b := &countedBody{Reader: strings.NewReader("abc")}
		made = append(made, b)
		return b, nil
	}
	body, _ := fresh()
	s := sourceOf(&http.Request{Body: body, GetBody: fresh, ContentLength: 3}, true, 0)
	for range 3 {
		r := s.reader()
		b, _ := io.ReadAll(r)
		is.Equal(string(b), "abc")
		is.NoErr(r.Close()) // as a transport does
		r.seal()            // as the pipeline does
		is.True(s.rewind())
	}
	s.finish()
	is.Equal(len(made), 4) // the caller's, two that were sent, one that was got ready
	for _, b := range made {
		is.Equal(b.closes.Load(), int32(1)) // each closed exactly once
	}
}

// The GetBody of some SDKs winds their one body back. A transport that answered early may read on from it until its reader
// is sealed, and so take from the next attempt.
func TestNextAttemptHasTheWholeOfABodyThatIsWoundBack(t *testing.T) {
	is := is.New(t)
	body := strings.NewReader("abcdef")
	wind := func() (io.ReadCloser, error) {
		_, err := body.Seek(0, io.SeekStart)
		return io.NopCloser(body), err
	}
	s := sourceOf(&http.Request{Body: io.NopCloser(body), GetBody: wind, ContentLength: 6}, true, 0)
	first := s.reader()
	_, _ = first.Read(make([]byte, 2))
	is.True(s.rewind()) // an early answer is worth a retry
	_, _ = first.Read(make([]byte, 2))
	first.seal()
	b, err := io.ReadAll(s.reader())
	is.NoErr(err)
	is.Equal(string(b), "abcdef") // from its start
}

// What was got before has been read from: sent as it is, it would be the end of a body.
func TestBodyThatCanNotBeWoundBackIsNotSentInPart(t *testing.T) {
	is := is.New(t)
	body, times := strings.NewReader("abcdef"), 0
	wind := func() (io.ReadCloser, error) {
		if times++; times > 1 {
			return nil, errors.New("the file is gone")
		}
		_, err := body.Seek(0, io.SeekStart)
		return io.NopCloser(body), err
	}
	s := sourceOf(&http.Request{Body: io.NopCloser(body), GetBody: wind, ContentLength: -1}, true, 0)
	first := s.reader()
	is.True(s.rewind()) // an early answer is worth a retry
	_, err := first.Read(make([]byte, 3))
	is.NoErr(err) // the transport reads on
	first.seal()
	second := s.reader()
	b, err := io.ReadAll(second)
	is.Equal(string(b), "")
	is.Equal(err.Error(), "the file is gone")
	second.seal()
	complete, bodyErr := second.whole()
	is.True(!complete)                            // nothing has arrived as a whole
	is.Equal(bodyErr.Error(), "the file is gone") // by the caller's own fault
}

func TestGetBodyThatFailsMeansNoFurtherAttempt(t *testing.T) {
	is := is.New(t)
	body := &countedBody{Reader: strings.NewReader("abc")}
	s := sourceOf(&http.Request{Body: body, GetBody: func() (io.ReadCloser, error) { return nil, errors.New("gone") }}, true, 0)
	s.reader().seal()
	is.True(!s.rewind())
	s.finish()
	is.Equal(body.closes.Load(), int32(1)) // still closed once
}

func TestUnsentBodyIsClosed(t *testing.T) {
	is := is.New(t)
	body := &countedBody{Reader: strings.NewReader("abc")}
	s := newSource(body, 3, 10)
	s.finish()
	is.Equal(body.closes.Load(), int32(1)) // a refused call closes the body too
}

func TestCallersBodyErrorIsTold(t *testing.T) {
	is := is.New(t)
	broken := errors.New("disk")
	s := newSource(io.NopCloser(iotest.ErrReader(broken)), -1, 10)
	r := s.reader()
	_, err := r.Read(make([]byte, 1))
	is.Equal(err, broken) // the transport gets it as it is
	r.seal()
	complete, err := r.whole()
	is.True(!complete)
	is.Equal(err, broken) // so that nobody else is blamed
	is.True(!s.rewind())  // a broken body can't be sent again
}

// A transport's reader may still be inside a Read of the caller's body when its
// attempt is over. What that Read brings belongs to the next attempt.
func TestStragglersBytesReachTheNextAttempt(t *testing.T) {
	is := is.New(t)
	pr, pw := io.Pipe()
	s := newSource(pr, -1, 4) // less than the straggler brings
	first := s.reader()
	inside, done := make(chan struct{}), make(chan error)
	s.orig = struct {
		io.Reader
		io.Closer
	}{readerFunc(func(p []byte) (int, error) {
		select {
		case <-inside:
		default:
			close(inside)
		}
		return pr.Read(p)
	}), pr}
	go func() {
		_, err := first.Read(make([]byte, 100))
		done <- err
	}()
	<-inside
	first.seal()
	is.True(s.rewind()) // nothing has been read yet
	second := s.reader()
	go func() {
		_, _ = pw.Write([]byte("straggler's "))
		_, _ = pw.Write([]byte("and its own"))
		_ = pw.Close()
	}()
	b, err := io.ReadAll(second)
	is.NoErr(err)
	is.Equal(string(b), "straggler's and its own") // nothing is lost, nothing is twice
	is.Equal(<-done, errSealed)                    // and the straggler got none of it
}

// Any number of attempts, ended at any point, with readers that go on reading
// on goroutines of their own: each attempt sees the body from its start.
func TestEveryAttemptReadsThePrefixOfTheBody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "body")
		limit := rapid.IntRange(0, 250).Draw(t, "limit")
		body := &countedBody{Reader: iotest.OneByteReader(bytes.NewReader(want))}
		s := newSource(body, -1, limit)
		var wg sync.WaitGroup
		for range rapid.IntRange(1, 4).Draw(t, "attempts") {
			r := s.reader()
			n := rapid.IntRange(0, len(want)).Draw(t, "reads")
			got := make([]byte, n)
			if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want[:n]) {
				t.Fatalf("an attempt read %q (%v), want %q", got, err, want[:n])
			}
			wg.Go(func() { _, _ = io.Copy(io.Discard, io.LimitReader(r, 20)) })
			r.seal()
			complete, _ := r.whole()
			if !s.rewind() {
				break
			}
			if complete && n < len(want) && len(s.kept) < len(want) {
				t.Fatalf("complete after %d of %d bytes", n, len(want))
			}
		}
		s.finish()
		wg.Wait()
		if c := body.closes.Load(); c != 1 {
			t.Fatalf("the body was closed %d times", c)
		}
	})
}

// The alarm that gives a body up may ring when its attempt has just ended.
func TestBodyIsNotGivenUpUnderTheNextAttempt(t *testing.T) {
	is := is.New(t)
	body := &countedBody{Reader: iotest.OneByteReader(strings.NewReader("hello"))}
	s := newSource(body, -1, 10)
	first := s.reader()
	first.seal()
	is.True(s.rewind())
	second := s.reader()
	first.giveUp()
	is.Equal(body.closes.Load(), int32(0)) // the second has it now
	b := make([]byte, 3)
	_, err := io.ReadFull(second, b)
	is.NoErr(err)
	is.Equal(string(b), "hel")
	second.giveUp()
	is.Equal(body.closes.Load(), int32(1)) // which can be given up
	is.True(!s.rewind())                   // for good
	s.finish()
	is.Equal(body.closes.Load(), int32(1))
}

// A server may answer before net/http has looked whether the body ends where it was said to: its connection is not to be
// given up for that.
func TestBodyThatWasSentWholeEndsThoughItIsSealed(t *testing.T) {
	for _, again := range []bool{false, true} {
		is := is.New(t)
		s := newSource(io.NopCloser(strings.NewReader("order")), 5, 10)
		if again {
			s.again, s.keeps = func() (io.ReadCloser, error) { return nil, errAnother }, false
		}
		r := s.reader()
		_, err := io.ReadFull(r, make([]byte, 5))
		is.NoErr(err)
		r.seal()
		_, err = r.Read(make([]byte, 1))
		is.Equal(err, io.EOF) // there is no more
		complete, err := r.whole()
		is.NoErr(err)
		is.True(complete)
		s.finish()
	}
}

// A transport that has seen that there is more than was said must not be told that there is not.
func TestBodyThatIsTooLongStaysSoThoughItIsSealed(t *testing.T) {
	is := is.New(t)
	for _, keep := range []bool{true, false} {
		s := sourceOf(&http.Request{Body: io.NopCloser(strings.NewReader("order")), ContentLength: 3}, keep, 10)
		r := s.reader()
		_, err := io.ReadFull(r, make([]byte, 4)) // one to see whether it ends
		is.NoErr(err)
		r.seal()
		_, err = r.Read(make([]byte, 1))
		is.Equal(err, errSealed) // this is not the end
		complete, err := r.whole()
		is.True(complete)
		is.Equal(err, errLength) // and it is known whose fault that is
		s.finish()
	}
}

// sourceOf returns the source of a request's body, nil if it has none.
func sourceOf(req *http.Request, retries bool, limit int) *source {
	if !hasBody(req) {
		return nil
	}
	s := &source{}
	s.serve(req, retries, limit)
	return s
}
