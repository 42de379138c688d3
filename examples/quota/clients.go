package main

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient"
)

// patience is how long a caller waits for an answer.
const patience = 3 * time.Minute

func body(question string) string {
	text, _ := json.Marshal(map[string]any{
		"messages": []map[string]string{{"role": "user", "content": question}}, "max_tokens": answer,
	})
	return string(text)
}

// likeAnSDK has each caller at home at one deployment, and asks up to three times as the SDKs do: after what Retry-After
// says, or half a second, one, two.
func likeAnSDK(_ *testing.T, deployments []*deployment, base http.RoundTripper) []caller {
	all := make([]caller, callers)
	for i := range all {
		url := deployments[i%len(deployments)].url
		all[i] = func(question string) bool {
			for n := range 3 {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				status, wait := ask(ctx, &http.Client{Transport: base}, url, question)
				cancel()
				if status != http.StatusTooManyRequests || n == 2 {
					return status == http.StatusOK
				}
				if wait == 0 {
					wait = time.Duration(float64(500*time.Millisecond<<n) * (0.75 + rand.Float64()/4))
				}
				time.Sleep(wait)
			}
			return false
		}
	}
	return all
}

// resilientClients share one client. What it sends in a minute is at most the burst and what has flowed in: the quota.
func resilientClients(t *testing.T, deployments []*deployment, base http.RoundTripper) []caller {
	const burst = quota / 20
	client, err := resilient.New("model").Defaults(resilient.AI).
		Timeout(resilient.Total(patience)).
		RateLimit(resilient.PerMinute(quota-burst), resilient.Burst(burst), resilient.Wait(patience),
			resilient.Cost(resilient.EstimateTokens), resilient.SettleUsage).
		Endpoints(resilient.RoundRobin,
			resilient.Endpoint{URL: deployments[0].url, Header: http.Header{"Api-Key": {"key of east"}}},
			resilient.Endpoint{URL: deployments[1].url, Header: http.Header{"Api-Key": {"key of west"}}}).
		Transport(base).Registry(resilient.NewRegistry()).Build()
	if err != nil {
		t.Fatal(err)
	}
	all := make([]caller, callers)
	for i := range all {
		all[i] = func(question string) bool {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			status, _ := ask(ctx, client, "http://model.test", question)
			return status == http.StatusOK
		}
	}
	return all
}

// ask returns the status of the answer, 0 if there is none, and what it says to wait.
func ask(ctx context.Context, c *http.Client, url, question string) (status int, wait time.Duration) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions", strings.NewReader(body(question)))
	if err != nil {
		return 0, 0
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(r)
	if err != nil {
		return 0, 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return resp.StatusCode, time.Duration(seconds) * time.Second
}
