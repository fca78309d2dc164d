package store

import (
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// dialect is everything that differs from one database to another.
type dialect struct {
	goose goose.Dialect
	// migrations come in addition to those that all dialects have.
	migrations []*goose.Migration
	// migrateLock makes others wait until its connection is closed, where migrations need that. "" for none.
	migrateLock string
	// forUpdate and forShare end a SELECT whose rows must not change until the transaction ends; with forShare
	// other transactions may hold them in the same way. Both are "" where writers take turns.
	forUpdate, forShare string
	// numbered placeholders are $1, $2…; otherwise ?.
	numbered bool
	// write is how a write transaction begins, snapshot one that only reads and sees one moment.
	write, snapshot *sql.TxOptions
	// busy reports an error after which the same transaction may succeed. Nothing of it was written.
	busy func(error) bool
	// lost reports that the database could not be reached, or no longer.
	lost func(error) bool
	// unanswered reports an error of a commit that does not tell whether it happened, and fate returns the token in a
	// slot once no transaction is writing there. Neither is needed where an answer can't get lost.
	unanswered func(error) bool
	fate       string
	// version is a query whose text differs, on the same connection, once another connection has committed.
	version string
	// bytes says that a column takes any bytes, whatever it is declared as. What was written as text stays text.
	bytes bool
	// start is an expression for the first bytes of a column, %[1]s, as many as %[2]s says, as text.
	start string
	// beforeColon is an expression for the part of a text before its first colon, %[1]s.
	beforeColon string
	// settle is a statement that takes what was overwritten out of the database's files. "" where that is the operator's.
	settle string
}

// sqliteDialect needs no row locks: BEGIN IMMEDIATE (which the data source name asks for) admits one writer.
var sqliteDialect = &dialect{
	goose:      goose.DialectSQLite3,
	migrations: []*goose.Migration{closedNames("", "WITHOUT ROWID"), sealingTable(""), sqliteEventKeys, sqliteAsBytes, sqliteTurns},
	write:      &sql.TxOptions{},
	snapshot:   &sql.TxOptions{ReadOnly: true},
	busy:       sqliteBusy,
	lost:       func(error) bool { return false },
	version:    "PRAGMA data_version",

	bytes:       true,
	start:       "CAST(substr(CAST(%[1]s AS BLOB), 1, %[2]s) AS TEXT)",
	beforeColon: "substr(%[1]s, 1, instr(%[1]s, ':') - 1)",
	settle:      "PRAGMA wal_checkpoint(TRUNCATE)",
}

func sqliteBusy(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff // the extended code says why, the primary one that it is a lock
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
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
