package httptestx_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/matryer/is"

	"github.com/a-seed-e0941262/resilient/httptestx"
)

// elsewhere names the steps that are in no table of truths, and the tests that have them, on each protocol that
// has the step, in memory and on loopback.
var elsewhere = map[string]string{
	"handshakefail":        "TestHandshakeFailsWithTheAlert",
	"refusestream":         "TestRefusedStreamIsOneTruthOnBothNetworks, TestRefusalOnHTTP1FailsTheTest",
	"malformed(badhpack)":  "TestMalformedFrameIsTheLastThatTheClientSees",
	"malformed(hugeframe)": "TestMalformedFrameIsTheLastThatTheClientSees",
}

// TestEveryStepIsInATableOfTruths compares the tables with the recorded API, so that no step is
// added without saying what a plain client sees of it.
func TestEveryStepIsInATableOfTruths(t *testing.T) {
	is := is.New(t)
	shown, plans := make(map[string]bool), make(map[string]bool)
	show := func(name string, plan []httptestx.Step) {
		plans[name] = true
		for _, st := range plan {
			name, value, _ := strings.Cut(st.String(), "(")
			shown[name] = true
			if name == "malformed" {
				shown["malformed("+value] = true
			}
		}
	}
	for _, tt := range truths {
		show(tt.name, tt.plan)
	}
	for _, tt := range outcomes {
		show(tt.name, tt.plan)
	}
	for _, tt := range connTruths {
		show(tt.name, tt.plan)
	}
	api, err := os.ReadFile("../api/httptestx.txt")
	is.NoErr(err) // it is there
	for _, m := range regexp.MustCompile(`(?m)^(?:var|func) (\w+)(?:\(.*\))? Step$`).FindAllStringSubmatch(string(api), -1) {
		name := strings.ToLower(m[1])
		if !shown[name] && elsewhere[name] == "" {
			t.Errorf("%s is in no table of truths", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^const (\w+) Malformation`).FindAllStringSubmatch(string(api), -1) {
		name := "malformed(" + strings.ToLower(m[1]) + ")"
		if !shown[name] && elsewhere[name] == "" {
			t.Errorf("Malformed(%s) is in no table of truths", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^(?:var|func) (\w+)(?:\(.*\))? \[\]Step$`).FindAllStringSubmatch(string(api), -1) {
		if m[1] != "Plan" && !slices.Contains(slices.Collect(maps.Keys(plans)), m[1]) {
			t.Errorf("the ready plan %s is in no table of truths", m[1])
		}
	}
	is.True(len(shown) >= 20) // the tables were read
}

// TestRefusedStreamIsOneTruthOnBothNetworks: net/http's client sends it again, so that nothing is seen of it.
func TestRefusedStreamIsOneTruthOnBothNetworks(t *testing.T) {
	check := func(t *testing.T, srv *httptestx.Server) {
		is := is.New(t)
		srv.On("POST /orders").Script(httptestx.Plan(httptestx.RefuseStream))
		is.Equal(postOrder(t.Context(), srv), `201 after "": "placed"`) // what the client sees
		list := srv.Wait(2)
		is.Equal(len(list), 2) // a refusal, and the request again
		x := list[0]
		is.Equal(x.Read, httptestx.ReadHeaders) // nothing of the body was asked for
		is.True(!x.Handled)                     // as the refusal says
		is.Equal(x.Sent, httptestx.SentNothing) // no answer
		is.Equal(x.End, httptestx.EndRefused)   // but that
		is.Equal(list[1].End, httptestx.EndOK)  // the second is served
	}
	for _, p := range wireProtocols[2:] {
		t.Run(p.name+" memory", func(t *testing.T) {
			for range 20 {
				synctest.Test(t, func(t *testing.T) { check(t, p.memory(t, place)) })
			}
		})
		t.Run(p.name+" loopback", func(t *testing.T) { check(t, p.loopback(t, place)) })
	}
}
