package httptestx

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// document is JSON that is read strictly: what is not known, given twice, null or of another type is
// a fault. All faults are kept, each with the line and the path of what is wrong, so that one look mends
// all of them.
type document struct {
	text   []byte
	faults []error
}

// element is a value in a document, and where it stands.
type element struct {
	path string
	raw  []byte
	at   int
}

// member is an element of an object.
type member struct {
	key string
	element
}

// root is the value that a document is. It fails if that is no JSON.
func (d *document) root() (e element, ok bool) {
	if at := invalidUTF8(d.text); at >= 0 {
		d.faults = append(d.faults, fmt.Errorf("httptestx: line %d: not UTF-8", d.line(at)))
		return e, false
	}
	var raw json.RawMessage
	if err := json.Unmarshal(d.text, &raw); err != nil {
		at := len(d.text)
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			at = int(syntax.Offset)
		}
		d.faults = append(d.faults, fmt.Errorf("httptestx: line %d: %w", d.line(at), err))
		return e, false
	}
	const space = " \t\r\n"
	text := bytes.TrimLeft(d.text, space)
	return element{raw: bytes.TrimRight(text, space), at: len(d.text) - len(text)}, true
}

// invalidUTF8 returns the place of the first byte that is not UTF-8, -1 if there is none.
func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// line is the line in which a byte stands, from 1.
func (d *document) line(at int) int {
	return 1 + bytes.Count(d.text[:min(at, len(d.text))], []byte("\n"))
}

// fault notes what is wrong with an element.
func (d *document) fault(e element, format string, args ...any) {
	path := e.path
	if path == "" {
		path = "the document"
	}
	d.faults = append(d.faults, fmt.Errorf("httptestx: line %d: %s: %s", d.line(e.at), path, fmt.Sprintf(format, args...)))
}

// refuse is fault for a value that ought to be another one.
func (d *document) refuse(e element, want string) { d.fault(e, "must be %s, is %s", want, e.shown()) }

// err is all that is wrong, nil if nothing is.
func (d *document) err() error { return errors.Join(d.faults...) }

// sound reports whether f finds nothing wrong.
func (d *document) sound(f func()) bool {
	before := len(d.faults)
	f()
	return len(d.faults) == before
}

// shown is the value in one line that is not too long.
func (e element) shown() string {
	const enough = 40
	var line bytes.Buffer
	if json.Compact(&line, e.raw) != nil || line.Len() <= enough {
		return line.String()
	}
	return strings.ToValidUTF8(string(line.Bytes()[:enough]), "") + "..."
}

// kind is the first byte of the value, which tells its type: { [ " t f n, or that of a number.
func (e element) kind() byte { return e.raw[0] }

// members returns the members of an object, each once, in the order in which they are
// written. The syntax has been checked, so there is no error to look at.
func (d *document) members(object element) []member {
	decoder := json.NewDecoder(bytes.NewReader(object.raw))
	_, _ = decoder.Token()
	var list []member
	for decoder.More() {
		token, _ := decoder.Token()
		key, _ := token.(string)
		m := member{key, element{path: join(object.path, key)}}
		m.raw, m.at = next(decoder, object.at)
		if slices.ContainsFunc(list, func(other member) bool { return other.key == key }) {
			d.fault(m.element, "is given twice")
			continue
		}
		list = append(list, m)
	}
	return list
}

// items returns the elements of a list.
func (d *document) items(e element, want string) []element {
	if e.kind() != '[' {
		d.refuse(e, want)
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(e.raw))
	_, _ = decoder.Token()
	var list []element
	for decoder.More() {
		item := element{path: e.path + "[" + strconv.Itoa(len(list)) + "]"}
		item.raw, item.at = next(decoder, e.at)
		list = append(list, item)
	}
	return list
}

// next returns the next value of a decoder that began at a place in the document, and its own.
func next(decoder *json.Decoder, at int) (raw json.RawMessage, place int) {
	_ = decoder.Decode(&raw)
	return raw, at + int(decoder.InputOffset()) - len(raw)
}

// join adds a key to a path. One that could be mistaken is quoted.
func join(path, key string) string {
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`.[]":`, r) }) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// object reads an object with these keys. Those in needed must be there; others are faults.
func (d *document) object(e element, needed, optional []string) map[string]element {
	if e.kind() != '{' {
		d.refuse(e, "an object")
		return nil
	}
	return d.fields(e, d.members(e), needed, optional)
}

// fields is object for members that have been read.
func (d *document) fields(e element, members []member, needed, optional []string) map[string]element {
	known := slices.Concat(needed, optional)
	found := make(map[string]element)
	for _, m := range members {
		if !slices.Contains(known, m.key) {
			d.fault(m.element, "there is no such field; there %s", areWords(known))
			continue
		}
		found[m.key] = m.element
	}
	for _, key := range needed {
		if _, ok := found[key]; !ok {
			d.fault(e, "%q is missing", key)
		}
	}
	return found
}

func areWords(known []string) string {
	if len(known) == 1 {
		return "is " + known[0]
	}
	return "are " + strings.Join(known, ", ")
}

// value reads what has a form in JSON of its own. Null is no value.
func (d *document) value(e element, to any, want string) bool {
	if e.kind() == 'n' || json.Unmarshal(e.raw, to) != nil {
		d.refuse(e, want)
		return false
	}
	return true
}

// The readers of values return zero, and note a fault, for what is none; so they do for an element that
// is missing, about which its object has noted one.

func (d *document) number(e element) (f float64) {
	if e.raw != nil {
		d.value(e, &f, "a number")
	}
	return f
}

func (d *document) whole(e element) (n int) {
	if e.raw != nil {
		d.value(e, &n, "a whole number")
	}
	return n
}

func (d *document) words(e element) (s string) {
	if e.raw != nil {
		d.value(e, &s, "a string")
	}
	return s
}

func (d *document) duration(e element) time.Duration {
	if e.raw == nil {
		return 0
	}
	const want = `a duration such as "1.5s"`
	var text string
	if !d.value(e, &text, want) {
		return 0
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		d.refuse(e, want)
	}
	return length
}
