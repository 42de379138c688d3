package httptestx

import (
	"fmt"
	"net/http"
	"strconv"
)

// Rules in a document: their fields, in the order in which they are documented.

func requestFields() []string { return []string{"on", "header", "per", "between"} }

func connFields() []string { return []string{"conn", "between"} }

func countFields() []string { return []string{"nth", "first", "after", "every", "prob"} }

// ruleReader reads the rules of a document for a server.
type ruleReader struct {
	*document
	srv   *Server
	clock *stopwatch // of Between, for the rules of this document

	seed  *uint64 // nil if there is none
	rules []*activeRule
	conns []*activeRule
}

func (d ruleReader) read() ruleReader {
	root, ok := d.root()
	if !ok {
		return d
	}
	fields := d.object(root, []string{"rules"}, []string{"seed"})
	if seed, ok := fields["seed"]; ok {
		d.seed = d.seedOf(seed)
	}
	if rules, ok := fields["rules"]; ok {
		for _, e := range d.items(rules, "a list of rules") {
			d.add(e)
		}
	}
	return d
}

// seedOf reads a number, or what a message shows of one.
func (d *ruleReader) seedOf(e element) *uint64 {
	const want = `a whole number of 64 bits, or one as text such as "0x51f3"`
	seed := new(uint64)
	if e.kind() != '"' {
		d.value(e, seed, want)
		return seed
	}
	n, err := strconv.ParseUint(d.words(e), 0, 64)
	if err != nil {
		d.refuse(e, want)
	}
	*seed = n
	return seed
}

// add reads a rule, and adds it to those for requests or for connections.
func (d *ruleReader) add(e element) {
	if e.kind() != '{' {
		d.refuse(e, `a rule, such as {"on": "POST /orders", "do": ["handle", "reset"]}`)
		return
	}
	members := d.members(e)
	kinds, own := 0, append(requestFields(), "conn")
	for _, m := range members {
		switch m.key {
		case "on":
			kinds, own = kinds+1, requestFields()
		case "conn":
			kinds, own = kinds+1, connFields()
		}
	}
	if kinds != 1 {
		d.fault(e, `a rule has either "on", with a pattern, or "conn": true`)
		return
	}
	fields := d.fields(e, members, nil, append(append(own, countFields()...), "do", "script"))
	if _, isConn := fields["conn"]; isConn {
		d.addConn(e, fields)
		return
	}
	d.addRequest(e, fields)
}

func (d *ruleReader) addRequest(e element, fields map[string]element) {
	var pattern string
	var mux *http.ServeMux
	if on := fields["on"]; d.sound(func() { pattern = d.words(on) }) {
		var err error
		if mux, err = muxFor(pattern); err != nil {
			d.fault(on, "%v", err)
		}
	}
	r := Rule{srv: d.srv, words: fmt.Sprintf("On(%q)", pattern), mux: mux, clock: d.clock}
	r = d.headers(r, fields)
	if per, ok := fields["per"]; ok && d.sound(func() { r = r.Per(d.words(per)) }) && !isToken(r.per) {
		d.fault(per, "not the name of a header")
	}
	r = d.conditions(r, fields)
	words, script, next := d.plans(e, fields, d.srv.mistake)
	d.rules = append(d.rules, r.active(words, len(d.rules), script, next))
}

func (d *ruleReader) addConn(e element, fields map[string]element) {
	if on := fields["conn"]; string(on.raw) != "true" {
		d.refuse(on, "true")
	}
	r := d.conditions(Rule{srv: d.srv, words: "OnConn()", clock: d.clock}, fields)
	words, script, next := d.plans(e, fields, d.srv.connMistake)
	d.conns = append(d.conns, r.active(words, len(d.conns), script, next))
}

func (d *ruleReader) headers(r Rule, fields map[string]element) Rule {
	kv := d.header(fields["header"])
	for i := 0; i < len(kv); i += 2 {
		r = r.Header(kv[i], kv[i+1])
	}
	return r
}

// conditions reads what rules of both kinds can ask for.
func (d *ruleReader) conditions(r Rule, fields map[string]element) Rule {
	add := func(key string, read func(e element) condition) {
		e, ok := fields[key]
		if !ok {
			return
		}
		var c condition
		if d.sound(func() { c = read(e) }) && c.mistake != "" {
			d.fault(e, "%s, is %s", c.mistake, e.shown())
		}
		r = r.with(c)
	}
	add("between", func(e element) condition {
		of := d.object(e, []string{"from", "to"}, nil)
		return whereBetween(d.clock, d.duration(of["from"]), d.duration(of["to"]))
	})
	add("nth", func(e element) condition {
		var n []int
		for _, item := range d.items(e, "a list of whole numbers, such as [1, 3]") {
			n = append(n, d.whole(item))
		}
		return whereNth(n)
	})
	add("first", func(e element) condition { return whereFirst(d.whole(e)) })
	add("after", func(e element) condition { return whereAfter(d.whole(e)) })
	add("every", func(e element) condition { return whereEvery(d.whole(e)) })
	add("prob", func(e element) condition { return whereProb(d.number(e)) })
	return r
}

// plans reads what a rule does.
func (d *ruleReader) plans(rule element, fields map[string]element, mistake planCheck) (words string, script [][]Step, next plans) {
	do, doing := fields["do"]
	in, scripted := fields["script"]
	if doing == scripted {
		d.fault(rule, `a rule has either "do", with a plan, or "script", with a list of plans`)
		return "", nil, nil
	}
	if doing {
		return "Do", nil, always(d.plan(do, mistake))
	}
	list := d.items(in, "a list of plans")
	if len(list) == 0 && in.kind() == '[' {
		d.fault(in, "no plan")
	}
	for _, e := range list {
		script = append(script, d.plan(e, mistake))
	}
	return "Script", script, inTurn(script)
}
