module github.com/a-seed-e0941262/resilient

go 1.26

require (
	github.com/cenkalti/backoff/v5 v5.0.3
	github.com/google/uuid v1.6.0
	github.com/jonboulle/clockwork v0.5.0
	github.com/matryer/is v1.4.1
	pgregory.net/rapid v1.3.0
)
