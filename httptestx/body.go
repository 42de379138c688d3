package httptestx

import (
	"hash/maphash"
	"io"
)

// bodyLimit is how much of a request body an exchange keeps.
const bodyLimit = 64 << 10

// bodySeed makes digests comparable within the process, which is all they are for.
//
//nolint:gochecknoglobals // set once, and only read
var bodySeed = maphash.MakeSeed()

// bodyTap records what is read of a request body.
type bodyTap struct {
	io.ReadCloser
	log    entry
	digest maphash.Hash
}

func newBodyTap(body io.ReadCloser, log entry) *bodyTap {
	t := &bodyTap{ReadCloser: body, log: log}
	t.digest.SetSeed(bodySeed)
	return t
}

// Read records the bytes before its caller, and so the client, can act on them.
func (t *bodyTap) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.log.update(func(x *Exchange) {
		t.digest.Write(p[:n])
		x.digest = t.digest.Sum64()
		x.length += int64(n)
		x.Body = append(x.Body, p[:min(n, bodyLimit-len(x.Body))]...)
		switch {
		case err == io.EOF:
			x.Read = ReadComplete
		case n > 0:
			x.Read = max(x.Read, ReadPartial)
		}
	})
	return n, err
}
