package resilient_test

import (
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/matryer/is"
)

func TestAmbiguousStatusesMustBeStatuses(t *testing.T) {
	t.Parallel()
	ambiguous := func(statuses ...int) resilient.Builder {
		return alone().Idempotency(resilient.AmbiguousStatuses(statuses...))
	}
	expect(t, map[string]ruling{
		"none":    {ambiguous(), ""},
		"some":    {ambiguous(500, 502, 504), ""},
		"lowest":  {ambiguous(100), ""},
		"below":   {ambiguous(500, 99), "Idempotency(AmbiguousStatuses(99)): must be 100 to 999; a status has three digits, as 500"},
		"highest": {ambiguous(999), ""},
		"above":   {ambiguous(1000, 500), "Idempotency(AmbiguousStatuses(1000)): must be 100 to 999; a status has three digits, as 500"},
		"zero":    {ambiguous(0), "Idempotency(AmbiguousStatuses(0)): must be 100 to 999; a status has three digits, as 500"},
	})
}

func TestAmbiguousStatusesNeedUnprocessedOnly(t *testing.T) {
	t.Parallel()
	want := "Idempotency(AmbiguousStatuses): has no effect unless unprocessed requests alone are retried; set UnprocessedOnly as well"
	document := []byte(`{"idempotency": {"ambiguousStatuses": []}}`)
	expect(t, map[string]ruling{
		"by hand":                    {only(func(c *resilient.Config) { c.Idempotency.AmbiguousStatuses = []int{500} }), want},
		"an empty list by hand":      {only(func(c *resilient.Config) { c.Idempotency.AmbiguousStatuses = []int{} }), want},
		"in a document":              {alone().JSON(document), want},
		"in a document, on top":      {alone().Defaults(resilient.Conservative).JSON(document), ""},
		"the option brings it along": {alone().Idempotency(resilient.AmbiguousStatuses()), ""},
	})
}

func TestIdempotencyOptionsSetTheirField(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	b := resilient.New("x")
	is.Equal(b.Idempotency(resilient.UnprocessedOnly).Config().Idempotency,
		resilient.IdempotencyPolicy{UnprocessedOnly: true}) // the gate alone, with the standard statuses
	is.Equal(b.Idempotency(resilient.GenerateKeys).Config().Idempotency,
		resilient.IdempotencyPolicy{GenerateKeys: true}) // keys alone
	is.Equal(b.Idempotency(resilient.AmbiguousStatuses(502, 504)).Config().Idempotency,
		resilient.IdempotencyPolicy{UnprocessedOnly: true, AmbiguousStatuses: []int{502, 504}}) // statuses bring the gate
	is.Equal(b.Idempotency(resilient.AmbiguousStatuses()).Config().Idempotency,
		resilient.IdempotencyPolicy{UnprocessedOnly: true, AmbiguousStatuses: []int{}}) // none at all is a list, too
	is.True(b.Idempotency(resilient.AmbiguousStatuses()).Config().Idempotency.AmbiguousStatuses != nil) // and not nil
}
