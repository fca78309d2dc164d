package app_test

import (
	"bytes"
	"context"
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/seal"
	"holdpoint/internal/store/pgtest"
)

// saidWords are said in a run by a person, a model, a tool and a reviewer.
var saidWords = []string{"OTTERINPUT", "BADGERARGUMENT", "WALRUSOUTPUT", "LYNXEDIT", "HERONFEEDBACK", "VIPERMESSAGE"}

// sayAll has each of them said, and leaves a run that waits.
func sayAll(h *apptest.Holdpoint) (over, waits apptest.RunView) {
	over = h.Begin("say OTTERINPUT")
	list := h.Waits(over.RunID, 2)
	h.HTTP(http.MethodPost, "/v1/runs/"+string(over.RunID)+"/messages", map[string]any{"text": "VIPERMESSAGE"})
	h.Answer(list[0].ID, map[string]any{"action": "modify_args", "args": map[string]any{"command": "echo LYNXEDIT; printf 'WALRUS%s' OUTPUT"}})
	h.Answer(list[1].ID, map[string]any{"action": "reject", "feedback": "HERONFEEDBACK"})
	h.Ended(over.RunID)
	h.HTTP(http.MethodPost, "/v1/permissions/requester/allow", map[string]any{"pattern": "bash(echo BADGERARGUMENT2)"})
	waits = h.Begin("say OTTERINPUT, too")
	h.Waits(waits.RunID, 2)
	return over, waits
}

// sealedDatabase is one kind of database that a test seals.
type sealedDatabase struct {
	config string
	dump   func(h *apptest.Holdpoint) string
}

func sealedDatabases(t *testing.T) map[string]sealedDatabase {
	dsn, file := pgtest.Database(t), filepath.Join(t.TempDir(), "s.db")
	return map[string]sealedDatabase{
		"sqlite": {"store_type: sqlite\ndsn: " + file, func(h *apptest.Holdpoint) string {
			var all []byte
			for _, f := range []string{file, file + "-wal"} {
				b, _ := os.ReadFile(f)
				all = append(all, b...)
			}
			out := []string{string(all)}
			for _, rows := range tablesIn(h, file) {
				out = append(out, rows)
			}
			return strings.Join(out, "\n")
		}},
		"postgres": {"store_type: postgres\ndsn: \"" + dsn + "\"", func(h *apptest.Holdpoint) string {
			db, err := sql.Open("pgx", dsn)
			if err != nil {
				h.T.Fatal(err)
			}
			defer db.Close()
			var out strings.Builder
			for _, table := range column(h, db, `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`) {
				out.WriteString(strings.Join(column(h, db, `SELECT row_to_json(x)::text FROM "`+table+`" AS x`), "\n"))
			}
			return out.String()
		}},
	}
}

func TestWhatTheStoreKeepsIsSealed(t *testing.T) {
	t.Parallel()
	for name, d := range sealedDatabases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := seal.NewKey("k1"), seal.NewKey("k2")
			h := apptest.Start(t, sealedBy(first), apptest.WithRules(`{match: bash, decision: ask}`), apptest.WithModel(apptest.Turns(
				apptest.Calls("bash", apptest.Bash("echo BADGERARGUMENT"), "bash", apptest.Bash("echo BADGERARGUMENT again")),
				apptest.Calls("bash", apptest.Bash("echo BADGERARGUMENT again")))),
				withConfig("---\ntype: session_store\nname: kept\n"+d.config+"\nencryption: on\n"))
			over, waits := sayAll(h)
			dumped := d.dump(h)
			for _, w := range saidWords {
				if strings.Contains(dumped, w) {
					t.Errorf("the database has %s in clear", w)
				}
			}
			if !strings.Contains(dumped, "requester") || !strings.Contains(dumped, "sealed:k1:") {
				t.Error("the dump has neither who asked nor what is sealed: it shows nothing")
			}
			read(t, h, over, waits)
			h.App.Close()

			o := h.Options
			sealedBy(second)(&o)
			if a, err := app.Dev(context.Background(), o); err == nil || !strings.Contains(err.Error(), `"k1"`) {
				t.Errorf("without its key it opened: %v", err)
				_ = a.Close()
			}
			sealedBy(second + "," + first)(&o)
			h = apptest.Run(t, o)
			out, err := app.Reseal(context.Background(), o, func(app.Resealed) {}) // beside what runs
			if err != nil || out.Values == 0 || len(out.Missing)+len(out.Broken) > 0 {
				t.Errorf("resealed %+v, %v", out, err)
			}
			h.App.Close()
			sealedBy(second + "," + first)(&o) // Temporal's history is under the old key still
			h = apptest.Run(t, o)
			if uses, err := app.KeysInUse(context.Background(), o); err != nil || len(uses) != 1 || uses[0].Key != "k2" {
				t.Errorf("keys in use: %+v, %v", uses, err)
			}
			read(t, h, over, waits)
			h.Eventually("the end of the run that waited", func() bool { // the model repeats a call
				for _, q := range h.Pending(waits.RunID) {
					h.Respond(q.ID, map[string]any{"action": "approve"})
				}
				return h.Show(waits.RunID).Status == "completed"
			})
		})
	}
}

// read finds everything again that was said, as people would.
func read(t *testing.T, h *apptest.Holdpoint, over, waits apptest.RunView) {
	t.Helper()
	for path, want := range map[string]string{"/v1/runs/" + string(over.RunID): "OTTERINPUT", "/v1/runs/" + string(over.RunID) + "/steps": "WALRUSOUTPUT",
		"/v1/runs/" + string(over.RunID) + "/events?follow=false": "HERONFEEDBACK", "/v1/interactions": "BADGERARGUMENT",
		"/v1/permissions/requester": "BADGERARGUMENT2", "/v1/audit?q=again+badgerargument&format=jsonl": "HERONFEEDBACK"} {
		if code, body := h.HTTP(http.MethodGet, path, nil); code != http.StatusOK || !bytes.Contains(body, []byte(want)) {
			t.Errorf("%s: %d, without %s: %s", path, code, want, body)
		}
	}
	err := app.VerifyRecords(context.Background(), h.Options, []interaction.RunID{over.RunID, waits.RunID}, func(v api.Verified) error {
		if !v.Holds {
			t.Errorf("the record of %s: %s", v.RunID, v.Fault)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
