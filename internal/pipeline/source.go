package pipeline

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// errSealed is what a transport gets that reads a request body after its
// attempt has ended.
var errSealed = errors.New("resilient: request body read after its attempt ended")

// errLength stands for a caller's body that is not as long as the request says:
// net/http does not send it, and tells so in a text only.
var errLength = errors.New("resilient: request body differs from its declared length")

// errAnother is what a transport gets that wants to send a body again.
var errAnother = errors.New("resilient: the request body has been asked for and can't be sent again by the transport")

// A source gives every attempt its own reader of the caller's request body and
// closes that body once, when nothing will read it any more.
//
// With GetBody the first attempt has the caller's body for itself and each
// later one a body of its own. Without, all attempts read one body through the
// source: what one has read is kept, up to a limit, for the next to start
// with. Nothing is read before a transport asks for it.
//
// A transport may go on reading after its RoundTrip has returned, and its
// reader may be inside a Read of the caller's body that takes for ever. So
// reading is serialised by turn, which is held during that Read, and everything
// else by mu, which never is. A straggler's bytes go to the kept ones, where
// the next attempt finds them, and not to the straggler: its reader is sealed.
type source struct {
	orig   io.ReadCloser // the caller's
	again  func() (io.ReadCloser, error)
	length int64 // declared, if above 0
	limit  int   // bytes kept at most
	keeps  bool  // one body serves all attempts

	turn chan struct{} // holds a token during a Read; a mutex would stop the time of a synctest bubble

	mu     sync.Mutex
	kept   []byte
	over   bool          // more was read than is kept
	err    error         // the end of the caller's body, or why it can't be read
	next   io.ReadCloser // for the next attempt, from again
	begun  bool          // an attempt has had the body
	open   int           // readers of the one body that are not closed
	due    bool          // a further attempt has been promised the body
	astray bool          // and since then an earlier one has read on, with GetBody
	final  bool          // there will be no further attempt
	closed bool          // orig is

	first reader // in one, for most requests are sent once
}

// hasBody reports whether a request has one, and needs a source.
func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

// serve makes s the source of a request's body. It is new.
func (s *source) serve(req *http.Request, retries bool, limit int) {
	s.orig, s.again, s.length, s.limit = req.Body, req.GetBody, req.ContentLength, limit
	s.keeps = s.again == nil && retries && s.length <= int64(limit)
	if s.keeps {
		s.turn = make(chan struct{}, 1)
	}
}

// reader returns the body of the next attempt, or nil if there is none.
func (s *source) reader() *reader {
	if s == nil {
		return nil
	}
	s.windBack()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.first
	if r.source != nil {
		r = &reader{}
	}
	r.source = s
	switch {
	case s.keeps:
		s.open++
	case s.begun:
		r.own, s.next = s.next, nil
	}
	s.begun, s.due = true, false
	return r
}

// rewind reports whether another attempt can have the whole body, and gets it
// ready. A transport that answered early may still be reading; from here on
// everything is kept, so that the answer stays true until its reader is sealed.
func (s *source) rewind() bool {
	if s == nil || s.next != nil {
		return true
	}
	if s.again == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.due = s.keeps && !s.over && (s.err == nil || s.err == io.EOF)
		return s.due
	}
	s.mu.Lock()
	s.due = true
	s.mu.Unlock()
	body, err := s.again()
	if err != nil || body == nil {
		return false
	}
	s.next = body
	return true
}

// finish says that no further attempt will come.
func (s *source) finish() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.final, s.due = true, false
	unread := !s.begun || s.keeps && s.open == 0
	if unread {
		s.kept = nil
	}
	next := s.next
	s.next = nil
	s.mu.Unlock()
	if next != nil {
		_ = next.Close()
	}
	if unread {
		_ = s.close()
	}
}

// close closes the caller's body, once.
func (s *source) close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	return s.orig.Close()
}

// A reader is the request body of one attempt.
type reader struct {
	source *source
	own    io.ReadCloser         // nil: the caller's body
	last   atomic.Pointer[alarm] // for a transport that does not return when its time is over

	// Under source.mu:
	off    int   // how far into the kept bytes
	n      int64 // handed out
	err    error // what the transport was told in the end
	asked  bool  // has been read from
	copied bool  // a copy was handed out, which may be what is sent
	sealed bool
	closed bool
}

func (r *reader) Read(p []byte) (int, error) {
	s := r.source
	if s.keeps {
		return s.read(r, p)
	}
	s.mu.Lock()
	r.asked = true
	var refused error
	if r.sealed || r.closed {
		refused = r.refusal()
	}
	s.mu.Unlock()
	if refused != nil {
		return 0, refused
	}
	body := r.own
	if body == nil {
		body = s.orig
	}
	n, err := body.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.astray = s.astray || s.due
	return r.took(n, err)
}

// read serves r from the kept bytes, and past their end from the caller's body.
func (s *source) read(r *reader, p []byte) (int, error) {
	if n, err, ok := s.replay(r, p); ok {
		return n, err
	}
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if n, err, ok := s.replay(r, p); ok { // a straggler has brought it meanwhile
		return n, err
	}
	n, err := s.orig.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(p[:n], r.sealed)
	if err != nil {
		s.err = err
	}
	return r.took(n, err)
}

func (s *source) replay(r *reader, p []byte) (n int, err error, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.sealed || r.closed:
		return 0, r.refusal(), true
	case r.off < len(s.kept):
		n, err = r.took(copy(p, s.kept[r.off:]), nil)
		return n, err, true
	case s.err != nil:
		n, err = r.took(0, s.err)
		return n, err, true
	}
	return 0, nil, false
}

// keep keeps b for later attempts, as long as there may be one. A straggler's
// bytes are kept whatever the limit: an attempt is running that needs them. Who
// reads past the limit has read all that was kept.
func (s *source) keep(b []byte, straggler bool) {
	switch {
	case s.over:
	case straggler || s.due || !s.final && len(s.kept)+len(b) <= s.limit:
		s.kept = append(s.kept, b...)
	default:
		s.over, s.kept = true, nil
	}
}

// refusal is what a reader says that is sealed or closed. Of a body of declared length
// net/http reads once more when it has all, to see that there is no more. A server
// may have answered by then: told of the end, the connection can be used again.
// Neither n nor length changes any more.
func (r *reader) refusal() error {
	if length := r.source.length; length > 0 && r.n == length {
		return io.EOF
	}
	return errSealed
}

// took notes what a Read hands out; source.mu is held.
func (r *reader) took(n int, err error) (int, error) {
	if r.sealed {
		return 0, r.refusal()
	}
	r.off += n
	r.n += int64(n)
	if err != nil {
		r.err = err
	}
	return n, err
}

// Close is the transport's word that it will read no more.
func (r *reader) Close() error {
	s := r.source
	s.mu.Lock()
	closed := r.closed
	r.closed = true
	if s.keeps && !closed {
		s.open--
	}
	last := s.final && s.open == 0
	s.mu.Unlock()
	switch {
	case closed:
		return nil
	case r.own != nil:
		return r.own.Close()
	case !s.keeps || last:
		return s.close()
	}
	return nil
}

// giveUp seals r while its attempt is still running, and closes the body even if
// a further attempt could have had it, so that whoever waits in a Read of it comes
// back. It may come late: once the attempt has ended it does nothing, for another
// one may have the body by then.
func (r *reader) giveUp() {
	s := r.source
	s.mu.Lock()
	over := r.sealed
	r.sealed = true
	if !over && s.keeps && s.err == nil {
		s.err = errSealed
	}
	s.mu.Unlock()
	if over {
		return
	}
	_ = r.Close()
	if s.keeps {
		_ = s.close()
	}
}

// another is GetBody for a base that is not net/http's own: one that signs
// requests may want to read the body first. When the body has been asked for it
// is too late: the request must not be sent again below us. The copy may well be
// what is sent, so from then on the body counts as handed out.
func (r *reader) another() (io.ReadCloser, error) {
	s := r.source
	s.mu.Lock()
	touched := r.asked || r.closed || r.sealed
	r.copied = r.copied || !touched
	s.mu.Unlock()
	if touched {
		return nil, errAnother
	}
	return s.again()
}

// seal ends an attempt: nothing more is handed out, so that a request that was
// not complete never will be. A nil reader is a request without a body.
func (r *reader) seal() {
	if r == nil {
		return
	}
	r.source.mu.Lock()
	r.sealed = true
	r.source.mu.Unlock()
	_ = r.Close() // a transport may forget to
}

// relax stops the last alarm, if there is one.
func (r *reader) relax() {
	if r != nil {
		r.last.Load().stop()
	}
}

// ended reports whether r is sealed.
func (r *reader) ended() bool {
	r.source.mu.Lock()
	defer r.source.mu.Unlock()
	return r.sealed
}

// whole reports whether all of the body was handed out, and what is wrong with
// the caller's own body if that is why the request failed: it can't be read, or
// is not as long as it was said to be. It is final once r is sealed.
func (r *reader) whole() (complete bool, err error) {
	if r == nil {
		return true, nil
	}
	s := r.source
	s.mu.Lock()
	defer s.mu.Unlock()
	switch said := s.length > 0; {
	case r.copied: // what is left of r says nothing
		return true, nil
	case r.err != nil && r.err != io.EOF:
		return said && r.n >= s.length, r.err
	case said && r.err == io.EOF && r.n < s.length, said && r.n > s.length:
		return r.n > s.length, errLength
	default:
		return r.err == io.EOF || said && r.n >= s.length, nil
	}
}
