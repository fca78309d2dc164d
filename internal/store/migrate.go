package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// migrateAttempts bounds how often a migration is tried again that another process made at the same time.
	migrateAttempts = 10
	// migrateWait bounds how long another process is waited for that has the lock, or uses the tables. A large database
	// takes long, and the lock of a process that dies goes with its session.
	migrateWait = 6 * time.Hour
)

// migrate applies the migrations that the database lacks. Each is one transaction with its version, so of two
// processes that start at once one fails cleanly, and finds the work done when it tries again. Where d has a lock
// for it, they take turns; it is held on a connection of locks.
func (s *Store) migrate(ctx context.Context) error {
	began := time.Now()
	for waits, failures := 0, 0; ; {
		err := migrateOnce(ctx, s.dialect, s.writer, s.reader)
		switch {
		case err == nil:
			return nil
		case s.dialect.busy(err):
			waits++
			s.tellWait(waits, time.Since(began))
			if time.Since(began) >= migrateWait {
				return in(fmt.Errorf("another process did not let go of it in %s: %w", migrateWait, err), "schema of %s", s.name())
			}
		default:
			failures++
		}
		if stopped := ctx.Err(); stopped != nil {
			return in(errors.Join(stopped, err), "schema of %s", s.name())
		}
		if failures == migrateAttempts || errors.Is(err, ErrNewerSchema) {
			return in(err, "schema of %s", s.name())
		}
		if e := pause(ctx, conflictStep*time.Duration(min(waits+failures, 10))); e != nil {
			return in(errors.Join(e, err), "schema of %s", s.name())
		}
	}
}

// tellWait says what is waited for, more rarely the longer that takes. waits is a count of attempts, each of which waits for the
// database's own lock.
func (s *Store) tellWait(waits int, waited time.Duration) {
	if s.cfg.Log != nil && waits&(waits-1) == 0 {
		s.cfg.Log.Warn("waiting to bring the database's schema up to date: another process does that now, or uses the tables",
			"database", s.name(), "waited", waited.Round(time.Second).String(), "at_most", migrateWait.String())
	}
}

func migrateOnce(ctx context.Context, d *dialect, db, locks *sql.DB) error {
	if d.migrateLock != "" {
		conn, err := locks.Conn(ctx)
		if err != nil {
			return err
		}
		// The lock goes with its session. ErrBadConn is how database/sql is told to end that.
		defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }()
		if _, err := conn.ExecContext(ctx, d.migrateLock); err != nil {
			return err
		}
	}
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	// A provider creates its version table once only, so each attempt has its own.
	p, err := goose.NewProvider(d.goose, db, dir, goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(d.migrations...),
		goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	current, target, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if current > target {
		return fmt.Errorf("%w: its schema is at version %d, this binary knows %d: use the newer binary, or another database",
			ErrNewerSchema, current, target)
	}
	_, err = p.Up(ctx)
	return err
}

// execAll runs statements as one migration.
func execAll(statements string) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statements)
		return err
	}
}
