package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// fate is by what it can be found out whether a transaction was committed when the answer to its commit is lost: the
// last thing it writes is its token, into a slot that is its own until its outcome is known. Whoever finds the token
// there knows that the transaction was committed, whatever happened to the server in between.
//
// PostgreSQL's own pg_xact_status would cost no write. But after a crash the server gives a transaction's number to
// another if nothing of the first had reached the disk, and then it answers for the other.
type fate struct{ slot, token string }

// slots are those of one Store.
type slots struct {
	self string
	mu   sync.Mutex
	free []string
	last int
}

// take returns a slot that is free. It is taken before the transaction's first statement, so that the transaction
// sees what its last user left.
func (s *slots) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		return slot
	}
	s.last++
	return s.self + "-" + strconv.Itoa(s.last)
}

func (s *slots) put(slot string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, slot)
}

// begin gives a transaction its slot, where one is needed.
func (s *slots) begin() fate {
	if s == nil {
		return fate{}
	}
	return fate{slot: s.take(), token: rand.Text()}
}

// end gives the slot back, unless a transaction may still be writing there.
func (s *slots) end(f fate, err error) {
	if s != nil && !errors.Is(err, ErrUncertain) {
		s.put(f.slot)
	}
}

// mark leaves the token, if the transaction has something to lose.
func (tx *Tx) mark(ctx context.Context, f fate) error {
	if f.slot == "" || !tx.course.wrote {
		return nil
	}
	_, err := tx.exec(ctx, `INSERT INTO commits (slot, token, used_at) VALUES (?, ?, ?)
		ON CONFLICT (slot) DO UPDATE SET token = excluded.token, used_at = excluded.used_at`, f.slot, f.token, time.Now().UnixMicro())
	return err
}

// commit commits, within Config.BusyTimeout. An answer that the database gave is believed. One that never came says
// nothing: the transaction may have been committed, or not, or may still be.
func (s *Store) commit(ctx context.Context, t *sql.Tx, cancel func(), f fate, wrote bool) (verdict, error) {
	defer time.AfterFunc(s.cfg.BusyTimeout, cancel).Stop()
	err := t.Commit()
	if err == nil || f.slot == "" || !wrote || !s.dialect.unanswered(err) {
		return s.judge(ctx, err), err
	}
	committed, e := s.fateOf(ctx, f)
	switch {
	case e != nil:
		return settled, fmt.Errorf("%w: %w: %w", ErrUncertain, e, err)
	case committed:
		return settled, nil
	default:
		return disconnected, err
	}
}

// fateOf finds out whether a transaction was committed.
func (s *Store) fateOf(ctx context.Context, f fate) (committed bool, err error) {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		var token string
		err := s.writer.QueryRowContext(ctx, s.dialect.bind(s.dialect.fate), f.slot).Scan(&token)
		switch {
		case err == nil:
			return token == f.token, nil
		case !s.dialect.lost(err) && !s.dialect.busy(err):
			return false, err
		case time.Since(began) >= s.cfg.BusyTimeout:
			return false, unavailable(err, time.Since(began), attempt)
		}
		if e := pause(ctx, reconnectStep*time.Duration(min(attempt, 10))); e != nil {
			return false, errors.Join(e, err)
		}
	}
}

// slotsKept is how long a slot is kept that nobody uses: far longer than any outcome is looked for.
const slotsKept = 30 * 24 * time.Hour

// dropOldSlots removes those of processes that are gone.
func (s *Store) dropOldSlots(ctx context.Context) error {
	_, err := s.writer.ExecContext(ctx, s.dialect.bind(`DELETE FROM commits WHERE used_at < ?`), time.Now().Add(-slotsKept).UnixMicro())
	return err
}
