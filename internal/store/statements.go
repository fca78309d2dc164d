package store

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"modernc.org/sqlite"
)

// SQLite compiles a statement anew each time it is given its text, which takes longer than most of ours take to run.
// The driver keeps nothing, and sql.Stmt would have to be prepared outside of transactions, which the writer's one
// connection has no room for. So the connections of the pools remember their compiled statements themselves.

// keptStatements is how many a connection remembers: more than the package has, with room for lists of any length.
const keptStatements = 128

// rememberingConnector opens connections that remember.
type rememberingConnector struct{ driver.Connector }

func (c rememberingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	base, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	conn, ok := base.(sqliteConn)
	if !ok {
		return nil, errors.Join(errors.New("the SQLite driver has changed: its connections lack methods"), base.Close())
	}
	kept, err := simplelru.NewLRU(keptStatements, func(_ string, s *keptStatement) { s.forget() })
	if err != nil {
		return nil, errors.Join(err, base.Close())
	}
	return &rememberingConn{sqliteConn: conn, kept: kept}, nil
}

// newConnector is the driver's own, with memory.
func newConnector(dsn string) (driver.Connector, error) {
	base, err := sqlite.NewConnector(dsn)
	return rememberingConnector{base}, err
}

// sqliteConn is what the driver says a wrapper must pass on.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// sqliteStatement is what the driver's statements are.
type sqliteStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// keptStatement is a compiled statement, which can run once at a time.
type keptStatement struct {
	sqliteStatement
	drop      func() // takes it out of what is kept
	busy      bool   // its rows are being read
	forgotten bool   // it is closed when they have been
}

// ran returns the error. What has failed is compiled anew the next time, so that nothing of the failure stays.
func (s *keptStatement) ran(err error) error {
	if err != nil {
		s.drop()
	}
	if s.forgotten {
		s.forget()
	}
	return err
}

// forget closes it, at the latest when its rows have been read.
func (s *keptStatement) forget() {
	s.forgotten = true
	if !s.busy {
		// The connection is not the worse for an error: SQLite says again what the statement's last run said.
		_ = s.Close()
	}
}

// rememberingConn runs each text by its compiled statement. database/sql lets one goroutine at a time use it.
type rememberingConn struct {
	sqliteConn
	kept *simplelru.LRU[string, *keptStatement]
}

// Unwrap is for the driver's own functions that want its connection.
func (c *rememberingConn) Unwrap() driver.Conn { return c.sqliteConn }

// Close closes the statements first, without which SQLite keeps the database open.
func (c *rememberingConn) Close() error {
	c.kept.Purge()
	return c.sqliteConn.Close()
}

// statement returns the text's own, compiled now if need be, or nil while its rows are still being read.
func (c *rememberingConn) statement(ctx context.Context, query string) (*keptStatement, error) {
	if s, ok := c.kept.Get(query); ok {
		if s.busy {
			return nil, nil
		}
		return s, nil
	}
	base, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s := &keptStatement{sqliteStatement: base.(sqliteStatement), drop: func() { c.kept.Remove(query) }}
	c.kept.Add(query, s)
	return s, nil
}

// ExecContext implements driver.ExecerContext.
func (c *rememberingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.sqliteConn.ExecContext(ctx, query, args)
	}
	res, err := s.ExecContext(ctx, args)
	return res, s.ran(err)
}

// QueryContext implements driver.QueryerContext.
func (c *rememberingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		return nil, s.ran(err)
	}
	s.busy = true
	return &keptRows{Rows: rows, of: s}, nil
}

// keptRows gives the statement back when its rows have been read.
type keptRows struct {
	driver.Rows
	of *keptStatement
}

func (r *keptRows) Close() error {
	err := r.Rows.Close()
	r.of.busy = false
	return r.of.ran(err)
}
