package httptestx

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// timelineLimit is how many exchanges a message shows.
const timelineLimit = 40

// timeline renders exchanges, a line each, and how far the rules were used.
func (s *Server) timeline(list []Exchange) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, x := range list {
		if i == timelineLimit {
			break
		}
		fmt.Fprintln(w, "  "+x.line(s.began))
	}
	w.Flush()
	if len(list) == 0 {
		fmt.Fprintln(&b, "  no request")
	}
	if more := len(list) - timelineLimit; more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	s.mu.Lock()
	rules := s.rules
	s.mu.Unlock()
	for _, r := range rules {
		fmt.Fprintf(&b, "  %v\n", r)
	}
	return strings.TrimRight(b.String(), "\n")
}

// seedWords says how to get the same decisions again.
func (s *Server) seedWords() string {
	return fmt.Sprintf("seed %#x; rerun with %s=%#[1]x", s.settings.seed, seedEnv)
}

// line renders x: who and when, the plan with a star where it ended if that was
// not at its end, and the truth.
func (x *Exchange) line(began time.Time) string {
	who := fmt.Sprintf("%s %s", x.Method, x.Path)
	if x.Key != "" {
		who += " key=" + x.Key
	}
	if x.Attempt != "" {
		who += " attempt=" + x.Attempt
	}
	at := x.at
	if x.End == EndOK {
		at = -1
	}
	return fmt.Sprintf("#%d\t+%v\tconn %d.%d\t%s\t%s\t%s",
		x.Seq, x.Arrived.Sub(began).Round(time.Millisecond), x.Conn, x.ConnSeq, who, planString(x.Plan, at), x.outcome())
}

// outcome puts the facts of x into words.
func (x *Exchange) outcome() string {
	handled := "not handled"
	if x.Handled {
		handled = "handled"
	}
	sent := x.Sent.String()
	if x.Sent >= SentHeaders {
		sent = fmt.Sprintf("%v: %d, %d bytes", x.Sent, x.Status, x.Bytes)
	}
	return strings.Join([]string{handled, sent, x.End.String()}, "; ")
}
