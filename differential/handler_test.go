package differential

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

type connKey struct{}

// ServeHTTP answers the next request of the exchange that goes on, and notes all
// that can be seen of it.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.handlers.Add(1)
	defer w.handlers.Done()
	a, j := w.arrived(r.Context().Value(connKey{}).(int))
	j.notef("line: %s %s %s", r.Method, r.RequestURI, r.Proto)
	j.notef("url: %s", r.URL)
	j.notef("host: %s", r.Host)
	j.notef("header: %s", fields(r.Header))
	j.notef("length: %d %v", r.ContentLength, r.TransferEncoding)
	j.notef("close: %v", r.Close)
	j.notef("trailer: %s", fields(r.Trailer))
	serve(rw, r, a, j)
}

// arrived counts a request, and returns the answer for it and where to note it.
func (w *world) arrived(conn int) (answer, *journal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.now
	n := len(w.seen[x])
	j := &journal{prefix: fmt.Sprintf("server, request %d: ", n+1)}
	j.notef("connection: %s", w.connection(conn))
	w.seen[x] = append(w.seen[x], j)
	answers := w.session.Exchanges[x].Answers
	if len(answers) == 0 {
		return answer{}, j
	}
	return answers[min(n, len(answers)-1)], j
}

// connection tells a connection by when it was used before: its number would be
// another one for the rest of a session when chance has made one connection more.
func (w *world) connection(conn int) string {
	last, known := w.last, w.known
	w.last, w.known = conn, max(conn, known)
	switch {
	case conn > known:
		return "a new one"
	case conn == last:
		return "the same"
	default:
		return "an old one"
	}
}

func serve(rw http.ResponseWriter, r *http.Request, a answer, j *journal) {
	c := http.NewResponseController(rw)
	if a.Duplex {
		_ = c.EnableFullDuplex()
	}
	switch a.Reads {
	case "":
		readBody(r, j, -1)
	case "some":
		readBody(r, j, 10)
	}
	time.Sleep(a.Delay)
	for _, hint := range a.Hints {
		rw.Header().Set("Link", "</"+strconv.Itoa(hint)+">")
		rw.WriteHeader(hint)
	}
	if a.Status == http.StatusSwitchingProtocols {
		upgrade(c, a, j)
		return
	}
	respond(rw, a)
	if a.Reads == "last" {
		_ = c.Flush()
		readBody(r, j, -1)
	}
}

func readBody(r *http.Request, j *journal, limit int64) {
	var from io.Reader = r.Body
	if limit >= 0 {
		from = io.LimitReader(from, limit)
	}
	b, err := io.ReadAll(from)
	j.notef("body: %s", digest(b))
	if err != nil {
		j.notef("body fails: %v", err)
	}
	j.notef("trailer at the end: %s", fields(r.Trailer))
}

func respond(rw http.ResponseWriter, a answer) {
	for _, f := range a.Headers {
		rw.Header().Add(f.Name, f.Value)
	}
	for _, name := range a.Trailers {
		rw.Header().Add("Trailer", name)
	}
	text := []byte(content(a.Size))
	if a.Gzip {
		rw.Header().Set("Content-Encoding", "gzip")
		text = zip(text)
	}
	switch a.Declares {
	case "right":
		rw.Header().Set("Content-Length", strconv.Itoa(len(text)))
	case "more":
		rw.Header().Set("Content-Length", strconv.Itoa(len(text)+7))
	}
	if a.Status > 0 {
		rw.WriteHeader(a.Status)
	}
	if a.Aborts {
		write(rw, a, text[:len(text)/2]) // the connection can't be used again
		panic(http.ErrAbortHandler)
	}
	write(rw, a, text)
	for _, name := range a.Trailers {
		rw.Header().Set(name, "end")
	}
	if a.Surprise {
		rw.Header().Set(http.TrailerPrefix+"X-Unannounced", "end")
	}
}

// write brings the text in one piece, or in several that are flushed.
func write(rw http.ResponseWriter, a answer, text []byte) {
	if a.Pieces == 0 {
		_, _ = rw.Write(text)
		return
	}
	size := len(text)/a.Pieces + 1
	for len(text) > 0 {
		n := min(size, len(text))
		if _, err := rw.Write(text[:n]); err != nil {
			return
		}
		text = text[n:]
		_ = http.NewResponseController(rw).Flush()
		if len(text) > 0 {
			time.Sleep(a.Pause)
		}
	}
}

// upgrade makes the connection one that sends back what it gets.
func upgrade(c *http.ResponseController, a answer, j *journal) {
	conn, buffered, err := c.Hijack()
	if err != nil {
		j.notef("upgrade fails: %v", err)
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"+content(a.Size))
	got := make([]byte, 4)
	_, err = io.ReadFull(buffered, got)
	j.notef("upgraded: %q %v", got, err)
	_, _ = conn.Write(got)
	rest, err := io.ReadAll(buffered)
	j.notef("upgraded, the rest: %q %v", rest, err)
}

func zip(text []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, _ = z.Write(text)
	_ = z.Close()
	return b.Bytes()
}
