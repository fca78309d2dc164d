package config_test

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/internal/config"
)

func TestAPostgresStoreKeepsItsConnectionSecret(t *testing.T) {
	t.Parallel()
	file := write(t, "stores.yaml", `
type: permission_store
name: rules
store_type: postgres
dsn: postgres://holdpoint:${DB_PASSWORD}@db:5432/holdpoint?sslmode=verify-full
---
type: session_store
name: sessions
store_type: postgres
dsn: host=/run/postgresql dbname=holdpoint password=${DB_PASSWORD}
`)
	c, err := config.Load(file, env(map[string]string{"DB_PASSWORD": "hush"}))
	if err != nil {
		t.Fatal(err)
	}
	rules, _ := c.PermissionStore("rules")
	sessions, _ := c.SessionStore("sessions")
	for _, tc := range []struct {
		got  config.Store
		want string
	}{
		{rules, "postgres://holdpoint:hush@db:5432/holdpoint?sslmode=verify-full"},
		{sessions, "host=/run/postgresql dbname=holdpoint password=hush"},
	} {
		if tc.got.Type != config.StorePostgres || tc.got.Conn.Reveal() != tc.want || tc.got.DSN != "" {
			t.Errorf("store %s: %s, connection %q, DSN %q", tc.got.Name, tc.got.Type, tc.got.Conn.Reveal(), tc.got.DSN)
		}
		if printed := fmt.Sprintf("%v %+v %#v", tc.got, tc.got, tc.got); strings.Contains(printed, "hush") {
			t.Errorf("the password is shown: %s", printed)
		}
	}
}
