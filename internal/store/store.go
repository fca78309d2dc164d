package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Driver names a kind of database.
type Driver string

const (
	// SQLite is a file, shared by the processes of one machine.
	SQLite Driver = "sqlite"
	// Memory is a database of this Store alone, gone when it is closed.
	Memory Driver = "memory"
	// Postgres is a PostgreSQL database, shared by the processes of any number of machines.
	Postgres Driver = "postgres"
)

// Config says which database to open and how long to wait for it.
type Config struct {
	// Driver is SQLite, Memory or Postgres. Defaults to SQLite.
	Driver Driver
	// DSN is the file's path for SQLite, created if need be, readable by its owner alone; for Postgres, a connection
	// string (postgres://user:password@host:5432/database?sslmode=verify-full, or key=value pairs), to which the usual
	// PG* variables and ~/.pgpass add. Memory has none. It is a secret, and no error shows it.
	DSN string
	// BusyTimeout is how long a write waits for its turn when others write, and how long any call waits for a
	// PostgreSQL server that is gone to come back. Defaults to 30 s.
	BusyTimeout time.Duration
	// Readers is how many reads run at once. Defaults to 4. Memory reads and writes on one connection.
	Readers int
	// Writers is how many writes run at once; Postgres only. Defaults to 8. A process uses up to Readers + Writers + 3
	// connections, and keeps those that it needs.
	Writers int
	// PollInterval is how often Watch looks for what other processes wrote. Defaults to 250 ms, and to 1 s for
	// Postgres, where it is only for notifications that got lost.
	PollInterval time.Duration
	// Sealing says whether what people, models and tools said is sealed. Defaults to SealNothing.
	Sealing Sealing
	// Keys seal it. nil where there are none: then nothing may be sealed, nor be found so.
	Keys Keys
	// Log is told what Open waits for. nil tells nobody.
	Log *slog.Logger
}

// String shows a configuration without its secret.
func (c Config) String() string {
	if c.Driver == Postgres && c.DSN != "" {
		c.DSN = "********"
	}
	c.Keys, c.Log = nil, nil
	type plain Config
	return fmt.Sprintf("%+v", plain(c))
}

// GoString is String, so that no verb shows the secret.
func (c Config) GoString() string { return c.String() }

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
	if c.Writers == 0 {
		c.Writers = 8
	}
	if c.PollInterval == 0 {
		c.PollInterval = 250 * time.Millisecond
		if c.Driver == Postgres {
			c.PollInterval = time.Second
		}
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Driver != SQLite && c.Driver != Memory && c.Driver != Postgres:
		return fmt.Errorf("driver %q is unknown: use %s, %s or %s", c.Driver, SQLite, Memory, Postgres)
	case c.Driver == SQLite && c.DSN == "":
		return errors.New("the DSN, the path of the SQLite file is missing")
	case c.Driver == Postgres && c.DSN == "":
		return errors.New("the DSN, the connection string of the PostgreSQL database is missing")
	case c.Driver == Memory && c.DSN != "":
		return fmt.Errorf("the DSN %q is given, but a database in memory has none", c.DSN)
	case c.BusyTimeout < 0:
		return fmt.Errorf("BusyTimeout: %s is negative", c.BusyTimeout)
	case c.Readers < 0:
		return fmt.Errorf("Readers: %d is negative", c.Readers)
	case c.Sealing != SealNothing && c.Sealing != SealOn && c.Sealing != SealRequired:
		return fmt.Errorf("sealing %q is unknown: use %q, %q or nothing", c.Sealing, SealOn, SealRequired)
	case c.Sealing != SealNothing && c.Keys == nil:
		return errors.New("there are no keys to seal with: set HOLDPOINT_ENCRYPTION_KEYS to ID:KEY, such as k1:$(openssl rand -base64 32), or name a file or command that has it (docs/security.md)")
	case c.Writers < 0:
		return fmt.Errorf("Writers: %d is negative", c.Writers)
	case c.PollInterval < 0:
		return fmt.Errorf("PollInterval: %s is negative", c.PollInterval)
	}
	return nil
}

// Store is an open database. Its methods may be used by many goroutines at once.
type Store struct {
	cfg       Config
	dialect   *dialect
	place     string  // the database in words, without secrets
	writer    *sql.DB // SQLite: one connection, so writers of this process queue in memory, not in the database
	reader    *sql.DB // the writer itself in memory
	keeper    *sql.DB // in memory: holds the database while no other connection does
	hub       *hub
	announcer *announcer // tells other processes; nil where there are none, or where they look by themselves
	vault     *vault     // seals and opens
	slots     *slots     // nil where the answer to a commit can't get lost
}

// Open opens the database, brings its schema up to date, and refuses one that a newer binary has changed. While another process
// brings the schema up to date it waits, until ctx ends, six hours at most.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("store: configuration: %w", err)
	}
	s := &Store{cfg: cfg}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.openVault(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.fileClosed(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	switch s.cfg.Driver {
	case Postgres:
		return s.openPostgres(ctx)
	case Memory:
		return s.openMemory(ctx)
	case SQLite:
		return s.openSQLite(ctx)
	default: // validate lets no other pass
		return fmt.Errorf("store: configuration: driver %q is unknown", s.cfg.Driver)
	}
}

// name is the database in words.
func (s *Store) name() string { return s.place }

// Close ends the watches and closes the database. Methods called later fail.
func (s *Store) Close() error {
	if s.announcer != nil {
		s.announcer.close()
	}
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
func (s *Store) read() queries {
	return queries{q: s.reader, d: s.dialect, vault: s.vault, patience: s.cfg.BusyTimeout}
}
