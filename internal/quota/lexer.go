package quota

import (
	"iter"
	"math"
)

// A token is a part of a JSON text: the sign itself for { } [ ] : and the comma, or one of these.
type token = byte

const (
	exhausted token = 0   // no whole token is left in the bytes given; more of them may complete one
	text      token = '"' // a string, be it a member's name or a value
	scalar    token = '0' // a number, true, false, null, or nonsense
)

// kept is how much of a string is remembered. The longest names that matter are Google's quotas, of 50 and more.
const kept = 96

// A lexer splits JSON into tokens, however the bytes are cut into pieces, and keeps nothing but the beginning of the
// last string. It does not check the grammar: what the providers write is right, and of anything else, such as the
// rest of a text that was cut, it makes tokens that mean nothing. The zero value is ready.
type lexer struct {
	head    [kept]byte
	size    int // of the last string or scalar, in bytes as they are written
	where   place
	escaped bool // the next byte of a string belongs to a backslash
}

type place uint8

const (
	between place = iota
	inText
	inScalar
)

// next takes the next token off p and returns how many bytes that were.
func (l *lexer) next(p []byte) (token, int) {
	i := 0
	if l.where == between {
		for i < len(p) && blank(p[i]) {
			i++
		}
		if i == len(p) {
			return exhausted, i
		}
		if structural(p[i]) {
			return p[i], i + 1
		}
		l.size, l.where = 0, inScalar
		if p[i] == '"' {
			l.where = inText
			i++
		}
	}
	if l.where == inText {
		return l.text(p, i)
	}
	return l.scalar(p, i)
}

func (l *lexer) text(p []byte, from int) (token, int) {
	i := from
	if l.escaped && i < len(p) {
		l.escaped = false
		i++
	}
	for i < len(p) && p[i] != '"' {
		if p[i] != '\\' {
			i++
			continue
		}
		if i++; i == len(p) {
			l.escaped = true
			break
		}
		i++
	}
	l.keep(p[from:i])
	if i == len(p) {
		return exhausted, i
	}
	l.where = between
	return text, i + 1
}

func (l *lexer) scalar(p []byte, from int) (token, int) {
	i := from
	for i < len(p) && p[i] != '"' && !blank(p[i]) && !structural(p[i]) {
		i++
	}
	l.keep(p[from:i])
	if i == len(p) {
		return exhausted, i
	}
	l.where = between
	return scalar, i
}

func (l *lexer) keep(p []byte) {
	if l.size < kept {
		copy(l.head[l.size:], p)
	}
	l.size += len(p)
}

// word is the last string or scalar as it is written, or nil if it is longer than any that matters. It stays what it
// is until the next one begins.
func (l *lexer) word() []byte {
	if l.size > kept {
		return nil
	}
	return l.head[:l.size]
}

func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func structural(c byte) bool {
	return c == '{' || c == '}' || c == '[' || c == ']' || c == ':' || c == ','
}

// members yields the strings in a JSON text, at any depth, each with the name of the member that it is the value of, or
// that the array around it is. They are slices of the body, as they are written. It ends where the body is cut.
func members(body []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		var l lexer
		var name, last []byte
		for pos := 0; ; {
			t, n := l.next(body[pos:])
			pos += n
			if t == ':' {
				name, last = last, nil
				continue
			}
			if last != nil && !yield(name, last) || t == exhausted {
				return
			}
			last = nil
			if t == text {
				last = body[pos-1-l.size : pos-1]
			}
		}
	}
}

// count reads digits only; more of them than an int64 holds are the largest one.
func count(word []byte) (int64, bool) {
	if len(word) == 0 {
		return 0, false
	}
	var n int64
	for _, c := range word {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = plus(times(n, 10), int64(c-'0'))
	}
	return n, true
}

// plus and times are for numbers that are not negative, and stop at the largest one.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
