package bench_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/a-seed-e0941262/resilient/bench/base"
	"github.com/a-seed-e0941262/resilient/bench/contender"
)

// BenchmarkRead is one Read of 32 KiB of a response's body that is there already.
func BenchmarkRead(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	buffer := make([]byte, 32<<10)
	for _, c := range contender.All() {
		b.Run(c.Name, func(b *testing.B) {
			b.ReportAllocs()
			resp, err := c.With(base.Endless{})(ctx, http.MethodGet, "http://stub.invalid/", nil)
			if err != nil {
				b.Fatal(err)
			}
			defer resp.Body.Close()
			for b.Loop() {
				_, _ = resp.Body.Read(buffer)
			}
		})
	}
}
