package main

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/a-seed-e0941262/resilient"
	"github.com/a-seed-e0941262/resilient/httptestx"
)

// A shop stores orders. It honours an Idempotency-Key: what it has done under a key it does not do again.
type shop struct {
	mu     sync.Mutex
	done   map[string]bool
	orders int
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := r.Header.Get("Idempotency-Key"); key == "" || !s.done[key] {
		s.done[key] = true
		s.orders++
	}
	w.WriteHeader(http.StatusCreated)
}

func (s *shop) stored() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders
}

// A purchase is what became of one call that was to order one book.
type purchase struct {
	buyer    string
	orders   int // that the shop has stored
	requests int // that have come to it
	ok       bool
	answer   string // the status, or the error as it is
}

// buyBooks makes three purchases, each from a shop of its own whose first answer is lost. refused is the reason that
// Conservative gave for not retrying.
func buyBooks() (purchases []purchase, refused string, err error) {
	base := resilient.New("shop").
		Defaults(resilient.Conservative).
		Retry(resilient.Backoff(backoffBase, backoffCap))
	plain, err := base.Observe(func(_ context.Context, e resilient.Event) {
		if denied, ok := e.(resilient.RetryDenied); ok {
			refused = denied.Reason
		}
	}).Build()
	if err != nil {
		return nil, "", err
	}
	keyed, err := base.Idempotency(resilient.GenerateKeys).Build()
	if err != nil {
		return nil, "", err
	}
	purchases = []purchase{
		buy(naive, naively(order(http.DefaultClient))),
		buy(conservative, order(plain)),
		buy(conservative+" with keys", order(keyed)),
	}
	return purchases, refused, nil
}

// order sends an order for one book with the given client.
func order(client *http.Client) sender {
	return func(url string) (*http.Response, error) {
		return client.Post(url+"/orders", "application/json", strings.NewReader(`{"books": 1}`))
	}
}

// buy has a shop store the first order and break the connection before the answer is out.
func buy(buyer string, send sender) purchase {
	s := &shop{done: make(map[string]bool)}
	t := &notATest{}
	defer t.end()
	server := httptestx.NewServer(t, s)
	server.On("POST /orders").Script(httptestx.LostResponse)
	server.Start() // on loopback: without it the server is in memory

	resp, err := send(server.URL)
	p := purchase{buyer: buyer, orders: s.stored(), requests: len(server.Exchanges())}
	if err != nil {
		p.answer = err.Error()
		return p
	}
	resp.Body.Close()
	p.ok = resp.StatusCode == http.StatusCreated
	p.answer = resp.Status
	return p
}
