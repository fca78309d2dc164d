package store_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/store"
	"holdpoint/internal/store/pgtest"
)

// lines is a log of which each line comes out of a channel.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// opening opens a database that somebody else is at, until it has said so more often than it used to try.
func opening(ctx context.Context, t *testing.T, cfg store.Config) <-chan error {
	t.Helper()
	said := make(lines, 64)
	cfg.BusyTimeout, cfg.Log = time.Millisecond, slog.New(slog.NewTextHandler(said, nil))
	done := make(chan error, 1)
	go func() {
		s, err := store.Open(ctx, cfg)
		if err == nil {
			err = s.Close()
		}
		done <- err
	}()
	for n := range 7 { // at the 1st, 2nd, 4th, … attempt
		select {
		case line := <-said:
			if n == 0 && !strings.Contains(line, "another process does that now") {
				t.Errorf("it says %s", line)
			}
		case err := <-done:
			t.Fatalf("it gave up after it had said so %d times: %v", n, err)
		}
	}
	return done
}

func TestAnothersMigrationIsWaitedFor(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	other := connect(t, dsn)
	other.exec(`SELECT pg_advisory_lock(7235419803314)`)
	cfg := store.Config{Driver: store.Postgres, DSN: dsn}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := opening(ctx, t, cfg)
	cancel()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("a process that was told to stop: %v", err)
	}
	done := opening(t.Context(), t, cfg)
	other.exec(`SELECT pg_advisory_unlock(7235419803314)`)
	no(t, <-done)
}

func TestAnothersMigrationOfAFileIsWaitedFor(t *testing.T) {
	t.Parallel()
	cfg := store.Config{DSN: t.TempDir() + "/h.db"}
	no(t, open(t, cfg).Close())
	db, err := sql.Open("sqlite", cfg.DSN)
	no(t, err)
	defer db.Close()
	c, err := db.Conn(t.Context())
	no(t, err)
	for _, statement := range []string{`DELETE FROM goose_db_version WHERE version_id > 18`, `BEGIN IMMEDIATE`} {
		_, err := c.ExecContext(t.Context(), statement)
		no(t, err)
	}
	done := opening(t.Context(), t, cfg)
	for _, statement := range []string{`INSERT INTO goose_db_version (version_id, is_applied) SELECT 19, 1`, `INSERT INTO goose_db_version (version_id, is_applied) SELECT 20, 1`, `COMMIT`} {
		_, err := c.ExecContext(t.Context(), statement)
		no(t, err)
	}
	no(t, <-done)
}
