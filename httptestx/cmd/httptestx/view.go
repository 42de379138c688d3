package main

import (
	"net/http"
	"time"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// exchange is an [httptestx.Exchange] in JSON.
type exchange struct {
	Seq      int              `json:"seq"`
	Conn     int              `json:"conn"`
	ConnSeq  int              `json:"connSeq"`
	Stream   uint32           `json:"stream,omitempty"`
	Proto    string           `json:"proto"`
	Method   string           `json:"method"`
	Host     string           `json:"host"`
	Path     string           `json:"path"`
	Query    string           `json:"query"`
	Key      string           `json:"key"`
	Header   http.Header      `json:"header"`
	text                      // what was read, up to 64 KiB
	Plan     []httptestx.Step `json:"plan"`
	Read     string           `json:"read"`
	Handled  bool             `json:"handled"`
	Status   int              `json:"status"`
	Sent     string           `json:"sent"`
	Bytes    int64            `json:"bytes"`
	End      string           `json:"end"`
	Latency  string           `json:"latency"`
	Replayed bool             `json:"replayed"`
	Conflict bool             `json:"conflict"`
	Arrived  time.Time        `json:"arrived"`
	Done     *time.Time       `json:"done"` // null while it is running
}

func exchangesOf(srv *httptestx.Server) []exchange {
	list := []exchange{}
	for _, x := range srv.Exchanges() {
		e := exchange{
			Seq: x.Seq, Conn: x.Conn, ConnSeq: x.ConnSeq, Stream: x.Stream, Proto: x.Proto, Method: x.Method,
			Host: x.Host, Path: x.Path, Query: x.Query, Key: x.Key, Header: x.Header, text: textOf(x.Body),
			Plan: x.Plan, Read: x.Read.String(), Handled: x.Handled, Status: x.Status, Sent: x.Sent.String(),
			Bytes: x.Bytes, End: x.End.String(), Latency: x.Latency.String(), Replayed: x.Replayed,
			Conflict: x.Conflict, Arrived: x.Arrived,
		}
		if x.End != httptestx.Running {
			e.Done = &x.Done
		}
		list = append(list, e)
	}
	return list
}

// account is what the requests with one key did.
type account struct {
	Key        string         `json:"key"` // "" for all requests without one
	Arrivals   int            `json:"arrivals"`
	Executions int            `json:"executions"`
	Effects    map[string]int `json:"effects"` // by "METHOD path"
	Replays    int            `json:"replays"`
	Conflicts  int            `json:"conflicts"`
}

// ledgerOf returns an account for each key, in order of arrival, and last that of the requests without.
func ledgerOf(srv *httptestx.Server) []account {
	names := make(map[string][]string) // of effects that may have happened, by key
	for _, x := range srv.Exchanges() {
		names[x.Key] = append(names[x.Key], x.Method+" "+x.Path)
	}
	ledger := srv.Ledger()
	list := []account{}
	for _, key := range append(ledger.Keys(), "") {
		a := account{
			Key: key, Arrivals: ledger.Arrivals(key), Executions: ledger.Executions(key), Effects: map[string]int{},
			Replays: ledger.Replays(key), Conflicts: ledger.Conflicts(key),
		}
		for _, name := range names[key] {
			if n := ledger.Effects(name, key); n > 0 {
				a.Effects[name] = n
			}
		}
		if a.Arrivals > 0 {
			list = append(list, a)
		}
	}
	return list
}
