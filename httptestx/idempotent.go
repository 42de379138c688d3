package httptestx

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Idempotent makes h safe to be asked again with the same idempotency key, as in
// draft-ietf-httpapi-idempotency-key-header. For a request of an unsafe method with a
// key:
//
//   - the first runs h, and its answer is kept;
//   - a later one with the same method, URL and body gets that answer again, with the
//     header "Idempotent-Replayed: true", and h does not run;
//   - one that comes while the first is running gets 409;
//   - one with another method, URL or body gets 422.
//
// Requests without a key, and those of a safe method, are passed through. An answer with
// status 429 or 503 is not kept, because it says that nothing was begun, and
// neither is that of a handler that panics: the next request with the key runs h.
//
// The key is the one of [Exchange.Key] in a [Server], the header Idempotency-Key
// elsewhere; it is compared as a string. The answers to the last 1,000 keys are kept,
// or fewer if their bodies are more than 16 MiB together. Bodies and answers
// are held in memory as a whole, so that h cannot stream, hijack, or send informational
// responses for a request with a key.
//
// [Ledger.Replays] and [Ledger.Conflicts] count what it did. It may stand behind
// other handlers of a server; an exchange then counts as handled until Idempotent has
// read the request and decided.
func Idempotent(h http.Handler) http.Handler {
	return &idempotent{handler: h, firsts: make(map[string]*first)}
}

// What Idempotent keeps at most.
const (
	keptKeys  = 1_000
	keptBytes = 16 << 20
)

type idempotent struct {
	handler http.Handler

	mu       sync.Mutex
	firsts   map[string]*first
	answered []string // the keys that have an answer, oldest first
	size     int      // of the bodies of the answers
}

// first is the first request with a key.
type first struct {
	request [sha256.Size]byte // its fingerprint
	answer  *held             // nil while the handler runs
}

func (d *idempotent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := keyOf(r)
	if key == "" || safe(r.Method) {
		note(r, func(x *Exchange) { x.Handled = true })
		d.handler.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		problem(w, http.StatusBadRequest, "the request body could not be read")
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	fp := fingerprint(r, body)
	f, earlier := d.claim(key, fp)
	switch {
	case !earlier:
		d.run(w, r, key)
	case f.request != fp:
		conflict(w, r, http.StatusUnprocessableEntity, "the idempotency key was used for another request")
	case f.answer == nil:
		conflict(w, r, http.StatusConflict, "a request with this idempotency key is being processed")
	default:
		note(r, func(x *Exchange) { x.Handled, x.Replayed = false, true })
		w.Header().Set("Idempotent-Replayed", "true")
		f.answer.sendTo(w)
	}
}

// claim returns a copy of what is known of the first request with the key, and
// whether there was one; if not, the caller's is.
func (d *idempotent) claim(key string, fp [sha256.Size]byte) (f first, earlier bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f, ok := d.firsts[key]; ok {
		return *f, true
	}
	d.firsts[key] = &first{request: fp}
	return first{}, false
}

// run runs the handler for the first request. The deferred call gives the key free
// when a panic, or runtime.Goexit, comes instead of an answer.
func (d *idempotent) run(w http.ResponseWriter, r *http.Request, key string) {
	note(r, func(x *Exchange) { x.Handled = true })
	var answer *held
	defer func() {
		if answer == nil {
			d.keep(key, nil)
		}
	}()
	h := newHeld()
	d.handler.ServeHTTP(h, r)
	h.seal(r.Method)
	answer = h
	d.keep(key, answer)
	answer.sendTo(w)
}

// keep records the answer to the first request, or, if there is none that counts,
// forgets the request.
func (d *idempotent) keep(key string, answer *held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if answer == nil || answer.status == http.StatusTooManyRequests || answer.status == http.StatusServiceUnavailable {
		delete(d.firsts, key)
		return
	}
	d.firsts[key].answer = answer
	d.answered = append(d.answered, key)
	d.size += answer.body.Len()
	for len(d.answered) > keptKeys || d.size > keptBytes {
		oldest := d.answered[0]
		d.answered = d.answered[1:]
		d.size -= d.firsts[oldest].answer.body.Len()
		delete(d.firsts, oldest)
	}
}

// fingerprint tells requests apart that use the same key. The quotes keep one part from
// running into the next.
func fingerprint(r *http.Request, body []byte) [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q ", r.Method, r.URL.RequestURI())
	h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}

// keyOf returns the idempotency key as the server that serves r sees it.
func keyOf(r *http.Request) string {
	key := r.Header.Get("Idempotency-Key")
	note(r, func(x *Exchange) { key = x.Key })
	return key
}

// note changes the record of r, if a Server serves it.
func note(r *http.Request, change func(x *Exchange)) {
	if log, ok := r.Context().Value(entryKey{}).(entry); ok {
		log.update(change)
	}
}

// conflict refuses a request for its key.
func conflict(w http.ResponseWriter, r *http.Request, code int, detail string) {
	note(r, func(x *Exchange) { x.Handled, x.Conflict = false, true })
	problem(w, code, detail)
}

// problem answers in the form of RFC 9457, as the draft recommends.
func problem(w http.ResponseWriter, code int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"title":%q,"status":%d,"detail":%q}`+"\n", http.StatusText(code), code, detail)
}
