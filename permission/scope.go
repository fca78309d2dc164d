package permission

// inScope reports whether a rule is in force for the call. A restriction
// counts when that is uncertain, a permission does not.
func (e *evaluation) inScope(r *compiled) bool {
	rule, c := r.kin.scope, &e.call
	if rule.Effect != Allow {
		other := rule.UserID != "" && c.UserID != "" && rule.UserID != c.UserID ||
			rule.SessionID != "" && c.SessionID != "" && rule.SessionID != c.SessionID
		return !other && (!r.has(isTimed) || c.Now.Before(r.rule().ExpiresAt))
	}
	if r.has(isTimed | isCounted) {
		own := r.rule()
		if own.MaxUses > 0 && own.Uses >= own.MaxUses {
			return false
		}
		if !own.ExpiresAt.IsZero() && (c.Now.IsZero() || !c.Now.Before(own.ExpiresAt)) {
			return false
		}
	}
	if r.stored() && (c.UserID == "" || rule.UserID == "") {
		return false
	}
	if rule.SessionID == "" && rule.Source.Layer == LayerSession {
		return false
	}
	return (rule.UserID == "" || rule.UserID == c.UserID) && (rule.SessionID == "" || rule.SessionID == c.SessionID)
}

// forbids relates a deny or ask rule to a subject: the rule must be in force,
// its pattern match and its conditions hold.
//
// own tells that the rule is about the tool itself.
func (e *evaluation) forbids(s subject, r *compiled, own bool) answer {
	if !e.inScope(r) {
		return no
	}
	found := s.forbids(r, own)
	for _, c := range r.where() {
		found = min(found, c.forbids(e.args.members))
	}
	return found
}

// permits reports whether an allow in force covers a subject.
func (e *evaluation) permits(s subject, r *compiled) bool {
	if where := r.where(); where != nil && !holdAll(where, e.args.members) {
		return false
	}
	return e.inScope(r) && s.permits(r)
}
