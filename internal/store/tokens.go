package store

import (
	"context"
	"database/sql"
	"time"

	"holdpoint/interaction"
)

// Token is a bearer token as it is kept: whose it is, and the hash by which it is known.
type Token struct {
	ID        string                  `json:"id"`
	Hash      string                  `json:"-"` // SHA-256, in hex
	Principal interaction.Principal   `json:"principal"`
	Note      string                  `json:"note,omitempty"`
	CreatedBy interaction.PrincipalID `json:"created_by,omitempty"`
	CreatedAt time.Time               `json:"created_at"`
	ExpiresAt time.Time               `json:"-"` // zero is never
	RevokedAt time.Time               `json:"-"` // zero is not
	RevokedBy interaction.PrincipalID `json:"-"`
}

// SaveToken stores a new token. Its id and its hash must be free, else ErrExists.
func (s *Store) SaveToken(ctx context.Context, t Token) error {
	for field, id := range map[string]string{"id": t.ID, "hash": t.Hash, "principal.id": string(t.Principal.ID)} {
		if err := checkID(field, id); err != nil {
			return in(err, "save a token")
		}
	}
	t.CreatedAt = t.CreatedAt.UTC().Truncate(time.Microsecond)
	body, err := s.read().encode(tokenBody.of(t.ID, t.Hash), t)
	if err != nil {
		return in(err, "save token %s", t.ID)
	}
	return in(s.Write(ctx, func(tx *Tx) error {
		return tx.insert(ctx, `INSERT INTO tokens (id, hash, principal, created_at, expires_at, body) VALUES (?, ?, ?, ?, ?, ?)`,
			t.ID, t.Hash, column(t.Principal.ID), t.CreatedAt.UnixMicro(), micros(t.ExpiresAt), body)
	}), "save token %s", t.ID)
}

const tokenColumns = `created_at, id, hash, expires_at, revoked_at, revoked_by, body`

func (q queries) scanToken(rows *sql.Rows) (it item[Token], err error) {
	var hash, by, body string
	var expires, revoked sql.NullInt64
	if err := rows.Scan(&it.number, &it.id, &hash, &expires, &revoked, &by, &body); err != nil {
		return it, err
	}
	if it.value, err = decode[Token](q, tokenBody.of(it.id, hash), body); err != nil {
		return it, err
	}
	it.value.Hash, it.value.RevokedBy = hash, interaction.PrincipalID(by)
	it.value.ExpiresAt, it.value.RevokedAt = timeOf(expires), timeOf(revoked)
	return it, nil
}

func timeOf(n sql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return time.UnixMicro(n.Int64).UTC()
}

// TokenByHash returns the token of a hash, revoked and expired ones too.
func (s *Store) TokenByHash(ctx context.Context, hash string) (t Token, found bool, err error) {
	rows, err := all(ctx, s.read(), s.read().scanToken, `SELECT `+tokenColumns+` FROM tokens WHERE hash = ?`, hash)
	if err != nil || len(rows) == 0 {
		return t, false, in(err, "look a token up")
	}
	return rows[0].value, true, nil
}

// TokenFilter selects tokens; an empty field selects all.
type TokenFilter struct {
	Principal interaction.PrincipalID
	PageSize  int    // Defaults to 50, at most 200
	PageToken string // of the page before, "" for the first
}

// Tokens lists tokens, the newest first, revoked and expired ones too, and the token of the next page.
func (s *Store) Tokens(ctx context.Context, f TokenFilter) ([]Token, string, error) {
	p, err := openPage("tokens", f.PageSize, f.PageToken, string(f.Principal))
	if err != nil {
		return nil, "", err
	}
	var w where
	w.equal("principal", string(f.Principal))
	if p.started {
		w.add("(created_at, id) < (?, ?)", p.at.Number, p.at.ID)
	}
	rows, err := all(ctx, s.read(), s.read().scanToken, `SELECT `+tokenColumns+` FROM tokens`+w.clause()+
		` ORDER BY created_at DESC, id DESC LIMIT ?`, append(w.args, p.size+1)...)
	if err != nil {
		return nil, "", in(err, "list tokens")
	}
	list, next := cut(p, rows)
	return list, next, nil
}

// RevokeToken ends a token. It reports false for one that had been revoked before, and wraps ErrNotFound for one that
// is not there.
func (s *Store) RevokeToken(ctx context.Context, id string, by interaction.PrincipalID, at time.Time) (ended bool, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		n, err := tx.exec(ctx, `UPDATE tokens SET revoked_at = ?, revoked_by = ? WHERE id = ? AND revoked_at IS NULL`,
			at.UTC().UnixMicro(), column(by), column(id))
		if ended = n > 0; err != nil || ended {
			return err
		}
		var found int
		there, err := tx.one(ctx, `SELECT 1 FROM tokens WHERE id = ?`, []any{id}, &found)
		if err == nil && !there {
			err = ErrNotFound
		}
		return err
	})
	return ended, in(err, "revoke token %s", id)
}
