package httptestx

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
)

// Start listens on a port of the loopback interface that the system chooses, or where
// [WithAddress] says, instead of in memory, and sets URL. It must come before the first connection.
func (s *Server) Start() {
	s.t.Helper()
	if s.settings.tls {
		s.t.Fatalf("httptestx: Start is in cleartext, and WithTLS was given: use StartTLS")
	}
	s.startOn("Start", "http://")
}

// StartTLS is [Server.Start] with TLS.
func (s *Server) StartTLS() {
	s.t.Helper()
	s.startOn("StartTLS", "https://")
}

func (s *Server) startOn(caller, scheme string) {
	s.t.Helper()
	ln, err := s.settings.listen()
	if err != nil {
		s.t.Fatalf("httptestx: %s: %v", caller, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil || s.closed {
		ln.Close()
		s.t.Fatalf("httptestx: %s must come before the first connection, and once", caller)
	}
	s.settings.tls = scheme == "https://"
	if err := s.serveOn(ln); err != nil {
		ln.Close()
		s.t.Fatalf("httptestx: %s: %v", caller, err)
	}
	s.URL = scheme + ln.Addr().String()
}

// listen chooses a port of the loopback interface, where no address was given.
func (s *settings) listen() (net.Listener, error) {
	if s.address != "" {
		return net.Listen("tcp", s.address)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return net.Listen("tcp6", "[::1]:0")
	}
	return ln, nil
}

// RootCA returns the certificate of the authority that signs the server's own certificates, for
// clients other than [Server.Client] to trust. There is one in a process.
func (s *Server) RootCA() *x509.Certificate { return theAuthority().cert }

// serveOn starts the accept loop. The caller holds mu.
func (s *Server) serveOn(ln net.Listener) error {
	if own := s.Config.Protocols; own != nil {
		s.settings.protocols = *own
	}
	served, err := s.settings.served()
	if err != nil {
		return err
	}
	if s.settings.tls {
		s.tls = serverTLS(s.TLS, protocolNames(served))
		trust(s.roots, s.tls)
	}
	s.http2 = served.UnencryptedHTTP2()
	s.Config.Protocols = &served
	s.listener = ln
	s.hook()
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		s.Config.Serve(listener{ln, s})
	}()
	return nil
}

// served returns the protocols as net/http is to see them: TLS is done below it,
// so HTTP/2 is always that in cleartext.
func (s *settings) served() (p http.Protocols, err error) {
	p.SetHTTP1(s.protocols.HTTP1())
	p.SetUnencryptedHTTP2(s.protocols.UnencryptedHTTP2())
	if s.tls {
		p.SetUnencryptedHTTP2(s.protocols.HTTP2())
	}
	if p.HTTP1() || p.UnencryptedHTTP2() {
		return p, nil
	}
	if s.tls {
		return p, errors.New("WithProtocols names none for TLS: SetHTTP1 or SetHTTP2")
	}
	return p, errors.New("WithProtocols names none for cleartext: SetHTTP1 or SetUnencryptedHTTP2, or add WithTLS")
}

// protocolNames is what the server offers by ALPN (RFC 7301), best first.
func protocolNames(p http.Protocols) (names []string) {
	if p.UnencryptedHTTP2() {
		names = append(names, "h2")
	}
	if p.HTTP1() {
		names = append(names, "http/1.1")
	}
	return names
}

// newClient returns a client that speaks what the server does, and trusts it.
func (s *Server) newClient() *http.Client {
	s.roots = x509.NewCertPool()
	s.roots.AddCert(theAuthority().cert)
	protocols := s.settings.protocols
	return &http.Client{Transport: &http.Transport{
		DialContext:     s.DialContext,
		TLSClientConfig: &tls.Config{RootCAs: s.roots},
		Protocols:       &protocols,
	}}
}
