package main

import (
	"time"

	"github.com/a-seed-e0941262/resilient"
	"github.com/caarlos0/env/v11"
)

// An environment is what may be set from outside without a file. What is not set stays as the program has it.
type environment struct {
	MaxRetries *int           `env:"MAX_RETRIES"`
	Total      *time.Duration `env:"TOTAL_TIMEOUT"`
	RetryRatio *float64       `env:"RETRY_RATIO"`
}

// fromEnvironment applies what is set in variables with the prefix, such as INVENTORY_MAX_RETRIES.
func fromEnvironment(b resilient.Builder, prefix string) (resilient.Builder, error) {
	set, err := env.ParseAsWithOptions[environment](env.Options{Prefix: prefix})
	if err != nil {
		return b, err
	}
	if set.MaxRetries != nil {
		b = b.Retry(resilient.MaxRetries(*set.MaxRetries))
	}
	if set.Total != nil {
		b = b.Timeout(resilient.Total(*set.Total))
	}
	if set.RetryRatio != nil {
		b = b.Budget(resilient.RetryRatio(*set.RetryRatio))
	}
	return b, nil
}
