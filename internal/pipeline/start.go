package pipeline

// announce tells Start of the attempt's request, which is ready to be sent.
func (k *call) announce(a *attempt) {
	if k.Start == nil {
		return
	}
	before := int(k.sent) - 1
	if k.spare { // an attempt was sent twice
		before++
	}
	ctx, done := k.Start(&a.req, k.at(), before)
	a.gear.told = done
	a.req = *a.req.WithContext(ctx)
}

// report says what came of the attempt that was the last.
func (k *call) report(a *attempt) {
	if a.gear.told != nil {
		o := k.lastAttempt()
		a.tell(&o)
	}
}

// tell says what came of an attempt, once: nil if something panicked.
func (a *attempt) tell(o *Attempt) {
	if g := a.gear; g != nil && g.told != nil {
		told := g.told
		g.told = nil
		told(o)
	}
}
