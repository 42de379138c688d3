package httptestx

import (
	"context"
	"net"
	"os"
	"syscall"
	"time"
)

// dialMemory connects in memory, or does not: whatever fails a dial is decided
// here, as the rest of the network would.
func (s *Server) dialMemory(ctx context.Context, addr string) (net.Conn, error) {
	plan := s.connPlan()
	if len(plan) == 0 || !plan[len(plan)-1].beforeConn() {
		return s.memory.dial(ctx, plan)
	}
	for _, st := range plan {
		var err error
		switch st.op {
		case opDelay:
			err = s.waitForDial(ctx, time.Duration(st.n))
		case opRefuse:
			err = s.memory.refusal()
		case opNoSuchHost:
			err = noSuchHost(addr)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, s.memory.refusal()
}

// waitForDial returns an error if there is nothing to wait for any more.
func (s *Server) waitForDial(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return s.memory.dialError(ctx.Err())
	case <-s.life.Done():
		return s.memory.refusal()
	}
}

// refusal is what the kernel says where nobody listens.
func (l *memListener) refusal() error {
	return l.dialError(os.NewSyscallError("connect", syscall.ECONNREFUSED))
}

func (l *memListener) dialError(err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: l.Addr(), Err: err}
}

// noSuchHost is what a [net.Dialer] says of a name that does not exist.
func noSuchHost(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
}
