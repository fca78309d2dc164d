package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/sqlite/00020_event_keys.sql
var sqliteEventKeysSQL string

//go:embed migrations/sqlite/00021_as_bytes.sql
var sqliteAsBytesSQL string

//go:embed migrations/sqlite/00024_turns_in_order.sql
var sqliteTurnsSQL string

// Version 20 of the schema, which PostgreSQL comes to by a way of its own, and versions 21 and 24, which no other dialect has.
var (
	sqliteEventKeys = goose.NewGoMigration(20, &goose.GoFunc{RunTx: execAll(sqliteEventKeysSQL)}, nil)
	sqliteAsBytes   = goose.NewGoMigration(21, &goose.GoFunc{RunTx: execAll(sqliteAsBytesSQL)}, nil)
	sqliteTurns     = goose.NewGoMigration(24, &goose.GoFunc{RunTx: execAll(sqliteTurnsSQL)}, nil)
)

// openSQLite opens the writer and the readers.
func (s *Store) openSQLite(ctx context.Context) (err error) {
	s.dialect, s.place = sqliteDialect, s.cfg.DSN
	path, err := prepareFile(s.cfg.DSN)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	wait := s.lockWait()
	// secure_delete: what is erased must not be left in the file's free pages.
	if s.writer, err = openPool(path, pragmas(wait, true, "journal_mode(WAL)", "synchronous(FULL)", "journal_size_limit(67108864)", "secure_delete(1)"), 1); err != nil {
		return fmt.Errorf("store: open %s: %w", path, err)
	}
	if err := s.checkJournal(ctx); err != nil {
		return err
	}
	// One more than Readers, for the poller.
	if s.reader, err = openPool(path, pragmas(wait, false, "query_only(1)"), s.cfg.Readers+1); err != nil {
		return fmt.Errorf("store: open %s: %w", path, err)
	}
	s.hub = newHub(s.cfg.PollInterval, &poller{db: s.reader, d: s.dialect}, nil)
	return s.migrate(ctx)
}

// openMemory gives the database a name of its own, so that a connection that breaks off (a cancelled
// transaction may cost its connection) does not take the data with it: the keeper holds them.
func (s *Store) openMemory(ctx context.Context) (err error) {
	s.dialect, s.place = sqliteDialect, "the database in memory"
	q := pragmas(s.lockWait(), true)
	q.Set("vfs", "memdb")
	name := "/holdpoint-" + rand.Text()
	if s.keeper, err = openPool(name, q, 1); err != nil {
		return fmt.Errorf("store: open %s: %w", s.name(), err)
	}
	if err := s.keeper.PingContext(ctx); err != nil {
		return fmt.Errorf("store: open %s: %w", s.name(), err)
	}
	if s.writer, err = openPool(name, q, 1); err != nil {
		return fmt.Errorf("store: open %s: %w", s.name(), err)
	}
	s.reader = s.writer // memdb has no WAL: a second connection could not read while this one writes
	s.hub = newHub(s.cfg.PollInterval, nil, nil)
	return s.migrate(ctx)
}

// lockWait is how long the database itself waits for a lock; Write tries again after that.
func (s *Store) lockWait() time.Duration { return min(s.cfg.BusyTimeout, 5*time.Second) }

// prepareFile makes the file, if it is new, readable by its owner alone: transcripts are in it. SQLite gives its
// -wal and -shm files the same permissions.
func prepareFile(dsn string) (string, error) {
	path, err := filepath.Abs(dsn)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("the directory of the database: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", fmt.Errorf("the database file: %w", err)
	}
	return path, f.Close()
}

// pragmas are the driver's parameters of a connection.
func pragmas(wait time.Duration, write bool, more ...string) url.Values {
	q := url.Values{
		"_busy_timeout": {strconv.FormatInt(wait.Milliseconds(), 10)},
		"_defensive":    {"1"},
		"_dqs":          {"0"},
		"_pragma":       append([]string{"foreign_keys(1)"}, more...),
	}
	if write {
		q.Set("_txlock", "immediate")
	}
	return q
}

// openPool makes a pool that keeps its connections.
func openPool(path string, q url.Values, conns int) (*sql.DB, error) {
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	c, err := newConnector(u.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// checkJournal makes the first connection, which switches the file to WAL, and sees that it worked: some file
// systems can't. Two processes that make the switch at once hinder each other, so it is tried again.
func (s *Store) checkJournal(ctx context.Context) error {
	var mode string
	began := time.Now()
	for attempt := 1; ; attempt++ {
		err := s.writer.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode)
		if err == nil {
			break
		}
		if !s.dialect.busy(err) || time.Since(began) >= s.cfg.BusyTimeout {
			return fmt.Errorf("store: open %s as an SQLite database: %w", s.cfg.DSN, err)
		}
		if err := pause(ctx, conflictStep*time.Duration(min(attempt, 10))); err != nil {
			return in(err, "open %s", s.cfg.DSN)
		}
	}
	if mode != "wal" {
		return fmt.Errorf("store: %s can't be switched to WAL (journal mode is %s): put it on a local disk", s.cfg.DSN, mode)
	}
	return nil
}
