package httptestx

import (
	"net/http"
	"time"
)

// Exchange is one request that arrived, and what became of it: a snapshot.
// Headers, body and plan are shared with other snapshots and must not be changed.
type Exchange struct {
	Seq     int    // order of arrival at the server, from 1
	Conn    int    // the connection, in order of acceptance, from 1
	ConnSeq int    // order of arrival on the connection, from 1; above 1 it was reused
	Stream  uint32 // of HTTP/2; 0 on HTTP/1

	Proto   string // as in [http.Request]
	Method  string
	Host    string
	Path    string // decoded, without the query
	Query   string // raw, without the question mark
	Key     string // the idempotency key; see [WithKeyHeader]
	Attempt string // the client's own count; see [WithAttemptHeader]

	Header http.Header
	Body   []byte // the first 64 KiB of what was read

	Plan    []Step
	Read    ReadState // how much of the request was read, by the plan or the handler
	Handled bool      // the handler, or the one in Idempotent, was started; what it did is done, whatever was sent
	Status  int       // the status that was sent; 0 if none was
	Sent    SentState
	Bytes   int64 // bytes of the response body that were sent, and all raw ones
	End     EndState

	Latency  time.Duration // what Latency has drawn, in all
	Replayed bool          // Idempotent repeated its first answer to the key
	Conflict bool          // Idempotent refused the request: 409 or 422

	Arrived time.Time // when the headers had been read
	Done    time.Time // zero while Running

	record // what only this package looks at
}

// record is the part of an exchange that the ledger and the time-line use.
type record struct {
	at        int             // index of the step in progress, or where the plan ended
	arrivedAt int             // logical clock: exact where two times are equal
	doneAt    int             // same; 0 while running
	digest    uint64          // of the whole body that was read
	length    int64           // bytes of the request body that were read
	answer    int             // status of the handler's own answer, 0 while it runs
	effects   []string        // names given to Effect
	drawn     []time.Duration // by each Latency
	whole     bool            // the raw bytes were a whole answer
	garbled   bool            // the answer looks good, but cannot be decoded
	cut       bool            // it has ended, but its plan goes on
	epoch     int             // of the journal, when it arrived
}

// ReadState is how much of a request the server read.
type ReadState int

// In order, least first.
const (
	ReadHeaders  ReadState = iota // the headers; nothing of the body was asked for
	ReadPartial                   // a part of the body
	ReadComplete                  // the whole request
)

// SentState is how much of a response the server sent. After [EndAborted] it
// is an upper bound: net/http may have dropped what was in its buffer.
type SentState int

// In order, least first.
const (
	SentNothing  SentState = iota // not a byte
	SentInfo                      // 1xx only
	SentHeaders                   // status line and headers, nothing of the body
	SentPartial                   // a part of the body
	SentComplete                  // all of it
	SentRaw                       // raw bytes only, by SendRaw or Malformed; it is not on the scale
)

// EndState is how an exchange ended.
type EndState int

// The ways in which an exchange ends.
const (
	Running       EndState = iota // it has not
	EndOK                         // answered in full, as far as the server can tell
	EndReset                      // the plan reset the connection, or the stream
	EndClosed                     // the plan closed the connection, or the handler wrote less than it had declared
	EndClientGone                 // the client was seen to go before its answer was sent
	EndAborted                    // the handler panicked, and net/http closed the connection
	EndHijacked                   // the handler took the connection over
	EndReleased                   // the server was closed first
	EndRefused                    // the plan told the client that the request was not processed
)

// String returns a word or two, as in the time-line.
func (s ReadState) String() string {
	return [...]string{"headers read", "partly read", "read"}[s]
}

// String returns a word or two, as in the time-line.
func (s SentState) String() string {
	return [...]string{"nothing sent", "1xx sent", "headers sent", "partly sent", "sent", "raw bytes sent"}[s]
}

// String returns a word or two, as in the time-line.
func (s EndState) String() string {
	return [...]string{
		"running", "answered", "reset", "closed", "client gone", "aborted", "hijacked", "server closed", "refused",
	}[s]
}

// succeeded reports whether the client was sent a whole answer that says so.
func (e *Exchange) succeeded() bool {
	ended := e.End == EndOK || e.End == EndClosed && e.whole
	return ended && e.Status < 400 && !e.garbled
}
