package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrateAttempts bounds how often a migration is tried again that another process made at the same time.
const migrateAttempts = 10

// migrate applies the migrations that the database lacks. Each is one transaction with its version, so of two
// processes that start at once one fails cleanly, and finds the work done when it tries again.
func migrate(ctx context.Context, d *dialect, db *sql.DB) error {
	for attempt := 1; ; attempt++ {
		err := migrateOnce(ctx, d, db)
		if err == nil || attempt == migrateAttempts || errors.Is(err, ErrNewerSchema) || ctx.Err() != nil {
			return err
		}
		if e := pause(ctx, attempt); e != nil {
			return err
		}
	}
}

func migrateOnce(ctx context.Context, d *dialect, db *sql.DB) error {
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	// A provider creates its version table once only, so each attempt has its own.
	p, err := goose.NewProvider(d.goose, db, dir, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
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
