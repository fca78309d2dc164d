package app

import (
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/internal/config"
	"holdpoint/internal/store"
)

func TestOneDatabaseIsChosen(t *testing.T) {
	t.Parallel()
	pg := func(name, conn string) config.Store {
		return config.Store{Name: name, Type: config.StorePostgres, Conn: config.NewSecret(conn), Pos: config.Pos{File: "a.yaml", Line: 3}}
	}
	file := config.Store{Name: "file", Type: config.StoreSQLite, DSN: "/x.db"}
	memory := config.Store{Name: "memory", Type: config.StoreInMemory}
	for name, tc := range map[string]struct {
		sessions, rules []config.Store
		dev             bool
		want            store.Config
		err             string
	}{
		"nothing said":                {want: store.Config{Driver: store.SQLite, DSN: filepath.Join("data", privateDir, "holdpoint.db")}},
		"a file":                      {sessions: []config.Store{file}, want: store.Config{Driver: store.SQLite, DSN: "/x.db"}},
		"memory in dev":               {sessions: []config.Store{memory}, dev: true, want: store.Config{Driver: store.Memory}},
		"memory elsewhere":            {sessions: []config.Store{memory}, err: "use sqlite or postgres"},
		"one server for both":         {sessions: []config.Store{pg("s", "db=1")}, rules: []config.Store{pg("p", "db=1")}, want: store.Config{Driver: store.Postgres, DSN: "db=1"}},
		"two servers":                 {sessions: []config.Store{pg("s", "db=1 password=hush")}, rules: []config.Store{pg("p", "db=2")}, err: "share one database"},
		"a server beside a file":      {sessions: []config.Store{pg("s", "db=1")}, rules: []config.Store{file}, err: "share one database"},
		"a type that is not built in": {rules: []config.Store{{Name: "m", Type: "oracle"}}, err: "not built in"},
	} {
		got, err := chooseStore(&config.Config{SessionStores: tc.sessions, PermissionStores: tc.rules}, Options{Data: "data"}, tc.dev)
		switch {
		case tc.err == "" && (err != nil || got != tc.want):
			t.Errorf("%s: got %v, %v; want %v", name, got, err, tc.want)
		case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
			t.Errorf("%s: got %v, want an error with %q", name, err, tc.err)
		case err != nil && strings.Contains(err.Error(), "hush"):
			t.Errorf("%s: the error shows a password: %v", name, err)
		}
	}
}
