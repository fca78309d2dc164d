package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"holdpoint/event"
	"holdpoint/interaction"
)

// VerifyRun recomputes a run's whole chain of events, from the first to the head that the run's row has. The
// error wraps ErrTampered when an event was changed, removed, added or cut off, and when what is stored of a question, of
// which the audit trail is made, is not what the events say of it. An erased payload is no tampering.
//
// Whoever can write the database can also write a new chain; the heads in Temporal's history tell then.
func (s *Store) VerifyRun(ctx context.Context, run interaction.RunID) error {
	err := s.read().steady(ctx, func() error { return s.verify(ctx, run) })
	return in(err, "verify run %s", run)
}

func (s *Store) verify(ctx context.Context, run interaction.RunID) (err error) {
	t, err := s.reader.BeginTx(ctx, s.dialect.snapshot) // one moment for events and head
	if err != nil {
		return err
	}
	defer func() {
		if e := t.Rollback(); err == nil && !errors.Is(e, sql.ErrTxDone) {
			err = e
		}
	}()
	return queries{q: t, d: s.dialect, vault: s.vault}.verify(ctx, run)
}

func (q queries) verify(ctx context.Context, run interaction.RunID) error {
	var want, head event.Head
	said := trail{asked: map[interaction.ID]question{}, ended: map[interaction.ID]ending{}}
	found, err := q.one(ctx, `SELECT head_number, head_hash FROM runs WHERE id = ?`, []any{run}, &want.Number, &want.Hash)
	if err != nil {
		return err
	}
	want.Hash = sumText(want.Hash)
	if !found {
		return ErrNotFound
	}
	for {
		events, err := q.events(ctx, run, head.Number, maxEvents)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			break
		}
		if head, err = event.Verify(head, events); err != nil {
			return fmt.Errorf("%w: %w", ErrTampered, err)
		}
		said.take(events)
	}
	if head != want {
		return fmt.Errorf("%w: run %s: the events end at %d (%s), the run at %d (%s)",
			ErrTampered, run, head.Number, head.Hash, want.Number, want.Hash)
	}
	return said.holds(ctx, q, run)
}
