package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdpoint/interaction"
	"holdpoint/permission"
)

// MaxRules bounds the rules of one user (or of no user) that are in force at a time.
const MaxRules = 10_000

// MaxRuleBytes bounds the JSON form of a rule.
const MaxRuleBytes = 64 << 10

// SavedRule is what SaveRules did for one rule.
type SavedRule struct {
	Rule permission.Rule // as it is stored
	// Replaced are the ids of the rules that ended because this one took their place.
	Replaced []string
	// Known is true when the rule was stored before, under the same id. Then nothing was done, whatever has become
	// of it since.
	Known bool
}

// SaveRule is SaveRules of one rule.
func (s *Store) SaveRule(ctx context.Context, r permission.Rule) error {
	_, err := s.SaveRules(ctx, r)
	return err
}

// SaveRules stores rules in one transaction, all or none. They take effect at the next Rules, in every process.
//
// A rule belongs to a user, to a session of a user's, or, without a user, to the organisation, where an allow is
// refused; its layer follows from that. It takes the place of a rule of the same user, session, pattern and conditions
// that is in force, whatever that one's effect: the last word on a pattern counts, and there is no moment without one.
//
// Its id is chosen by the caller. Saving the same rule again does nothing, and another rule of the same id is ErrExists,
// so that a retry can't widen, drop or revive one. The time of saving makes no difference to what is the same, nor to a
// lifetime that was counted from it.
func (s *Store) SaveRules(ctx context.Context, rules ...permission.Rule) (saved []SavedRule, err error) {
	return s.saveRules(ctx, rules, false)
}

// AddRules is SaveRules for those whose word is not the last one: a rule that would take the place of one that says
// more (permission.Rule.MayReplace) is refused with ErrStricter, and none is saved.
func (s *Store) AddRules(ctx context.Context, rules ...permission.Rule) (saved []SavedRule, err error) {
	return s.saveRules(ctx, rules, true)
}

func (s *Store) saveRules(ctx context.Context, rules []permission.Rule, beside bool) (saved []SavedRule, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		saved = make([]SavedRule, 0, len(rules))
		for _, r := range rules {
			if beside {
				if err := tx.besideStricter(ctx, r); err != nil {
					return in(err, "save rule %s", r.ID)
				}
			}
			one, err := tx.save(ctx, r)
			if err != nil {
				return err
			}
			saved = append(saved, one)
		}
		return in(tx.roomForRules(ctx, saved), "save rules")
	})
	return saved, err
}

// SaveRule is SaveRules of one rule, inside a transaction.
func (tx *Tx) SaveRule(ctx context.Context, r permission.Rule) error {
	saved, err := tx.save(ctx, r)
	if err != nil {
		return err
	}
	return in(tx.roomForRules(ctx, []SavedRule{saved}), "save rule %s", r.ID)
}

func (tx *Tx) save(ctx context.Context, r permission.Rule) (SavedRule, error) {
	r, err := CheckRule(r)
	if err != nil {
		return SavedRule{}, in(err, "save rule %s", r.ID)
	}
	saved, err := tx.saveRule(ctx, r)
	return saved, in(err, "save rule %s", r.ID)
}

// CheckRule returns a rule as it is to be stored, or says why it can't be.
func CheckRule(r permission.Rule) (permission.Rule, error) {
	if err := checkID("id", r.ID); err != nil {
		return r, err
	}
	if err := checkKey("user_id", r.UserID); err != nil {
		return r, err
	}
	if err := checkKey("session_id", r.SessionID); err != nil {
		return r, err
	}
	switch {
	case r.UserID == "" && r.SessionID != "":
		return r, invalid("user_id", "it is empty, and a session's rule belongs to a user: name the user")
	case r.UserID == "" && r.Effect == permission.Allow:
		return r, invalid("user_id", "it is empty, and an allow belongs to a user: name the user, or write an allow for everyone into a policy")
	case r.SessionID != "":
		r.Source.Layer = permission.LayerSession
	case r.UserID != "":
		r.Source.Layer = permission.LayerUser
	default:
		r.Source.Layer = permission.LayerOrganisation
	}
	r.Pattern = strings.TrimSpace(r.Pattern)
	r.Uses = 0
	r.CreatedAt, r.ExpiresAt = r.CreatedAt.UTC(), r.ExpiresAt.UTC()
	return r, nil
}

// RuleKey is equal for the rules that replace one another within one user and session.
func RuleKey(r permission.Rule) (string, error) {
	where, err := toJSON("where", r.Where)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(r.Pattern + "\x00" + where))
	return hex.EncodeToString(sum[:]), nil
}

func (q queries) saveRule(ctx context.Context, r permission.Rule) (SavedRule, error) {
	out := SavedRule{Rule: r}
	text, err := toJSON("rule", r)
	if err != nil {
		return out, err
	}
	if len(text) > MaxRuleBytes {
		return out, &interaction.Error{Code: interaction.CodeTooLarge, Field: "rule",
			Message: fmt.Sprintf("%d bytes are more than a rule may have (%d): shorten it", len(text), MaxRuleBytes)}
	}
	key, err := RuleKey(r)
	if err != nil {
		return out, err
	}
	n, err := q.exec(ctx, `INSERT INTO rules (id, user_id, session_id, created_at, effect, rule_key, expires_at, max_uses, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`, r.ID, column(r.UserID), column(r.SessionID),
		r.CreatedAt.UnixMicro(), r.Effect.String(), q.vault.named(ruleName, key), micros(r.ExpiresAt), r.MaxUses,
		q.vault.put(ruleBody.of(r.ID, column(r.UserID), column(r.SessionID)), text))
	if err != nil {
		return out, err
	}
	if n == 0 {
		return q.knownRule(ctx, r)
	}
	if err := q.bumpRules(ctx, r.UserID); err != nil {
		return out, err
	}
	out.Replaced, err = q.replaceRules(ctx, r, key)
	return out, err
}

// knownRule looks at the rule that has the id already.
func (q queries) knownRule(ctx context.Context, r permission.Rule) (SavedRule, error) {
	have, found, err := q.storedRule(ctx, r.ID)
	if err != nil {
		return SavedRule{}, err
	}
	if !found || !SameRule(have.Rule, r) {
		return SavedRule{}, fmt.Errorf("%w: %w", ErrExists, &interaction.Error{Code: interaction.CodeInvalid, Field: "id", Message: "is that of another rule"})
	}
	return SavedRule{Rule: have.Rule, Known: true}, nil
}

// SameRule reports whether two rules are the same but for when they were saved and how often they were used.
func SameRule(a, b permission.Rule) bool {
	lifetime := !a.ExpiresAt.IsZero() && !b.ExpiresAt.IsZero() && a.ExpiresAt.Sub(a.CreatedAt) == b.ExpiresAt.Sub(b.CreatedAt)
	if lifetime || a.ExpiresAt.Equal(b.ExpiresAt) {
		a.ExpiresAt, b.ExpiresAt = time.Time{}, time.Time{}
	}
	a.CreatedAt, b.CreatedAt, a.Uses, b.Uses = time.Time{}, time.Time{}, 0, 0
	left, err1 := toJSON("rule", a)
	right, err2 := toJSON("rule", b)
	return err1 == nil && err2 == nil && left == right
}

// replaceRules ends the rules whose place r takes.
func (q queries) replaceRules(ctx context.Context, r permission.Rule, key string) ([]string, error) {
	var ids []string
	for _, name := range q.vault.names(ruleName, key) { // one by one: PostgreSQL would not look each of them up
		found, err := all(ctx, q, scanText, `SELECT id FROM rules WHERE user_id = ? AND rule_key = ? AND session_id = ? AND revoked_at IS NULL
			AND id <> ? ORDER BY id`, column(r.UserID), name, column(r.SessionID), r.ID)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	for _, id := range ids {
		if _, err := q.exec(ctx, `UPDATE rules SET revoked_at = ?, revoked_by = ?, replaced_by = ? WHERE id = ?`,
			r.CreatedAt.UnixMicro(), column(r.GrantedBy), r.ID, id); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func scanText(rows *sql.Rows) (s string, err error) { return s, rows.Scan(&s) }

// roomForRules refuses a rule too many, of each user for whom some were saved. What had expired by the time of saving
// does not count.
func (q queries) roomForRules(ctx context.Context, saved []SavedRule) error {
	at := map[string]time.Time{}
	for _, one := range saved {
		if !one.Known {
			at[one.Rule.UserID] = one.Rule.CreatedAt
		}
	}
	for _, user := range slices.Sorted(maps.Keys(at)) {
		var n int
		if _, err := q.one(ctx, `SELECT COUNT(*) FROM rules WHERE user_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`,
			[]any{column(user), at[user].UnixMicro()}, &n); err != nil {
			return err
		}
		if n > MaxRules {
			return TooManyRules()
		}
	}
	return nil
}

// RoomForRules reports whether n more rules may be stored for a user.
func (tx *Tx) RoomForRules(ctx context.Context, user string, n int, now time.Time) (bool, error) {
	var have int
	_, err := tx.one(ctx, `SELECT COUNT(*) FROM rules WHERE user_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`,
		[]any{column(user), now.UnixMicro()}, &have)
	return have+n <= MaxRules, in(err, "count the rules of user %s", user)
}

// TooManyRules is the error of a rule that would be more than MaxRules.
func TooManyRules() error {
	return &interaction.Error{Code: interaction.CodeTooLarge, Field: "rule",
		Message: fmt.Sprintf("there are %d rules already, as many as one user may have: revoke some, or write wider patterns", MaxRules)}
}

// RevokeRule ends a rule. The first revocation stays; revoking again does nothing. An unknown id is ErrNotFound.
func (s *Store) RevokeRule(ctx context.Context, id string, by interaction.PrincipalID, at time.Time) error {
	return s.Write(ctx, func(tx *Tx) error {
		var user string
		found, err := tx.one(ctx, `SELECT user_id FROM rules WHERE id = ?`+tx.d.forUpdate, []any{id}, &user)
		if err == nil && !found {
			err = ErrNotFound
		}
		if err != nil {
			return in(err, "revoke rule %s", id)
		}
		_, err = tx.revoke(ctx, user, []string{id}, by, at)
		return in(err, "revoke rule %s", id)
	})
}

// RevokeRules ends the rule of a user's that has the id, or, when the id is one under which several were granted
// together (see BundleID), all of them, in one transaction. It returns the ids of those that ended now. No user means
// the organisation's. ErrNotFound says that the user never had such a rule.
func (s *Store) RevokeRules(ctx context.Context, user interaction.PrincipalID, id string, by interaction.PrincipalID, at time.Time) (ended []string, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		low, high := bundle(id)
		ids, err := all(ctx, tx.queries, scanText, `SELECT id FROM rules WHERE user_id = ? AND (id = ? OR id > ? AND id < ?) ORDER BY id`,
			column(user), id, low, high)
		if err == nil && len(ids) == 0 {
			err = ErrNotFound
		}
		if err != nil {
			return in(err, "revoke rule %s", id)
		}
		ended, err = tx.revoke(ctx, column(user), ids, by, at)
		return in(err, "revoke rule %s", id)
	})
	return ended, err
}

// BundleID is the id of the nth of several rules that are granted, and can be revoked, together under one id.
func BundleID(id string, n int) string { return fmt.Sprintf("%s.%d", id, n) }

// bundle bounds the ids of the rules that were granted under one.
func bundle(id string) (low, high string) { return id + ".", id + "/" }

// InBundle reports whether a rule's id is the one given, or one granted under it.
func InBundle(id, of string) bool {
	low, high := bundle(of)
	return id == of || id > low && id < high
}

// revoke ends those of the rules that are in force.
func (tx *Tx) revoke(ctx context.Context, user string, ids []string, by interaction.PrincipalID, at time.Time) (ended []string, err error) {
	for _, id := range ids {
		n, err := tx.exec(ctx, `UPDATE rules SET revoked_at = ?, revoked_by = ? WHERE id = ? AND revoked_at IS NULL`,
			at.UnixMicro(), column(by), id)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			ended = append(ended, id)
		}
	}
	if len(ended) == 0 {
		return nil, nil
	}
	return ended, tx.bumpRules(ctx, user)
}

func (q queries) bumpRules(ctx context.Context, user string) error {
	_, err := q.exec(ctx, `INSERT INTO rule_versions (user_id, version) VALUES (?, 1)
		ON CONFLICT (user_id) DO UPDATE SET version = rule_versions.version + 1`, column(user))
	return err
}

// UseRules counts a use of each of the rules that have a bound on uses, and reports false, without counting any, when
// one of them is revoked or used up. A rule without a bound is left alone. It is for the transaction that claims the
// execution which rests on them: the claim and the count are written together or not at all.
func (tx *Tx) UseRules(ctx context.Context, ids []string, _ interaction.CallID) (bool, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	var counted []string
	for _, id := range ids {
		var most, uses int64
		var ended sql.NullInt64
		found, err := tx.one(ctx, `SELECT max_uses, uses, revoked_at FROM rules WHERE id = ?`+tx.d.forUpdate, []any{id}, &most, &uses, &ended)
		if err != nil {
			return false, in(err, "use rule %s", id)
		}
		if !found || ended.Valid || most > 0 && uses >= most {
			return false, nil
		}
		if most > 0 {
			counted = append(counted, id)
		}
	}
	for _, id := range counted {
		if _, err := tx.exec(ctx, `UPDATE rules SET uses = uses + 1 WHERE id = ?`, id); err != nil {
			return false, in(err, "use rule %s", id)
		}
	}
	return true, nil
}
