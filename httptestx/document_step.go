package httptestx

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// form is a step, or a ready plan, with a value, as {"status": 503, "header": {"Retry-After": "2"}} is.
type form[T any] struct {
	name   string // of the member that tells it from others
	needed []string
	more   []string
	read   func(d *document, value element, more map[string]element) T
}

// bareSteps are the steps without a value. Their names are those of the time-line.
func bareSteps() []Step {
	return []Step{Read, Handle, SendHeaders, Reset, Close, Hang, RefuseStream, Refuse, Accept, NoSuchHost}
}

func stepForms() []form[Step] {
	simple := func(name string, read func(*document, element) Step) form[Step] {
		return form[Step]{name: name, read: func(d *document, e element, _ map[string]element) Step { return read(d, e) }}
	}
	header := func(name string, step func(int, ...string) Step) form[Step] {
		return form[Step]{name, nil, []string{"header"}, func(d *document, e element, more map[string]element) Step {
			return step(d.whole(e), d.header(more["header"])...)
		}}
	}
	return []form[Step]{
		simple("delay", func(d *document, e element) Step { return Delay(d.duration(e)) }),
		simple("latency", func(d *document, e element) Step { return Latency(d.dist(e)) }),
		header("status", Status),
		header("informational", Informational),
		simple("send", func(d *document, e element) Step { return Send(d.whole(e)) }),
		simple("sendraw", func(d *document, e element) Step { return SendRaw(d.bytes(e)) }),
		{"slow", []string{"every"}, nil, func(d *document, e element, more map[string]element) Step {
			return Slow(d.whole(e), d.duration(more["every"]))
		}},
		simple("malformed", func(d *document, e element) Step { return Malformed(d.malformation(e)) }),
		simple("resetstream", func(d *document, e element) Step { return ResetStream(d.errCode(e)) }),
		{"goaway", []string{"last"}, nil, func(d *document, e element, more map[string]element) Step {
			return GoAway(d.errCode(e), d.last(more["last"]))
		}},
		simple("handshakefail", func(d *document, e element) Step { return HandshakeFail(d.alert(e)) }),
	}
}

// step reads a step.
func (d *document) step(e element) (st Step) {
	switch e.kind() {
	case '"':
		return d.bareStep(e)
	case '{':
		ok := d.sound(func() { st = formed(d, e, "step", stepForms()) })
		if ok && st.op == opInvalid {
			d.fault(e, "%s", st.text)
		}
		return st
	}
	d.refuse(e, `a step, such as "handle" or {"delay": "2s"}`)
	return Step{}
}

func (d *document) bareStep(e element) Step {
	name := d.words(e)
	bare := bareSteps()
	names := make([]string, len(bare))
	for i, st := range bare {
		if names[i] = st.String(); names[i] == name {
			return st
		}
	}
	if _, ok := formOf(name, stepForms()); ok {
		d.fault(e, "%s needs a value: {%[1]q: ...}", name)
		return Step{}
	}
	d.fault(e, "there is no step %q; there are %s; and {...} with %s", name, strings.Join(names, ", "), strings.Join(formNames(stepForms()), ", "))
	return Step{}
}

// formed reads an object of which one member tells which form it is.
func formed[T any](d *document, e element, noun string, forms []form[T]) (none T) {
	members := d.members(e)
	for _, m := range members {
		if f, ok := formOf(m.key, forms); ok {
			return f.read(d, m.element, d.fields(e, members, append([]string{f.name}, f.needed...), f.more))
		}
	}
	d.fault(e, "there is no such %s; there are {...} with %s", noun, strings.Join(formNames(forms), ", "))
	return none
}

func formOf[T any](name string, forms []form[T]) (f form[T], ok bool) {
	i := slices.IndexFunc(forms, func(f form[T]) bool { return f.name == name })
	if i < 0 {
		return f, false
	}
	return forms[i], true
}

func formNames[T any](forms []form[T]) []string {
	names := make([]string, len(forms))
	for i, f := range forms {
		names[i] = f.name
	}
	return names
}

// header reads header fields: names, and a value or a list of values each.
func (d *document) header(e element) (kv []string) {
	if e.raw == nil {
		return nil
	}
	if e.kind() != '{' {
		d.refuse(e, `an object such as {"Retry-After": "2"}`)
		return nil
	}
	for _, m := range d.members(e) {
		if !isToken(m.key) {
			d.fault(m.element, "not the name of a header")
			continue
		}
		for _, value := range d.wordList(m.element) {
			kv = append(kv, m.key, value)
		}
	}
	return kv
}

// wordList reads a string, or a list of strings.
func (d *document) wordList(e element) (list []string) {
	if e.kind() != '[' {
		return []string{d.words(e)}
	}
	for _, item := range d.items(e, "a list") {
		list = append(list, d.words(item))
	}
	return list
}

// bytes reads text, or {"base64": "..."} for what is none.
func (d *document) bytes(e element) []byte {
	if e.kind() != '{' {
		var text string
		d.value(e, &text, `a string, or {"base64": "..."}`)
		return []byte(text)
	}
	coded := d.object(e, []string{"base64"}, nil)["base64"]
	b, err := base64.StdEncoding.Strict().DecodeString(d.words(coded))
	if err != nil {
		d.fault(coded, "%v", err)
	}
	return b
}

func (d *document) malformation(e element) Malformation {
	name := d.words(e)
	var names []string
	for kind := StatusLine; kind <= HugeFrame; kind++ {
		if kind.String() == name {
			return kind
		}
		names = append(names, kind.String())
	}
	d.refuse(e, "one of "+strings.Join(names, ", "))
	return 0
}

// errCode reads the name of a code of HTTP/2, or its number.
func (d *document) errCode(e element) (code ErrCode) {
	if e.kind() != '"' {
		d.value(e, (*uint32)(&code), "the name of an HTTP/2 error code, or its number")
		return code
	}
	name := d.words(e)
	for code = ErrCodeNo; code <= ErrCodeHTTP11Required; code++ {
		if code.String() == name {
			return code
		}
	}
	d.refuse(e, "the name of an HTTP/2 error code, such as REFUSED_STREAM, or its number")
	return 0
}

func (d *document) last(e element) Last {
	if e.raw == nil {
		return 0
	}
	switch d.words(e) {
	case beforeThis:
		return BeforeThis
	case includingThis:
		return IncludingThis
	}
	d.refuse(e, `"`+beforeThis+`" or "`+includingThis+`"`)
	return 0
}

// The words for [Last].
const (
	beforeThis    = "beforethis"
	includingThis = "includingthis"
)

func (d *document) alert(e element) (alert uint8) {
	d.value(e, &alert, "the number of a TLS alert, 0 to 255")
	return alert
}

func (d *document) dist(e element) Dist {
	if e.kind() != '{' {
		d.refuse(e, `a distribution, such as {"fixed": "10ms"}`)
		return Dist{}
	}
	return formed(d, e, "distribution", []form[Dist]{
		{"fixed", nil, nil, func(d *document, e element, _ map[string]element) Dist { return Fixed(d.duration(e)) }},
		{"uniform", nil, nil, func(d *document, e element, _ map[string]element) Dist {
			of := d.object(e, []string{"least", "most"}, nil)
			return Uniform(d.duration(of["least"]), d.duration(of["most"]))
		}},
		{"lognormal", nil, nil, func(d *document, e element, _ map[string]element) Dist {
			of := d.object(e, []string{"median", "p99"}, nil)
			return LogNormal(d.duration(of["median"]), d.duration(of["p99"]))
		}},
		{"quantiles", nil, nil, func(d *document, e element, _ map[string]element) Dist { return d.quantiles(e) }},
	})
}

func (d *document) quantiles(e element) Dist {
	var points []Quantile
	for _, item := range d.items(e, `a list such as [{"p": 0.9, "d": "10ms"}, {"p": 1, "d": "1s"}]`) {
		of := d.object(item, []string{"p", "d"}, nil)
		points = append(points, Quantile{d.number(of["p"]), d.duration(of["d"])})
	}
	return Quantiles(points...)
}

// UnmarshalJSON reads a step as [Server.LoadRules] does, with the same errors.
func (s *Step) UnmarshalJSON(text []byte) error {
	d := &document{text: text}
	if e, ok := d.root(); ok {
		e.path = "step"
		if st := d.step(e); len(d.faults) == 0 {
			*s = st
		}
	}
	return d.err()
}

var _ json.Unmarshaler = (*Step)(nil)
