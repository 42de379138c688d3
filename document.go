package resilient

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A reader applies a document to a draft, and notes there what is wrong with it.
type reader struct {
	*draft
	document []byte
	unknown  string // what is wrong with a key that is not known, unless it is a setting
	dotnet   bool   // it is in .NET's words
	verbatim bool   // sets values and no more; otherwise it does as the verbs do
}

// applyDocument applies a document as the verbs for its sections would.
func (d *draft) applyDocument(document []byte) { reader{draft: d, document: document}.read() }

// An element is a value in the document, and where it stands.
type element struct {
	path string
	key  string // its last part
	raw  []byte
	at   int
}

func (r reader) read() {
	if root, ok := r.root(); ok {
		r.object(root)
	}
}

// root is the object that a document is.
func (r reader) root() (root element, ok bool) {
	if len(bytes.TrimSpace(r.document)) == 0 {
		r.fault(ConfigError{Setting: "JSON", Rule: "the document is empty", Fix: "leave it out, or make it {}"})
		return root, false
	}
	var raw json.RawMessage
	if err := json.Unmarshal(r.document, &raw); err != nil {
		r.refuseSyntax(err)
		return root, false
	}
	root = element{raw: raw, at: bytes.Index(r.document, raw)}
	return root, r.isObject(root)
}

func (r reader) isObject(e element) bool {
	if e.raw[0] != '{' {
		r.refuseElement(e, "must be an object", keep)
		return false
	}
	return true
}

// object reads the settings of a client.
func (r reader) object(root element) {
	sections, switches := schema(r.draft), switches(r.draft)
	if !r.verbatim && inDotnetsWords(root.raw) {
		r.dotnet, sections, switches = true, dotnet(r.draft), nil
	}
	keys := make([]string, 0, len(sections)+len(switches))
	for _, s := range sections {
		keys = append(keys, s.key)
	}
	for _, s := range switches {
		keys = append(keys, s.key)
	}
	r.members(root, keys, func(i int, e element) {
		if i >= len(sections) {
			r.set(switches[i-len(sections)], e)
			return
		}
		r.section(sections[i], e)
	})
}

// inDotnetsWords reports whether an object begins with a key in capitals, which only .NET has.
func inDotnetsWords(object []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(object))
	_, _ = decoder.Token()
	token, _ := decoder.Token()
	key, _ := token.(string)
	return key != "" && key[0] >= 'A' && key[0] <= 'Z'
}

func (r reader) section(s section, e element) {
	if string(e.raw) == `"off"` {
		s.turnOff(r.draft)
		return
	}
	if e.raw[0] != '{' {
		r.refuseElement(e, `must be an object, or "off"`, keep)
		return
	}
	if s.start != nil && !r.verbatim {
		s.start(r.draft)
	}
	keys := make([]string, len(s.settings))
	for i, known := range s.settings {
		keys[i] = known.key
	}
	r.members(e, keys, func(i int, member element) { r.set(s.settings[i], member) })
	if s.end != nil && !r.verbatim {
		s.end(r.draft)
	}
}

// schemaKey is what editors find the form of a document by; it says nothing else.
const schemaKey = "$schema"

// members calls each for the members of an object, with the place of their key in known.
func (r reader) members(object element, known []string, each func(int, element)) {
	decoder := json.NewDecoder(bytes.NewReader(object.raw))
	_, _ = decoder.Token() // the brace; no error from here on, for the syntax has been checked
	seen := map[string]bool{}
	for decoder.More() {
		token, _ := decoder.Token()
		key, _ := token.(string)
		var raw json.RawMessage
		if decoder.Decode(&raw) != nil {
			return
		}
		member := element{join(object.path, key), key, raw, object.at + int(decoder.InputOffset()) - len(raw)}
		switch i := slices.Index(known, key); {
		case key == schemaKey && object.path == "" && string(raw[:1]) == `"`:
		case i < 0:
			r.refuseKey(member, cmp.Or(r.unknown, "there is no such setting"), known)
		case seen[key]:
			r.refuseKey(member, "is given twice", nil)
		default:
			each(i, member)
		}
		seen[key] = true
	}
}

// endpoints reads a list of endpoints.
func (r reader) endpoints(list *[]Endpoint, e element) {
	var raws []json.RawMessage
	if !value(e.raw, &raws) {
		r.refuseElement(e, "must be a list of objects", keep)
		return
	}
	before := *list
	*list = make([]Endpoint, len(raws))
	at := 0
	for i, raw := range raws {
		at += bytes.Index(e.raw[at:], raw)
		item := element{e.path + "[" + strconv.Itoa(i) + "]", "", raw, e.at + at}
		at += len(raw)
		if !r.isObject(item) {
			continue
		}
		to := &(*list)[i]
		fields := []setting{{"url", &to.URL, nil}, {"name", &to.Name, nil}, {"weight", &to.Weight, nil}}
		r.members(item, []string{"url", "name", "weight"}, func(i int, e element) { r.set(fields[i], e) })
		to.inherit(before)
	}
}

// inherit takes over what a document can't say from the endpoint that had the name before.
func (e *Endpoint) inherit(before []Endpoint) {
	for _, b := range before {
		if b.name() == e.name() {
			e.Header, e.Rewrite = b.Header, b.Rewrite
		}
	}
}

func (r reader) set(s setting, e element) {
	if list, ok := s.value.(*[]Endpoint); ok {
		r.endpoints(list, e)
		return
	}
	if nested, ok := s.value.(section); ok {
		r.section(nested, e)
		return
	}
	if r.dotnet {
		e.raw = spelt(e.raw, s.value)
	}
	if want, ok := decode(e.raw, s.value); !ok {
		r.refuseElement(e, "must be "+want, instead(s.value, e.raw))
		return
	}
	if s.given != nil {
		s.given()
	}
}

func (r reader) refuseSyntax(err error) {
	at := 0
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		at = int(syntax.Offset)
	}
	r.fault(ConfigError{
		Setting: "JSON", Rule: r.line(at) + err.Error(), Fix: "look for a quote, a comma or a bracket that is missing, or one too many",
	})
}

// keep is the way out for a value that should not be there.
const keep = "leave it out to keep what is set"

// instead is the way out for a value of another type: for a duration without a unit, one with it.
func instead(target any, raw []byte) string {
	number := strings.Trim(string(raw), `"`)
	if _, err := strconv.ParseFloat(number, 64); err == nil {
		if _, timed := target.(*time.Duration); timed {
			return `write "` + number + `s" if seconds are meant`
		}
	}
	return keep
}

func (r reader) refuseElement(e element, rule, fix string) {
	value := abridged(e.raw)
	setting := "JSON(" + value + ")"
	if e.path != "" {
		setting = "JSON(" + e.path + ": " + value + ")"
	}
	r.fault(ConfigError{Setting: setting, Value: value, Rule: r.line(e.at) + rule, Fix: fix})
}

func (r reader) refuseKey(e element, rule string, known []string) {
	fix := "leave one out"
	if known != nil {
		fix = "there are " + strings.Join(known, ", ")
	}
	if near := nearest(e.key, known); near != "" {
		fix = "did you mean " + near + "?"
	}
	if r.dotnet && known != nil {
		fix += "; read as .NET settings because of the capital letter: keys of this library begin in lower case, as retry.maxRetries"
	}
	r.fault(ConfigError{Setting: "JSON(" + e.path + ")", Rule: r.line(e.at) + rule, Fix: fix})
}

// line says in which line of the document something stands.
func (r reader) line(at int) string {
	before := r.document[:min(at, len(r.document))]
	return "line " + strconv.Itoa(1+bytes.Count(before, []byte("\n"))) + ": "
}

// join adds a key to a path. One that could pass for something else in a log is quoted.
func join(path, key string) string {
	if !printable(key) || strings.ContainsAny(key, ". ") || key == "" {
		key = quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// abridged is a value in one line that is not too long.
func abridged(raw []byte) string {
	const enough = 40
	var line bytes.Buffer
	if json.Compact(&line, raw) != nil || line.Len() <= enough {
		return line.String()
	}
	return strings.ToValidUTF8(string(line.Bytes()[:enough]), "") + "..."
}
