package store

import (
	"context"
	"database/sql"
	"fmt"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
)

// Delta is a live piece of a step. ID grows within a run, and is never used twice.
type Delta struct {
	ID int64
	event.StepDeltaData
}

// Delta keeps a piece of a step that is being written. One for a turn or a run that is over comes too late, and is
// dropped.
func (s *Store) Delta(ctx context.Context, run interaction.RunID, d event.StepDeltaData) error {
	if n := len(d.Text); n > MaxValueBytes { // also where it is dropped
		return in(tooLarge(deltaText.what, n), "keep a delta of run %s", run)
	}
	return s.Write(ctx, func(tx *Tx) error { return in(tx.insertDelta(ctx, run, d), "keep a delta of run %s", run) })
}

func (tx *Tx) insertDelta(ctx context.Context, run interaction.RunID, d event.StepDeltaData) error {
	var status agent.RunStatus
	var id, over int64
	found, err := tx.one(ctx, `SELECT status, delta_id + 1, (SELECT COUNT(*) FROM turns WHERE run_id = runs.id AND turn = ?)
		FROM runs WHERE id = ?`+tx.d.forUpdate, []any{d.Turn, run}, &status, &id, &over)
	if err != nil {
		return err
	}
	if !found {
		return ErrNotFound
	}
	if status.Final() || over > 0 {
		return nil
	}
	text, err := tx.encodeBytes(deltaText.of(run, id), []byte(d.Text))
	if err != nil {
		return err
	}
	if err := tx.update(ctx, `UPDATE runs SET delta_id = ? WHERE id = ?`, id, run); err != nil {
		return err
	}
	tx.touched[run] = true
	return tx.insert(ctx, `INSERT INTO deltas (run_id, id, turn, attempt, pos, content) VALUES (?, ?, ?, ?, ?, ?)`,
		run, id, d.Turn, d.Attempt, d.Offset, text)
}

// ClearDeltas removes a turn's live pieces once its step is complete.
func (tx *Tx) ClearDeltas(ctx context.Context, run interaction.RunID, turn int) error {
	_, err := tx.exec(ctx, `DELETE FROM deltas WHERE run_id = ? AND turn = ?`, run, turn)
	return in(err, "clear the deltas of turn %d of run %s", turn, run)
}

// Deltas returns a run's live pieces after an id (0 for all), in order. What was cleared is not among them.
func (s *Store) Deltas(ctx context.Context, run interaction.RunID, afterID int64) ([]Delta, error) {
	q := s.read()
	deltas, err := all(ctx, q, func(rows *sql.Rows) (Delta, error) { return q.scanDelta(run, rows) }, `SELECT id, turn, attempt, pos, content FROM deltas
		WHERE run_id = ? AND id > ? ORDER BY id LIMIT ?`, run, afterID, maxEvents)
	return deltas, in(err, "read the deltas of run %s", run)
}

func (q queries) scanDelta(run interaction.RunID, rows *sql.Rows) (d Delta, err error) {
	var text string
	if err := rows.Scan(&d.ID, &d.Turn, &d.Attempt, &d.Offset, &text); err != nil {
		return d, err
	}
	b, err := q.decodeBytes(deltaText.of(run, d.ID), text)
	if err != nil {
		return d, fmt.Errorf("delta %d can't be read: %w", d.ID, err)
	}
	d.Text = string(b)
	return d, nil
}
