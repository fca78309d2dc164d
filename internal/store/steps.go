package store

import (
	"context"
	"encoding/json"

	"holdpoint/interaction"
	"holdpoint/llm"
)

// NextSequence is one more than the highest sequence used by a step or reserved for a call's result in the
// session.
func (tx *Tx) NextSequence(ctx context.Context, session interaction.SessionID) (int64, error) {
	var step, call int64
	_, err := tx.one(ctx, `SELECT (SELECT COALESCE(MAX(sequence), 0) FROM steps WHERE session_id = ?),
		(SELECT COALESCE(MAX(sequence), 0) FROM calls WHERE session_id = ?)`, []any{session, session}, &step, &call)
	return max(step, call) + 1, in(err, "next sequence of session %s", session)
}

// InsertStep adds a message to the transcript. Its id and its place must be free, else ErrExists.
func (tx *Tx) InsertStep(ctx context.Context, s llm.Step) error {
	return in(tx.insertStep(ctx, s), "insert step %s", s.ID)
}

func (q queries) insertStep(ctx context.Context, s llm.Step) error {
	if err := checkID("step_id", s.ID); err != nil {
		return err
	}
	if err := checkID("session_id", s.SessionID); err != nil {
		return err
	}
	body, err := q.encode(stepBody.of(s.ID), s)
	if err != nil {
		return err
	}
	return q.insert(ctx, `INSERT INTO steps (id, run_id, session_id, sequence, body) VALUES (?, ?, ?, ?, ?)`,
		s.ID, s.RunID, s.SessionID, s.Sequence, body)
}

// Turn returns the stored result of a model call, byte for byte.
func (tx *Tx) Turn(ctx context.Context, run interaction.RunID, turn int) (result json.RawMessage, found bool, err error) {
	var text string
	found, err = tx.one(ctx, `SELECT result FROM turns WHERE run_id = ? AND turn = ?`, []any{run, turn}, &text)
	if found {
		result, err = tx.decodeBytes(turnResult.of(run, turn), text)
	}
	return result, found && err == nil, in(err, "read turn %d of run %s", turn, run)
}

// SaveTurn keeps the result of a model call. A turn has one result, else ErrExists.
func (tx *Tx) SaveTurn(ctx context.Context, run interaction.RunID, turn int, result json.RawMessage) error {
	text, err := tx.encodeBytes(turnResult.of(run, turn), result)
	if err == nil {
		err = tx.insert(ctx, `INSERT INTO turns (run_id, turn, result) VALUES (?, ?, ?)`, run, turn, text)
	}
	return in(err, "save turn %d of run %s", turn, run)
}

// Transcript returns a session's steps in order.
func (s *Store) Transcript(ctx context.Context, session interaction.SessionID) ([]llm.Step, error) {
	steps, err := all(ctx, s.read(), bodyOf[llm.Step](s.read(), stepBody), `SELECT id, body FROM steps WHERE session_id = ? ORDER BY sequence`, session)
	return steps, in(err, "read the transcript of session %s", session)
}

// Steps lists a run's steps in the order of their sequence, and the token of the next page, "" after the last. The
// result of a call takes a place that was reserved for it, so in a live run a step may appear before ones
// already listed.
func (s *Store) Steps(ctx context.Context, run interaction.RunID, pageSize int, pageToken string) ([]llm.Step, string, error) {
	p, err := openPage("steps", pageSize, pageToken, string(run))
	if err != nil {
		return nil, "", err
	}
	var w where
	w.add("run_id = ?", run)
	if p.started {
		w.add("(sequence, id) > (?, ?)", p.at.Number, p.at.ID)
	}
	rows, err := all(ctx, s.read(), itemOf[llm.Step](s.read(), stepBody),
		`SELECT sequence, id, body FROM steps`+w.clause()+` ORDER BY sequence, id LIMIT ?`, append(w.args, p.size+1)...)
	if err != nil {
		return nil, "", in(err, "list the steps of run %s", run)
	}
	steps, next := cut(p, rows)
	return steps, next, nil
}
