// Package bench measures the library beside other clients and beside nothing. Its benchmarks can be run one by one with
// go test; the command in run measures everything and writes RESULTS.md.
package bench
