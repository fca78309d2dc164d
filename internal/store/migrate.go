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

// migrateAttempts bounds how often a migration is tried again that another process made at the same time.
const migrateAttempts = 10

// migrate applies the migrations that the database lacks. Each is one transaction with its version, so of two
// processes that start at once one fails cleanly, and finds the work done when it tries again. Where d has a lock
// for it, they take turns; it is held on a connection of locks.
func migrate(ctx context.Context, d *dialect, db, locks *sql.DB) error {
	for attempt := 1; ; attempt++ {
		err := migrateOnce(ctx, d, db, locks)
		if err == nil || attempt == migrateAttempts || errors.Is(err, ErrNewerSchema) || ctx.Err() != nil {
			return err
		}
		if e := pause(ctx, conflictStep*time.Duration(attempt)); e != nil {
			return err
		}
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
