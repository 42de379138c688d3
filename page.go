package resilient

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/a-seed-e0941262/resilient/internal/page"
)

// A HandlerOption changes what [Registry.Handler] does.
type HandlerOption interface{ handler(*handler) }

type handlerSwitch int

// AllowIsolation lets who can reach the handler hold circuit breakers open and let them go, as [Registry.Isolate] and
// Release do: with buttons on the page, or with a POST (see [Registry.Handler]). Without it such a request ends with
// status 403.
const AllowIsolation handlerSwitch = 1

func (handlerSwitch) handler(h *handler) { h.steering = true }

// Handler returns an HTTP handler that shows the registry: a page to browsers, and JSON to all others, or with
// ?format=json. It looks at the query and not at the path, so it can be mounted anywhere:
//
//	http.Handle("/debug/resilient", resilient.DefaultRegistry().Handler())
//
// The page says of each client why it is not retrying. It shows the clients in trouble first, and for each its calls and
// retries over the last ten minutes, its budget, breakers, limits and endpoints, and what was refused of late. It follows
// what happens, loads nothing from elsewhere, and asks for nothing but its own address. It shows names, figures and
// statuses, and no URL, header or error text. Who may see it is for the caller to say: put it behind authentication, or on
// a listener that only operators reach.
//
// The first call of Handler begins the history that the plots need: up to 14 KiB for each client name and authority that
// is called. Until then none is kept. It is not stopped.
//
// With [AllowIsolation], a POST of {"action": "isolate", "client": "x"}, or "release", with Content-Type application/json
// holds the breakers of a client open, or lets them go. It is refused if it comes from a page of another origin.
func (r *Registry) Handler(options ...HandlerOption) http.Handler {
	h := &handler{registry: r}
	for _, o := range options {
		if o != nil {
			o.handler(h)
		}
	}
	r.record()
	h.html, h.policy = page.Build()
	return http.NewCrossOriginProtection().Handler(h)
}

type handler struct {
	registry *Registry
	steering bool
	html     []byte
	policy   string
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", h.policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Vary", "Accept")
	header.Set("X-Content-Type-Options", "nosniff")
	switch {
	case r.Method == http.MethodPost:
		h.steer(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD, POST")
		http.Error(w, "only GET, HEAD and POST", http.StatusMethodNotAllowed)
	case wantsPage(r):
		header.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(h.html)
	default:
		h.show(w, r)
	}
}

// wantsPage reports whether a request comes from a browser, unless it says what it wants.
func wantsPage(r *http.Request) bool {
	switch r.URL.Query().Get("format") {
	case "json":
		return false
	case "html":
		return true
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// show answers with what is asked for, as JSON.
func (h *handler) show(w http.ResponseWriter, r *http.Request) {
	q, err := readQuery(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reply(w, h.registry.report(q, h.steering))
}

func reply(w http.ResponseWriter, document any) {
	body, err := json.Marshal(document)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n'))
}

// maxOrder bounds what is read of a POST. A name takes 200 bytes at most, or six times as many in JSON.
const maxOrder = 4 << 10

// steer holds the breakers of a client open, or lets them go. That the request is from the page itself, or from no page at
// all, has been seen to; that it is said to be JSON keeps forms out even where a browser tells nothing of their origin.
func (h *handler) steer(w http.ResponseWriter, r *http.Request) {
	if !h.steering {
		http.Error(w, "the handler was made without AllowIsolation", http.StatusForbidden)
		return
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "the Content-Type has to be application/json", http.StatusUnsupportedMediaType)
		return
	}
	var order struct{ Action, Client string }
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxOrder))
	if err == nil {
		err = json.Unmarshal(body, &order)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch order.Action {
	case "isolate":
		err = h.registry.Isolate(order.Client)
	case "release":
		err = h.registry.Release(order.Client)
	default:
		http.Error(w, `the action has to be "isolate" or "release"`, http.StatusBadRequest)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	reply(w, order)
}
