package main

import (
	"net/http"
	"time"

	"github.com/a-seed-e0941262/resilient"
)

// attemptTimeout is how long every contender waits for an answer before it gives an attempt up.
const attemptTimeout = 250 * time.Millisecond

// How long the presets wait before a retry, and how long their circuit stays open. These and the timeout are shorter
// than the presets have them, because a brown-out takes seconds here and not minutes.
const (
	backoffBase   = 50 * time.Millisecond
	backoffCap    = 500 * time.Millisecond
	breakDuration = time.Second
)

const (
	bare         = "bare client"
	naive        = "naive retries"
	standard     = "Standard"
	conservative = "Conservative"
)

// A contender is one way to call a dependency, and the dependency that it calls.
type contender struct {
	name       string
	get        sender
	dependency *dependency
	record     record
}

// A sender sends a request to a URL: [http.Client.Get] is one.
type sender func(url string) (*http.Response, error)

// newContenders returns the four contenders, with a dependency for each, which are left to the caller to close.
func newContenders(clock *clock) ([]*contender, error) {
	standardClient, err := resilientClient(resilient.Standard)
	if err != nil {
		return nil, err
	}
	conservativeClient, err := resilientClient(resilient.Conservative)
	if err != nil {
		return nil, err
	}
	contenders := []*contender{
		{name: bare, get: bareClient().Get},
		{name: naive, get: naively(bareClient().Get)},
		{name: standard, get: standardClient.Get},
		{name: conservative, get: conservativeClient.Get},
	}
	for _, c := range contenders {
		if c.dependency, err = startDependency(clock); err != nil {
			return nil, err
		}
	}
	return contenders, nil
}

// bareClient is what the standard library offers: a timeout.
func bareClient() *http.Client {
	return &http.Client{Timeout: attemptTimeout, Transport: newTransport()}
}

// naively is what people write around it.
func naively(send sender) sender {
	return func(url string) (*http.Response, error) {
		for retries := 0; ; retries++ {
			resp, err := send(url)
			if err == nil && resp.StatusCode < 500 || retries == 3 {
				return resp, err
			}
			if err == nil {
				resp.Body.Close()
			}
		}
	}
}

// resilientClient is this library with a preset.
func resilientClient(preset resilient.Preset) (*http.Client, error) {
	return resilient.New("inventory").
		Defaults(preset).
		Timeout(resilient.PerAttempt(attemptTimeout)).
		Retry(resilient.Backoff(backoffBase, backoffCap)).
		Breaker(resilient.BreakDuration(breakDuration)).
		Registry(resilient.NewRegistry()). // else the two would share their state, for they have one name
		Transport(newTransport()).
		Build()
}

// newTransport keeps enough idle connections for the load: net/http by itself keeps two to a host.
func newTransport() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 100}
}
