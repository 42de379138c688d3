package pipeline

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"
	"pgregory.net/rapid"
)

type (
	colour  struct{}
	pattern struct{}
)

// attemptFor is an attempt of a call whose caller has this context.
func attemptFor(caller context.Context) *attempt { //nolint:contextcheck // the request has it
	r, _ := http.NewRequestWithContext(caller, http.MethodGet, "http://x.test", nil)
	k := &call{Pipeline: &Pipeline{}, req: r}
	k.first.call = k
	return &k.first
}

// What an attempt's context says, and when, is what one of the standard library's would, whoever asks for what in
// whichever order.
func TestContextOfAnAttemptIsLikeOneOfTheStandardLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		end, root := context.CancelCauseFunc(nil), context.WithValue(context.Background(), colour{}, "red")
		caller := root
		if rapid.Bool().Draw(t, "deadline") {
			var stop context.CancelFunc
			caller, stop = context.WithDeadline(caller, time.Now().Add(time.Hour))
			defer stop()
		}
		caller, end = context.WithCancelCause(caller)
		defer end(nil)
		a := attemptFor(caller)
		model, cancel := context.WithCancelCause(caller)
		defer cancel(nil)
		var ours, theirs []context.Context // derived
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			cause := []error{nil, errors.New("cause")}[rapid.IntRange(0, 1).Draw(t, "cause")]
			switch rapid.SampledFrom([]string{"end", "leave", "look", "derive"}).Draw(t, "step") {
			case "end":
				a.cancel(cause)
				cancel(cause)
			case "leave":
				end(cause)
			case "derive":
				d, stop := context.WithCancel(a)
				defer stop()
				e, stop := context.WithCancel(context.WithValue(model, pattern{}, "dots"))
				defer stop()
				ours, theirs = append(ours, d), append(theirs, e)
			case "look":
				same(a, model, t)
			}
		}
		same(a, model, t)
		for i := range ours {
			same(ours[i], theirs[i], t)
		}
	})
}

func same(got, want context.Context, t *rapid.T) {
	t.Helper()
	look := func(ctx context.Context) (all [6]any) {
		at, ok := ctx.Deadline()
		// Cause first: it must not need Err or Done to be asked before.
		all = [6]any{context.Cause(ctx), ctx.Err(), at, ok, ctx.Value(colour{}), false}
		select {
		case <-ctx.Done():
			all[5] = true
		default:
		}
		return all
	}
	if g, w := look(got), look(want); g != w {
		t.Fatalf("cause, error, deadline, value, done: %v, want %v", g, w)
	}
}

// net/http derives a context for every request. One whose parent is of a kind that the standard library does not know
// would take a goroutine each.
func TestContextsDerivedFromAnAttemptTakeNoGoroutine(t *testing.T) {
	is := is.New(t)
	const many = 100
	before := runtime.NumGoroutine()
	var stops []func()
	for range many {
		a := attemptFor(t.Context())
		_, stop := context.WithCancel(a)
		stopped := context.AfterFunc(context.WithValue(a, colour{}, "red"), func() {})
		stops = append(stops, stop, func() { stopped() }, func() { a.cancel(nil) })
	}
	is.True(runtime.NumGoroutine() < before+many) // each is hung into what the attempt's context is made of
	for _, stop := range stops {
		stop()
	}
}

// What was derived from an attempt's context ends with it, and what is derived later has ended.
func TestWhatIsDerivedFromAnAttemptEndsWithIt(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	a := attemptFor(t.Context())
	early, stop := context.WithTimeout(a, time.Hour)
	defer stop()
	var ran sync.WaitGroup
	ran.Add(1)
	context.AfterFunc(a, ran.Done)
	cause := reached(LimitAttempt)
	a.cancel(cause)
	<-early.Done()
	ran.Wait()
	is.Equal(early.Err(), context.Canceled)
	is.Equal(context.Cause(early), error(cause)) // why is told
	late, stop := context.WithCancel(a)
	defer stop()
	is.Equal(context.Cause(late), error(cause))
	is.Equal(context.WithoutCancel(a).Err(), nil) // net/http dials with such a one
}

// An attempt that has ended did so for good, though nobody had asked until the caller left as well.
func TestContextOfAnAttemptThatIsOverIsNotTheCallers(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	caller, leave := context.WithCancelCause(context.WithValue(t.Context(), colour{}, "red"))
	a := attemptFor(caller)
	a.cancel(nil)
	is.Equal(context.Cause(a), context.Canceled) // before anything else is asked
	a = attemptFor(caller)
	a.cancel(nil)
	leave(errors.New("later"))
	is.Equal(context.Cause(a), context.Canceled) // not what ended the caller's
	is.Equal(a.Value(colour{}), "red")           // its values are there still
}

// All who ask at once get the same channel, and it is closed however the end races with the question.
func TestEndOfAnAttemptIsSeenByWhoeverAsksMeanwhile(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	for i := range 500 {
		a := attemptFor(t.Context())
		var all sync.WaitGroup
		var seen [4]<-chan struct{}
		for i := range seen {
			all.Go(func() {
				seen[i] = a.Done()
				<-seen[i]
			})
		}
		all.Go(func() { a.cancel([]error{nil, errResent}[i%2]) })
		all.Wait()
		for _, c := range seen {
			is.Equal(c, seen[0]) // there is one channel
		}
		is.Equal(a.Err(), context.Canceled)
	}
}

// The caller's context is asked for nothing that nobody wants, and keeps nothing of an attempt that has ended.
func TestAttemptWhoseContextNobodyAsksForMakesNone(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	a := attemptFor(t.Context())
	is.Equal(a.Value(colour{}), nil)
	_, _ = a.Deadline()
	a.cancel(nil)
	is.Equal(a.live, nil) // none was made
}

// A caller's trace is seen through that of the attempt, and alone when the attempt has let go of its own.
func TestContextOfAnAttemptShowsItsTraceAsLongAsItHasOne(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	asked := 0
	caller := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GetConn: func(string) { asked++ }})
	a := attemptFor(caller)
	a.call.equip(a)
	seen := &a.gear.seen
	both := httptrace.ContextClientTrace(a)
	both.GetConn("x.test:80")
	is.Equal(asked, 1)                                 // the caller's hook was called
	is.True(seen.asked.Load())                         // and ours
	is.Equal(httptrace.ContextClientTrace(a), both)    // however often it is asked for
	derived := context.WithValue(a, colour{}, "green") // as it is in a context that is derived
	is.Equal(httptrace.ContextClientTrace(derived), both)
	a.fit(nil)
	is.Equal(httptrace.ContextClientTrace(a), httptrace.ContextClientTrace(caller)) // the caller's own
	is.Equal(httptrace.ContextClientTrace(attemptFor(t.Context())), nil)            // who may have none
}

// A client below is part of the attempt, and leaves the retries to it if it makes any.
func TestContextOfAnAttemptTellsThatItIsOne(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	a := attemptFor(t.Context())
	is.True(Nested(a))
	is.Equal(a.Value(retriedKey{}), nil) // no retries here
	a.call.Retry.Max = 1
	is.Equal(a.Value(retriedKey{}), true)
	below := attemptFor(a)
	is.Equal(below.Value(retriedKey{}), true) // nor does the one below hide it
}
