package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// told returns what the program knows of, decoded.
func told[T any](t *testing.T, url string) (list []T) {
	t.Helper()
	is := is.New(t)
	status, answer := ask(t, "GET", url, "")
	is.Equal(status, "200 OK")                      // there is such a thing
	is.NoErr(json.Unmarshal([]byte(answer), &list)) // in JSON
	return list
}

func TestExchangesAreTold(t *testing.T) {
	is := is.New(t)
	p := start(t, `{"rules": [{"on": "/cut", "do": {"truncatedbody": 2}}]}`)
	is.Equal(told[exchange](t, p.admin+"/exchanges"), []exchange{}) // an empty list, not null
	ask(t, "POST", p.url+"/cut?a=b", "hi", "Idempotency-Key", "k")
	x := told[exchange](t, p.admin+"/exchanges")[0]
	is.Equal([]string{x.Proto, x.Method, x.Path, x.Query, x.Key, x.Body}, []string{"HTTP/1.1", "POST", "/cut", "a=b", "k", "hi"}) // what was asked
	is.Equal([]string{x.Read, x.Sent, x.End}, []string{"read", "partly sent", "reset"})                                           // and became of it
	is.True(x.Handled && x.Bytes == 2 && x.Status == 200 && x.Done != nil)                                                        // in numbers
	plan, err := json.Marshal(x.Plan)
	is.NoErr(err)
	is.Equal(string(plan), `["handle",{"send":2},"reset"]`) // as it stands in rules
}

func TestLedgerIsTold(t *testing.T) {
	is := is.New(t)
	p := start(t, `{"rules": [{"on": "/a", "script": ["lostresponse"]}]}`, "-idempotent")
	for range 2 {
		ask(t, "POST", p.url+"/a", "1", "Idempotency-Key", "k")
	}
	ask(t, "POST", p.url+"/a", "2", "Idempotency-Key", "k")
	ask(t, "GET", p.url+"/b", "")
	is.Equal(told[account](t, p.admin+"/ledger"), []account{
		{Key: "k", Arrivals: 3, Executions: 1, Effects: map[string]int{"POST /a": 1}, Replays: 1, Conflicts: 1},
		{Key: "", Arrivals: 1, Executions: 1, Effects: map[string]int{}},
	}) // once, though it was asked three times
}

func TestNewRulesTakeThePlaceOfTheOldOnes(t *testing.T) {
	is := is.New(t)
	p := start(t, `{"rules": [{"on": "/", "do": [{"status": 601}]}]}`)
	status, answer := ask(t, "PUT", p.admin+"/rules", "{\"rules\": [\n1]}")
	is.Equal(status, "400 Bad Request")                                               // they are wrong
	is.True(strings.HasPrefix(answer, "httptestx: line 2: rules[0]: must be a rule")) // where and why
	status, _ = ask(t, "GET", p.url, "")
	is.Equal(status[:3], "601") // the old ones stay
	status, _ = ask(t, "PUT", p.admin+"/rules", `{"rules": [{"on": "/", "script": [[{"status": 602}]]}]}`)
	is.Equal(status, "204 No Content") // these can be meant
	status, _ = ask(t, "GET", p.url, "")
	is.Equal(status[:3], "602") // they are at work
	status, _ = ask(t, "GET", p.url, "")
	is.Equal(status[:3], "200") // alone
}

func TestResetBeginsAnew(t *testing.T) {
	is := is.New(t)
	p := start(t, `{"rules": [{"on": "/", "script": [[{"status": 601}]]}]}`)
	ask(t, "GET", p.url, "")
	ask(t, "GET", p.url, "")
	status, _ := ask(t, "POST", p.admin+"/reset", "")
	is.Equal(status, "204 No Content")                        // done
	is.Equal(len(told[exchange](t, p.admin+"/exchanges")), 0) // nothing is known
	status, _ = ask(t, "GET", p.url, "")
	is.Equal(status[:3], "601") // the script begins anew
}

func TestOnlyTheLastExchangesAreKept(t *testing.T) {
	is := is.New(t)
	p := start(t, "", "-keep", "2")
	for range 3 {
		ask(t, "GET", p.url, "")
	}
	list := told[exchange](t, p.admin+"/exchanges")
	is.Equal(len(list), 2)   // it may run for long
	is.Equal(list[1].Seq, 3) // the last
}

func TestAdminListsWhatThereIs(t *testing.T) {
	is := is.New(t)
	p := start(t, "")
	_, answer := ask(t, "GET", p.admin+"/", "")
	listed := 0
	for _, line := range strings.Split(answer, "\n") {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.HasPrefix(words[1], "/") {
			continue
		}
		listed++
		body := ""
		if words[0] == "PUT" {
			body = `{"rules": []}`
		}
		status, _ := ask(t, words[0], p.admin+words[1], body)
		is.Equal(status[:1], "2") // there it is
		status, _ = ask(t, "DELETE", p.admin+words[1], "")
		is.Equal(status, "405 Method Not Allowed") // and no more than that
	}
	is.Equal(listed, 5)
	status, _ := ask(t, "GET", p.admin+"/other", "")
	is.Equal(status, "404 Not Found") // nor anything else
}

// A page that is open on the developer's machine can reach the loopback address.
func TestAdminIsNotForPagesInABrowser(t *testing.T) {
	is := is.New(t)
	p := start(t, "")
	status, _ := ask(t, "POST", p.admin+"/reset", "", "Origin", "http://example.com")
	is.Equal(status, "403 Forbidden") // a form of another site
	status, _ = ask(t, "GET", p.admin+"/exchanges", "", "Host", "rebound.example.com")
	is.Equal(status, "403 Forbidden") // a name that was made to lead here
}
