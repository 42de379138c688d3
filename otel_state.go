package resilient

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// viewers are the meter providers that are shown the state of a registry: each once, however many clients ask for it.
type viewers struct {
	mu    sync.Mutex
	known []metric.MeterProvider // nil is the global one
}

// first reports whether a provider is new.
func (v *viewers) first(p metric.MeterProvider) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, k := range v.known {
		if sameProvider(k, p) {
			return false
		}
	}
	v.known = append(v.known, p)
	return true
}

// sameProvider reports whether a and b are one. Those that can't be compared, for which == panics, are not.
func sameProvider(a, b metric.MeterProvider) (same bool) {
	defer func() { _ = recover() }()
	return a == b
}

// show has the meter provider ask for the state of the registry's clients. No lock of the registry may be held: a provider
// has locks of its own, which it also holds while it asks.
func (t *openTelemetry) show(r *Registry) {
	if !r.viewers.first(t.meters) {
		return
	}
	m := t.meter()
	var gauges [gaugeCount]metric.Int64ObservableUpDownCounter
	var all []metric.Observable
	for i := range gauges {
		gauges[i] = newGauge(m, gauge(i))
		all = append(all, gauges[i])
	}
	_, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for s, n := range sums(r.Snapshot()) {
			o.ObserveInt64(gauges[s.gauge], n, metric.WithAttributes(s.attributes()...))
		}
		return nil
	}, all...)
	if err != nil {
		otel.Handle(err)
	}
}

// A gauge is a metric of what is held.
type gauge int

const (
	gaugePermits gauge = iota
	gaugeInUse
	gaugeQueued
	gaugeBudgets
	gaugeRequests
	gaugeRetries
	gaugeAllowance
	gaugeBreakers
	gaugeTokens
	gaugeCount
)

// describe is its name, its unit and what it is.
func (g gauge) describe() (name, unit, description string) {
	d := [gaugeCount][3]string{
		gaugePermits:   {"resilient.concurrency.permits", "{call}", "Calls that may run at once."},
		gaugeInUse:     {"resilient.concurrency.in_use", "{call}", "Calls that run, each until its body ends."},
		gaugeQueued:    {"resilient.concurrency.queued", "{call}", "Calls that wait for a permit."},
		gaugeBudgets:   {"resilient.budgets", "{budget}", "Retry budgets in the state."},
		gaugeRequests:  {"resilient.budget.requests", "{call}", "Calls in the window of the retry budget."},
		gaugeRetries:   {"resilient.budget.retries", "{retry}", "Retries in the window of the retry budget."},
		gaugeAllowance: {"resilient.budget.allowance", "{retry}", "Retries that the window may hold; 0 below the minimum, where all are made."},
		gaugeBreakers:  {"resilient.breakers", "{breaker}", "Circuit breakers in the state."},
		gaugeTokens:    {"resilient.rate_limit.tokens", "{token}", "Tokens that a rate limit has; below zero it is what is owed."},
	}[g]
	return d[0], d[1], d[2]
}

func newGauge(m metric.Meter, g gauge) metric.Int64ObservableUpDownCounter {
	name, unit, description := g.describe()
	c, err := m.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	if err != nil {
		otel.Handle(err)
		return noop.Int64ObservableUpDownCounter{}
	}
	return c
}

// A series is one gauge with one set of attributes.
type series struct {
	gauge
	client, endpoint, state string
}

func (s series) attributes() []attribute.KeyValue {
	attributes := place(s.client, s.endpoint)
	if s.state != "" {
		attributes = append(attributes, keyState.String(s.state))
	}
	return attributes
}

// sums adds up what is held, of all authorities of a client: one that calls many would otherwise make as many series.
func sums(snapshots []Snapshot) map[series]int64 {
	all := map[series]int64{}
	for _, s := range snapshots {
		add := func(g gauge, n int64) { all[series{gauge: g, client: s.Client}] += n }
		if c := s.Concurrency; c != nil {
			add(gaugePermits, int64(c.Permits))
			add(gaugeInUse, int64(c.InUse))
			add(gaugeQueued, int64(c.Queued))
		}
		if b := s.Budget; b != nil {
			for _, phase := range []string{"below_minimum", "enforcing", "exhausted"} {
				all[series{gaugeBudgets, s.Client, "", phase}] += one(phase == b.Phase)
			}
			add(gaugeRequests, int64(b.Requests))
			add(gaugeRetries, int64(b.Retries))
			add(gaugeAllowance, int64(b.Allowance))
		}
		sumLane(all, s.Client, "", s.Breaker, s.RateLimit)
		for _, e := range s.Endpoints {
			sumLane(all, s.Client, e.Endpoint, e.Breaker, e.RateLimit)
		}
	}
	return all
}

func sumLane(all map[series]int64, client, endpoint string, b *BreakerSnapshot, r *RateLimitSnapshot) {
	if b != nil {
		for _, state := range []string{"closed", "open", "half-open", "isolated"} {
			all[series{gaugeBreakers, client, endpoint, state}] += one(state == b.State)
		}
	}
	if r != nil {
		all[series{gauge: gaugeTokens, client: client, endpoint: endpoint}] += r.Available
	}
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
