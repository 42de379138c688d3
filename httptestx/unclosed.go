package httptestx

import "time"

// closingTime is how long a client may take to close its connections, after the server has. In a
// synctest bubble that is until nothing moves any more.
const closingTime = 100 * time.Millisecond

// logUnclosed says which connections the client holds after the server is closed, and their last requests. Most
// likely the body of an answer was not closed; a synctest bubble then cannot end, and does not say why.
//
// It knows those in memory only. It is no failure by itself: whoever starts goroutines that end later may be right.
func (s *Server) logUnclosed() {
	s.t.Helper()
	timer := time.NewTimer(closingTime)
	defer timer.Stop()
	waiting := true
	for _, c := range s.memory.stillHeld() {
		if !waiting {
			break
		}
		select {
		case <-c.gone:
		case <-timer.C:
			waiting = false
		}
	}
	last := s.lastOn(s.memory.stillHeld())
	if len(last) > 0 {
		s.t.Logf("httptestx: the client has not closed %s: was each answer's body closed? The last requests there were\n%s",
			plural(len(last), "connection"), s.exchangeLines(last, nil))
	}
}

// lastOn returns the last exchange on each of the connections.
func (s *Server) lastOn(conns []*memConn) (last []Exchange) {
	s.mu.Lock()
	held := make(map[int]bool)
	for _, c := range conns {
		held[c.id] = true
	}
	s.mu.Unlock()
	list := s.Exchanges()
	for i := range list {
		x := list[len(list)-1-i]
		if held[x.Conn] {
			delete(held, x.Conn)
			last = append([]Exchange{x}, last...)
		}
	}
	return last
}
