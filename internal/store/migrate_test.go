package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdpoint/event"
	"holdpoint/internal/store"
)

// toVersion18 takes back what the versions of the schema after it changed.
var toVersion18 = map[store.Driver][]string{
	store.SQLite: {
		`ALTER TABLE events RENAME TO newer`,
		`DROP INDEX events_by_origin`,
		`CREATE TABLE events (run_id TEXT NOT NULL, number BIGINT NOT NULL, type TEXT NOT NULL, happened_at BIGINT NOT NULL, event_key TEXT,
			salt TEXT, payload TEXT, payload_hash TEXT NOT NULL, hash TEXT NOT NULL, origin TEXT NOT NULL DEFAULT '',
			PRIMARY KEY (run_id, number), UNIQUE (run_id, event_key))`,
		`INSERT INTO events SELECT * FROM newer`,
		`DROP TABLE newer`,
		`CREATE INDEX events_by_origin ON events (origin, number)`,
	},
	store.Postgres: {
		`DROP INDEX events_by_key`,
		`ALTER TABLE events ADD CONSTRAINT events_run_id_event_key_key UNIQUE (run_id, event_key)`,
	},
}

// olderIndexes are those of version 18 that are no more.
const olderIndexes = `CREATE INDEX events_by_time ON events (happened_at, run_id, number);
	CREATE INDEX interactions_by_expiry ON interactions (expires_at, status);
	DROP INDEX runs_by_root; CREATE INDEX runs_by_root ON runs (root_id, started_at, id);
	DROP INDEX runs_by_user; CREATE INDEX runs_by_user ON runs (user_id, started_at, id);
	DROP INDEX runs_by_start; CREATE INDEX runs_by_start ON runs (started_at, id)`

func TestADatabaseOfAnOlderVersionIsBroughtForward(t *testing.T) {
	onShared(t, func(t *testing.T, d shared) {
		s := open(t, d.cfg)
		addRun(t, s, "r1")
		long := note("r1", strings.Repeat("as it was said ", 20))
		keyed := note("r1", "with a key")
		keyed.Key = "once"
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.AppendEvents(ctx, "r1", long, keyed, note("r1", "without"), note("r1", "without"))
			return err
		})
		written, err := s.Events(t.Context(), "r1", 0, 0)
		no(t, err)
		first, last := written[0], written[len(written)-1]
		indexes := d.indexes(t)
		no(t, s.Close())

		d.raw(t, toVersion18[d.cfg.Driver]...)
		d.raw(t, strings.Split(olderIndexes, ";")...)
		// As it was written then.
		d.raw(t, fmt.Sprintf(`UPDATE events SET payload = '%s', salt = '%x', payload_hash = '%s', hash = '%s' WHERE number = 1`,
			first.Payload, first.Salt, event.PayloadHash(first.Salt, first.Payload), first.Hash),
			fmt.Sprintf(`UPDATE runs SET head_hash = '%s'`, last.Hash), `DELETE FROM goose_db_version WHERE version_id > 18`)

		s = open(t, d.cfg)
		if got := d.indexes(t); !slices.Equal(got, indexes) {
			t.Errorf("indexes\n%q\nwant those of a new database\n%q", got, indexes)
		}
		no(t, s.VerifyRun(t.Context(), "r1"))
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.AppendEvents(ctx, "r1", keyed, note("r1", "after"))
			return err
		})
		events, err := s.Events(t.Context(), "r1", 0, 0)
		no(t, err)
		if len(events) != 5 || string(events[0].Payload) != string(long.Payload) || events[1].Key != "once" || events[4].Type != event.Error {
			t.Errorf("%d events: %+v", len(events), events)
		}
		no(t, s.VerifyRun(t.Context(), "r1"))
	})
}

// indexes are the definitions of all.
func (d shared) indexes(t testing.TB) (out []string) {
	t.Helper()
	driver, query := "sqlite", `SELECT name, COALESCE(sql, '') FROM sqlite_master WHERE type = 'index' ORDER BY name`
	if d.cfg.Driver == store.Postgres {
		driver, query = "pgx", `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname`
	}
	db, err := sql.Open(driver, d.cfg.DSN)
	no(t, err)
	defer db.Close()
	for _, row := range texts(t, db, query) {
		out = append(out, row[1])
	}
	return out
}
