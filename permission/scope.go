package permission

// inScope reports whether a rule is in force for the call. A restriction
// counts when that is uncertain, a permission does not.
func (e *evaluation) inScope(r *compiled) bool {
	rule, c := &r.rule, &e.call
	if rule.Effect != Allow {
		other := rule.UserID != "" && c.UserID != "" && rule.UserID != c.UserID ||
			rule.SessionID != "" && c.SessionID != "" && rule.SessionID != c.SessionID
		return !other && (rule.ExpiresAt.IsZero() || c.Now.Before(rule.ExpiresAt))
	}
	if rule.MaxUses > 0 && rule.Uses >= rule.MaxUses {
		return false
	}
	if !rule.ExpiresAt.IsZero() && (c.Now.IsZero() || !c.Now.Before(rule.ExpiresAt)) {
		return false
	}
	if rule.Source.Layer.stored() && (c.UserID == "" || rule.UserID == "") {
		return false
	}
	if rule.Source.Layer == LayerSession && rule.SessionID == "" {
		return false
	}
	return (rule.UserID == "" || rule.UserID == c.UserID) && (rule.SessionID == "" || rule.SessionID == c.SessionID)
}

// forbids relates a deny or ask rule to a subject: the rule must be in force,
// its pattern match and its conditions hold.
func (e *evaluation) forbids(s subject, r *compiled) answer {
	if !e.inScope(r) {
		return no
	}
	found := s.forbids(r)
	for _, c := range r.where {
		found = min(found, c.forbids(e.args.members))
	}
	return found
}

// permits reports whether an allow in force covers a subject.
func (e *evaluation) permits(s subject, r *compiled) bool {
	return e.inScope(r) && holdAll(r.where, e.args.members) && s.permits(r)
}
