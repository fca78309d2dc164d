package app_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/store"
)

// records is a database with two runs of six events each, and its configuration.
func records(t *testing.T) (o app.Options, db string) {
	t.Helper()
	dir := t.TempDir()
	db = filepath.Join(dir, "h.db")
	o = app.Options{Config: filepath.Join(dir, "c.yaml"), Data: filepath.Join(dir, "data"), Getenv: func(string) (string, bool) { return "", false }}
	if err := os.WriteFile(o.Config, []byte("type: session_store\nname: s\nstore_type: sqlite\ndsn: h.db\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Config{DSN: db})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, run := range []interaction.RunID{"r1", "r2"} {
		if err := s.EnsureRun(t.Context(), agent.Run{ID: run, SessionID: "s-" + interaction.SessionID(run), Agent: "a", StartedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
		err := s.Write(t.Context(), func(tx *store.Tx) error {
			for n := range 6 {
				if _, err := tx.AppendEvents(t.Context(), run, event.New(run, event.StepCompleted, time.Now(), map[string]int{"n": n})); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return o, db
}

func TestAuditFindsWhatWasDoneToTheRecord(t *testing.T) {
	t.Parallel()
	copied := `INSERT INTO events (run_id, number, type, happened_at, salt, payload, payload_hash, hash, origin)
		SELECT run_id, %d, type, happened_at, salt, payload, payload_hash, hash, origin FROM events WHERE run_id = 'r1' AND number = 3`
	for name, c := range map[string]struct {
		sql  []string
		want string // "" holds
	}{
		"nothing":               {nil, ""},
		"changed words":         {[]string{`UPDATE events SET payload = '{"n":9}' WHERE run_id = 'r1' AND number = 3`}, "event 3 (step_completed) was changed"},
		"a changed type":        {[]string{`UPDATE events SET type = 'error' WHERE run_id = 'r1' AND number = 3`}, "event 3 (error) was changed"},
		"a changed time":        {[]string{`UPDATE events SET happened_at = happened_at + 1 WHERE run_id = 'r1' AND number = 3`}, "event 3 (step_completed) was changed"},
		"one removed":           {[]string{`DELETE FROM events WHERE run_id = 'r1' AND number = 3`}, "event 4 follows event 2"},
		"two in another order":  {[]string{`UPDATE events SET number = 99 WHERE run_id = 'r1' AND number = 3`, `UPDATE events SET number = 3 WHERE run_id = 'r1' AND number = 4`, `UPDATE events SET number = 4 WHERE run_id = 'r1' AND number = 99`}, "event 3 (step_completed) was changed"},
		"one put in at the end": {[]string{fmt.Sprintf(copied, 7)}, "event 7 (step_completed) was changed"},
		"one put in, the rest moved": {[]string{`UPDATE events SET number = number + 100 WHERE run_id = 'r1' AND number > 3`, fmt.Sprintf(copied, 4),
			`UPDATE events SET number = number - 99 WHERE run_id = 'r1' AND number > 100`}, "event 4 (step_completed) was changed"},
		"the end cut off":   {[]string{`DELETE FROM events WHERE run_id = 'r1' AND number > 4`}, "the events end at 4"},
		"all of it cut off": {[]string{`DELETE FROM events WHERE run_id = 'r1'`}, "the events end at 0"},
		"one erased":        {[]string{`UPDATE events SET payload = NULL, salt = NULL WHERE run_id = 'r1' AND number = 3`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, file := records(t)
			db, err := sql.Open("sqlite", file)
			if err != nil {
				t.Fatal(err)
			}
			for _, statement := range c.sql {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			got := map[interaction.RunID]string{}
			err = app.VerifyRecords(t.Context(), o, nil, func(v api.Verified) error { got[v.RunID] = v.Fault; return nil })
			if err != nil || len(got) != 2 || got["r2"] != "" {
				t.Fatalf("%v, %v", got, err)
			}
			if fault := got["r1"]; (fault == "") != (c.want == "") || !strings.Contains(fault, c.want) {
				t.Errorf("found %q, want %q", fault, c.want)
			}
		})
	}
}
