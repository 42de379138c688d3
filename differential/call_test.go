package differential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"reflect"
	"testing/synctest"
	"time"
)

var errReason = errors.New("the caller's reason to leave")

// impatient hangs up from time to time, until the exchange is over.
func (w *world) impatient() (stop func()) {
	ticker, over := time.NewTicker(patience), make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				w.network.hangUp()
			case <-over:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(over)
	}
}

// patience is longer than any exchange takes but those that hang with net/http
// as well, as when each side waits for the other's body.
const patience = time.Hour

// call makes the call of an exchange as its caller does, and notes what he sees.
func (w *world) call(i int, x exchange) (*journal, *supply) {
	w.begin(i)
	defer w.impatient()()
	j := &journal{prefix: "caller: "}
	r, bodies := w.request(x)
	c := w.client
	undo := x.Caller.leave(&r, &c)
	defer undo()
	x.Caller.trace(&r, j)
	x.Caller.redirects(&c, j)
	unchanged := watch(r)
	start := time.Now()
	resp, err := x.Caller.do(&c, r)
	j.notef("returns after %v", time.Since(start))
	j.failed("fails", err)
	if resp != nil {
		j.response(resp, r)
		time.Sleep(x.Caller.Idle)
		start = time.Now()
		if err == nil && x.Caller.read(resp, j) {
			j.notef("trailer at the end: %s", fields(resp.Trailer))
		}
		again(resp, j)
		j.notef("has read after %v", time.Since(start))
	}
	unchanged(j)
	if err != nil || !w.session.Settings.Hasty {
		synctest.Wait() // connections become idle, and what was sent arrives
	}
	return j, bodies
}

// do makes the call. There are requests that net/http itself panics for.
func (c caller) do(client *http.Client, r *http.Request) (resp *http.Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panics: %v", v)
		}
	}()
	if c.Direct {
		return client.Transport.RoundTrip(r)
	}
	return client.Do(r)
}

// request makes the request.
func (w *world) request(x exchange) (*http.Request, *supply) {
	q := x.Request
	r := &http.Request{Method: q.Method, Host: q.Host, Close: q.Close, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	scheme := w.session.Protocol.scheme()
	if q.Scheme != "" {
		scheme = q.Scheme
	}
	target := q.URL
	if target == "" {
		target = home
	}
	if u, err := url.Parse(scheme + "://" + target); err == nil && !q.NoURL {
		r.URL = u
		r.URL.Opaque = q.Opaque
	}
	if !q.NoMap {
		r.Header = http.Header{}
		for _, f := range q.Headers {
			r.Header[f.Name] = append(r.Header[f.Name], f.Value)
		}
	}
	if q.Chunked {
		r.TransferEncoding = []string{"chunked"}
	}
	bodies := &supply{body: q.Body}
	if q.Trailer != nil {
		trailer := http.Header{}
		for _, name := range q.Trailer {
			trailer[name] = nil
		}
		r.Trailer = trailer
		bodies.trailer = func() {
			for name := range trailer {
				trailer[name] = []string{"at the end"}
			}
		}
	}
	bodies.give(r)
	return r, bodies
}

// leave makes the caller leave as he wants to.
func (c caller) leave(r **http.Request, client *http.Client) (undo func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	undo = func() { cancel(nil) }
	switch c.Leaves {
	case "before":
		cancel(nil)
	case "before, with a cause":
		cancel(errReason)
	case "cancel":
		time.AfterFunc(c.After, func() { cancel(nil) })
	case "cause":
		time.AfterFunc(c.After, func() { cancel(errReason) })
	case "deadline":
		ctx, undo = context.WithTimeout(ctx, c.After)
	case "deadline, with a cause":
		ctx, undo = context.WithTimeoutCause(ctx, c.After, errReason)
	case "Client.Timeout":
		client.Timeout = c.After
	case "Request.Cancel":
		closed := make(chan struct{})
		time.AfterFunc(c.After, func() { close(closed) })
		(*r).Cancel = closed //nolint:staticcheck // deprecated, and still to be heeded
	}
	*r = (*r).WithContext(ctx)
	return undo
}

// trace notes what the caller's own hooks see.
func (c caller) trace(r **http.Request, j *journal) {
	if !c.Trace {
		return
	}
	*r = (*r).WithContext(httptrace.WithClientTrace((*r).Context(), &httptrace.ClientTrace{
		GetConn:              func(host string) { j.notef("trace: GetConn %s", host) },
		GotConn:              func(g httptrace.GotConnInfo) { j.notef("trace: GotConn, reused %v", g.Reused) },
		GotFirstResponseByte: func() { j.notef("trace: GotFirstResponseByte") },
		Got100Continue:       func() { j.notef("trace: Got100Continue") },
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			j.notef("trace: %d %s", code, fields(http.Header(h)))
			return nil
		},
	}))
}

// redirects notes what CheckRedirect is asked, and stops where the caller does.
func (c caller) redirects(client *http.Client, j *journal) {
	if c.Stops == "" {
		return
	}
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		j.notef("redirect %d: %s %s, header %s", len(via), r.Method, r.URL, fields(r.Header))
		switch {
		case len(via) <= c.Hops:
			return nil
		case c.Stops == "last response":
			return http.ErrUseLastResponse
		}
		return errReason
	}
}

// read reads the response's body as the caller does, and reports whether it came to its end.
func (c caller) read(resp *http.Response, j *journal) (whole bool) {
	defer resp.Body.Close()
	if up, ok := resp.Body.(io.Writer); ok {
		upgraded(resp, up, j)
		return false
	}
	switch c.Reads {
	case "nothing":
	case "half":
		_, _ = io.CopyN(io.Discard, resp.Body, 100)
	default:
		var b bytes.Buffer
		_, err := io.Copy(&b, resp.Body)
		j.notef("body: %s", digest(b.Bytes()))
		j.failed("reading the body fails", err)
		whole = err == nil
	}
	if c.Reads == "to the end" {
		_, err := resp.Body.Read(make([]byte, 1))
		j.failed("reading behind the end", err)
		return whole
	}
	j.failed("closing the body fails", resp.Body.Close())
	return whole
}

// again does what a caller should not do with a body that is closed.
func again(resp *http.Response, j *journal) {
	_, err := resp.Body.Read(make([]byte, 1))
	j.failed("reading after Close", err)
	j.failed("a second Close", resp.Body.Close())
}

func upgraded(resp *http.Response, up io.Writer, j *journal) {
	_, err := io.WriteString(up, "ping and more")
	j.failed("writing to the upgraded connection", err)
	half, ok := resp.Body.(interface{ CloseWrite() error })
	j.notef("it has CloseWrite: %v", ok)
	if ok {
		j.failed("CloseWrite", half.CloseWrite())
	}
	b, err := io.ReadAll(resp.Body)
	j.notef("upgraded: %s", digest(b))
	j.failed("reading the upgraded connection", err)
}

// watch notes later which fields of the request are not what they are now.
func watch(r *http.Request) func(*journal) {
	before, header := *r, r.Header.Clone()
	var u url.URL
	if r.URL != nil {
		u = *r.URL
	}
	return func(j *journal) {
		a, b := reflect.ValueOf(before), reflect.ValueOf(*r)
		for i := range a.NumField() {
			f := a.Type().Field(i)
			if f.Name == "Header" || f.Name == "Body" || f.Name == "ctx" { // further down
				continue
			}
			if was, is := look(a.Field(i)), look(b.Field(i)); was != is {
				j.notef("request changed: %s from %s to %s", f.Name, was, is)
			}
		}
		if !reflect.DeepEqual(header, r.Header) {
			j.notef("request changed: header from %s to %s", fields(header), fields(r.Header))
		}
		if r.URL != nil && *r.URL != u {
			j.notef("request changed: URL from %v to %v", &u, r.URL)
		}
		if r.Body != before.Body || r.Context() != before.Context() {
			j.notef("request changed: body or context")
		}
	}
}

// look is a field as a text that is the same for the same thing.
func look(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Chan, reflect.Map:
		return fmt.Sprintf("%#x", v.Pointer())
	}
	return fmt.Sprint(v)
}
