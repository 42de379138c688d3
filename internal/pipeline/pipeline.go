package pipeline

import (
	"net/http"
	"slices"
	"sync"
)

// A handler performs a call. It returns a response or an error, never both.
type handler func(*call) (*http.Response, error)

// A stage wraps the rest of the pipeline. A strategy that is off is a nil
// stage and costs nothing.
type stage func(next handler) handler

// Pipeline performs calls. It is safe for concurrent use.
type Pipeline struct {
	Config
	handle handler
	gears  sync.Pool
	*lasting
	// traces says that the base reports to httptrace before all that may pass, so
	// that its silence means something. That is known of net/http's own only:
	// another may well fail above the one that it wraps.
	traces bool
	http1  bool // and never speaks HTTP/2 in cleartext
}

// lasting is what a pipeline has that its successors go on with.
type lasting struct {
	underway
	router
}

// New makes a pipeline.
func New(c Config) *Pipeline { return build(c, &lasting{}) }

// Next makes a pipeline with other settings that takes the place of p, whose calls
// go on as they began.
func (p *Pipeline) Next(c Config) *Pipeline { return build(c, p.lasting) }

// build composes the stages, once. This list is the order, outermost first.
func build(c Config, l *lasting) *Pipeline {
	p := &Pipeline{Config: c, lasting: l}
	var own *http.Transport
	own, p.traces = c.Base.(*http.Transport)
	p.http1 = p.traces && (own.Protocols == nil || !own.Protocols.UnencryptedHTTP2())
	p.handle = compose(send(c.Base),
		bound(LimitTotal, c.Total), // the whole call, waits included
		admitCall(c.Concurrency),   // one place a call, held until its body ends
		retry(c.Retry),             // repeats everything below
		route(c.Route),             // an endpoint for each attempt
		limitRate(c.Rate),          // what an attempt costs, given back if it is not sent
		admitAttempt(c.Breaker),    // each attempt asks, each attempt reports
		boundAttempt(),
	)
	return p
}

func compose(h handler, stages ...stage) handler {
	for _, s := range slices.Backward(stages) {
		if s != nil {
			h = s(h)
		}
	}
	return h
}
