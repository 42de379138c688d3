package resilient

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"weak"

	"github.com/a-seed-e0941262/resilient/internal/gate"
)

// An enrolled client is one that was built, and how. It does not keep the client: one that nobody uses any more is
// forgotten.
type enrolled struct {
	builder   Builder
	transport weak.Pointer[transport]
}

// enroll notes that a client was built, so that Apply finds it. It wants the registry's mu held.
func (s *shared) enroll(b Builder, t *transport) {
	s.forget()
	s.clients = append(s.clients, enrolled{b, weak.Make(t)})
}

func (s *shared) forget() {
	s.clients = slices.DeleteFunc(s.clients, func(c enrolled) bool { return c.transport.Value() == nil })
}

// Apply changes the settings of clients that are in use, by a document with one of the form that [Builder.JSON] reads for
// each client name:
//
//	{"inventory": {"retry": {"maxRetries": 1}}, "pricing": {"breaker": "off"}}
//
// It is applied to the settings that the clients were built with, and not to those of the document before: what it leaves
// out, be it a setting or a client, is again as it was built. It also holds for clients of these names that are built
// later. Calls that are under way go on as they began. Breakers, budgets, limits and buckets keep their state.
//
// Nothing is changed if there is an error, which joins all that is wrong: what Build and JSON would say, names that no
// client has, clients of a name that would no longer agree, and what can't be changed in use, which are PerAuthority and
// the name of a budget.
func (r *Registry) Apply(document []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	sections, err := r.sections(bytes.Clone(document))
	if err != nil {
		return err
	}
	p := r.plan(sections)
	if p.err != nil {
		return p.err
	}
	r.applied = sections
	for name, b := range p.trial.budgets {
		r.adoptBudget(name, b)
	}
	for name, s := range p.trial.clients {
		r.clients[name].adopt(s.kit, r.budgets)
	}
	for _, c := range p.changes {
		c.transport.adopt(c.draft, r.clients[c.draft.name])
	}
	return nil
}

// A plan is what a document would change.
type plan struct {
	trial   *Registry // which all clients have joined with their new settings
	changes []change
	err     error
}

// A change is a client with its new settings.
type change struct {
	transport *transport
	draft     *draft
}

// A passage is what a document says about one client.
type passage struct {
	document []byte
	element
}

// sections takes a document apart by client name.
func (r *Registry) sections(document []byte) (map[string]passage, error) {
	d := &draft{}
	all := reader{draft: d, document: document, unknown: "no client of this name was built"}
	found := map[string]passage{}
	if root, ok := all.root(); ok {
		names := slices.Sorted(maps.Keys(r.clients))
		all.members(root, names, func(i int, e element) {
			if all.isObject(e) {
				found[names[i]] = passage{document, e}
			}
		})
	}
	return found, d.err()
}

// plan works out what the sections would change, on a registry of its own: what can't be there can't be here.
func (r *Registry) plan(sections map[string]passage) *plan {
	p := &plan{trial: NewRegistry()}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(r.clients)) {
		s := r.clients[name]
		s.forget()
		for _, c := range s.clients {
			t := c.transport.Value()
			if t == nil {
				continue
			}
			d := c.builder.with(sections[name]).draft()
			d.base, d.clock = t.base, s.clock
			s.refuseMove(d)
			err := d.check()
			if err == nil {
				_, err = p.trial.join(d)
			}
			errs = append(errs, err)
			p.changes = append(p.changes, change{t, d})
		}
	}
	p.err = errors.Join(errs...)
	return p
}

// with returns b with a passage of a document applied, if there is one.
func (b Builder) with(p passage) Builder {
	if p.document == nil {
		return b
	}
	return b.edit(func(d *draft) { reader{draft: d, document: p.document}.object(p.element) })
}

// refuseMove notes where d would take its state elsewhere, which calls that use it would not notice.
func (s *shared) refuseMove(d *draft) {
	if d.PerAuthority != s.perAuthority {
		d.fault(ConfigError{Setting: "PerAuthority()", Rule: "can't be changed in use", Fix: "build another client"})
	}
	if name := budgetName(d); !d.Budget.off() && s.kit.drawsOn != nil && *s.kit.drawsOn != name {
		d.fault(ConfigError{
			Setting: "Budget(BudgetName(" + quote(name) + "))", Value: quote(name), Rule: "can't be changed in use", Fix: "build another client",
		})
	}
}

// adoptBudget has a budget go by what the clients that draw on it want now.
func (r *Registry) adoptBudget(name string, wanted *namedBudget) {
	b := r.budgets[name]
	if b == nil {
		t := r.clients[wanted.by].timeline
		r.budgets[name] = &namedBudget{wanted.terms, wanted.policy, t, gate.NewBudget(wanted.policy.config())}
		return
	}
	b.terms, b.policy = wanted.terms, wanted.policy
	b.budget.Configure(b.clock.Since(b.epoch), b.policy.config())
}

// adopt has all states go by another kit.
func (s *shared) adopt(k kit, budgets map[string]*namedBudget) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.named != nil {
		k.named = budgets[*k.drawsOn]
	}
	if k.drawsOn == nil {
		k.drawsOn = s.kit.drawsOn // the states still have it
	}
	s.kit = k
	s.equipAll()
}

// admit builds a client: it joins those of its name, with what was applied to them.
func (r *Registry) admit(b Builder, d *draft) (*draft, *transport, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, applied := r.applied[d.name]; applied {
		d = b.with(p).draft()
		if err := d.check(); err != nil {
			return nil, nil, err
		}
		d.complete()
	}
	s, err := r.join(d)
	if err != nil {
		return nil, nil, err
	}
	t := newTransport(d, s)
	s.enroll(b, t)
	return d, t, nil
}
