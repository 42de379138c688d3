package pagetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var browser context.Context // that all tests share, each with a tab of its own

func TestMain(m *testing.M) {
	if os.Getenv("RESILIENT_PAGE") != "1" {
		fmt.Println("set RESILIENT_PAGE=1 to open the page in chromium")
		return
	}
	os.Exit(withBrowser(m.Run))
}

func withBrowser(run func() int) int {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox) // which would need more rights than a container has
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil {
		fmt.Println("chromium does not start:", err)
		return 1
	}
	browser = ctx
	return run()
}

// A tab shows a handler's page, and notes what it must not do.
type tab struct {
	*testing.T
	ctx    context.Context
	server *httptest.Server

	mu        sync.Mutex
	complains []string // of the console, and of the policy
	requests  []string // that were sent
	dialogs   []string // that were accepted
}

type action = chromedp.Action[chromedp.Void]

const width, height = 1400, 1000

// open shows a handler that is mounted at a path.
func open(t *testing.T, h http.Handler, path string, before ...action) *tab {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(path, h)
	b := newTab(t, mux)
	t.Cleanup(b.behaved)
	b.do(append(before, chromedp.Navigate(b.server.URL+path))...)
	b.await(`document.querySelector("#rows tr") !== null`)
	return b
}

func newTab(t *testing.T, h http.Handler) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b := &tab{T: t, ctx: ctx, server: httptest.NewServer(h)}
	t.Cleanup(b.server.Close)
	b.do(chromedp.EmulateViewport(width, height), b.listen)
	b.ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	return b
}

func (b *tab) do(steps ...action) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// listen takes down what the browser tells, and says yes to what it asks.
func (b *tab) listen(ctx context.Context, t *chromedp.Target) (void chromedp.Void, err error) {
	_, err1 := cdp.Call(ctx, t, network.Enable, network.EnableParams{})
	_, err2 := cdp.Call(ctx, t, log.Enable, cdp.Empty{})
	_, err3 := cdp.Call(ctx, t, runtime.Enable, cdp.Empty{})
	note(b, t, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) {
		b.complains = append(b.complains, e.ExceptionDetails.Text)
	})
	note(b, t, runtime.ConsoleAPICalled, func(e runtime.EventConsoleAPICalled) {
		b.complains = append(b.complains, fmt.Sprint("console.", e.Type))
	})
	note(b, t, log.EntryAdded, func(e log.EventEntryAdded) { b.complains = append(b.complains, e.Entry.Text) })
	note(b, t, network.RequestWillBeSent, func(e network.EventRequestWillBeSent) { b.requests = append(b.requests, e.Request.URL) })
	note(b, t, page.JavascriptDialogOpening, func(e page.EventJavascriptDialogOpening) {
		b.dialogs = append(b.dialogs, e.Message)
		go func() { // its answer comes after this event
			_, _ = cdp.Call(b.ctx, t, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}()
	})
	return void, errors.Join(err1, err2, err3)
}

// note takes down the events of one kind, for as long as there is the tab.
func note[E any](b *tab, t *chromedp.Target, kind cdp.Event[E], write func(E)) {
	events := cdp.Events(b.ctx, t, kind)
	go func() {
		for e, err := range events {
			if err != nil {
				return
			}
			b.mu.Lock()
			write(e)
			b.mu.Unlock()
		}
	}()
}

// behaved fails the test if the page did what it must not: complain, or ask others for anything.
func (b *tab) behaved() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complains {
		b.Errorf("the browser complains: %s", c)
	}
	for _, url := range b.requests {
		if !strings.HasPrefix(url, b.server.URL+"/") && !strings.HasPrefix(url, "data:,") {
			b.Errorf("a request to another place: %s", url)
		}
	}
	if len(b.requests) < 2 {
		b.Error("no request was seen")
	}
}

// asked is how often the browser asked for a yes.
func (b *tab) asked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.dialogs)
}

// await waits until an expression is true.
func (b *tab) await(expression string) {
	b.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingInterval(20*time.Millisecond))); err != nil {
		b.Fatalf("%v, waiting for %s", err, expression)
	}
}

// evaluate runs a script for what it does.
func (b *tab) evaluate(script string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](script))
}

// evaluated is what an expression says.
func evaluated[T any](b *tab, expression string) T {
	b.Helper()
	result, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%v, evaluating %s", err, expression)
	}
	return result
}

func (b *tab) number(expression string) int {
	b.Helper()
	return evaluated[int](b, expression)
}

// text is the text of the first element that a selector finds.
func (b *tab) text(selector string) string {
	b.Helper()
	return evaluated[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// screenshot keeps what is to be seen, and returns how many bytes that is.
func (b *tab) screenshot(name string) int {
	b.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.Fatal(err)
	}
	folder := filepath.Join("..", "build", "page")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644); err != nil {
		b.Fatal(err)
	}
	return len(png)
}

// scheme makes the reader prefer light or dark.
func scheme(name string) action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
		})
		return err
	})
}

// phone is as wide as a small one.
func phone() action { return chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile) }

// first runs a script before those of the page.
func first(script string) action {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	})
}
