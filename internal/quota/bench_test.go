package quota_test

import (
	"io"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient/internal/quota"
)

// Pairs: the same bytes with and without. Compare only within one run.

func BenchmarkMeter(b *testing.B) {
	delta := `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" of"}}]}` + "\n\n"
	for name, body := range map[string]string{
		"stream":   strings.Repeat(delta, 300),
		"document": `{"data":[{"embedding":[` + strings.Repeat("-0.006929283,", 2500) + `1]}]}`,
		"text":     `{"content":"` + strings.Repeat(`A line of an answer.\n`, 1500) + `"}`,
	} {
		b.Run(name+"/meter", func(b *testing.B) { meterIn(b, new(quota.Meter), body) })
		b.Run(name+"/discard", func(b *testing.B) { meterIn(b, io.Discard, body) })
	}
}

func meterIn(b *testing.B, w io.Writer, body string) {
	chunk := []byte(body)
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		w.Write(chunk)
	}
}

func BenchmarkEstimate(b *testing.B) {
	for name, size := range map[string]int{"1KiB": 1 << 10, "1MiB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			body := chatRequest(size)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				quota.Estimate("application/json", body)
			}
		})
	}
}

func BenchmarkClassify(b *testing.B) {
	body := []byte(`{"error":{"message":"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29937, ` +
		`Requested 385. Please try again in 644ms.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`)
	b.ReportAllocs()
	for b.Loop() {
		quota.Classify(429, nil, body)
	}
}
