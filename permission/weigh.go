package permission

import "slices"

// weigh decides where no deny and no doubt stands in the way.
func (e *evaluation) weigh(v *view, o *outcome, asks []*compiled) {
	near := e.allowing(v, o.subject)
	if len(asks) > 0 {
		narrowest := GrantUser
		for _, r := range asks {
			if given := r.kin.scope.Approval.MaxGrant; given.rank() < narrowest.rank() {
				narrowest = given
			}
		}
		if grant := e.grant(near, o.subject, narrowest, asks); grant != nil {
			o.decide(Allow, grant, "a stored grant satisfies the ask rule "+asks[0].rule().Pattern)
			return
		}
		o.decide(Ask, asks[0], "an ask rule matches")
		o.matched, o.final = asks, narrowest.rank() == 0
		return
	}
	if grant := e.grant(near, o.subject, GrantUser, nil); grant != nil {
		o.decide(Allow, grant, "a stored grant allows it")
		return
	}
	if r := e.plainlyAllowed(near, o.subject); r != nil {
		o.decide(Allow, r, "an allow rule matches")
		return
	}
	if s, ok := o.subject.(*pathSubject); ok && s.target.real != "" && s.target.real != s.target.clean {
		given, real := s.as(s.target.clean), s.as(s.target.real)
		if e.plainlyAllowed(e.allowing(v, given), given) != nil {
			if r := e.plainlyAllowed(e.allowing(v, real), real); r != nil {
				o.decide(Allow, r, "allow rules match the path and where it leads")
				return
			}
		}
	}
	e.byDefault(o)
}

// plainlyAllowed finds an allow for a subject that is no stored grant, whose uses are counted for one pattern.
func (e *evaluation) plainlyAllowed(near []int32, s subject) *compiled {
	for _, i := range near {
		if r := &e.set.allows[i]; !r.stored() && e.permits(s, r) {
			return r
		}
	}
	return nil
}

// grant finds, among the allows that come near, a stored one for the subject, no wider than the scope, whose givers
// could have approved every ask.
func (e *evaluation) grant(near []int32, s subject, widest GrantScope, asks []*compiled) *compiled {
	for _, i := range near {
		r := &e.set.allows[i]
		if !r.stored() || widest.rank() == 0 || widest.rank() == 1 && r.kin.scope.SessionID == "" {
			continue
		}
		enough := !slices.ContainsFunc(asks, func(a *compiled) bool { return !r.kin.scope.meets(&a.kin.scope.Approval) })
		if enough && e.permits(s, r) {
			return r
		}
	}
	return nil
}

// byDefault applies the tool's own consent where no rule spoke.
func (e *evaluation) byDefault(o *outcome) {
	if o.part != nil && o.part.transparent {
		o.effect, o.reason = Allow, "it only wraps another command, which is judged by itself"
		return
	}
	switch e.call.Tool.Consent {
	case ConsentNever:
		o.effect, o.reason = Allow, "the tool needs no consent and no rule matches"
	case ConsentAccepted:
		e.accepted(o)
	case ConsentOutside:
		s, ok := o.subject.(*pathSubject)
		if ok && e.call.Tool.Kind == KindRead && e.places.inside(s.target) &&
			!slices.ContainsFunc(s.target.both(), looksSecret) {
			o.effect, o.reason = Allow, "it reads inside the workspace, and no secret by its name"
			return
		}
		o.reason = "no rule allows it, and it is outside the workspace or looks like a secret"
	case ConsentAlways:
		o.reason = e.uncovered(o)
	default:
		o.reason = e.uncovered(o)
	}
}

func (e *evaluation) uncovered(o *outcome) string {
	if o.part != nil && o.part.moved {
		return "no rule allows it: the program is looked for where cd led, and rules name it from the workspace"
	}
	if o.part != nil && o.part.hazard != "" {
		return "no exact rule allows it: " + o.part.hazard
	}
	return "no rule allows it"
}
