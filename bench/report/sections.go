package report

import (
	"bytes"
	"strings"

	"github.com/a-seed-e0941262/resilient/bench/contender"
)

// decisions is the table of single decisions.
func decisions(b *bytes.Buffer, s samples) {
	section(b, "Decisions", "In nanoseconds, on one processor and in a tight loop on two. With `/clock` the clock is read, too; "+
		"the others are told the time, as the gates of a call are, which reads it once for all of them.")
	header(b, "decision", "by", "ns", "ns, two processors", "allocs")
	for _, d := range []struct{ name, what string }{
		{"Clock", "the clock"}, {"BudgetRecord", "budget: record a request"}, {"BudgetRetry", "budget: may it be retried"},
		{"Breaker", "breaker: admit and settle"}, {"Limit", "concurrency limit: enter and release"}, {"Rate", "rate limit: take"},
	} {
		for _, name := range s.names(d.name + "/.*[^0-9]") {
			_, by, _ := strings.Cut(name, "/")
			row(b, d.what, by, show(s.of(name, "ns/op"), 1), show(s.of(name+"-2", "ns/op"), 1), show(s.of(name, "allocs/op"), 0))
		}
	}
}

// pipelines are the tables of calls over a stub.
func pipelines(b *bytes.Buffer, s samples) {
	section(b, "Calls over a transport that does nothing", "What each adds to it: nanoseconds / allocations / bytes. A Background "+
		"caller can't leave, the others can. The transport of the last column does to the context what that of net/http does. "+
		"Who has which strategies stands in [contender](contender/contender.go): only resilient, failsafe and diy have all.")
	cases := []string{"get-background", "get-cancellable", "post-1k", "get-sooner", "get-like-transport"}
	header(b, append([]string{"client"}, cases...)...)
	for _, c := range contender.All() {
		if c.Over == nil || c.Name == contender.Bare {
			continue
		}
		cells := []string{c.Name}
		for _, situation := range cases {
			cells = append(cells, added(s, "Pipeline/"+situation+"/", c.Name))
		}
		row(b, cells...)
	}
	section(b, "The same through a client", "With the request built and an `http.Client`, or what takes its place, around it.")
	header(b, "client", "ns", "added")
	for _, c := range contender.All() {
		row(b, c.Name, show(s.of("Do/"+c.Name, "ns/op"), 0), added(s, "Do/", c.Name))
	}
	section(b, "From all processors at once", "Nanoseconds a call on one processor, and on two.")
	header(b, "client", "one", "two")
	for _, name := range []string{contender.Bare, contender.Again, contender.Resilient, contender.Failsafe, contender.DIY} {
		row(b, name, show(s.of("Together/"+name, "ns/op"), 0), show(s.of("Together/"+name+"-2", "ns/op"), 0))
	}
}

func added(s samples, prefix, name string) string {
	name, reference := prefix+name, prefix+contender.Bare
	return signed(s.beyond(name, reference, "ns/op"), 0) + " / " + signed(s.beyond(name, reference, "allocs/op"), 0) + " / " +
		signed(s.beyond(name, reference, "B/op"), 0)
}

// loopbacks are the tables of calls over real connections.
func loopbacks(b *bytes.Buffer, s samples) {
	for _, l := range []struct{ name, what string }{
		{"get-64", "64 callers, GET of 1 KiB"}, {"get-1", "One caller, GET of 1 KiB"}, {"post-64", "64 callers, POST of 1 KiB"},
		{"get-64-sooner", "64 callers with a deadline sooner than any of the client's"},
	} {
		section(b, "Loopback: "+l.what, "Client and server are one process. Ratios to bare; allocations and bytes are added to it.")
		header(b, "client", "processor time", "throughput", "p50", "p99", "allocs", "bytes")
		for _, c := range contender.All() {
			name, bare := "Loopback/"+l.name+"/"+c.Name, "Loopback/"+l.name+"/"+contender.Bare
			if s[name] == nil {
				continue
			}
			row(b, c.Name, show(s.ratio(name, bare, "cpu-ns/op"), 2), show(s.ratio(name, bare, "req/s"), 2),
				show(s.ratio(name, bare, "p50-ns"), 2), show(s.ratio(name, bare, "p99-ns"), 2),
				signed(s.beyond(name, bare, "allocs/op"), 1), signed(s.beyond(name, bare, "B/op"), 0))
		}
	}
}

// flights is the table of calls in flight.
func flights(b *bytes.Buffer, s samples) {
	section(b, "Calls in flight", "As many at once as the effort says, of callers who may leave, each client in a process of its own, and the server in another. "+
		"What a call takes more than a bare one: over a real transport, and over one that only waits.")
	header(b, "client", "goroutines", "heap", "stack", "resident", "goroutines, stub", "heap, stub", "stack, stub")
	for _, c := range contender.All() {
		if s["InFlight/real/"+c.Name] == nil || c.Name == contender.Bare {
			continue
		}
		more := func(kind, unit string) float64 {
			return s.beyond("InFlight/"+kind+"/"+c.Name, "InFlight/"+kind+"/"+contender.Bare, unit)
		}
		row(b, c.Name, show(more("real", "goroutines/call"), 2), size(more("real", "heap-B/call")),
			size(more("real", "stack-B/call")), size(more("real", "rss-B/call")), show(more("stub", "goroutines/call"), 2),
			size(more("stub", "heap-B/call")), size(more("stub", "stack-B/call")))
	}
}

// transfers are the tables of large bodies.
func transfers(b *bytes.Buffer, s samples) {
	section(b, "Large bodies", "Reads are of 32 KiB that are there already, downloads and uploads of large bodies over loopback. Throughput is a "+
		"ratio to bare. Peak is what the heap grows by meanwhile; `once` is a body that can't be had again, `replayable` one that can.")
	header(b, "client", "ns added to a Read", "download", "upload, once", "peak", "upload, replayable", "peak")
	for _, c := range contender.All() {
		upload := func(kind string) (string, string) {
			name, bare := "Upload/"+kind+"/"+c.Name, "Upload/"+kind+"/"+contender.Bare
			return show(s.ratio(name, bare, "MB/s"), 2), show(s.of(name, "peak-MiB"), 1) + " MiB"
		}
		if s["Read/"+c.Name] == nil {
			continue
		}
		once, oncePeak := upload("once")
		again, againPeak := upload("replayable")
		row(b, c.Name, signed(s.beyond("Read/"+c.Name, "Read/"+contender.Bare, "ns/op"), 1),
			show(s.ratio("Download/"+c.Name, "Download/"+contender.Bare, "MB/s"), 3), once, oncePeak, again, againPeak)
	}
}
