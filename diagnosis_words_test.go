package resilient

import (
	"testing"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/pipeline"
	"github.com/matryer/is"
)

func TestEveryReasonAndGateIsExplainedInItsOwnWords(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	said := map[string]bool{}
	for i := range pipeline.Reasons {
		why, advice := whyDenied(pipeline.Reason(i), 3)
		is.True(why != "" && advice != "") // there are words
		is.True(!said[why])                // of its own
		said[why] = true
	}
	for i := range pipeline.Gates {
		why, advice := whyRejected(pipeline.Gate(i))
		is.True(why != "" && advice != "") // there are words
		is.True(!said[why])                // of its own
		said[why] = true
	}
}

// What to do is said so that it can be done: with the option, and a number where it needs one.
func TestAdviceNamesTheUsualCauseAndTheOption(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	_, advice := whyDenied(pipeline.ReasonDeadline, 3)
	is.Equal(advice, "As a rule the backoff is longer than the total timeout leaves room for: shorten Retry(Backoff), or raise Timeout(Total). "+
		"If callers have deadlines of their own, those may be what is too short.") // of waits that do not fit
	off := (&situation{habits: habits{clients: 1}}).off()
	is.Equal(off[0].Advice, "To have failed attempts repeated, build the client with Retry(MaxRetries(3)), where 3 is how often a call is repeated at most.") // of a client without retries
}

func TestDurationsAndFiguresAreSpelledOut(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	for d, want := range map[time.Duration]string{
		-1: "0 s", 0: "0 s", 1: "1 ms", 20 * time.Millisecond: "20 ms", 1500 * time.Millisecond: "1.5 s", 3 * time.Second: "3 s",
		9960 * time.Millisecond: "10 s", 90 * time.Second: "90 s", 10 * time.Minute: "10 min", 3 * time.Hour: "3 h",
	} {
		is.Equal(spell(d), want) // a duration
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -100: "-100", -1000: "-1,000"} {
		is.Equal(figure(n), want) // a number
	}
	is.Equal(percent(0.1), "10 %")    // a ratio
	is.Equal(percent(0.005), "0.5 %") // a small one
	is.Equal(percent(0), "0 %")       // none
	is.Equal(count(uint64(1), "call", "calls"), "1 call")
	is.Equal(count(uint32(2), "call", "calls"), "2 calls")
}
