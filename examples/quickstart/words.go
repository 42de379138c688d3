package main

import (
	"fmt"

	"github.com/a-seed-e0941262/resilient"
)

// What the program says around its figures. The numbers come from the constants that it runs with.

func beforeBrownout() string {
	const text = `A BROWN-OUT

Four clients call a dependency each, %d times a second, whether answers come or
not. A dependency can do %d requests a second; but in the brown-out, from second
%.0f to second %.0f, only %d. What it can't do at once waits in a queue for up to %.0f s;
beyond that it answers 503. Clients give an attempt up after %d ms. The
dependency doesn't notice, and does work that nobody waits for any more.

Calls that succeeded, out of those that ended in each second:

`
	return fmt.Sprintf(text,
		rate, capacity, healthyFor.Seconds(), (healthyFor + brownoutFor).Seconds(), degraded,
		queueLimit.Seconds(), attemptTimeout.Milliseconds())
}

func beforeFigures() string {
	const text = `
The whole run. Success is the share of calls that began before, during and after
the brown-out, and in the last %.0f seconds. A client has recovered, so long after
the brown-out, when 9 in 10 of its calls succeed and go on to.

`
	return fmt.Sprintf(text, lastFor.Seconds())
}

func afterFigures() string {
	const text = `
Naive retries go on asking for more than the dependency can do, so its queue
stays full of work that comes too late: it is healthy, and of no use. The presets
wait before a retry, and their circuit breaker stops asking for a while when too
much fails. Calls fail at once then, with no attempt: so there can be less than 1
per call.

Standard      up to %d retries of a call; the circuit opens at %.0f %% failures
Conservative  up to %d retry of a call, and of %.0f %% of all calls; opens at %.0f %%
both          %d ms for an attempt, %d to %d ms before a retry, circuit open for %.0f s,
              which is shorter than the presets have it, to fit into a run of %.0f s;
              theirs is %.0f s, and recovery may take as much longer

Why Conservative, if Standard gets more out of the brown-out itself? There its
stricter circuit does better. But Conservative never sends a POST again that may
have been processed (see below), and when failures stay, its budget and its one
retry bound what it adds to the load.

`
	s, c := resilient.Standard.Config(), resilient.Conservative.Config()
	return fmt.Sprintf(text,
		s.Retry.MaxRetries, 100*s.Breaker.FailureRatio,
		c.Retry.MaxRetries, 100*c.Budget.RetryRatio, 100*c.Breaker.FailureRatio,
		attemptTimeout.Milliseconds(), backoffBase.Milliseconds(), backoffCap.Milliseconds(), breakDuration.Seconds(),
		runFor.Seconds(), c.Breaker.BreakDuration.Seconds())
}

const beforePurchases = `
AN ORDER WHOSE ANSWER IS LOST

One POST /orders. The shop stores the order, and then the connection breaks
before the answer is out. So the caller can't know whether it was stored.

`

func afterPurchases(refused string) string {
	const text = `
Conservative did not retry (its reason: %s) and returned the error as it
was: the order may have been stored, and indeed it was. With an Idempotency-Key,
the same for each attempt, a shop that honours it can be asked again.

`
	return fmt.Sprintf(text, refused)
}
