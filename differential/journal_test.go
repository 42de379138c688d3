package differential

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
)

// A journal is what one side of an exchange sees, in lines that are compared.
type journal struct {
	prefix string
	mu     sync.Mutex
	lines  []string
}

func (j *journal) notef(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, j.prefix+fmt.Sprintf(format, args...))
}

// response notes everything that a caller can see of a response but its body.
func (j *journal) response(resp *http.Response, r *http.Request) {
	j.notef("status: %d %q %s", resp.StatusCode, resp.Status, resp.Proto)
	j.notef("header: %s", fields(resp.Header))
	j.notef("length: %d %v", resp.ContentLength, resp.TransferEncoding)
	j.notef("close: %v, uncompressed: %v", resp.Close, resp.Uncompressed)
	j.notef("trailer: %s", fields(resp.Trailer))
	j.notef("no body: %v", resp.Body == http.NoBody)
	if resp.TLS != nil {
		j.notef("tls: %x %s %v", resp.TLS.Version, resp.TLS.NegotiatedProtocol, resp.TLS.ServerName)
	}
	for q := resp.Request; q != nil; {
		j.request(q, r)
		if q.Response == nil {
			return
		}
		j.notef("it came after: %d %s", q.Response.StatusCode, fields(q.Response.Header))
		q = q.Response.Request
	}
}

// request notes a request that a response is for.
func (j *journal) request(q, r *http.Request) {
	j.notef("for the request: %s %v, host %q, header %s", q.Method, q.URL, q.Host, fields(q.Header))
	j.notef("for the request: length %d %v, close %v, trailer %v, RequestURI %q", q.ContentLength, q.TransferEncoding, q.Close, q.Trailer != nil, q.RequestURI)
	j.notef("for the request: the caller's %v, its body %v, its context %v", q == r, q.Body == r.Body, q.Context() == r.Context())
	j.notef("for the request: body %v, NoBody %v, GetBody %v, Cancel %v", q.Body != nil, q.Body == http.NoBody, q.GetBody != nil, q.Cancel != nil) //nolint:staticcheck // looked at only
}

// failed notes an error as callers tell errors apart: by its text, its types, what
// it is, and what it can be asked.
func (j *journal) failed(what string, err error) {
	if err == nil {
		return
	}
	j.notef("%s: text %q", what, err)
	var types, is []string
	for e := err; e != nil; e = errors.Unwrap(e) {
		types = append(types, fmt.Sprintf("%T", e))
	}
	for _, s := range sentinels {
		if errors.Is(err, s) {
			is = append(is, s.Error())
		}
	}
	j.notef("%s: types %s", what, strings.Join(types, " "))
	j.notef("%s: is %q", what, is)
	if n, ok := errors.AsType[net.Error](err); ok {
		j.notef("%s: can time out: %v, is temporary: %v", what, n.Timeout(), n.Temporary()) //nolint:staticcheck // still asked
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		_, network := u.Err.(net.Error) //nolint:errorlint // as url.Error asks itself
		j.notef("%s: can be asked by url.Error: %s, %v", what, u.Op, network)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		j.notef("%s: can name the operation: %s", what, op.Op)
	}
}

var sentinels = []error{
	context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, os.ErrDeadlineExceeded,
	net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET, errBody, errReason, http.ErrUseLastResponse, http.ErrSchemeMismatch,
	http.ErrBodyReadAfterClose, http.ErrHandlerTimeout, http.ErrNotSupported, http.ErrMissingFile,
}

// fields is a header; none differs from an empty one.
func fields(h http.Header) string {
	if h == nil {
		return "nil"
	}
	return fmt.Sprintf("%q", map[string][]string(h))
}

// digest is a body in short.
func digest(b []byte) string {
	if len(b) <= 40 {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("%d bytes, crc %08x, %q...", len(b), crc32.ChecksumIEEE(b), b[:16])
}
