package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// dialect is everything that differs from one database to another.
type dialect struct {
	goose goose.Dialect
	// forUpdate ends a SELECT whose row must not change until the transaction ends.
	forUpdate string
	// numbered placeholders are $1, $2…; otherwise ?.
	numbered bool
	// write is how a write transaction begins.
	write *sql.TxOptions
	// busy reports an error after which the same transaction may succeed.
	busy func(error) bool
	// duplicate reports a violated unique constraint.
	duplicate func(error) bool
	// version is a number that differs, on the same connection, once another connection has committed.
	version func(context.Context, *sql.Conn) (int64, error)
}

// sqliteDialect needs no row locks: BEGIN IMMEDIATE (which the data source name asks for) admits one writer.
var sqliteDialect = &dialect{
	goose:     goose.DialectSQLite3,
	write:     &sql.TxOptions{},
	busy:      sqliteBusy,
	duplicate: sqliteDuplicate,
	version: func(ctx context.Context, c *sql.Conn) (v int64, err error) {
		err = c.QueryRowContext(ctx, "PRAGMA data_version").Scan(&v)
		return v, err
	},
}

func sqliteBusy(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff // the extended code says why, the primary one that it is a lock
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
}

func sqliteDuplicate(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

// bind turns the placeholders of a query into the dialect's. No query has a ? elsewhere.
func (d *dialect) bind(query string) string {
	if !d.numbered {
		return query
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		query = after
	}
}

// querier is a *sql.DB, *sql.Conn or *sql.Tx.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// queries runs the package's SQL, inside a transaction or not.
type queries struct {
	q querier
	d *dialect
}

// exec returns how many rows were affected. A violated unique constraint becomes ErrExists.
func (q queries) exec(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := q.q.ExecContext(ctx, q.d.bind(query), args...)
	if err != nil {
		if q.d.duplicate(err) {
			return 0, fmt.Errorf("%w (%w)", ErrExists, err)
		}
		return 0, err
	}
	return res.RowsAffected()
}

// update is exec for a row that must exist.
func (q queries) update(ctx context.Context, query string, args ...any) error {
	n, err := q.exec(ctx, query, args...)
	if err == nil && n == 0 {
		return ErrNotFound
	}
	return err
}

// one scans the first row into dest, and reports whether there was one.
func (q queries) one(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	err := q.q.QueryRowContext(ctx, q.d.bind(query), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// all scans every row. It reads them to the end before it returns, so that the connection is free again.
func all[T any](ctx context.Context, q queries, scan func(*sql.Rows) (T, error), query string, args ...any) (_ []T, err error) {
	rows, err := q.q.QueryContext(ctx, q.d.bind(query), args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// marks is n placeholders for an IN list.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }
