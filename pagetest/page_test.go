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

const sentence = "No retries: the budget is exhausted: 12 of 12 retries were used in the last 30 s (10 % of 120 calls)."

func TestThePageAloneSaysWhyAClientIsNotRetrying(t *testing.T) {
	is := is.New(t)
	f, _ := exhausted(t)
	b := open(t, f.Handler(), "/debug/resilient")
	is.True(strings.Contains(b.text("#rows th"), sentence))                    // in the list
	b.await(`document.querySelector("#detail h2")?.textContent === "pricing"`) // the worst one is shown without a click
	detail := b.text("#detail")
	is.True(strings.Contains(detail, sentence))                             // in full
	is.True(strings.Contains(detail, "Find out why so many attempts fail")) // with what to do
	is.True(strings.Contains(detail, "12 of 12 used"))                      // and the figures
	is.True(strings.Contains(detail, "The budget was exhausted."))          // and what was refused
	b.screenshot("budget")
}

func TestPageIsLegibleInLightAndDark(t *testing.T) {
	f := inTrouble(t)
	for _, name := range []string{"light", "dark"} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			b := open(t, f.Handler(resilient.AllowIsolation), "/", scheme(name))
			b.await(`!document.getElementById("detail").hidden`)
			b.screenshot(name)
			is.Equal(evaluated[[]string](b, contrasts), []string{}) // text with a contrast below 4.5 to 1
		})
	}
}

// contrasts finds text that stands out too little from what is behind it (WCAG 2.2, 1.4.3).
const contrasts = `(() => {
	const parts = (c) => c.match(/[\d.]+/g).map(Number);
	const light = (c) => parts(c).slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = (e) => { const c = getComputedStyle(e).backgroundColor; return parts(c)[3] === 0 ? behind(e.parentElement) : c; };
	const found = new Set();
	for (const e of document.body.querySelectorAll("*")) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility() || e.disabled) continue;
		const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
		const ratio = (a + 0.05) / (b + 0.05);
		if (ratio < 4.5) found.add(e.className + " " + e.textContent.slice(0, 30) + " " + ratio.toFixed(2));
	}
	return [...found];
})()`

// The picture in docs/guides/page.md is build/page/docs.png.
func TestPageHasAPictureForTheDocs(t *testing.T) {
	is := is.New(t)
	b := open(t, inTrouble(t).Handler(), "/", chromedp.EmulateViewport(1200, 640))
	b.await(`!document.getElementById("detail").hidden`)
	is.True(b.screenshot("docs") < 150<<10) // bytes
}

func TestPageFitsAPhone(t *testing.T) {
	is := is.New(t)
	f := inTrouble(t)
	b := open(t, f.Handler(resilient.AllowIsolation), "/", phone())
	tooWide := `document.scrollingElement.scrollWidth - 360`
	is.Equal(b.number(tooWide), 0)                                                       // nothing sticks out of the list
	is.Equal(b.number(`Number(document.getElementById("detail").checkVisibility())`), 0) // which is all there is
	b.screenshot("phone")
	b.do(chromedp.Click(`//tbody[@id="rows"]//a[starts-with(., "pricing")]`))
	b.await(`document.querySelector("#detail h2")?.textContent === "pricing"`)
	is.Equal(b.number(tooWide), 0)                                                     // nor out of one client
	is.Equal(b.number(`Number(document.getElementById("list").checkVisibility())`), 0) // which is all there is now
	b.screenshot("phone-client")
	b.do(chromedp.Click(chromedp.CSS(".back")), chromedp.WaitVisible(chromedp.CSS("#list"))) // and back
}

func TestNothingSticksOutAtAnyWidth(t *testing.T) {
	is := is.New(t)
	f := inTrouble(t)
	b := open(t, f.Handler(resilient.AllowIsolation), "/")
	for _, width := range []int64{360, 500, 768, 1100, 1200, 1400, 1920} {
		b.do(chromedp.EmulateViewport(width, height))
		b.await(`document.getElementById("detail").hidden !== matchMedia("(min-width: 1100px)").matches`)
		is.Equal(evaluated[[]string](b, sticksOut), []string{}) // elements that do
	}
}

// sticksOut finds elements that are wider than what they are in, but for tables that are made to scroll.
const sticksOut = `[...document.querySelectorAll("body, header, main, section, table, td, th, .cards > div, .findings li, figure")]
	.filter((e) => e.checkVisibility() && !e.closest(".scroll") && e.scrollWidth > e.clientWidth + 1)
	.map((e) => e.tagName + "#" + e.id + "." + e.className + " " + e.scrollWidth + " in " + e.clientWidth)`

func TestPageFollowsWhatHappens(t *testing.T) {
	is := is.New(t)
	f, m := exhausted(t)
	b := open(t, f.Handler(), "/")
	figure := `document.querySelector("#rows .n").textContent`
	b.await(figure + ` === "120"`)
	m.call(false)
	b.await(figure + ` === "121"`)
	is.True(strings.Contains(b.text("#state"), "Live")) // it says so
}

// captured has the page's timer wait for the test.
const captured = `window.timers = new Map();
	const later = setTimeout, never = clearTimeout;
	window.setTimeout = (f, ms) => { if (ms !== 2000) return later(f, ms); timers.set(f, f); return f; };
	window.clearTimeout = (id) => timers.delete(id) || never(id);
	window.ring = () => { const [f] = timers.keys(); timers.delete(f); f(); };`

func TestPageRestsWhileNobodyLooks(t *testing.T) {
	is := is.New(t)
	f, m := exhausted(t)
	b := open(t, f.Handler(), "/", first(captured))
	b.await(`timers.size === 1`)
	m.call(false)
	b.evaluate(`ring()`)
	b.await(`document.querySelector("#rows .n").textContent === "121" && timers.size === 1`) // it goes on
	b.evaluate(`Object.defineProperty(document, "hidden", { value: true, configurable: true });
		document.dispatchEvent(new Event("visibilitychange"))`)
	is.Equal(b.number(`timers.size`), 0) // nobody looks
	m.call(false)
	b.evaluate(`Object.defineProperty(document, "hidden", { value: false, configurable: true });
		document.dispatchEvent(new Event("visibilitychange"))`)
	b.await(`document.querySelector("#rows .n").textContent === "122" && timers.size === 1`) // somebody does
	b.do(chromedp.Click(chromedp.CSS("#pause")))
	b.await(`document.getElementById("state").textContent.startsWith("Paused")`)
	is.Equal(b.number(`timers.size`), 0) // paused
}

func TestPageFiltersByTextAndByLevel(t *testing.T) {
	is := is.New(t)
	f := inTrouble(t)
	b := open(t, f.Handler(), "/")
	all := b.number(`document.querySelectorAll("#rows tr").length`)
	is.Equal(all, 12)
	b.do(chromedp.SendKeys(chromedp.CSS("#search"), "PRIC"))
	b.await(`document.querySelectorAll("#rows tr").length === 1`)
	is.True(strings.HasPrefix(b.text("#rows th"), "pricing")) // by name
	b.do(chromedp.SendKeys(chromedp.CSS("#search"), "nothing"))
	b.await(`!document.getElementById("none").hidden`) // it says that there is none
	b.evaluate(`const s = document.getElementById("search"); s.value = ""; s.dispatchEvent(new Event("input"))`)
	b.await(fmt.Sprintf(`document.querySelectorAll("#rows tr").length === %d`, all))
	b.do(chromedp.Click(chromedp.CSS(`[data-level="idle"]`)))
	b.await(`document.querySelectorAll("#rows tr").length === 1`)
	is.True(strings.HasPrefix(b.text("#rows th"), "archive")) // by level
}

func TestPageIsOperatedByKeys(t *testing.T) {
	f := inTrouble(t)
	b := open(t, f.Handler(), "/")
	b.do(chromedp.Focus(`//tbody[@id="rows"]//a[starts-with(., "mail")]`), chromedp.KeyEvent("\r"))
	b.await(`document.querySelector("#detail h2")?.textContent === "mail"`)
}

func TestNamesAreTextToTheBrowser(t *testing.T) {
	is := is.New(t)
	f := newFleet(t)
	for _, name := range []string{`<script>window.hit = 1</script>`, `<img src=x onerror="window.hit = 1">`, `"><svg onload=hit=1>`, `x&lt;y`} {
		f.add(resilient.New(name), member{method: "GET", status: always(200)})
	}
	b := open(t, f.Handler(resilient.AllowIsolation), "/")
	b.await(`!document.getElementById("detail").hidden`)
	is.Equal(b.number(`Number("hit" in window) + document.querySelectorAll("#rows img, #rows script, #detail img, #detail script").length`), 0)
	is.Equal(b.number(`[...document.querySelectorAll("#rows th a")].filter((a) => a.textContent === "x&lt;y" || a.textContent.startsWith("<script>")).length`), 2)
}

func TestPageWorksWhereverItIsMounted(t *testing.T) {
	is := is.New(t)
	f, _ := exhausted(t)
	for path, h := range map[string]http.Handler{
		"/":                 f.Handler(),
		"/debug/resilient":  f.Handler(),
		"/debug/resilient/": f.Handler(),
		"/a/b/":             http.StripPrefix("/a/b", f.Handler()),
	} {
		b := open(t, h, path)
		is.True(strings.Contains(b.text("#rows th"), sentence)) // at path
	}
}

func TestPageSaysSoWhenTheServerIsGone(t *testing.T) {
	is := is.New(t)
	f, _ := exhausted(t)
	mux := http.NewServeMux()
	mux.Handle("/", f.Handler())
	b := newTab(t, mux)
	b.do(chromedp.Navigate(b.server.URL), chromedp.WaitVisible(chromedp.CSS("#rows tr")))
	b.server.Close()
	b.await(`document.getElementById("live").classList.contains("lost")`)
	is.True(strings.Contains(b.text("#state"), "what is shown is old")) // in words
	is.True(strings.Contains(b.text("#rows th"), sentence))             // which stays
}

func TestPageShowsEndpoints(t *testing.T) {
	is := is.New(t)
	f := inTrouble(t)
	b := open(t, f.Handler(), "/")
	b.do(chromedp.Click(`//tbody[@id="rows"]//a[starts-with(., "azure-openai")]`))
	b.await(`document.querySelector("#detail h2")?.textContent === "azure-openai"`)
	table := b.text("#Endpoints")
	is.True(strings.Contains(table, "east-us"))         // each by its name
	is.True(strings.Contains(table, "for 9 s"))         // how long it wants to be left alone
	is.True(strings.Contains(table, "600 tokens left")) // and what it has
	b.screenshot("endpoints")
}

func TestPageShowsTheHistoryOfABreaker(t *testing.T) {
	is := is.New(t)
	f := inTrouble(t)
	b := open(t, f.Handler(), "/")
	b.do(chromedp.Click(`//tbody[@id="rows"]//a[starts-with(., "search")]`))
	b.await(`document.querySelector("#detail h2")?.textContent === "search"`)
	changes := b.text("#detail > div:last-child")
	is.True(strings.Contains(changes, "closed → open"))                         // the first change
	is.True(strings.Contains(changes, "11 attempts had failed, open for 20 s")) // with why
	is.True(strings.Contains(changes, "half-open → open"))                      // the probes
	b.screenshot("breaker")
}
