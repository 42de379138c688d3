package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"unicode/utf8"
)

// echoed is what the server answers with when it stands alone.
type echoed struct {
	Proto  string      `json:"proto"`
	Method string      `json:"method"`
	Host   string      `json:"host"`
	Path   string      `json:"path"`
	Query  url.Values  `json:"query"`
	Header http.Header `json:"header"`
	text
}

// text is the bytes of a body, as text where they are that.
type text struct {
	Body       string `json:"body"`
	BodyBase64 []byte `json:"bodyBase64,omitempty"` // in the place of Body
}

func textOf(b []byte) text {
	if utf8.Valid(b) {
		return text{Body: string(b)}
	}
	return text{BodyBase64: b}
}

// echoLimit is how much of a body is read.
const echoLimit = 10 << 20

// echo answers with the request.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, echoLimit))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	writeJSON(w, echoed{r.Proto, r.Method, r.Host, r.URL.Path, r.URL.Query(), r.Header, textOf(body)})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // the client has gone
}
