package store

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"
)

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
	// patience is how long a read outside a transaction tries to reach the database. Inside one, 0: a transaction
	// ends with its connection, and is begun again as a whole.
	patience time.Duration
	// course is kept inside a transaction.
	course *course
	// vault seals and opens.
	vault *vault
}

// course is how a transaction went.
type course struct {
	wrote bool  // it has something to lose
	err   error // what the database said first that went wrong
}

// note keeps the first error, so that one that the function given to Write hides or drops still counts.
func (q queries) note(err error) error {
	if q.course != nil && q.course.err == nil && !errors.Is(err, sql.ErrNoRows) {
		q.course.err = err
	}
	return err
}

// exec returns how many rows were affected.
func (q queries) exec(ctx context.Context, query string, args ...any) (int64, error) {
	if q.course != nil {
		q.course.wrote = true
	}
	res, err := q.q.ExecContext(ctx, q.d.bind(query), args...)
	if err != nil {
		return 0, q.note(err)
	}
	return res.RowsAffected()
}

// insert is exec for an INSERT whose id and place must be free, else ErrExists.
//
// It lets the database do nothing on a conflict instead of failing, for two reasons. A failed statement would end
// a transaction of PostgreSQL. And PostgreSQL tells apart what this transaction could have seen (nothing is inserted)
// from what another has inserted meanwhile (a serialisation failure, so that the transaction runs again and sees it).
func (q queries) insert(ctx context.Context, query string, args ...any) error {
	n, err := q.exec(ctx, query+" ON CONFLICT DO NOTHING", args...)
	if err == nil && n == 0 {
		return ErrExists
	}
	return err
}

// update is exec for a row that must exist.
func (q queries) update(ctx context.Context, query string, args ...any) error {
	if unheard(args) {
		return ErrNotFound
	}
	n, err := q.exec(ctx, query, args...)
	if err == nil && n == 0 {
		return ErrNotFound
	}
	return err
}

// one scans the first row into dest, and reports whether there was one.
func (q queries) one(ctx context.Context, query string, args []any, dest ...any) (bool, error) {
	if unheard(args) {
		return false, nil
	}
	err := q.steady(ctx, func() error { return q.q.QueryRowContext(ctx, q.d.bind(query), args...).Scan(dest...) })
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// all scans every row. It reads them to the end before it returns, so that the connection is free again.
func all[T any](ctx context.Context, q queries, scan func(*sql.Rows) (T, error), query string, args ...any) (out []T, err error) {
	if unheard(args) {
		return nil, nil
	}
	err = q.steady(ctx, func() error {
		out, err = allOnce(ctx, q, scan, query, args)
		return err
	})
	return out, err
}

func allOnce[T any](ctx context.Context, q queries, scan func(*sql.Rows) (T, error), query string, args []any) (_ []T, err error) {
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

// steady runs a read again while the database can't be reached, as long as patience lasts.
func (q queries) steady(ctx context.Context, read func() error) error {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		err := read()
		switch {
		case err == nil || ctx.Err() != nil || !q.d.lost(err) || q.patience == 0:
			return q.note(err)
		case time.Since(began) >= q.patience:
			return unavailable(err, time.Since(began), attempt)
		}
		if e := pause(ctx, reconnectStep*time.Duration(min(attempt, 10))); e != nil {
			return errors.Join(e, err)
		}
	}
}

// unheard reports whether a looked-up text is one that no row has: PostgreSQL takes neither NUL nor text that is
// not UTF-8, and checkID lets none in. Such a text can come from anywhere, so it is not found rather than an error.
func unheard(args []any) bool {
	for _, a := range args {
		v := reflect.ValueOf(a) // ids have types of their own
		if v.Kind() == reflect.String && !storable(v.String()) {
			return true
		}
	}
	return false
}

// storable reports whether every database takes the text.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// marks is n placeholders for an IN list.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }
