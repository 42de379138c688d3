package resilient

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-seed-e0941262/resilient/internal/history"
)

// A query is which states are asked for.
type query struct {
	search string // text in the client, the authority, an endpoint or the diagnosis
	level  string // of the diagnosis; empty is any
	offset int
	limit  int    // 0: all, without plots
	detail string // the id of one state that is wanted with all there is
}

func readQuery(v url.Values) (q query, err error) {
	q.search, q.level, q.detail = strings.ToLower(v.Get("search")), v.Get("level"), v.Get("detail")
	for name, n := range map[string]*int{"offset": &q.offset, "limit": &q.limit} {
		if s := v.Get(name); s != "" {
			if *n, err = strconv.Atoi(s); err != nil || *n < 0 {
				return q, fmt.Errorf("%s=%q is not a number of 0 or more", name, s)
			}
		}
	}
	return q, nil
}

// A document is what the handler answers in JSON.
type document struct {
	Time     time.Time      `json:"time"`
	Steering bool           `json:"steering"` // POST isolates and releases
	StepNs   time.Duration  `json:"stepNs"`   // of the plots
	Total    int            `json:"total"`    // states that there are
	Levels   map[string]int `json:"levels"`   // how many of each level
	Matching int            `json:"matching"` // that were asked for
	Offset   int            `json:"offset"`   // of the first of States among them
	States   []stateView    `json:"states"`   // those in trouble first
	Detail   *detailView    `json:"detail,omitempty"`
}

// A stateView is what the handler shows of one state.
type stateView struct {
	ID string `json:"id"`
	Snapshot
	Diagnosis  finding    `json:"diagnosis"` // what matters most
	LastMinute counts     `json:"lastMinute"`
	Plots      *rowSeries `json:"plots,omitempty"`
}

// Counts of one minute.
type counts struct {
	Calls    uint32 `json:"calls"`
	Attempts uint32 `json:"attempts"`
	Failed   uint32 `json:"failed"` // attempts that a retry might have mended
	Retries  uint32 `json:"retries"`
	Denied   uint32 `json:"denied"`
	Rejected uint32 `json:"rejected"`
}

// A rowSeries is a row's plot: a number for each step, the present one last.
type rowSeries struct {
	Attempts []uint32 `json:"attempts"`
	Retries  []uint32 `json:"retries"`
}

// A detailView is all that is shown of one state.
type detailView struct {
	stateView
	Now      time.Time     `json:"now"` // on the clock of the client
	Findings []finding     `json:"findings"`
	Settings settingsView  `json:"settings"`
	Series   detailSeries  `json:"series"`
	Changes  []changeView  `json:"changes"`
	Refusals []refusalView `json:"refusals"`
}

// A detailSeries has a number for each step, the present one last.
type detailSeries struct {
	Calls    []uint32 `json:"calls"`
	Attempts []uint32 `json:"attempts"`
	Failed   []uint32 `json:"failed"`
	Retries  []uint32 `json:"retries"`
	Denied   []uint32 `json:"denied"`
	Rejected []uint32 `json:"rejected"`
}

// A settingsView has what the gates were set to, in words.
type settingsView struct {
	Retry       string `json:"retry"`
	Budget      string `json:"budget,omitempty"`
	Breaker     string `json:"breaker,omitempty"`
	Concurrency string `json:"concurrency,omitempty"`
}

// A changeView is a change of a circuit breaker.
type changeView struct {
	Time     time.Time     `json:"time"`
	Endpoint string        `json:"endpoint,omitempty"`
	From     string        `json:"from"`
	To       string        `json:"to"`
	Requests uint64        `json:"requests"`
	Failures uint64        `json:"failures"`
	BreakNs  time.Duration `json:"breakNs"`
	ByHand   bool          `json:"byHand"`
}

// A refusalView is all refusals that differ in nothing but their time.
type refusalView struct {
	What         string        `json:"what"`
	Reason       string        `json:"reason"`
	Why          string        `json:"why"`
	Advice       string        `json:"advice"`
	Endpoint     string        `json:"endpoint,omitempty"`
	Method       string        `json:"method,omitempty"`
	Status       int           `json:"status,omitempty"`
	Conclusion   string        `json:"conclusion,omitempty"`
	Count        uint64        `json:"count"`
	First        time.Time     `json:"first"`
	Last         time.Time     `json:"last"`
	RetryAfterNs time.Duration `json:"retryAfterNs,omitempty"`
}

// A diagnosed situation.
type diagnosed struct {
	*situation
	id       string
	findings []finding
}

// idOf names a state in a query and in the page: it is always the same, and short.
func (s *situation) idOf() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.Client + "\x00" + s.Authority))
	return strconv.FormatUint(h.Sum64(), 36)
}

// matches reports whether a search finds d.
func (d *diagnosed) matches(q query) bool {
	if q.level != "" && q.level != d.findings[0].Level.String() {
		return false
	}
	text := d.Client + "\n" + d.Authority + "\n" + d.findings[0].Verdict + ": " + d.findings[0].Because
	for _, e := range d.Endpoints {
		text += "\n" + e.Endpoint
	}
	return strings.Contains(strings.ToLower(text), q.search)
}

// report is what the query asks for.
func (r *Registry) report(q query, steering bool) document {
	all := r.situations()
	doc := document{
		Steering: steering, StepNs: history.Step, Total: len(all), Levels: map[string]int{}, Offset: q.offset, States: []stateView{},
		Time: r.clock().Now(),
	}
	var matching []*diagnosed
	for _, s := range all {
		d := &diagnosed{s, s.idOf(), diagnose(s)}
		doc.Levels[d.findings[0].Level.String()]++
		if d.matches(q) {
			matching = append(matching, d)
		}
		if d.id == q.detail {
			v := d.detail()
			doc.Detail = &v
		}
	}
	slices.SortStableFunc(matching, worseFirst)
	doc.Matching = len(matching)
	shown := matching[min(q.offset, len(matching)):]
	if q.limit > 0 {
		shown = shown[:min(q.limit, len(shown))]
	}
	for _, d := range shown {
		doc.States = append(doc.States, d.row(q.limit > 0))
	}
	return doc
}

// worseFirst puts what is in trouble first, and of that what has had the most refused.
func worseFirst(a, b *diagnosed) int {
	refused := func(d *diagnosed) uint32 { return d.minute.AllDenied() + d.minute.AllRejected() }
	return cmp.Or(cmp.Compare(a.findings[0].Level, b.findings[0].Level), cmp.Compare(refused(b), refused(a)))
}

func (d *diagnosed) row(plots bool) stateView {
	m := &d.minute
	v := stateView{
		ID: d.id, Snapshot: d.Snapshot, Diagnosis: d.findings[0],
		LastMinute: counts{m.Calls, m.Attempts, m.Failed, m.Retries, m.AllDenied(), m.AllRejected()},
	}
	if plots && d.log != nil {
		s := d.series()
		v.Plots = &rowSeries{Attempts: s.Attempts, Retries: s.Retries}
	}
	return v
}

func (d *diagnosed) series() (s detailSeries) {
	for _, c := range d.log.Series(d.now) {
		s.Calls = append(s.Calls, c.Calls)
		s.Attempts = append(s.Attempts, c.Attempts)
		s.Failed = append(s.Failed, c.Failed)
		s.Retries = append(s.Retries, c.Retries)
		s.Denied = append(s.Denied, c.AllDenied())
		s.Rejected = append(s.Rejected, c.AllRejected())
	}
	return s
}

func (d *diagnosed) detail() detailView {
	v := detailView{
		stateView: d.row(true), Now: d.at, Findings: d.findings, Settings: d.settings(), Changes: []changeView{}, Refusals: []refusalView{},
	}
	if d.log == nil {
		return v
	}
	v.Series = d.series()
	for _, c := range d.log.Changes() {
		v.Changes = append(v.Changes, changeView{
			Time: d.wall(c.At), Endpoint: c.Endpoint, From: c.From, To: c.To,
			Requests: c.Requests, Failures: c.Failures, BreakNs: c.Break, ByHand: c.ByHand,
		})
	}
	for _, r := range d.log.Refusals() {
		v.Refusals = append(v.Refusals, d.refusal(r))
	}
	return v
}

func (d *diagnosed) refusal(r history.Refusal) refusalView {
	v := refusalView{
		What: what(r.Kind), Endpoint: r.Endpoint, Count: r.Count,
		First: d.wall(r.First), Last: d.wall(r.Last), RetryAfterNs: r.RetryAfter,
	}
	if r.Kind != history.RetryDenied {
		v.Reason = r.Gate.String()
		v.Why, v.Advice = whyRejected(r.Gate)
		return v
	}
	v.Reason, v.Method, v.Status, v.Conclusion = r.Reason.String(), r.Method, r.Status, Conclusion(r.Conclusion).String()
	v.Why, v.Advice = whyDenied(r.Reason, d.retries)
	return v
}

// wall is a time of the state's on the clock.
func (d *diagnosed) wall(at time.Duration) time.Time { return d.at.Add(at - d.now) }
