package httptestx

import (
	"fmt"
	"slices"
	"strings"
)

// duplicates remarks on each exchange of a call in which the effect happened
// again: what the server could know, who sent it, and why.
func (l Ledger) duplicates(name string) notes {
	remarks := make(notes)
	before := 0 // how often it happened in earlier exchanges
	for i := range l.exchanges {
		x := &l.exchanges[i]
		n := 0
		for _, effect := range l.effects(*x) {
			if effect == name {
				n++
			}
		}
		var words []string
		if n > 1 {
			words = append(words, times(n)+" in one run of the handler")
		}
		if n > 0 && before > 0 {
			words = append(words, "again: "+l.why(i))
		}
		remarks[x.Seq] = strings.Join(words, "; ")
		before += n
	}
	return remarks
}

// why says where exchange number i comes from, which is not the first of its call.
func (l Ledger) why(i int) string {
	x := &l.exchanges[i]
	known := "no key"
	if x.Key != "" {
		known = "same key"
	}
	y := &l.exchanges[i-1]
	for j := range i {
		z := &l.exchanges[j]
		switch {
		case x.identity() != z.identity():
			continue
		case l.again[x.Seq] == z.Seq:
			return fmt.Sprintf("%s; on %s; %s", known, x.connWords(z), x.resentWords(z))
		}
		y = z // the last of its kind
	}
	return fmt.Sprintf("%s; sent by the client on %s, %s", known, x.connWords(y), x.afterWords(y))
}

// resentWords says how sure it is that net/http has repeated y. That a client counts the attempts of a
// call, and these have one number, is proof.
func (x *Exchange) resentWords(y *Exchange) string {
	if x.Attempt != "" && x.Key != "" {
		return fmt.Sprintf("same attempt as #%d, so net/http sent it again", y.Seq)
	}
	why := "ended without an answer on a used connection"
	switch {
	case y.End == EndRefused:
		why = "was refused"
	case y.Stream != 0:
		why = "was reset with PROTOCOL_ERROR"
	}
	return fmt.Sprintf("same as #%d, which %s, so net/http may have sent it again", y.Seq, why)
}

func (x *Exchange) connWords(y *Exchange) string {
	if x.Conn == y.Conn {
		return "the same connection"
	}
	return "another connection"
}

// afterWords says what the client knew of y when x arrived.
func (x *Exchange) afterWords(y *Exchange) string {
	if y.End == Running || y.doneAt > x.arrivedAt {
		return fmt.Sprintf("while #%d was running", y.Seq)
	}
	if y.End == EndOK {
		return fmt.Sprintf("after #%d: %v with %d", y.Seq, y.End, y.Status)
	}
	return fmt.Sprintf("after #%d: %v", y.Seq, y.End)
}

// names returns the effects of those exchanges that matter, each once, in order.
func (l Ledger) names(matters func(Exchange) bool) []string {
	var names []string
	for _, x := range l.exchanges {
		if !matters(x) {
			continue
		}
		for _, name := range l.effects(x) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// alone follows a time-line in which calls without a key are mixed.
const alone = "\n  All requests without a key are counted together. To count a call alone, give it a key; see WithKeyHeader."

// hint follows the time-line of a call that acted too often.
func hint(key string) string {
	if key != "" {
		return "\n  The handler acted again for a key that it had seen. If it is to know its keys, wrap it in Idempotent;" +
			"\n  if it knows them, let it call Effect where it acts."
	}
	return "\n  The requests are equal, and none had been answered with success when the next arrived." +
		"\n  If they are separate calls, tell them apart by a key; see WithKeyHeader."
}

// known says what the ledger has instead of an effect that did not happen.
func (l Ledger) known(key string) string {
	of := l.only(l.of(key))
	if len(of.exchanges) == 0 {
		if keys := l.Keys(); len(keys) > 0 {
			return fmt.Sprintf("\n  keys that arrived: %s", list(keys))
		}
		return ""
	}
	if names := of.names(func(Exchange) bool { return true }); len(names) > 0 {
		return fmt.Sprintf("\n  what happened%s: %s", ofKey(key), list(names))
	}
	return ""
}

// list renders the first words, quoted.
func list(words []string) string {
	const most = 10
	quoted := make([]string, 0, most)
	for _, w := range words[:min(len(words), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", w))
	}
	if more := len(words) - most; more > 0 {
		quoted = append(quoted, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(quoted, ", ")
}
