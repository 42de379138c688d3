package resilient_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

func TestConfigErrorHasItsPartsByThemselves(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	_, err := resilient.New("inventory").Registry(resilient.NewRegistry()).
		Timeout(resilient.Total(5*sec), resilient.PerAttempt(8*sec)).Build()
	var e *resilient.ConfigError
	is.True(errors.As(fmt.Errorf("starting: %w", err), &e)) // it is found, however it is wrapped
	is.Equal(*e, resilient.ConfigError{
		Client:  "inventory",
		Setting: "Timeout(PerAttempt(8s))",
		Value:   "8s",
		Rule:    "must not exceed Timeout(Total(5s))",
		Fix:     "shorten the attempt or give the call more time",
	}) // for programs
	is.Equal(e.Error(), `resilient: client "inventory": Timeout(PerAttempt(8s)): must not exceed Timeout(Total(5s)); `+
		`shorten the attempt or give the call more time`) // for people
}
