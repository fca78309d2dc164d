package store

import (
	"context"
	"database/sql"
	"fmt"

	"holdpoint/permission"
)

// besideStricter refuses a rule that would take the place of one that says more. One that is stored already, under
// its id, takes no place any more.
func (q queries) besideStricter(ctx context.Context, r permission.Rule) error {
	r, err := CheckRule(r)
	if err != nil {
		return err
	}
	if _, known, err := q.storedRule(ctx, r.ID); err != nil || known {
		return err
	}
	key, err := RuleKey(r)
	if err != nil {
		return err
	}
	var old []permission.Rule
	for _, name := range q.vault.names(ruleName, key) {
		found, err := all(ctx, q, func(rows *sql.Rows) (permission.Rule, error) {
			var row ruleRow
			if err := rows.Scan(row.dest()...); err != nil {
				return permission.Rule{}, err
			}
			stored, err := row.rule(q)
			return stored.Rule, err
		}, `SELECT `+ruleColumns+` FROM rules WHERE user_id = ? AND rule_key = ? AND session_id = ? AND revoked_at IS NULL ORDER BY id`,
			column(r.UserID), name, column(r.SessionID))
		if err != nil {
			return err
		}
		old = append(old, found...)
	}
	for _, o := range old {
		if err := Beside(o, r); err != nil {
			return err
		}
	}
	return nil
}

// Beside is ErrStricter, with the reason, where r may not take the place of a stored rule.
func Beside(stored, r permission.Rule) error {
	if r.MayReplace(stored) {
		return nil
	}
	return fmt.Errorf("%w: rule %s: %s %s", ErrStricter, stored.ID, stored.Effect, stored.Pattern)
}
