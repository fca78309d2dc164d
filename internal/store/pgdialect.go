package store

import (
	"database/sql"
	"database/sql/driver"
	_ "embed"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
)

// postgresDialect runs every write SERIALIZABLE: what a transaction read is what it would read if all ran one after
// the other, so two that each read what the other changes can't both commit. Rows that are read in order to be
// changed are locked besides, so that a conflict shows at once and not at the commit.
var postgresDialect = &dialect{
	goose: goose.DialectPostgres,
	migrations: []*goose.Migration{postgresOnly, postgresRules, postgresNames, postgresSecrets, postgresTokens, postgresOutbox, closedNames(`COLLATE "C"`, ""),
		sealingTable(`COLLATE "C"`), postgresEventKeys},
	migrateLock: "SELECT pg_advisory_lock(7235419803314)", // any number, the same in every process
	forUpdate:   " FOR UPDATE",
	forShare:    " FOR SHARE",
	numbered:    true,
	write:       &sql.TxOptions{Isolation: sql.LevelSerializable},
	snapshot:    &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
	busy:        pgBusy,
	lost:        pgLost,
	unanswered:  pgUnanswered,
	// It waits for a transaction that is still writing to the slot, even if the slot is new; a SELECT would not.
	fate: `INSERT INTO commits (slot, token, used_at) VALUES (?, '', 0)
		ON CONFLICT (slot) DO UPDATE SET slot = excluded.slot RETURNING token`,
	version:     "SELECT pg_current_snapshot()::text", // changes with every transaction that ends
	start:       "substr(%[1]s, 1, %[2]s)",
	beforeColon: "split_part(%[1]s, ':', 1)",
}

//go:embed migrations/postgres/00002_postgres.sql
var postgresOnlySQL string

//go:embed migrations/postgres/00006_rules.sql
var postgresRulesSQL string

//go:embed migrations/postgres/00008_names.sql
var postgresNamesSQL string

//go:embed migrations/postgres/00010_secrets.sql
var postgresSecretsSQL string

//go:embed migrations/postgres/00014_tokens.sql
var postgresTokensSQL string

//go:embed migrations/postgres/00016_outbox.sql
var postgresOutboxSQL string

//go:embed migrations/postgres/00020_event_keys.sql
var postgresEventKeysSQL string

// Versions 2, 6, 8, 10, 14 and 16 of the schema, which no other dialect has, and its own version 20.
var (
	postgresOnly  = goose.NewGoMigration(2, &goose.GoFunc{RunTx: execAll(postgresOnlySQL)}, nil)
	postgresRules = goose.NewGoMigration(6, &goose.GoFunc{RunTx: execAll(postgresRulesSQL)}, nil)
	postgresNames = goose.NewGoMigration(8, &goose.GoFunc{RunTx: execAll(postgresNamesSQL)}, nil)

	postgresSecrets = goose.NewGoMigration(10, &goose.GoFunc{RunTx: execAll(postgresSecretsSQL)}, nil)

	postgresTokens = goose.NewGoMigration(14, &goose.GoFunc{RunTx: execAll(postgresTokensSQL)}, nil)
	postgresOutbox = goose.NewGoMigration(16, &goose.GoFunc{RunTx: execAll(postgresOutboxSQL)}, nil)

	postgresEventKeys = goose.NewGoMigration(20, &goose.GoFunc{RunTx: execAll(postgresEventKeysSQL)}, nil)
)

// sqlState returns the code of an error that the server reported, "" for any other.
func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// pgBusy: serialisation failures, deadlocks, and locks that were not to be had in time.
func pgBusy(err error) bool {
	switch sqlState(err) {
	case "40001", "40P01", "55P03":
		return true
	}
	return false
}

// notYet reports a server that is about to start, or to have a connection free.
func notYet(err error) bool {
	switch sqlState(err) {
	case "57P03", "53300":
		return true
	}
	return false
}

// pgLost: the server went away, or closed the connection, or is not there. An error that it reports about anything
// else (a wrong password, a missing database) is none of these, and trying again would not help.
func pgLost(err error) bool {
	switch code := sqlState(err); {
	case code == "":
	case code == "57P01", code == "57P02", code == "57P05", code == "25P03", strings.HasPrefix(code, "08"):
		return true // the session was ended
	default:
		return notYet(err)
	}
	for _, gone := range []error{driver.ErrBadConn, sql.ErrConnDone, pgconn.ErrConnClosed, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.ECONNABORTED, syscall.EPIPE, syscall.ENOENT} {
		if errors.Is(err, gone) {
			return true
		}
	}
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.As(err, &network) || errors.As(err, &connect) || pgconn.SafeToRetry(err)
}

// pgUnanswered: an error that the server reported, short of ending the session, says that it rolled back, and so does
// the answer ROLLBACK. Anything else is no answer. That the driver calls an error safe to retry counts for nothing
// here: it says so of a commit that was sent, too, when the connection broke before the answer.
func pgUnanswered(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		severity := e.SeverityUnlocalized
		if severity == "" {
			severity = e.Severity
		}
		return severity != "ERROR"
	}
	return !errors.Is(err, pgx.ErrTxCommitRollback) && !errors.Is(err, sql.ErrTxDone)
}
