package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"net/http"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

const adminHelp = `httptestx: what happened, and what is to happen

GET  /exchanges  the requests, in order of arrival, and what became of each
GET  /ledger     by idempotency key: arrivals, executions, effects, replays, conflicts
PUT  /rules      new rules, in the place of the old ones; if they are wrong the old ones stay
POST /reset      forget the exchanges, and begin with the rules anew
GET  /ca.pem     the authority to trust, for -tls
`

// rulesLimit is how long a document can be.
const rulesLimit = 10 << 20

// adminHandler serves what a test in another process needs. Pages in a browser on this machine have no
// part in it: neither by a request across origins, nor by a name that leads here.
func adminHandler(srv *httptestx.Server) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, adminHelp) })
	mux.HandleFunc("GET /exchanges", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, exchangesOf(srv)) })
	mux.HandleFunc("GET /ledger", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, ledgerOf(srv)) })
	mux.HandleFunc("PUT /rules", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, rulesLimit))
		if err == nil {
			err = srv.LoadRules(bytes.NewReader(text))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		srv.Forget()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /ca.pem", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-pem-file")
		_ = pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: srv.RootCA().Raw})
	})
	inner := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			http.Error(w, "not a loopback address: "+r.Host, http.StatusForbidden)
			return
		}
		inner.ServeHTTP(w, r)
	})
}
