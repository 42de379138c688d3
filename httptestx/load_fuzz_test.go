package httptestx

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// FuzzRules: a document is read without a panic. Either all that is wrong is told with its line, or its plans
// survive the way back into a document.
func FuzzRules(f *testing.F) {
	f.Add([]byte(`{"seed": 42, "rules": [{"on": "POST /orders", "per": "K", "script": [["handle", "reset"], {"unavailable": "30s"}]}]}`))
	f.Add([]byte("{\"rules\": [\n{\"conn\": true, \"nth\": [3], \"do\": [\"refuse\"]}, {\"on\": \"/\", \"prob\": 2}]}"))
	for form := range forms {
		f.Add([]byte(`{"rules": [{"on": "/", "between": {"from": "0s", "to": "1s"}, "do": ["handle", ` + form + `]}]}`))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		srv := NewServer(t, http.NotFoundHandler(), Dishonest())
		if err := srv.LoadRules(bytes.NewReader(text)); err != nil {
			checkComplaints(t, text, err)
			return
		}
		for _, r := range srv.allRules() {
			for _, plan := range append(slices.Clip(r.script), r.next(nil, 1)) {
				checkRoundTrip(t, plan)
			}
		}
	})
}

var complaint = regexp.MustCompile(`^httptestx: line (\d+): .`)

// checkComplaints looks at each line of an error.
func checkComplaints(t *testing.T, text []byte, err error) {
	for _, line := range strings.Split(err.Error(), "\n") {
		match := complaint.FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("a complaint without a line: %q", line)
		}
		if n, _ := strconv.Atoi(match[1]); n > 1+bytes.Count(text, []byte("\n")) {
			t.Fatalf("there is no such line: %q", line)
		}
	}
}

func checkRoundTrip(t *testing.T, plan []Step) {
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatalf("%v has no form: %v", plan, err)
	}
	var back []Step
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatalf("%s is not read: %v", text, err)
	}
	if !reflect.DeepEqual(back, plan) {
		t.Fatalf("%s came back as %v, was %v", text, back, plan)
	}
}
