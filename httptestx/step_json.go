package httptestx

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// MarshalJSON writes the step as [Server.LoadRules] reads it: "handle", {"delay":"2s"}. It fails for a
// step that is invalid, and for a header that is not UTF-8.
func (s Step) MarshalJSON() ([]byte, error) {
	switch {
	case s.op == opNone || s.op == opInvalid:
		return nil, fmt.Errorf("httptestx: %s: no step, so it has no form in JSON", s)
	case slices.Contains(bareSteps(), s):
		return json.Marshal(s.String())
	}
	var b object
	switch s.op {
	case opDelay:
		b.add("delay", time.Duration(s.n).String())
	case opLatency:
		b.add("latency", s.dist.form())
	case opStatus:
		b.add("status", s.n)
		b.addHeader(s)
	case opInformational:
		b.add("informational", s.n)
		b.addHeader(s)
	case opSend:
		b.add("send", s.n)
	case opSendRaw:
		b.add("sendraw", rawForm(s.text))
	case opSlow:
		b.add("slow", s.n)
		b.add("every", s.every.String())
	case opMalformed:
		b.add("malformed", Malformation(s.n).String())
	case opResetStream:
		b.add("resetstream", s.code().form())
	case opGoAway:
		b.add("goaway", s.code().form())
		b.add("last", s.last().form())
	case opHandshakeFail:
		b.add("handshakefail", s.n)
	}
	return b.end()
}

// object is a JSON object that is being written; its members keep their order. The zero object is empty.
type object struct {
	text bytes.Buffer
	err  error
}

func (o *object) add(key string, value any) {
	raw, err := json.Marshal(value)
	if err != nil && o.err == nil {
		o.err = err
	}
	if o.text.Len() > 0 {
		o.text.WriteByte(',')
	}
	fmt.Fprintf(&o.text, "%s:%s", strconv.AppendQuote(nil, key), raw)
}

func (o *object) end() ([]byte, error) {
	return slices.Concat([]byte("{"), o.text.Bytes(), []byte("}")), o.err
}

// MarshalJSON makes an object a member of another one.
func (o *object) MarshalJSON() ([]byte, error) { return o.end() }

// addHeader writes the header fields in the order in which they are; those of one name
// stand together.
func (o *object) addHeader(s Step) {
	if s.text == "" {
		return
	}
	if !utf8.ValidString(s.text) {
		o.err = fmt.Errorf("httptestx: %v: a header that is not UTF-8 has no form in JSON", s)
	}
	var header object
	fields := s.header()
	var last string
	for _, line := range s.headerLines() {
		name, _, _ := strings.Cut(line, ": ")
		switch values := fields[name]; {
		case name == last:
		case len(values) == 1:
			header.add(name, values[0])
		default:
			header.add(name, values)
		}
		last = name
	}
	o.add("header", &header)
}

// rawForm is text, or what stands for other bytes.
func rawForm(text string) any {
	if utf8.ValidString(text) {
		return text
	}
	return map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(text))}
}

// form is the name of the code, or its number.
func (c ErrCode) form() any {
	if c <= ErrCodeHTTP11Required {
		return c.String()
	}
	return uint32(c)
}

func (l Last) form() string {
	if l == BeforeThis {
		return beforeThis
	}
	return includingThis
}

// form is the distribution as the step latency has it.
func (d Dist) form() any {
	var of, inner object
	switch d.kind {
	case distFixed:
		of.add("fixed", d.from.String())
	case distUniform:
		inner.add("least", d.from.String())
		inner.add("most", d.to.String())
		of.add("uniform", &inner)
	case distLogNormal:
		inner.add("median", d.from.String())
		inner.add("p99", d.to.String())
		of.add("lognormal", &inner)
	case distQuantiles:
		points := make([]*object, d.n)
		for i, q := range d.points[:d.n] {
			points[i] = &object{}
			points[i].add("p", q.P)
			points[i].add("d", q.D.String())
		}
		of.add("quantiles", points)
	}
	return &of
}
