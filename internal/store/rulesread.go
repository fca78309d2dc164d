package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"holdpoint/interaction"
	"holdpoint/permission"
)

// StoredRule is a rule with what has become of it.
type StoredRule struct {
	permission.Rule
	RevokedAt time.Time               `json:"revoked_at,omitzero"`
	RevokedBy interaction.PrincipalID `json:"revoked_by,omitempty"`
	// ReplacedBy is the rule that took its place.
	ReplacedBy string `json:"replaced_by,omitempty"`
}

// InForce reports whether a rule counts at a time: it is not revoked, replaced, expired or used up.
func (r StoredRule) InForce(now time.Time) bool {
	return r.RevokedAt.IsZero() && (r.ExpiresAt.IsZero() || now.Before(r.ExpiresAt)) && (r.MaxUses == 0 || r.Uses < r.MaxUses)
}

const ruleColumns = `id, user_id, session_id, body, uses, revoked_at, COALESCE(revoked_by, ''), COALESCE(replaced_by, '')`

// ruleRow is where a row's ruleColumns are scanned to.
type ruleRow struct {
	id, user, session, body, by, replaced string
	uses                                  int
	at                                    sql.NullInt64
}

func (r *ruleRow) dest() []any {
	return []any{&r.id, &r.user, &r.session, &r.body, &r.uses, &r.at, &r.by, &r.replaced}
}

func (r *ruleRow) rule(q queries) (out StoredRule, err error) {
	out.Rule, err = decode[permission.Rule](q, ruleBody.of(r.id, r.user, r.session), r.body)
	out.Uses, out.RevokedBy, out.ReplacedBy = r.uses, interaction.PrincipalID(r.by), r.replaced
	if r.at.Valid {
		out.RevokedAt = time.UnixMicro(r.at.Int64).UTC()
	}
	return out, err
}

// Rules returns the rules stored for a user that are not revoked, oldest first: the user's own in any session,
// those of the given session, and those stored for no user in particular (a deny of those binds all). Expired ones and
// those that are used up are left to the engine, which is told the time.
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

// RulesVersion grows whenever a rule that Rules could return for the user is saved, revoked or used. It holds the rules
// as Rules does: rules that were read at the same version are those that Rules would return now.
func (tx *Tx) RulesVersion(ctx context.Context, user interaction.PrincipalID) (int64, error) {
	if err := tx.holdRules(ctx, user); err != nil {
		return 0, in(err, "read the rules' version of user %s", user)
	}
	return tx.rulesVersion(ctx, user)
}

// holdRules holds the rows that bumpRules changes. A user who never had a rule has no row yet, so it is made.
func (tx *Tx) holdRules(ctx context.Context, user interaction.PrincipalID) error {
	if tx.d.forShare == "" {
		return nil
	}
	held, err := all(ctx, tx.queries, scanText,
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
	rules, err := all(ctx, q, func(rows *sql.Rows) (permission.Rule, error) {
		var r ruleRow
		if err := rows.Scan(r.dest()...); err != nil {
			return permission.Rule{}, err
		}
		out, err := r.rule(q)
		return out.Rule, err
	}, `SELECT `+ruleColumns+` FROM rules
		WHERE user_id IN (?, '') AND session_id IN (?, '') AND revoked_at IS NULL ORDER BY created_at, id`,
		column(user), column(session))
	return rules, in(err, "read the rules of user %s", user)
}

// RulesVersion is Tx.RulesVersion outside a transaction.
func (s *Store) RulesVersion(ctx context.Context, user interaction.PrincipalID) (int64, error) {
	return s.read().rulesVersion(ctx, user)
}

// rulesVersion adds what was saved and revoked to what was used; neither ever shrinks. Uses do not change a row of
// rule_versions, which claims hold: two that use a grant at once would wait for each other there.
func (q queries) rulesVersion(ctx context.Context, user interaction.PrincipalID) (version int64, err error) {
	_, err = q.one(ctx, `SELECT CAST(COALESCE((SELECT SUM(version) FROM rule_versions WHERE user_id IN (?, '')), 0) AS BIGINT)
		+ CAST(COALESCE((SELECT SUM(uses) FROM rules WHERE user_id IN (?, '') AND max_uses > 0), 0) AS BIGINT)`,
		[]any{column(user), column(user)}, &version)
	return version, in(err, "read the rules' version of user %s", user)
}

// StoredRule returns one rule, ended or not.
func (s *Store) StoredRule(ctx context.Context, id string) (r StoredRule, found bool, err error) {
	r, found, err = s.read().storedRule(ctx, id)
	return r, found, in(err, "read rule %s", id)
}

func (q queries) storedRule(ctx context.Context, id string) (r StoredRule, found bool, err error) {
	var row ruleRow
	found, err = q.one(ctx, `SELECT `+ruleColumns+` FROM rules WHERE id = ?`, []any{id}, row.dest()...)
	if found {
		r, err = row.rule(q)
	}
	return r, found && err == nil, err
}

// RuleState selects rules by what has become of them.
type RuleState string

const (
	RulesInForce RuleState = ""      // neither revoked, replaced, expired nor used up
	RulesEnded   RuleState = "ended" // any of these
	RulesAll     RuleState = "all"
)

// RuleFilter selects the rules that bear on one user: their own, those of their sessions, and the organisation's.
type RuleFilter struct {
	// UserID is whose. "" leaves the organisation's alone.
	UserID string
	// Scope narrows it to the user's own (LayerUser), those of sessions (LayerSession), or the organisation's
	// (LayerOrganisation).
	Scope permission.Layer
	// SessionID leaves of the sessions' rules only those of this one.
	SessionID string
	// Effect is "allow", "deny" or "ask".
	Effect string
	State  RuleState
	// Now is the time at which rules are in force.
	Now       time.Time
	PageSize  int    // Defaults to 50, at most 200
	PageToken string // of the page before, "" for the first
}

// Fits reports whether a rule is one of those selected.
func (f RuleFilter) Fits(r StoredRule) bool {
	switch {
	case r.UserID != "" && r.UserID != f.UserID, f.Scope != "" && r.Source.Layer != f.Scope,
		f.SessionID != "" && r.SessionID != "" && r.SessionID != f.SessionID, f.Effect != "" && r.Effect.String() != f.Effect:
		return false
	}
	return f.State == RulesAll || r.InForce(f.Now) == (f.State == RulesInForce)
}

// ListRules lists rules, the newest first, and the token of the next page, "" after the last.
func (s *Store) ListRules(ctx context.Context, f RuleFilter) ([]StoredRule, string, error) {
	p, err := f.page()
	if err != nil {
		return nil, "", err
	}
	w := f.where()
	if p.started {
		w.add("(created_at, id) < (?, ?)", p.at.Number, p.at.ID)
	}
	q := s.read()
	rows, err := all(ctx, q, func(rows *sql.Rows) (it item[StoredRule], err error) {
		var r ruleRow
		if err := rows.Scan(append([]any{&it.number, &it.id}, r.dest()...)...); err != nil {
			return it, err
		}
		it.value, err = r.rule(q)
		return it, err
	}, `SELECT created_at, id, `+ruleColumns+` FROM rules`+w.clause()+` ORDER BY created_at DESC, id DESC LIMIT ?`, append(w.args, p.size+1)...)
	if err != nil {
		return nil, "", in(err, "list the rules of user %s", f.UserID)
	}
	list, next := cut(p, rows)
	return list, next, nil
}

func (f RuleFilter) page() (page, error) {
	return openPage("rules", f.PageSize, f.PageToken, f.UserID, string(f.Scope), f.SessionID, f.Effect, string(f.State))
}

func (f RuleFilter) where() (w where) {
	switch f.Scope {
	case permission.LayerOrganisation:
		w.add("user_id = ''")
	case permission.LayerUser:
		w.add("user_id = ? AND user_id <> '' AND session_id = ''", column(f.UserID))
	case permission.LayerSession:
		w.add("user_id = ? AND session_id <> ''", column(f.UserID))
	default:
		w.add("user_id IN (?, '')", column(f.UserID))
	}
	if f.SessionID != "" {
		w.add("session_id IN (?, '')", column(f.SessionID))
	}
	w.equal("effect", f.Effect)
	const inForce = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?) AND (max_uses = 0 OR uses < max_uses)"
	switch f.State {
	case RulesAll:
	case RulesEnded:
		w.add("NOT ("+inForce+")", f.Now.UnixMicro())
	case RulesInForce:
		w.add(inForce, f.Now.UnixMicro())
	default:
		w.add(inForce, f.Now.UnixMicro())
	}
	return w
}

// PageOfRules cuts a page out of rules that are kept elsewhere, all those that fit, in any order.
func (f RuleFilter) PageOfRules(rules []StoredRule) ([]StoredRule, string, error) {
	p, err := f.page()
	if err != nil {
		return nil, "", err
	}
	var rows []item[StoredRule]
	for _, r := range rules {
		at := item[StoredRule]{r.CreatedAt.UnixMicro(), r.ID, r}
		if f.Fits(r) && (!p.started || newestFirst(item[StoredRule]{number: p.at.Number, id: p.at.ID}, at) < 0) {
			rows = append(rows, at)
		}
	}
	slices.SortFunc(rows, newestFirst)
	list, next := cut(p, rows)
	return list, next, nil
}

func newestFirst(a, b item[StoredRule]) int {
	if a.number != b.number {
		return cmpDescending(a.number, b.number)
	}
	return cmpDescending(a.id, b.id)
}

func cmpDescending[T cmp.Ordered](a, b T) int { return cmp.Compare(b, a) }
