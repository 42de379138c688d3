package differential

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

var errBody = errors.New("the caller's body fails")

// A supply hands out the caller's bodies and remembers them.
type supply struct {
	body
	trailer func() // is called at the end of a body
	mu      sync.Mutex
	given   []*given
	gets    int
}

// give makes r send the body.
func (s *supply) give(r *http.Request) {
	switch s.Kind {
	case "":
		return
	case "NoBody":
		r.Body = http.NoBody
	default:
		r.Body = s.another()
		r.ContentLength = s.declared()
	}
	if s.GetBody {
		r.GetBody = func() (io.ReadCloser, error) {
			s.mu.Lock()
			s.gets++
			s.mu.Unlock()
			if s.Kind == "NoBody" {
				return http.NoBody, nil
			}
			g := s.opaque()
			g.got = true
			return g, nil
		}
	}
}

func (s *supply) declared() int64 {
	switch s.Kind {
	case "opaque", "pipe", "failing":
		return -1
	case "unsaid", "empty":
		return 0
	}
	return int64(s.Size + s.Off)
}

// inMemory tells the bodies that net/http knows by their type.
func (b body) inMemory() bool { return b.Kind == "bytes" || b.Kind == "strings" || b.Kind == "buffer" }

func (s *supply) another() io.ReadCloser {
	text := content(s.Size)
	switch s.Kind {
	case "bytes":
		return io.NopCloser(bytes.NewReader([]byte(text)))
	case "strings":
		return io.NopCloser(strings.NewReader(text))
	case "buffer":
		return io.NopCloser(bytes.NewBufferString(text))
	}
	return s.opaque()
}

// opaque returns a body that is remembered.
func (s *supply) opaque() *given {
	g := &given{supply: s, text: content(s.Size), end: io.EOF}
	switch s.Kind {
	case "failing":
		g.end = errBody
	case "empty":
		g.text = ""
	case "pipe":
		pr, pw := io.Pipe()
		g.pipe = pr
		g.begin = sync.OnceFunc(func() { go g.write(pw) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = append(s.given, g)
	return g
}

// write writes the text to the other end of the pipe, in pieces.
func (g *given) write(pw *io.PipeWriter) {
	var err error
	for left := g.text; left != "" && err == nil; {
		time.Sleep(g.Pause)
		n := len(left)
		if g.Piece > 0 {
			n = min(n, g.Piece)
		}
		_, err = io.WriteString(pw, left[:n])
		left = left[n:]
	}
	_ = pw.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writer = err
}

// A given body is one that net/http knows nothing about.
type given struct {
	*supply
	text   string
	end    error
	got    bool // with GetBody
	pipe   *io.PipeReader
	begin  func() // to write to the pipe
	writer error  // what came of that
	pulled int
	over   bool // it has ended, or was closed
	closes int
}

func (g *given) Read(p []byte) (int, error) {
	n, err := g.read(p)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == io.EOF && !g.over && g.trailer != nil {
		g.trailer()
	}
	g.pulled += n
	g.over = g.over || err != nil
	return n, err
}

func (g *given) read(p []byte) (int, error) {
	if g.pipe != nil {
		g.begin()
		return g.pipe.Read(p)
	}
	g.mu.Lock()
	left, over := g.text[g.pulled:], g.over
	g.mu.Unlock()
	if !over && left != "" {
		time.Sleep(g.Pause)
	}
	if left == "" || g.closed() {
		return 0, g.end
	}
	if g.Piece > 0 {
		p = p[:min(len(p), g.Piece)]
	}
	return copy(p, left), nil
}

func (g *given) closed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closes > 0
}

func (g *given) Close() error {
	g.mu.Lock()
	g.closes++
	g.over = true
	g.mu.Unlock()
	if g.pipe != nil {
		return g.pipe.Close()
	}
	return nil
}

// report is what became of all of them. It is final when the session has ended.
// What the library got for itself, for a retry that the budget then denied or to
// tell what a call costs, and gave back untouched, does not count.
func (s *supply) report(j *journal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, g := range s.given {
		if g.got && g.pulled == 0 && g.closes == 1 {
			s.gets--
			continue
		}
		n++
		j.notef("request body %d: closed %d times, %d bytes were read of it", n, g.closes, g.pulled)
		if g.pipe != nil {
			j.notef("request body %d: the writer of the pipe ends with %v", n, g.writer)
		}
	}
	j.notef("GetBody was called %d times", s.gets)
}

// content is a text of so many bytes.
func content(n int) string { return contents[:n] }

var contents = strings.Repeat("sixteen letters ", biggest/16+1)

const biggest = 256<<10 + 1
