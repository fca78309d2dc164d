package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// connectTimeout bounds one attempt to connect, unless the DSN has a connect_timeout.
	connectTimeout = 10 * time.Second
	// silenceTimeout is when a peer that answers nothing, not even a keep-alive, is given up. A machine or a network
	// that vanishes closes no connection.
	silenceTimeout = 30 * time.Second
	// idleInTransaction is after how long the server ends a transaction of ours that does nothing, so that a process
	// which is stopped in the middle of one does not hold a run for ever.
	idleInTransaction = time.Minute
	// idleConnection is how long a connection is kept that nobody needs.
	idleConnection = 5 * time.Minute
	// oldestServer is the first version that has all that is used here.
	oldestServer = 130000
)

// openPostgres opens the writers and the readers, and what carries wake-ups between processes.
func (s *Store) openPostgres(ctx context.Context) error {
	s.dialect, s.place = postgresDialect, "the PostgreSQL database"
	cfg, err := parseDSN(s.cfg.DSN)
	if err != nil {
		return in(err, "open %s", s.name())
	}
	s.place = fmt.Sprintf("the PostgreSQL database %q at %s", cfg.Database, address(cfg))
	s.writer = openPostgresPool(cfg, s.session(false), s.cfg.Writers)
	// Two more than Readers, for the poller and the announcer.
	s.reader = openPostgresPool(cfg, s.session(true), s.cfg.Readers+2)
	if err := s.checkServer(ctx); err != nil {
		return in(err, "open %s", s.name())
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	if err := s.dropOldSlots(ctx); err != nil {
		return in(err, "open %s", s.name())
	}
	self := rand.Text()
	s.slots = &slots{self: self}
	l := &listener{cfg: cfg, self: self}
	s.hub = newHub(s.cfg.PollInterval, &poller{db: s.reader, d: s.dialect}, l.run)
	l.hub = s.hub
	s.announcer = newAnnouncer(s.reader, s.dialect, self)
	return nil
}

// parseDSN reads a connection string. What the driver says about a bad one may quote the password, so of that only
// what concerns a file is passed on.
func parseDSN(dsn string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		bad := errors.New("the DSN can't be read: write postgres://user:password@host:5432/database, with the special " +
			"characters of the password as %xx, and check its options")
		if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
			bad = fmt.Errorf("%w (%w)", bad, pathErr)
		}
		return nil, bad
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "holdpoint"
	}
	dialer := &net.Dialer{Control: limitSilence,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silenceTimeout / 2, Interval: silenceTimeout / 6, Count: 3}}
	cfg.DialFunc = dialer.DialContext
	return cfg, nil
}

func address(cfg *pgx.ConnConfig) string {
	if strings.HasPrefix(cfg.Host, "/") {
		return cfg.Host
	}
	return net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))
}

// session is what a new connection is told. It is said by statements, not at the start of the connection, because a
// connection pooler refuses there what it does not know.
func (s *Store) session(reader bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "SET lock_timeout = %d; SET idle_in_transaction_session_timeout = %d;",
		s.lockWait().Milliseconds(), idleInTransaction.Milliseconds())
	// A commit that was reported is on the disk, whatever is set for the database or the role.
	b.WriteString("SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';")
	if reader {
		b.WriteString("SET default_transaction_read_only = on;")
	} else {
		// In a small table the planner would rather read everything; then a serialisable transaction depends on every
		// row, and conflicts with every other. Each of our conditions has its index. What has none counts as so costly
		// that the server would compile it first, hence the second setting.
		b.WriteString("SET enable_seqscan = off; SET jit = off;")
	}
	return b.String()
}

func openPostgresPool(cfg *pgx.ConnConfig, session string, conns int) *sql.DB {
	db := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.Exec(ctx, session); err != nil {
			return errors.Join(err, c.Close(ctx))
		}
		return nil
	}))
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxIdleTime(idleConnection)
	return db
}

// checkServer makes the first connection and sees that the database is one that can keep everything. It waits a
// little for a server that says it is about to be ready.
func (s *Store) checkServer(ctx context.Context) error {
	var version int
	var encoding string
	began := time.Now()
	for attempt := 1; ; attempt++ {
		err := s.writer.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding')`).Scan(&version, &encoding)
		if err == nil {
			break
		}
		if !notYet(err) || time.Since(began) >= s.cfg.BusyTimeout {
			return fmt.Errorf("%w: check that the server runs, and its address, user and database in the dsn", err)
		}
		if e := pause(ctx, reconnectStep*time.Duration(min(attempt, 10))); e != nil {
			return errors.Join(e, err)
		}
	}
	if version < oldestServer {
		return fmt.Errorf("the server is PostgreSQL %d.%d: use version %d or newer", version/10000, version%10000, oldestServer/10000)
	}
	if encoding != "UTF8" {
		return fmt.Errorf("its encoding is %s, which can't hold every text: create it with ENCODING 'UTF8'", encoding)
	}
	return nil
}
