package httptestx

import (
	"fmt"
	"io"
	"slices"
)

// LoadRules puts the rules of a JSON document to work, behind those of [Server.On] and [Server.OnConn]
// that are at work, in the place of those that an earlier LoadRules has:
//
//	{"seed": 42, "rules": [
//	  {"on": "POST /orders", "per": "Idempotency-Key", "script": [["handle", "reset"], {"unavailable": "30s"}]},
//	  {"on": "GET /", "prob": 0.01, "do": [{"latency": {"lognormal": {"median": "80ms", "p99": "2s"}}}, "handle"]},
//	  {"conn": true, "nth": [3], "do": ["refuse"]}
//	]}
//
// The names are those of the methods and steps, in lower case, and the guide in docs/guides/testing.md lists
// them. The seed counts unless [WithSeed] or the environment gives one, for the other rules of the server
// as well. Windows of time, "between", are counted from this call, or the last [Server.Forget].
//
// An error says everything that is wrong, a line each, with the line and the field: what is not known,
// has the wrong type, or cannot be meant, and plans that could not be done, by this server neither once it
// is known where it listens and what it speaks. After an error all is as it was.
func (s *Server) LoadRules(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("httptestx: reading rules: %w", err)
	}
	d := ruleReader{document: &document{text: text}, srv: s, clock: newStopwatch()}.read()
	if err := d.err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.seed != nil && !s.settings.seedIsGiven {
		s.seed.Store(*d.seed)
	}
	s.rules = replaceLoaded(s.rules, d.rules, func(i int) int { return i })
	s.connRules = replaceLoaded(s.connRules, d.conns, connPlace)
	return nil
}

// replaceLoaded returns the rules that are at work but for those of a document, and then those of a new
// one. Their places, from which they draw, are the same for the same document.
func replaceLoaded(old, loaded []*activeRule, place func(int) int) []*activeRule {
	kept := slices.DeleteFunc(slices.Clone(old), func(r *activeRule) bool { return r.loaded })
	for i, r := range loaded {
		r.loaded, r.place = true, place(len(kept)+i)
	}
	return append(kept, loaded...)
}

// mistake is what is wrong with a plan for a request to this server.
func (s *Server) mistake(plan []Step) (at int, err error) {
	if at, err := mistake(plan, s.settings.dishonest); err != nil {
		return at, err
	}
	return s.impossible(plan)
}

// connMistake is what is wrong with a plan for a connection to this server.
func (s *Server) connMistake(plan []Step) (at int, err error) {
	if at, err := connMistake(plan); err != nil {
		return at, err
	}
	return s.impossible(plan)
}

// impossible finds a step that this server never can do, once that is known: a server in memory
// may still be started on loopback.
func (s *Server) impossible(plan []Step) (at int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	started := s.listener != nil
	if !started && s.settings.address == "" {
		return 0, nil
	}
	protocols, err := s.settings.served()
	if err != nil {
		return 0, err
	}
	onNetwork := s.listener != s.memory
	for i, st := range plan {
		why := ""
		switch {
		case st == NoSuchHost && onNetwork:
			why = "the server is not in memory, and the system looks names up"
		case st.op == opHandshakeFail && !s.settings.tls:
			why = "the server is in cleartext"
		case st == RefuseStream && !protocols.UnencryptedHTTP2():
			why = "the server speaks HTTP/1 only, in which nothing says that a request was not processed"
		case st.breaksFrame() && !protocols.UnencryptedHTTP2():
			why = "the server speaks HTTP/1 only, whose responses are text, not frames"
		case st.raw() && !protocols.HTTP1():
			why = "the server speaks HTTP/2 only, whose responses are frames, not text"
		}
		if why != "" {
			return i, fmt.Errorf("%v cannot be done: %s", st, why)
		}
	}
	return 0, nil
}

// Forget makes the server forget what happened: its exchanges, also those that are running, and so its
// ledger; and how often its rules were reached, so that they begin anew. Windows of time are
// counted from now. The rules themselves stay.
func (s *Server) Forget() {
	s.journal.forget()
	s.clock.restart()
	for _, r := range s.allRules() {
		r.clock.restart()
		r.mu.Lock()
		clear(r.counts)
		r.mu.Unlock()
	}
}
