package pagetest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/chromedp/chromedp"
	"github.com/matryer/is"
)

func withBreaker(t *testing.T) *fleet {
	f := newFleet(t)
	f.add(resilient.New("mail"), member{method: "GET", status: always(200)})
	return f
}

func state(f *fleet) string { return f.Snapshot()[0].Breaker.State }

func TestButtonsIsolateAndRelease(t *testing.T) {
	is := is.New(t)
	f := withBreaker(t)
	b := open(t, f.Handler(resilient.AllowIsolation), "/debug/resilient")
	b.do(chromedp.WaitVisible(chromedp.CSS("#steer")))
	is.Equal(b.text("#steer"), "Isolate the circuit breaker") // what it does
	b.do(chromedp.Click(chromedp.CSS("#steer")))
	b.await(`document.querySelector("#steer")?.textContent.startsWith("Release")`)
	is.Equal(state(f), "isolated")                                    // it is done
	is.True(strings.Contains(b.text("#detail"), "held open by hand")) // and is seen
	is.True(strings.Contains(b.text("#detail"), "closed → isolated")) // in the changes, too
	b.do(chromedp.Click(chromedp.CSS("#steer")))
	b.await(`document.querySelector("#steer")?.textContent.startsWith("Isolate")`)
	is.Equal(state(f), "closed") // as before
	is.Equal(b.asked(), 2)       // it asked each time
}

func TestThereAreNoButtonsUnlessTheyAreAllowed(t *testing.T) {
	is := is.New(t)
	f := withBreaker(t)
	b := open(t, f.Handler(), "/")
	b.await(`!document.getElementById("detail").hidden`)
	is.Equal(b.number(`document.querySelectorAll("#detail button").length`), 0)
}

// A page of another origin, in a browser that can reach the handler, tries all that it has.
func TestOtherPagesCannotIsolate(t *testing.T) {
	is := is.New(t)
	f := withBreaker(t)
	target := newTab(t, f.Handler(resilient.AllowIsolation))
	evil := newTab(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<!doctype html><title>evil</title><link rel=icon href='data:,'><iframe name=f></iframe>")
	}))
	evil.do(chromedp.Navigate(strings.Replace(evil.server.URL, "127.0.0.1", "localhost", 1)))
	is.Equal(evil.number(fmt.Sprintf(attack, target.server.URL)), 4) // ways
	is.Equal(state(f), "closed")                                     // none of them did it
}

// attack resolves when each try has come to its end.
const attack = `(async () => {
	const url = %q, order = JSON.stringify({ action: "isolate", client: "mail" });
	const form = document.createElement("form");
	const field = document.createElement("input");
	Object.assign(form, { action: url, method: "post", enctype: "text/plain", target: "f" });
	Object.assign(field, { name: order.slice(0, -1) + ',"x":"', value: '"}' });
	form.append(field);
	document.body.append(form);
	const loaded = new Promise((done) => document.querySelector("iframe").addEventListener("load", done, { once: true }));
	form.submit();
	const tries = [
		fetch(url, { method: "POST", mode: "no-cors", body: order }),
		fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: order }),
		fetch(url, { method: "POST", mode: "no-cors", credentials: "include", headers: { "Content-Type": "text/plain" }, body: order }),
	];
	await loaded;
	return (await Promise.allSettled(tries)).length + 1;
})()`
