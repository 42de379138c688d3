package httptestx

import (
	"slices"
	"strings"
)

// A readyPlan is a plan with a name.
type readyPlan struct {
	name string
	plan []Step
}

func bareReadyPlans() []readyPlan {
	return []readyPlan{
		{"resetbeforeread", ResetBeforeRead},
		{"resetbeforehandler", ResetBeforeHandler},
		{"lostresponse", LostResponse},
		{"lostresponseeof", LostResponseEOF},
		{"stall", Stall},
	}
}

func planForms() []form[[]Step] {
	simple := func(name string, read func(*document, element) []Step) form[[]Step] {
		return form[[]Step]{name: name, read: func(d *document, e element, _ map[string]element) []Step { return read(d, e) }}
	}
	return []form[[]Step]{
		simple("truncatedbody", func(d *document, e element) []Step { return TruncatedBody(d.whole(e)) }),
		simple("slowbody", func(d *document, e element) []Step { return SlowBody(d.duration(e)) }),
		simple("unavailable", func(d *document, e element) []Step { return Unavailable(d.duration(e)) }),
		simple("toomanyrequests", func(d *document, e element) []Step { return TooManyRequests(d.duration(e)) }),
	}
}

// A planCheck reports what is wrong with a plan, and in which step.
type planCheck func(plan []Step) (at int, err error)

// plan reads a list of steps, or the name of a ready plan.
func (d *document) plan(e element, mistake planCheck) (plan []Step) {
	items := []element{e}
	sound := d.sound(func() {
		switch e.kind() {
		case '[':
			items = d.items(e, "a list")
			for _, item := range items {
				plan = append(plan, d.step(item))
			}
		case '{':
			plan = formed(d, e, "plan", planForms())
		default:
			plan = d.readyPlan(e)
		}
	})
	if !sound {
		return nil
	}
	if at, err := mistake(plan); err != nil {
		where := e
		if at < len(items) {
			where = items[at]
		}
		d.fault(where, "%v", err)
	}
	return plan
}

func (d *document) readyPlan(e element) []Step {
	if e.kind() != '"' {
		d.refuse(e, `a plan: a list of steps, such as ["handle", "reset"], or the name of a ready one`)
		return nil
	}
	name := d.words(e)
	ready := bareReadyPlans()
	names := make([]string, len(ready))
	for i, r := range ready {
		if r.name == name {
			return slices.Clone(r.plan)
		}
		names[i] = r.name
	}
	d.fault(e, "there is no plan %q; there are lists of steps, such as [\"handle\", \"reset\"]; %s; and {...} with %s",
		name, strings.Join(names, ", "), strings.Join(formNames(planForms()), ", "))
	return nil
}
