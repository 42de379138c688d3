package httptestx

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// ConnRule says which connections get a plan, before there is a request. [Server.OnConn]
// starts one. It is to connections what [Rule] is to requests: a value, narrowed by
// methods, and put to work by [ConnRule.Do] or [ConnRule.Script]; it counts the
// connections that get as far as it, and the first rule that applies wins.
//
// In memory the connections are counted when they are dialed, the refused ones included; on
// loopback when they are accepted. [Exchange.Conn] counts the accepted ones.
type ConnRule struct{ rule Rule }

// OnConn starts a rule for connections.
func (s *Server) OnConn() ConnRule {
	b := &beginning{words: "OnConn()"}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = append(s.begun, b)
	return ConnRule{Rule{srv: s, begun: b, words: b.words, clock: s.clock}}
}

// Between is [Rule.Between] for the time of the connection.
func (r ConnRule) Between(from, to time.Duration) ConnRule {
	r.rule.srv.t.Helper()
	return ConnRule{r.rule.Between(from, to)}
}

// Nth is [Rule.Nth].
func (r ConnRule) Nth(n ...int) ConnRule {
	r.rule.srv.t.Helper()
	return ConnRule{r.rule.Nth(n...)}
}

// First is [Rule.First].
func (r ConnRule) First(n int) ConnRule {
	r.rule.srv.t.Helper()
	return ConnRule{r.rule.First(n)}
}

// After is [Rule.After].
func (r ConnRule) After(n int) ConnRule {
	r.rule.srv.t.Helper()
	return ConnRule{r.rule.After(n)}
}

// Every is [Rule.Every].
func (r ConnRule) Every(n int) ConnRule {
	r.rule.srv.t.Helper()
	return ConnRule{r.rule.Every(n)}
}

// Prob is [Rule.Prob].
func (r ConnRule) Prob(p float64) ConnRule {
	r.rule.srv.t.Helper()
	return ConnRule{r.rule.Prob(p)}
}

// Do gives each connection of the rule the same plan: any number of [Delay], and then, if
// it is not to be served, one of [Refuse], [Accept], [NoSuchHost], [HandshakeFail], [Reset] and
// [Close].
func (r ConnRule) Do(steps ...Step) {
	r.rule.srv.t.Helper()
	plan := slices.Clone(steps)
	r.require("Do", plan)
	r.activate("Do", nil, always(plan))
}

// Script gives the first connection of the rule the first plan, the second the
// second, and so on. When the plans are used up the rule does not apply any more. For a
// connection that is served as usual, the plan is a Delay of 0.
func (r ConnRule) Script(plans ...[]Step) {
	r.rule.srv.t.Helper()
	r.rule.require(len(plans) > 0, "Script()", "no plan")
	own := make([][]Step, len(plans))
	for i, plan := range plans {
		own[i] = slices.Clone(plan)
		r.require(fmt.Sprintf("Script, plan %d", i+1), own[i])
	}
	r.activate("Script", own, inTurn(own))
}

func (r ConnRule) require(words string, plan []Step) {
	r.rule.srv.t.Helper()
	if err := checkConn(plan); err != nil {
		r.rule.reject(words, err.Error())
	}
}

// activate puts a copy of the rule to work.
func (r ConnRule) activate(words string, script [][]Step, next plans) {
	s := r.rule.srv
	s.mu.Lock()
	defer s.mu.Unlock()
	r.rule.begun.used = true
	s.connRules = append(s.connRules, r.rule.active(words, connPlace(len(s.connRules)), script, next))
}

// connPlace is below zero, so that a rule for connections draws other numbers than the rules
// for requests, whose places do not depend on it.
func connPlace(i int) int { return -1 - i }

// connPlan counts a connection, and returns its plan; nil if it is to be served.
func (s *Server) connPlan() []Step {
	s.mu.Lock()
	rules := s.connRules
	s.mu.Unlock()
	for _, rule := range rules {
		rejects := func(accepts func(*http.Request) bool) bool { return !accepts(nil) } // Between's, which asks for the time
		if slices.ContainsFunc(rule.accepts, rejects) {
			continue
		}
		if n := rule.count(""); n > 0 {
			if plan := rule.next(nil, n); plan != nil {
				return plan
			}
		}
	}
	return nil
}

// allRules returns the rules that are at work, those for connections last.
func (s *Server) allRules() []*activeRule {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(slices.Clip(s.rules), s.connRules...)
}

// noun is what the rule counts.
func (a *activeRule) noun() string {
	if a.mux == nil {
		return "connection"
	}
	return "request"
}
