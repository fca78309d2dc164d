package store

import (
	"context"
	"database/sql"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// PastCall is a call that was made in a run.
type PastCall struct {
	tool.Record
	Agent string // by name
}

// PastCalls returns the calls made in a user's runs, the newest first, at most limit.
func (s *Store) PastCalls(ctx context.Context, user interaction.PrincipalID, limit int) ([]PastCall, error) {
	q := s.read()
	calls, err := all(ctx, q, func(rows *sql.Rows) (c PastCall, err error) {
		var id interaction.CallID
		var body string
		if err := rows.Scan(&id, &body, &c.Agent); err != nil {
			return c, err
		}
		c.Record, err = q.decodeRecord(id, body)
		return c, err
	}, `SELECT calls.id, calls.body, runs.agent FROM runs JOIN calls ON calls.run_id = runs.id WHERE runs.user_id = ?
		ORDER BY runs.started_at DESC, runs.id DESC, calls.turn DESC, calls.idx DESC LIMIT ?`, column(user), max(limit, 0))
	return calls, in(err, "read the past calls of user %s", user)
}
