package store

import (
	"context"
	"time"

	"holdpoint/agent"
	"holdpoint/interaction"
)

// OpenRuns lists the runs that have not ended, the newest first, and the token of the next page.
func (s *Store) OpenRuns(ctx context.Context, pageToken string) ([]agent.Run, string, error) {
	p, err := openPage("open-runs", maxPage, pageToken)
	if err != nil {
		return nil, "", err
	}
	var w where
	w.add("status IN (?, ?, ?)", column(agent.RunRunning), column(agent.RunAwaitingHuman), column(agent.RunPaused))
	return s.pageOfRuns(ctx, p, w)
}

// NewerRun reports whether a person started a run of the same session after r.
func (s *Store) NewerRun(ctx context.Context, r agent.Run) (bool, error) {
	var one int
	found, err := s.read().one(ctx, `SELECT 1 FROM runs WHERE session_id = ? AND root_id = '' AND id <> ? AND started_at >
		(SELECT started_at FROM runs WHERE id = ?) LIMIT 1`, []any{column(r.SessionID), column(r.ID), column(r.ID)}, &one)
	return found, in(err, "look for a later run of session %s", r.SessionID)
}

// StrayInteractions returns at most limit open interactions whose runs have ended, the oldest first.
func (s *Store) StrayInteractions(ctx context.Context, limit int) ([]interaction.Interaction, error) {
	list, err := all(ctx, s.read(), bodyOf[interaction.Interaction](s.read(), interactionBody), `SELECT i.id, i.body FROM interactions AS i JOIN runs AS r ON r.id = i.run_id
		WHERE i.status IN (?, ?) AND r.status IN (?, ?, ?) ORDER BY i.created_at, i.id LIMIT ?`,
		column(interaction.StatusPending), column(interaction.StatusHeld), column(agent.RunCompleted), column(agent.RunFailed), column(agent.RunAborted), limit)
	return list, in(err, "list open interactions of runs that ended")
}

// ExpiredRules counts the stored rules that have expired and were not revoked.
func (s *Store) ExpiredRules(ctx context.Context, now time.Time) (n int, err error) {
	_, err = s.read().one(ctx, `SELECT COUNT(*) FROM rules WHERE revoked_at IS NULL AND expires_at <= ?`, []any{now.UnixMicro()}, &n)
	return n, in(err, "count expired rules")
}
