package resilient_test

import (
	"io"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

// A weighed upload notes the most memory that is in use while it is read.
type weighed struct {
	upload
	most uint64
	next int64
}

func (u *weighed) Read(p []byte) (int, error) {
	if u.pulled.Load() >= u.next {
		u.next += 4 << 20
		u.most = max(u.most, inUse())
	}
	return u.upload.Read(p)
}

// inUse is how many bytes of memory are.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// hashicorp/go-retryablehttp#145. It is not parallel to others, for it looks at what
// memory is in use.
func TestLargeUploadNeedsLittleMemory(t *testing.T) {
	const size = 64 << 20
	got := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if n, _ := io.Copy(io.Discard, r.Body); n == size {
			rw.Header().Set("X-Got", "all")
		}
		rw.WriteHeader(503)
	})
	for _, p := range []protocol{h1, h2TLS} {
		for name, length := range map[string]int64{"unknown length": -1, "known length": size} {
			t.Run(p.name+" "+name, func(t *testing.T) {
				p.bubble(t, got, func(w *world) {
					is := is.New(w.T)
					u := &weighed{upload: upload{size: size}}
					r, _ := http.NewRequest("PUT", w.URL, u)
					r.ContentLength = length
					before := inUse()
					resp, err := w.client(retrying(resilient.Backoff(0, 0))).Do(r)
					is.NoErr(err)                             // it is answered
					is.Equal(resp.StatusCode, 503)            // by what would be repeated
					is.Equal(resp.Header.Get("X-Got"), "all") // from a server that has it all
					read(w.T, resp)
					is.Equal(w.arrived(), 1)                // in one attempt
					is.Equal(w.denials(), []string{"body"}) // for there is no second body
					is.True(u.most < before+6<<20)          // through a few MiB, server and network included
				})
			})
		}
	}
}

// While the server does not read, no more is asked for than HTTP/2's window lets
// through, and what is on the way.
func TestUploadOverHTTP2IsNotReadAhead(t *testing.T) {
	t.Parallel()
	h2TLS.bubble(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Minute)
		_, _ = io.Copy(io.Discard, r.Body)
	}), func(w *world) {
		is := is.New(w.T)
		w.Config.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 64 << 10, MaxReadFrameSize: 16 << 10}
		u := &upload{size: 8 << 20}
		r, _ := http.NewRequest("PUT", w.URL, u)
		var early int64
		time.AfterFunc(time.Minute-1, func() { early = u.pulled.Load() })
		resp, err := w.client(retrying()).Do(r)
		is.NoErr(err) // it is answered
		read(w.T, resp)
		is.True(early > 0)                // it has begun
		is.True(early <= 128<<10)         // with what fits into a window, 64 KiB, and a frame
		is.Equal(u.pulled.Load(), u.size) // and came through whole
	})
}
