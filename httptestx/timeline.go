package httptestx

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// timelineLimit is how many exchanges a message shows.
const timelineLimit = 40

// notes are remarks on exchanges, by their number.
type notes map[int]string

// timeline renders exchanges, a line each, and how far the rules were used.
func (s *Server) timeline(list []Exchange) string { return s.noted(list, nil) }

// noted is a timeline with remarks.
func (s *Server) noted(list []Exchange, remarks notes) string {
	lines := []string{s.exchangeLines(list, remarks)}
	for _, r := range s.allRules() {
		lines = append(lines, fmt.Sprintf("  %v", r))
	}
	return strings.Join(lines, "\n")
}

func (s *Server) exchangeLines(list []Exchange, remarks notes) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, x := range list {
		if i == timelineLimit {
			break
		}
		line := "  " + x.line(s.clock.start())
		if remark := remarks[x.Seq]; remark != "" {
			line += "\t<- " + remark
		}
		fmt.Fprintln(w, line)
	}
	w.Flush()
	if len(list) == 0 {
		fmt.Fprintln(&b, "  no request")
	}
	if more := len(list) - timelineLimit; more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return strings.TrimRight(b.String(), "\n")
}

// seedWords says how to get the same decisions again.
func (s *Server) seedWords() string {
	seed := s.seed.Load()
	fromEnv, err := strconv.ParseUint(os.Getenv(seedEnv), 0, 64)
	if !s.settings.seedIsFixed || seed == defaultSeed || err == nil && seed == fromEnv {
		return fmt.Sprintf("seed %#x; rerun with %s=%#[1]x", seed, seedEnv)
	}
	return fmt.Sprintf("seed %#x, by WithSeed: a rerun is the same", seed)
}

// line renders x: who and when, the plan with a star where it ended if that was
// not at its end, and the truth.
func (x *Exchange) line(began time.Time) string {
	who := fmt.Sprintf("%s %s", x.Method, printable(x.Path))
	if x.Key != "" {
		who += " key=" + printable(x.Key)
	}
	if x.Attempt != "" {
		who += " attempt=" + printable(x.Attempt)
	}
	at := x.at
	if x.End == EndOK {
		at = -1
	}
	return fmt.Sprintf("#%d\t+%v\tconn %d.%d\t%s\t%s\t%s\t%s",
		x.Seq, x.Arrived.Sub(began).Round(time.Millisecond), x.Conn, x.ConnSeq, x.version(), who,
		planString(x.Plan, at, x.drawn), x.outcome())
}

// printable quotes what would break the line.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// version is the protocol in short, with the stream if it has any: "h1", "h1.0",
// "h2 stream 3".
func (x *Exchange) version() string {
	switch {
	case x.Proto == "HTTP/1.1":
		return "h1"
	case x.Stream > 0:
		return fmt.Sprintf("h2 stream %d", x.Stream)
	case x.Proto == "HTTP/2.0":
		return "h2"
	}
	return strings.Replace(x.Proto, "HTTP/", "h", 1)
}

// outcome puts the facts of x into words.
func (x *Exchange) outcome() string {
	handled := "not handled"
	switch {
	case x.Handled:
		handled = "handled"
	case x.Replayed:
		handled = "replayed"
	case x.Conflict:
		handled = "refused for its key"
	}
	return strings.Join([]string{handled, x.sentWords(), x.End.String()}, "; ")
}

func (x *Exchange) sentWords() string {
	switch {
	case x.Sent < SentHeaders:
		return x.Sent.String()
	case x.Status == 0:
		return fmt.Sprintf("%v: %s", x.Sent, plural(int(x.Bytes), "byte"))
	}
	return fmt.Sprintf("%v: %d, %s", x.Sent, x.Status, plural(int(x.Bytes), "byte"))
}

// planString renders a plan with a star after step number at, none if at is -1,
// and with what each Latency has drawn.
func planString(plan []Step, at int, drawn []time.Duration) string {
	words := make([]string, len(plan))
	for i, st := range plan {
		words[i] = st.String()
		if st.op == opLatency && len(drawn) > 0 {
			words[i] += "=" + drawn[0].String()
			drawn = drawn[1:]
		}
		if i == at {
			words[i] += "*"
		}
	}
	return strings.Join(words, " ")
}

// times counts in words: "1 time", "2 times".
func times(n int) string { return plural(n, "time") }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
