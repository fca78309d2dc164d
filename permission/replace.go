package permission

// MayReplace reports whether r says no less than old, so that it may take old's place without whoever wrote old being
// asked: an allow takes the place of an allow, a deny that of everything but a deny that lasts longer. What an ask says
// is not for a rule of another kind to unsay. A rule that has expired when r is made stands in nobody's way.
func (r Rule) MayReplace(old Rule) bool {
	if !old.ExpiresAt.IsZero() && !r.CreatedAt.IsZero() && !old.ExpiresAt.After(r.CreatedAt) {
		return true
	}
	switch old.Effect {
	case Allow:
		return r.Effect == Allow || r.Effect == Deny
	case Deny:
		lasts := old.ExpiresAt.IsZero() && !r.ExpiresAt.IsZero() || !r.ExpiresAt.IsZero() && old.ExpiresAt.After(r.ExpiresAt)
		return r.Effect == Deny && !lasts
	case Ask:
		return false
	default:
		return false
	}
}
