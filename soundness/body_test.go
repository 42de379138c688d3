package soundness_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing/iotest"
	"time"
)

// largest is the longest body of a request or a response: more than fits into
// the buffers between the client and the server.
const largest = 300 << 10

var content = bytes.Repeat([]byte("0123456789abcdef"), largest/16+1)

// A filling puts a body of n bytes into a request.
type filling func(c *call, r *http.Request, d dice, n int)

var fillings = []lot[filling]{
	{24, "no body", func(*call, *http.Request, dice, int) {}},
	{4, "http.NoBody", func(_ *call, r *http.Request, _ dice, _ int) { r.Body = http.NoBody }},
	{20, "bytes.Reader", func(c *call, r *http.Request, _ dice, n int) { c.fill(r, bytes.NewReader(content[:n])) }},
	{6, "strings.Reader", func(c *call, r *http.Request, _ dice, n int) { c.fill(r, strings.NewReader(string(content[:n]))) }},
	{6, "bytes.Buffer", func(c *call, r *http.Request, _ dice, n int) { c.fill(r, bytes.NewBuffer(bytes.Clone(content[:n]))) }},
	{8, "opaque", func(c *call, r *http.Request, d dice, n int) { c.fill(r, c.opaque(d, n)) }},
	{6, "opaque of known length", func(c *call, r *http.Request, d dice, n int) {
		c.fill(r, c.opaque(d, n))
		r.ContentLength = int64(n)
	}},
	{6, "opaque with GetBody", func(c *call, r *http.Request, d dice, n int) {
		c.fill(r, c.opaque(d, n))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(c.opaque(d, n)), nil }
	}},
	{6, "opaque of known length with GetBody", func(c *call, r *http.Request, d dice, n int) {
		c.fill(r, c.opaque(d, n))
		r.ContentLength = int64(n)
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(c.opaque(d, n)), nil }
	}},
	{4, "opaque and empty", func(c *call, r *http.Request, d dice, _ int) { c.fill(r, c.opaque(d, 0)) }},
	{4, "pipe", func(c *call, r *http.Request, d dice, n int) { c.fill(r, c.written(d, n)) }},
	{4, "pipe of known length", func(c *call, r *http.Request, d dice, n int) {
		c.fill(r, c.written(d, n))
		r.ContentLength = int64(n)
	}},
	{3, "slow", func(c *call, r *http.Request, d dice, n int) { c.fill(r, c.slow(d, n)) }},
	{2, "slow, of known length", func(c *call, r *http.Request, d dice, n int) {
		c.fill(r, c.slow(d, n))
		r.ContentLength = int64(n)
	}},
	{2, "fails", func(c *call, r *http.Request, d dice, n int) {
		c.fill(r, io.MultiReader(c.opaque(d, n), iotest.ErrReader(errors.New("the disk is gone"))))
		r.ContentLength = one(d, -1, int64(n), int64(n)+1)
	}},
	{1, "shorter than declared", func(c *call, r *http.Request, d dice, n int) {
		c.fill(r, c.opaque(d, n))
		r.ContentLength = int64(n) + int64(1+d.upTo(50))
	}},
	{1, "longer than declared", func(c *call, r *http.Request, d dice, n int) {
		c.fill(r, c.opaque(d, n+1+d.upTo(50)))
		r.ContentLength = int64(n) + 1
	}},
}

// fill does what http.NewRequest does with a body.
func (c *call) fill(r *http.Request, body io.Reader) {
	if filled, err := http.NewRequest(r.Method, r.URL.String(), body); err == nil {
		r.Body, r.GetBody, r.ContentLength = filled.Body, filled.GetBody, filled.ContentLength
		c.body = r.Body != http.NoBody
	}
}

// opaque returns a reader of n bytes whose type says nothing. What its reads
// return varies, and one of them may be what makes the caller leave.
func (c *call) opaque(d dice, n int) io.Reader {
	var r io.Reader = bytes.NewReader(content[:n])
	switch d.IntN(6) {
	case 0:
		r = iotest.DataErrReader(r)
	case 1:
		r = iotest.HalfReader(r)
	case 2:
		if n < 200 {
			r = iotest.OneByteReader(r)
		}
	}
	var reads int
	at := d.size(64)
	return readerFunc(func(p []byte) (int, error) {
		if reads++; reads > at {
			c.happened(atBodyRead)
		}
		return r.Read(p)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// written returns a body that is written, little by little, while it is sent.
func (c *call) written(d dice, n int) io.Reader {
	r, w := io.Pipe()
	parts := 1 + d.upTo(5)
	waits := make([]time.Duration, parts+1) // the last is before the end
	for i := range waits {
		waits[i] = d.wait(300 * time.Millisecond)
	}
	waits[parts] = d.wait(5 * time.Second)
	end := one(d, io.EOF, io.EOF, io.EOF, io.ErrClosedPipe)
	// Nothing is written, and no goroutine is there, before somebody reads.
	return &written{PipeReader: r, begin: func() {
		go func() {
			for i, wait := range waits {
				c.world.hold(c.ctx, wait)
				if i == parts {
					break
				}
				if _, err := w.Write(content[i*n/parts : (i+1)*n/parts]); err != nil {
					return
				}
			}
			w.CloseWithError(end)
		}()
	}}
}

// slow returns a reader that heeds neither the caller nor a Close.
func (c *call) slow(d dice, n int) io.Reader {
	r, wait := c.opaque(d, n), d.wait(300*time.Millisecond)
	parts := 2 + d.upTo(3)
	return readerFunc(func(p []byte) (int, error) {
		c.world.pause(wait)
		return r.Read(p[:min(len(p), 1+n/parts)])
	})
}

type written struct {
	*io.PipeReader
	once  sync.Once
	begin func()
}

func (w *written) Read(p []byte) (int, error) {
	w.once.Do(w.begin)
	return w.PipeReader.Read(p)
}
