package mongorules

import (
	"context"
	"slices"

	"holdpoint/interaction"
	"holdpoint/internal/store"
)

// StoredRule returns one rule, ended or not.
func (r *Rules) StoredRule(ctx context.Context, id string) (out store.StoredRule, found bool, err error) {
	user, found, err := r.owner(ctx, id)
	if err != nil || !found {
		return out, false, in(err, "read rule %s", id)
	}
	d, err := r.read(ctx, user)
	if err != nil {
		return out, false, in(err, "read rule %s", id)
	}
	n := slices.IndexFunc(d.Rules, func(e entry) bool { return e.Rule.ID == id })
	if n < 0 {
		return out, false, nil
	}
	return d.Rules[n].stored(), true, nil
}

// ListRules lists rules, the newest first, and the token of the next page, "" after the last.
func (r *Rules) ListRules(ctx context.Context, f store.RuleFilter) ([]store.StoredRule, string, error) {
	docs, err := r.both(ctx, f.UserID)
	if err != nil {
		return nil, "", in(err, "list the rules of user %s", f.UserID)
	}
	var all []store.StoredRule
	for _, d := range docs {
		for _, e := range d.Rules {
			all = append(all, e.stored())
		}
	}
	return f.PageOfRules(all)
}

// UseRules counts a use by a call of each of the rules that have a bound on uses, and reports false, without counting
// any, when one of them is revoked or used up. A call counts once for each rule, however often it is told.
func (r *Rules) UseRules(ctx context.Context, ids []string, call interaction.CallID) (bool, error) {
	return r.uses(ctx, ids, func(e *entry, bound int) (ok bool) {
		if slices.Contains(e.UsedBy, string(call)) {
			return true
		}
		if e.Uses >= bound {
			return false
		}
		e.Uses++
		e.UsedBy = append(e.UsedBy, string(call))
		if most := max(bound, maxCallsKept); len(e.UsedBy) > min(most, 10*maxCallsKept) {
			e.UsedBy = e.UsedBy[1:]
		}
		return true
	})
}

// ReturnUses gives back what UseRules counted for a call that did not come to run.
func (r *Rules) ReturnUses(ctx context.Context, ids []string, call interaction.CallID) error {
	_, err := r.uses(ctx, ids, func(e *entry, _ int) bool {
		if n := slices.Index(e.UsedBy, string(call)); n >= 0 {
			e.Uses--
			e.UsedBy = slices.Delete(e.UsedBy, n, n+1)
		}
		return true
	})
	return err
}

// uses changes the counts of rules, all of which belong to one user: a grant does, and only grants have bounds.
func (r *Rules) uses(ctx context.Context, ids []string, count func(e *entry, bound int) bool) (ok bool, err error) {
	if len(ids) == 0 {
		return true, nil
	}
	user, found, err := r.owner(ctx, ids[0])
	if err != nil || !found {
		return false, in(err, "use rule %s", ids[0])
	}
	err = r.change(ctx, user, func(d *document) error {
		ok = true
		changed := false
		for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
			n := slices.IndexFunc(d.Rules, func(e entry) bool { return e.Rule.ID == id })
			if n < 0 || d.Rules[n].RevokedAt != 0 {
				ok = false
				return errUnchanged
			}
			most := d.Rules[n].Rule.MaxUses
			if most == 0 {
				continue
			}
			before := d.Rules[n].Uses
			if !count(&d.Rules[n], most) {
				ok = false
				return errUnchanged
			}
			changed = changed || d.Rules[n].Uses != before
		}
		if !changed {
			return errUnchanged
		}
		return nil
	})
	return ok && err == nil, in(err, "use rules")
}
