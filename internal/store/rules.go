package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"holdpoint/interaction"
	"holdpoint/permission"
)

// SaveRule stores a rule under its id. Saving the same rule again does nothing; another rule of the same id is
// ErrExists, so that a retry can't widen or drop one. It takes effect at the next Rules, in every process.
func (s *Store) SaveRule(ctx context.Context, r permission.Rule) error {
	if err := checkID("id", r.ID); err != nil {
		return in(err, "save a rule")
	}
	body, err := encode("rule", r)
	if err == nil {
		err = checkKey("user_id", r.UserID)
	}
	if err != nil {
		return in(err, "save rule %s", r.ID)
	}
	return s.Write(ctx, func(tx *Tx) error { return in(tx.saveRule(ctx, r, body), "save rule %s", r.ID) })
}

func (q queries) saveRule(ctx context.Context, r permission.Rule, body string) error {
	n, err := q.exec(ctx, `INSERT INTO rules (id, user_id, session_id, created_at, body) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO NOTHING`, r.ID, column(r.UserID), column(r.SessionID), r.CreatedAt.UnixMicro(), body)
	if err != nil {
		return err
	}
	if n > 0 {
		return q.bumpRules(ctx, r.UserID)
	}
	var have string
	if _, err := q.one(ctx, `SELECT body FROM rules WHERE id = ?`, []any{r.ID}, &have); err != nil {
		return err
	}
	if have != body {
		return fmt.Errorf("another rule of that id: %w", ErrExists)
	}
	return nil
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
		n, err := tx.exec(ctx, `UPDATE rules SET revoked_at = ?, revoked_by = ? WHERE id = ? AND revoked_at IS NULL`,
			at.UnixMicro(), column(by), id)
		if err == nil && n > 0 {
			err = tx.bumpRules(ctx, user)
		}
		return in(err, "revoke rule %s", id)
	})
}

func (q queries) bumpRules(ctx context.Context, user string) error {
	_, err := q.exec(ctx, `INSERT INTO rule_versions (user_id, version) VALUES (?, 1)
		ON CONFLICT (user_id) DO UPDATE SET version = rule_versions.version + 1`, column(user))
	return err
}

// Rules returns the rules stored for a user that are not revoked, oldest first: the user's own in any session,
// those of the given session, and those stored for no user in particular (a deny of those binds all; the engine
// matches no allow of them). Expired ones are left to the engine, which is told the time.
//
// Until the transaction ends no rule of the user's is saved or revoked: whoever saves or revokes one waits. So what
// is decided by these rules and written here is decided by the rules that are in force when it is written; a
// serialisable transaction alone would promise no more than some order of the two.
func (tx *Tx) Rules(ctx context.Context, user interaction.PrincipalID, session interaction.SessionID) ([]permission.Rule, error) {
	if err := tx.holdRules(ctx, user); err != nil {
		return nil, in(err, "read the rules of user %s", user)
	}
	return tx.rules(ctx, user, session)
}

// holdRules holds the rows that bumpRules changes. A user who never had a rule has no row yet, so it is made.
func (tx *Tx) holdRules(ctx context.Context, user interaction.PrincipalID) error {
	if tx.d.forShare == "" {
		return nil
	}
	held, err := all(ctx, tx.queries, func(rows *sql.Rows) (user string, err error) { return user, rows.Scan(&user) },
		`SELECT user_id FROM rule_versions WHERE user_id IN (?, '') ORDER BY user_id`+tx.d.forShare, column(user))
	if err != nil {
		return err
	}
	for _, u := range []string{"", column(user)} {
		if slices.Contains(held, u) {
			continue
		}
		if _, err := tx.exec(ctx, `INSERT INTO rule_versions (user_id, version) VALUES (?, 0) ON CONFLICT (user_id) DO NOTHING`, u); err != nil {
			return err
		}
	}
	return nil
}

// Rules is Tx.Rules outside a transaction.
func (s *Store) Rules(ctx context.Context, user interaction.PrincipalID, session interaction.SessionID) ([]permission.Rule, error) {
	return s.read().rules(ctx, user, session)
}

func (q queries) rules(ctx context.Context, user interaction.PrincipalID, session interaction.SessionID) ([]permission.Rule, error) {
	rules, err := all(ctx, q, bodyOf[permission.Rule], `SELECT body FROM rules
		WHERE user_id IN (?, '') AND session_id IN (?, '') AND revoked_at IS NULL ORDER BY created_at, id`,
		column(user), column(session))
	return rules, in(err, "read the rules of user %s", user)
}

// RulesVersion grows whenever a rule that Rules could return for the user is saved or revoked.
func (s *Store) RulesVersion(ctx context.Context, user interaction.PrincipalID) (version int64, err error) {
	_, err = s.read().one(ctx, `SELECT CAST(COALESCE(SUM(version), 0) AS BIGINT) FROM rule_versions WHERE user_id IN (?, '')`,
		[]any{column(user)}, &version)
	return version, in(err, "read the rules' version of user %s", user)
}
