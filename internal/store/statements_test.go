package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
)

const byNumber = "SELECT n FROM numbers WHERE n >= ? ORDER BY n"

// onOneConnection is a file with the numbers 1 to 5.
func onOneConnection(t *testing.T) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "numbers.db")
	db, err := openPool(path, url.Values{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	must(t, db, "CREATE TABLE numbers (n INTEGER PRIMARY KEY)")
	for n := 1; n <= 5; n++ {
		must(t, db, "INSERT INTO numbers (n) VALUES (?)", n)
	}
	return path, db
}

func must(t *testing.T, db querier, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func numbers(t *testing.T, db querier, from int) (got []int) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), byNumber, from)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		got = append(got, next(t, rows))
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return got
}

func next(t *testing.T, rows *sql.Rows) (n int) {
	t.Helper()
	if err := rows.Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func want(t *testing.T, got []int, want ...int) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAStatementThatIsBeingReadIsNotRunBesideItself(t *testing.T) {
	_, db := onOneConnection(t)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	outer, err := tx.QueryContext(t.Context(), byNumber, 2)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for outer.Next() {
		n := next(t, outer)
		got = append(got, n)
		want(t, numbers(t, tx, 6-n), []int{1, 2, 3, 4, 5}[5-n:]...)
		// More texts than are kept: the outer one is forgotten while its rows are read.
		for i := range keptStatements + 1 {
			must(t, tx, fmt.Sprintf("UPDATE numbers SET n = n WHERE n = %d", 100+i))
		}
	}
	if err := errors.Join(outer.Err(), outer.Close()); err != nil {
		t.Fatal(err)
	}
	want(t, got, 2, 3, 4, 5)
	want(t, numbers(t, tx, 4), 4, 5)
}

func TestAStatementFollowsTheSchema(t *testing.T) {
	path, db := onOneConnection(t)
	want(t, numbers(t, db, 4), 4, 5)
	other, err := openPool(path, url.Values{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	must(t, other, "DROP TABLE numbers")
	if _, err := db.QueryContext(t.Context(), byNumber, 4); err == nil {
		t.Fatal("a table that is gone was read")
	}
	must(t, other, "CREATE TABLE numbers (more TEXT, n INTEGER)")
	must(t, other, "INSERT INTO numbers VALUES ('seven', 7)")
	want(t, numbers(t, db, 4), 7)
}

func TestAStatementThatFailedRunsAgain(t *testing.T) {
	_, db := onOneConnection(t)
	const insert = "INSERT INTO numbers (n) VALUES (?)"
	if _, err := db.ExecContext(t.Context(), insert, 5); err == nil {
		t.Fatal("a number was inserted twice")
	}
	must(t, db, insert, 6)
	ctx, cancel := context.WithCancel(t.Context())
	rows, err := db.QueryContext(ctx, byNumber, 1)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for rows.Next() {
	}
	if err := rows.Close(); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := db.QueryContext(ctx, byNumber, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a query whose context has ended: %v", err)
	}
	want(t, numbers(t, db, 5), 5, 6)
}

func TestAClosedDatabaseCanBeRemoved(t *testing.T) {
	path, db := onOneConnection(t)
	must(t, db, "PRAGMA journal_mode = WAL")
	want(t, numbers(t, db, 5), 5)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	// SQLite removes the log with the last connection, which statements that were left behind would keep.
	if left, _ := filepath.Glob(path + "-*"); len(left) > 0 {
		t.Errorf("still there after closing: %v", left)
	}
}
