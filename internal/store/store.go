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

// Driver names a kind of database.
type Driver string

const (
	// SQLite is a file, shared by the processes of one machine.
	SQLite Driver = "sqlite"
	// Memory is a database of this Store alone, gone when it is closed.
	Memory Driver = "memory"
)

// Config says which database to open and how long to wait for it.
type Config struct {
	// Driver is SQLite or Memory. Defaults to SQLite.
	Driver Driver
	// DSN is the file's path for SQLite, created if need be, readable by its owner alone. Memory has none.
	DSN string
	// BusyTimeout is how long a write waits for its turn when other processes write. Defaults to 30 s.
	BusyTimeout time.Duration
	// Readers is how many reads run at once. Defaults to 4. Memory reads and writes on one connection.
	Readers int
	// PollInterval is how often Watch looks for what other processes wrote. Defaults to 250 ms.
	PollInterval time.Duration
}

func (c Config) withDefaults() Config {
	if c.Driver == "" {
		c.Driver = SQLite
	}
	if c.BusyTimeout == 0 {
		c.BusyTimeout = 30 * time.Second
	}
	if c.Readers == 0 {
		c.Readers = 4
	}
	if c.PollInterval == 0 {
		c.PollInterval = 250 * time.Millisecond
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Driver != SQLite && c.Driver != Memory:
		return fmt.Errorf("driver %q is unknown: use %s or %s", c.Driver, SQLite, Memory)
	case c.Driver == SQLite && c.DSN == "":
		return errors.New("the DSN, the path of the SQLite file is missing")
	case c.Driver == Memory && c.DSN != "":
		return fmt.Errorf("the DSN %q is given, but a database in memory has none", c.DSN)
	case c.BusyTimeout < 0:
		return fmt.Errorf("BusyTimeout: %s is negative", c.BusyTimeout)
	case c.Readers < 0:
		return fmt.Errorf("Readers: %d is negative", c.Readers)
	case c.PollInterval < 0:
		return fmt.Errorf("PollInterval: %s is negative", c.PollInterval)
	}
	return nil
}

// Store is an open database. Its methods may be used by many goroutines at once.
type Store struct {
	cfg     Config
	dialect *dialect
	writer  *sql.DB // one connection: writers of this process queue in memory, not in the database
	reader  *sql.DB // the writer itself in memory
	keeper  *sql.DB // in memory: holds the database while no other connection does
	hub     *hub
}

// Open opens the database, brings its schema up to date, and refuses one that a newer binary has changed.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("store: configuration: %w", err)
	}
	s := &Store{cfg: cfg, dialect: sqliteDialect}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if err := s.openSQLite(ctx); err != nil {
		return err
	}
	if err := migrate(ctx, s.dialect, s.writer); err != nil {
		return fmt.Errorf("store: schema of %s: %w", s.name(), err)
	}
	var p *poller
	if s.cfg.Driver != Memory {
		p = &poller{db: s.reader, d: s.dialect}
	}
	s.hub = newHub(s.cfg.PollInterval, p)
	return nil
}

// name is the database in words.
func (s *Store) name() string {
	if s.cfg.Driver == Memory {
		return "the database in memory"
	}
	return s.cfg.DSN
}

// Close ends the watches and closes the database. Methods called later fail.
func (s *Store) Close() error {
	if s.hub != nil {
		s.hub.close()
	}
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer, s.keeper} {
		if db != nil {
			errs = append(errs, db.Close()) // closing one twice, as in memory, is harmless
		}
	}
	return in(errors.Join(errs...), "close %s", s.name())
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return in(s.reader.PingContext(ctx), "reach %s", s.name())
}

// read runs queries outside a transaction.
func (s *Store) read() queries { return queries{q: s.reader, d: s.dialect} }

// Write runs fn in one write transaction, which sees and excludes every other. An error from fn rolls everything
// back and is returned as it is. When the database was busy, fn runs again, until Config.BusyTimeout has passed
// (then the error wraps ErrBusy) or ctx ends; so fn must have no effect but through tx, and must not call
// methods of the Store.
func (s *Store) Write(ctx context.Context, fn func(tx *Tx) error) error {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		err := s.attempt(ctx, fn)
		if err == nil || !s.dialect.busy(err) {
			return err
		}
		waited := time.Since(began)
		if waited >= s.cfg.BusyTimeout {
			return fmt.Errorf("store: write to %s: %w: no turn in %s and %d attempts: %w",
				s.name(), ErrBusy, waited.Round(time.Millisecond), attempt, err)
		}
		if err := pause(ctx, min(attempt, 10)); err != nil {
			return in(err, "write to %s", s.name())
		}
	}
}

// pause waits some milliseconds, more after each attempt, and never the same for two rivals.
func pause(ctx context.Context, attempt int) error {
	t := time.NewTimer(time.Duration(attempt) * (5*time.Millisecond + rand.N(5*time.Millisecond)))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (s *Store) attempt(ctx context.Context, fn func(tx *Tx) error) (err error) {
	t, err := s.writer.BeginTx(ctx, s.dialect.write)
	if err != nil {
		return in(err, "begin a write to %s", s.name())
	}
	done := false
	defer func() {
		if !done { // also when fn panics
			if e := t.Rollback(); e != nil && !errors.Is(e, sql.ErrTxDone) {
				err = errors.Join(err, in(e, "roll back"))
			}
		}
	}()
	tx := &Tx{queries: queries{q: t, d: s.dialect}, touched: map[interaction.RunID]bool{}}
	if err := fn(tx); err != nil {
		if ctx.Err() != nil && errors.Is(err, sql.ErrTxDone) { // the context's end ended the transaction under fn
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return err
	}
	done = true
	if err := t.Commit(); err != nil {
		return in(err, "commit a write to %s", s.name())
	}
	s.hub.notify(tx.touched)
	return nil
}

// Tx is a write transaction. It is used by one goroutine, inside the function given to Write.
type Tx struct {
	queries
	touched map[interaction.RunID]bool // runs whose watchers have something new to read
}
