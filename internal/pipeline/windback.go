package pipeline

import (
	"cmp"
	"io"
)

// windBack gets the body ready anew if an earlier attempt has read on since it was: the GetBody of some SDKs gives no
// copy, but winds back the one body of all attempts. By now no other reader is handed anything.
func (s *source) windBack() {
	s.mu.Lock()
	astray := s.astray
	s.astray = false
	s.mu.Unlock()
	if !astray || s.next == nil {
		return
	}
	body, err := s.again()
	if err != nil || body == nil {
		s.next = lost{s.next, cmp.Or(err, errAnother)}
		return
	}
	_ = s.next.Close()
	s.next = body
}

// A lost body has been read from and can't be had anew: what is left of it must not be taken for the whole.
type lost struct {
	io.Closer
	err error
}

func (l lost) Read([]byte) (int, error) { return 0, l.err }
