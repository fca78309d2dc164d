package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"holdpoint/internal/store"
	"holdpoint/internal/store/pgtest"
)

func TestOpenRefusesADatabaseThatWillNotDo(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	dsn := server.Database(t)
	a := connect(t, dsn)
	a.exec(`CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'`)
	named := func(name string) string { return strings.Replace(dsn, "/test_1?", "/"+name+"?", 1) }
	const secret = "hush:b@d"
	for name, tc := range map[string]struct{ dsn, want string }{
		"no connection string": {"postgres://ann:" + secret + "@host:port/db", "the DSN can't be read"},
		"no key and value":     {secret, "the DSN can't be read"},
		"an unknown option":    {"host=x password=" + secret + " sslmode=perhaps", "the DSN can't be read"},
		"a missing file":       {"host=x sslmode=verify-full sslrootcert=/no/such/file password=" + secret, "/no/such/file"},
		"no such database":     {named("nobody"), `"nobody" does not exist`},
		"no server":            {"postgres://ann:hush%3Ab%40d@/db?host=" + t.TempDir(), "check that the server runs"},
		"another encoding":     {named("latin"), "its encoding is LATIN1"},
	} {
		_, err := store.Open(t.Context(), store.Config{Driver: store.Postgres, DSN: tc.dsn})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, tc.want)
		}
		if err != nil && (strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "b@d")) {
			t.Errorf("%s: the error shows the password: %v", name, err)
		}
	}
	cfg := store.Config{Driver: store.Postgres, DSN: "postgres://ann:" + secret + "@host/db"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if out := fmt.Sprintf(verb, cfg); strings.Contains(out, "hush") {
			t.Errorf("%s shows the password: %s", verb, out)
		}
	}
}

func TestIndexedTextsAreComparedByteByByte(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	openPostgres(t, dsn)
	rows, err := connect(t, dsn).Query(t.Context(), `SELECT DISTINCT c.relname || '.' || a.attname
		FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey) JOIN pg_collation l ON l.oid = a.attcollation
		WHERE n.nspname = 'public' AND l.collname <> 'C'`)
	no(t, err)
	wrong, err := pgx.CollectRows(rows, pgx.RowTo[string])
	no(t, err)
	if len(wrong) > 0 {
		t.Errorf(`add COLLATE "C" in a migration of PostgreSQL's: %s`, wrong)
	}
}
