package permission

import "slices"

// accepted applies [ConsentAccepted] where no rule spoke: the work's owner has
// accepted the risk of calls like this. It stays with a person what the tool's
// class says nothing about: files elsewhere, secrets, and commands of which only
// an exact rule could know what they do.
func (e *evaluation) accepted(o *outcome) {
	if s, ok := o.subject.(*pathSubject); ok && (!e.places.inside(s.target) || slices.ContainsFunc(s.target.both(), looksSecret)) {
		o.reason = "no rule allows it, and it is outside the workspace or looks like a secret"
		return
	}
	if o.part != nil && o.part.hazard != "" {
		o.reason = e.uncovered(o)
		return
	}
	o.effect, o.reason = Allow, "no rule matches, and calls of the tool's risk are accepted without a person"
}

// Accepts reports whether a tool of the given risk may go without a person where
// the owner accepts risks up to r. A risk that is not known, and critical,
// never may.
func (r Risk) Accepts(risk Risk) bool {
	return risk.rank() > 0 && risk.rank() <= r.rank() && risk != RiskCritical && r != RiskCritical
}
