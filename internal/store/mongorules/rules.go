package mongorules

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/permission"
)

// maxEnded bounds the rules of a user that have ended and are still shown; the oldest go first.
const maxEnded = 1000

// maxCallsKept bounds the calls that are remembered to have counted, beside those that fill a bound.
const maxCallsKept = 100

// pause waits a little longer each time, and never the same for two rivals.
func pause(ctx context.Context, attempt int) error {
	t := time.NewTimer(time.Duration(min(attempt, 10))*2*time.Millisecond + rand.N(8*time.Millisecond))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// stored is an entry for others.
func (e entry) stored() store.StoredRule {
	out := store.StoredRule{Rule: e.Rule, RevokedBy: interaction.PrincipalID(e.RevokedBy), ReplacedBy: e.ReplacedBy}
	out.Uses = e.Uses
	if e.RevokedAt != 0 {
		out.RevokedAt = time.UnixMicro(e.RevokedAt).UTC()
	}
	return out
}

// SaveRules is the SQL store's: all or none, each in the place of one of the same user, session, pattern and conditions.
// Those of several users are saved one user after the other, each whole.
func (r *Rules) SaveRules(ctx context.Context, rules ...permission.Rule) (saved []store.SavedRule, err error) {
	return r.saveRules(ctx, rules, false)
}

// AddRules is the SQL store's: SaveRules, but for a rule that would take the place of one that says more.
func (r *Rules) AddRules(ctx context.Context, rules ...permission.Rule) (saved []store.SavedRule, err error) {
	return r.saveRules(ctx, rules, true)
}

func (r *Rules) saveRules(ctx context.Context, rules []permission.Rule, beside bool) (saved []store.SavedRule, err error) {
	entries := make([]entry, 0, len(rules))
	for _, rule := range rules {
		e, err := newEntry(rule)
		if err != nil {
			return nil, in(err, "save rule %s", rule.ID)
		}
		e.beside = beside
		entries = append(entries, e)
	}
	if err := r.take(ctx, entries); err != nil {
		return nil, in(err, "save rules")
	}
	saved = make([]store.SavedRule, len(entries))
	done := map[string]bool{}
	for _, e := range entries {
		user := e.Rule.UserID
		if done[user] {
			continue
		}
		done[user] = true
		if err := r.saveFor(ctx, user, entries, saved); err != nil {
			return nil, in(err, "save the rules of user %s", user)
		}
	}
	return saved, nil
}

// saveFor saves those of the entries that are a user's, in one step.
func (r *Rules) saveFor(ctx context.Context, user string, entries []entry, saved []store.SavedRule) error {
	return r.change(ctx, user, func(d *document) error {
		changed := false
		var now time.Time
		for n, e := range entries {
			if e.Rule.UserID != user {
				continue
			}
			one, err := d.save(e)
			if err != nil {
				return fmt.Errorf("rule %s: %w", e.Rule.ID, err)
			}
			changed = changed || !one.Known
			saved[n], now = one, e.Rule.CreatedAt
		}
		if !changed {
			return errUnchanged
		}
		return d.bound(now)
	})
}

func newEntry(rule permission.Rule) (entry, error) {
	rule, err := store.CheckRule(rule)
	if err != nil {
		return entry{}, err
	}
	body, err := json.Marshal(rule)
	if err == nil && len(body) > store.MaxRuleBytes {
		err = &interaction.Error{Code: interaction.CodeTooLarge, Field: "rule",
			Message: fmt.Sprintf("%d bytes are more than a rule may have (%d): shorten it", len(body), store.MaxRuleBytes)}
	}
	if err != nil {
		return entry{}, err
	}
	key, err := store.RuleKey(rule)
	return entry{Rule: rule, Key: key}, err
}

// take claims the rules' ids for their users.
func (r *Rules) take(ctx context.Context, entries []entry) error {
	claims := make([]any, len(entries))
	for n, e := range entries {
		claims[n] = claim{e.Rule.ID, e.Rule.UserID}
	}
	if len(claims) == 0 {
		return nil
	}
	_, err := r.ids.InsertMany(ctx, claims, options.InsertMany().SetOrdered(false))
	if !mongo.IsDuplicateKeyError(err) {
		return err
	}
	for _, e := range entries {
		owner, found, err := r.owner(ctx, e.Rule.ID)
		if err == nil && (!found || owner != e.Rule.UserID) {
			err = fmt.Errorf("another rule has the id %s: %w", e.Rule.ID, store.ErrExists)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// owner is the user that an id belongs to.
func (r *Rules) owner(ctx context.Context, id string) (user string, found bool, err error) {
	var c claim
	err = r.ids.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(&c)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return "", false, nil
	}
	return c.User, err == nil, err
}

// save puts a rule into its user's document.
func (d *document) save(e entry) (store.SavedRule, error) {
	if n := slices.IndexFunc(d.Rules, func(o entry) bool { return o.Rule.ID == e.Rule.ID }); n >= 0 {
		have := d.Rules[n].stored().Rule
		if !store.SameRule(have, e.Rule) {
			return store.SavedRule{}, fmt.Errorf("another rule of that id: %w", store.ErrExists)
		}
		return store.SavedRule{Rule: have, Known: true}, nil
	}
	out := store.SavedRule{Rule: e.Rule}
	for n, o := range d.Rules {
		if o.RevokedAt == 0 && o.Key == e.Key && o.Rule.SessionID == e.Rule.SessionID {
			if err := store.Beside(o.stored().Rule, e.Rule); e.beside && err != nil {
				return store.SavedRule{}, err
			}
			d.end(n, e.Rule.GrantedBy, e.Rule.CreatedAt)
			d.Rules[n].ReplacedBy = e.Rule.ID
			out.Replaced = append(out.Replaced, o.Rule.ID)
		}
	}
	slices.Sort(out.Replaced)
	d.Rules = append(d.Rules, e)
	return out, nil
}

// end revokes an entry. A time that is unset would look like none.
func (d *document) end(n int, by string, at time.Time) {
	d.Rules[n].RevokedBy, d.Rules[n].RevokedAt = by, at.UnixMicro()
	if d.Rules[n].RevokedAt == 0 {
		d.Rules[n].RevokedAt = 1
	}
}

// bound refuses a rule too many, and forgets the oldest of those that have ended.
func (d *document) bound(now time.Time) error {
	live, ended := 0, 0
	for _, e := range d.Rules {
		if e.RevokedAt != 0 {
			ended++
			continue
		}
		if e.Rule.ExpiresAt.IsZero() || e.Rule.ExpiresAt.After(now) {
			live++
		}
	}
	if live > store.MaxRules {
		return store.TooManyRules()
	}
	d.Rules = slices.DeleteFunc(d.Rules, func(e entry) bool {
		if e.RevokedAt == 0 || ended <= maxEnded {
			return false
		}
		ended--
		return true
	})
	return nil
}

// RevokeRule ends a rule, whosever it is. The first revocation stays; an unknown id is store.ErrNotFound.
func (r *Rules) RevokeRule(ctx context.Context, id string, by interaction.PrincipalID, at time.Time) error {
	user, found, err := r.owner(ctx, id)
	if err == nil && !found {
		err = store.ErrNotFound
	}
	if err != nil {
		return in(err, "revoke rule %s", id)
	}
	_, err = r.revoke(ctx, user, by, at, func(o string) bool { return o == id })
	return in(err, "revoke rule %s", id)
}

// RevokeRules ends a user's rule of that id, or all that were granted together under it.
func (r *Rules) RevokeRules(ctx context.Context, user interaction.PrincipalID, id string, by interaction.PrincipalID, at time.Time) ([]string, error) {
	ended, err := r.revoke(ctx, string(user), by, at, func(o string) bool { return store.InBundle(o, id) })
	return ended, in(err, "revoke rule %s", id)
}

func (r *Rules) revoke(ctx context.Context, user string, by interaction.PrincipalID, at time.Time, means func(id string) bool) (ended []string, err error) {
	err = r.change(ctx, user, func(d *document) error {
		ended = nil
		found := false
		for n, e := range d.Rules {
			if !means(e.Rule.ID) {
				continue
			}
			found = true
			if e.RevokedAt == 0 {
				d.end(n, string(by), at)
				ended = append(ended, e.Rule.ID)
			}
		}
		switch {
		case !found:
			return store.ErrNotFound
		case len(ended) == 0:
			return errUnchanged
		}
		return nil
	})
	slices.Sort(ended)
	return ended, err
}

// both returns the documents of a user and of the organisation.
func (r *Rules) both(ctx context.Context, user string) ([]document, error) {
	var out []document
	for _, u := range slices.Compact([]string{"", user}) {
		d, err := r.read(ctx, u)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// Rules returns the rules for a user and session that are not revoked, oldest first, with how often they were used.
func (r *Rules) Rules(ctx context.Context, user interaction.PrincipalID, session interaction.SessionID) ([]permission.Rule, error) {
	docs, err := r.both(ctx, string(user))
	if err != nil {
		return nil, in(err, "read the rules of user %s", user)
	}
	var out []permission.Rule
	for _, d := range docs {
		for _, e := range d.Rules {
			if e.RevokedAt == 0 && (e.Rule.SessionID == "" || e.Rule.SessionID == string(session)) {
				out = append(out, e.stored().Rule)
			}
		}
	}
	slices.SortFunc(out, func(a, b permission.Rule) int {
		if c := a.CreatedAt.Truncate(time.Microsecond).Compare(b.CreatedAt.Truncate(time.Microsecond)); c != 0 {
			return c
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return out, nil
}

// RulesVersion grows whenever a rule that Rules could return for the user is saved, revoked or used.
func (r *Rules) RulesVersion(ctx context.Context, user interaction.PrincipalID) (sum int64, err error) {
	for _, u := range slices.Compact([]string{"", string(user)}) {
		v, err := r.newest(ctx, u)
		if err != nil {
			return 0, in(err, "read the rules' version of user %s", user)
		}
		sum += v
	}
	return sum, nil
}
