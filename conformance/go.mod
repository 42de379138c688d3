module github.com/a-seed-e0941262/resilient/conformance

go 1.26

require (
	github.com/a-seed-e0941262/resilient v0.0.0
	github.com/matryer/is v1.4.1
)

require (
	github.com/cenkalti/backoff/v5 v5.0.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/jonboulle/clockwork v0.5.0 // indirect
)

replace github.com/a-seed-e0941262/resilient => ../
