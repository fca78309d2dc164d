package store

import (
	"context"
	"time"

	"holdpoint/agent"
)

// Enqueue keeps a notice to be delivered at a time. One of that id that is kept already stays as it is.
func (tx *Tx) Enqueue(ctx context.Context, n agent.Notice, at time.Time) error {
	if err := checkID("notice_id", n.ID); err != nil {
		return in(err, "enqueue a notice")
	}
	body, err := tx.encode(noticeBody.of(n.ID), n)
	if err == nil {
		_, err = tx.exec(ctx, `INSERT INTO outbox (id, next_at, body) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING`, n.ID, at.UnixMicro(), body)
	}
	return in(err, "enqueue notice %s", n.ID)
}

// DelayNotice puts a notice off. One that is gone is no error.
func (tx *Tx) DelayNotice(ctx context.Context, n agent.Notice, at time.Time) error {
	body, err := tx.encode(noticeBody.of(n.ID), n)
	if err == nil {
		_, err = tx.exec(ctx, `UPDATE outbox SET next_at = ?, body = ? WHERE id = ?`, at.UnixMicro(), body, n.ID)
	}
	return in(err, "delay notice %s", n.ID)
}

// DropNotice ends a notice. One that is gone is no error.
func (tx *Tx) DropNotice(ctx context.Context, id string) error {
	_, err := tx.exec(ctx, `DELETE FROM outbox WHERE id = ?`, id)
	return in(err, "drop notice %s", id)
}

// DueNotices returns at most limit notices that are due, the longest due first, and when the next of all others is, zero
// where there is none.
func (s *Store) DueNotices(ctx context.Context, now time.Time, limit int) ([]agent.Notice, time.Time, error) {
	rows, err := all(ctx, s.read(), itemOf[agent.Notice](s.read(), noticeBody), `SELECT next_at, id, body FROM outbox ORDER BY next_at, id LIMIT ?`, limit+1)
	if err != nil {
		return nil, time.Time{}, in(err, "list what is to be told")
	}
	var due []agent.Notice
	for _, r := range rows {
		if at := time.UnixMicro(r.number).UTC(); at.After(now) || len(due) == limit {
			return due, at, nil
		}
		due = append(due, r.value)
	}
	return due, time.Time{}, nil
}
