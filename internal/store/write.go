package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"holdpoint/interaction"
)

// Tx is a write transaction. It is used by one goroutine, inside the function given to Write.
type Tx struct {
	queries
	touched map[interaction.RunID]bool // runs whose watchers have something new to read
}

// Write runs fn in one serialisable write transaction. An error from fn rolls everything back and is returned as
// it is; an error of the database that fn keeps to itself fails the write too. fn runs again, in a new transaction,
// when nothing of the last one was written and that was no fault of fn's: it conflicted with another transaction, or
// the connection was lost. So fn must have no effect but through tx, and must not call methods of the Store.
//
// Write gives up when Config.BusyTimeout has passed, with an error that wraps ErrBusy or ErrUnavailable, or when ctx
// ends; nothing is written then. A commit that has begun is not interrupted. Only where it can't be found out
// whether it succeeded the error wraps ErrUncertain.
func (s *Store) Write(ctx context.Context, fn func(tx *Tx) error) error {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		again, err := s.attempt(ctx, fn)
		if err == nil || again == settled {
			return err
		}
		if waited := time.Since(began); waited >= s.cfg.BusyTimeout {
			if again == disconnected {
				return in(unavailable(err, waited, attempt), "write to %s", s.name())
			}
			return fmt.Errorf("store: write to %s: %w: no turn in %s and %d attempts: %w",
				s.name(), ErrBusy, waited.Round(time.Millisecond), attempt, err)
		}
		step := conflictStep
		if again == disconnected {
			step = reconnectStep
		}
		if e := pause(ctx, step*time.Duration(min(attempt, 10))); e != nil {
			return in(errors.Join(e, err), "write to %s", s.name())
		}
	}
}

// What is waited before another attempt grows by this step, up to ten of them.
const (
	conflictStep  = 5 * time.Millisecond
	reconnectStep = 30 * time.Millisecond
)

// pause waits for about as long as told, and never the same for two rivals.
func pause(ctx context.Context, about time.Duration) error {
	t := time.NewTimer(about + rand.N(about))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// verdict says what an error means for the next attempt.
type verdict int

const (
	settled      verdict = iota // the error stands
	conflicted                  // nothing was written: others were in the way
	disconnected                // nothing was written: the database could not be reached
)

// judge classifies an error of a transaction whose commit has not begun, or was refused.
func (s *Store) judge(ctx context.Context, err error) verdict {
	switch {
	case err == nil || ctx.Err() != nil:
		return settled
	case s.dialect.busy(err):
		return conflicted
	case s.dialect.lost(err):
		return disconnected
	}
	return settled
}

// attempt runs one transaction. It ends with ctx until its commit begins.
func (s *Store) attempt(ctx context.Context, fn func(tx *Tx) error) (_ verdict, err error) {
	txCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	release := context.AfterFunc(ctx, cancel)
	defer release()
	t, err := s.writer.BeginTx(txCtx, s.dialect.write)
	if err != nil {
		return s.judge(ctx, err), in(because(ctx, err), "begin a write to %s", s.name())
	}
	f := s.slots.begin()
	defer func() { s.slots.end(f, err) }()
	done := false
	defer func() {
		if !done { // also when fn panics
			if e := t.Rollback(); e != nil && !errors.Is(e, sql.ErrTxDone) && !s.dialect.lost(e) {
				err = errors.Join(err, in(e, "roll back"))
			}
		}
	}()
	tx := &Tx{queries: queries{q: t, d: s.dialect, vault: s.vault, course: &course{}}, touched: map[interaction.RunID]bool{}}
	if err := fn(tx); err != nil {
		return s.judge(ctx, tx.course.err), because(ctx, err)
	}
	if err := tx.course.err; err != nil {
		return s.judge(ctx, err), in(because(ctx, err), "write to %s", s.name())
	}
	if err := tx.mark(ctx, f); err != nil {
		return s.judge(ctx, err), in(because(ctx, err), "commit a write to %s", s.name())
	}
	if !release() {
		return settled, in(ctx.Err(), "commit a write to %s", s.name())
	}
	done = true
	again, err := s.commit(ctx, t, cancel, f, tx.course.wrote)
	if err == nil || errors.Is(err, ErrUncertain) {
		s.hub.notify(tx.touched)
		s.announcer.add(tx.touched)
	}
	return again, in(err, "commit a write to %s", s.name())
}

// because says that it was the end of the context that ended the transaction.
func because(ctx context.Context, err error) error {
	if e := ctx.Err(); e != nil && !errors.Is(err, e) {
		return fmt.Errorf("%w: %w", e, err)
	}
	return err
}
