package httptestx

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
	"pgregory.net/rapid"
)

// forms has each step once at least, as it stands in a document.
var forms = map[string]Step{
	`"read"`:                      Read,
	`"handle"`:                    Handle,
	`"sendheaders"`:               SendHeaders,
	`"reset"`:                     Reset,
	`"close"`:                     Close,
	`"hang"`:                      Hang,
	`"refusestream"`:              RefuseStream,
	`"refuse"`:                    Refuse,
	`"accept"`:                    Accept,
	`"nosuchhost"`:                NoSuchHost,
	`{"delay":"1m30s"}`:           Delay(90 * time.Second),
	`{"delay":"0s"}`:              Delay(0),
	`{"latency":{"fixed":"2ms"}}`: Latency(Fixed(2 * time.Millisecond)),
	`{"latency":{"uniform":{"least":"1ms","most":"5ms"}}}`:              Latency(Uniform(time.Millisecond, 5*time.Millisecond)),
	`{"latency":{"lognormal":{"median":"80ms","p99":"2s"}}}`:            Latency(LogNormal(80*time.Millisecond, 2*time.Second)),
	`{"latency":{"quantiles":[{"p":0.9,"d":"20ms"},{"p":1,"d":"2s"}]}}`: Latency(Quantiles(Quantile{0.9, 20 * time.Millisecond}, Quantile{1, 2 * time.Second})),
	`{"status":503}`: Status(503),
	`{"status":503,"header":{"Retry-After":"30","Link":["<a>","\u003cb\u003e"],"A":""}}`: Status(503, "retry-after", "30", "Link", "<a>", "A", "", "link", "<b>"),
	`{"informational":103,"header":{"Link":"\u003c/style.css\u003e"}}`:                   Informational(103, "Link", "</style.css>"),
	`{"send":10}`:                               Send(10),
	`{"sendraw":"HTTP/1.1 200 OK\r\n"}`:         SendRaw([]byte("HTTP/1.1 200 OK\r\n")),
	`{"sendraw":{"base64":"/wA="}}`:             SendRaw([]byte{0xff, 0}),
	`{"slow":2,"every":"10ms"}`:                 Slow(2, 10*time.Millisecond),
	`{"malformed":"statusline"}`:                Malformed(StatusLine),
	`{"malformed":"header"}`:                    Malformed(Header),
	`{"malformed":"contentlength"}`:             Malformed(ContentLength),
	`{"malformed":"chunk"}`:                     Malformed(Chunk),
	`{"malformed":"gzip"}`:                      Malformed(Gzip),
	`{"malformed":"garbage"}`:                   Malformed(Garbage),
	`{"malformed":"badhpack"}`:                  Malformed(BadHPACK),
	`{"malformed":"hugeframe"}`:                 Malformed(HugeFrame),
	`{"resetstream":"CANCEL"}`:                  ResetStream(ErrCodeCancel),
	`{"resetstream":4294967295}`:                ResetStream(math.MaxUint32),
	`{"goaway":"NO_ERROR","last":"beforethis"}`: GoAway(ErrCodeNo, BeforeThis),
	`{"goaway":14,"last":"includingthis"}`:      GoAway(14, IncludingThis),
	`{"handshakefail":40}`:                      HandshakeFail(40),
}

func TestEachStepHasItsFormInJSON(t *testing.T) {
	seen := make(map[op]bool)
	for form, st := range forms {
		is := is.New(t)
		var read Step
		is.NoErr(json.Unmarshal([]byte(form), &read)) // it is read
		is.Equal(read, st)                            // as the step
		written, err := json.Marshal(st)
		is.NoErr(err)                                                                   // it has a form
		is.Equal(string(written), strings.ReplaceAll(form, `"<a>"`, `"\u003ca\u003e"`)) // the same one
		seen[st.op] = true
	}
	for o := opRead; (Step{op: o}).String() != "zero step"; o++ {
		is.New(t).True(seen[o] || o == opInvalid) // no kind of step is left out
	}
}

func TestOtherFormsOfAStepAreReadAsWell(t *testing.T) {
	for form, st := range map[string]Step{
		`{"send":0}`:                                          SendHeaders,
		`{"resetstream":"REFUSED_STREAM"}`:                    RefuseStream,
		`{"resetstream":8}`:                                   ResetStream(ErrCodeCancel),
		`{"header":{"A":["b"]},"status":200}`:                 Status(200, "A", "b"),
		"{\n\t\"status\" : 200, \"header\": {} }":             Status(200),
		`{"header":{"A":"1","B":"2","a":["3"]},"status":200}`: Status(200, "A", "1", "A", "3", "B", "2"),
	} {
		var read Step
		is := is.New(t)
		is.NoErr(json.Unmarshal([]byte(form), &read)) // it is no mistake
		is.Equal(read, st)                            // and means the same
	}
}

func TestStepWithoutAFormInJSONIsAnError(t *testing.T) {
	for _, st := range []Step{{}, Delay(-1), Status(42), Status(200, "A", "\xe9")} {
		_, err := json.Marshal(st)
		is.New(t).True(err != nil) // rather than a step that is another one when it is read
	}
}

func TestStepThatIsNotReadIsLeftAsItWas(t *testing.T) {
	is := is.New(t)
	st := Handle
	err := json.Unmarshal([]byte(`{"status": 42}`), &st)
	is.Equal(err.Error(), "httptestx: line 1: step: status(42): not a final status code, 200 to 999") // the same words as in Go
	is.Equal(st, Handle)                                                                              // unchanged
}

// anyStep draws a valid step of any kind.
func anyStep(t *rapid.T) Step {
	d := func(name string) time.Duration { return time.Duration(rapid.Int64Min(0).Draw(t, name)) }
	n := func(name string, from, to int) int { return rapid.IntRange(from, to).Draw(t, name) }
	kinds := []func() Step{
		func() Step { return rapid.SampledFrom(bareSteps()).Draw(t, "bare") },
		func() Step { return Delay(d("delay")) },
		func() Step { return Latency(anyDist(t)) },
		func() Step { return Status(n("code", 200, 999), anyHeader(t)...) },
		func() Step { return Informational(n("code", 102, 199), anyHeader(t)...) },
		func() Step { return Send(n("bytes", 0, math.MaxInt)) },
		func() Step { return SendRaw(rapid.SliceOfN(rapid.Byte(), 1, -1).Draw(t, "raw")) },
		func() Step { return SendRaw([]byte(rapid.StringN(1, -1, -1).Draw(t, "raw"))) },
		func() Step { return Slow(n("bytes", 1, math.MaxInt), 1+d("every")/2) },
		func() Step { return Malformed(Malformation(n("kind", int(StatusLine), int(HugeFrame)))) },
		func() Step { return ResetStream(ErrCode(rapid.Uint32().Draw(t, "code"))) },
		func() Step {
			return GoAway(ErrCode(rapid.Uint32Max(20).Draw(t, "code")), rapid.SampledFrom([]Last{BeforeThis, IncludingThis}).Draw(t, "last"))
		},
		func() Step { return HandshakeFail(rapid.Byte().Draw(t, "alert")) },
	}
	return rapid.SampledFrom(kinds).Draw(t, "kind")()
}

func anyHeader(t *rapid.T) (kv []string) {
	for range rapid.IntRange(0, 4).Draw(t, "headers") {
		value := rapid.String().Filter(func(s string) bool { return !strings.ContainsAny(s, "\r\n") }).Draw(t, "value")
		kv = append(kv, rapid.StringMatching("[a-cA-C!#$%&'*+.^_`|~0-9-]{1,2}").Draw(t, "name"), value)
	}
	return kv
}

func anyDist(t *rapid.T) Dist {
	a := time.Duration(rapid.Int64Min(1).Draw(t, "a"))
	b := time.Duration(rapid.Int64Min(int64(a)).Draw(t, "b"))
	switch rapid.IntRange(0, 3).Draw(t, "dist") {
	case 0:
		return Fixed(a)
	case 1:
		return Uniform(a, b)
	case 2:
		return LogNormal(a, b)
	}
	var points []Quantile
	for _, p := range rapid.SliceOfNDistinct(rapid.IntRange(1, 9_999), 0, maxQuantiles-1, rapid.ID[int]).Draw(t, "p") {
		points = append(points, Quantile{float64(p) / quantileUnit, a})
	}
	for i := range points {
		for j := range i {
			if points[j].P > points[i].P {
				points[i], points[j] = points[j], points[i]
			}
		}
	}
	return Quantiles(append(points, Quantile{1, b})...)
}

func TestStepsSurviveTheWayThroughJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := rapid.SliceOf(rapid.Custom(anyStep)).Draw(t, "plan")
		for _, st := range plan {
			if st.op == opInvalid {
				t.Fatalf("the generator drew an invalid step: %v", st)
			}
		}
		text, err := json.Marshal(plan)
		if err != nil {
			t.Fatalf("%v has no form: %v", plan, err)
		}
		var back []Step
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%s is not read: %v", text, err)
		}
		if len(back) != len(plan) {
			t.Fatalf("%d steps came back of %d", len(back), len(plan))
		}
		for i := range plan {
			if back[i] != plan[i] {
				t.Fatalf("%s came back as %v, was %v", text, back[i], plan[i])
			}
		}
	})
}
