package app_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdpoint/api"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
)

// TestWhatWasSaidIsErasedWhenItsTimeIsOver lets two hours pass, by the clock of who looks.
func TestWhatWasSaidIsErasedWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(obliging()), apptest.WithRules(`{match: bash, decision: ask}`),
		withConfig("---\ntype: session_store\nname: kept\nstore_type: sqlite\ndsn: kept.db\nkeep_for: 1h\n"))
	over, waits := h.Begin("remember the S3CRET W0RD"), h.Begin("this waits")
	q := h.Waits(over.RunID, 1)[0]
	h.Answer(q.ID, map[string]any{"action": "reject", "feedback": "not the S3CRET W0RD"})
	h.Ended(over.RunID)
	h.Waits(waits.RunID, 1)
	look := func(now time.Time, want int) {
		t.Helper()
		res, err := app.Doctor(context.Background(), app.Options{Data: h.Options.Data, Now: func() time.Time { return now }}, app.Examination{Mend: true})
		if err != nil || res.Erased != want {
			t.Fatalf("erased %d of %d, %v: %+v", res.Erased, want, err, res)
		}
	}
	look(time.Now().Add(59*time.Minute), 0)
	look(time.Now().Add(2*time.Hour), 1)
	look(time.Now().Add(2*time.Hour), 0)
	var run api.RunView
	h.Get("/v1/runs/"+string(over.RunID), &run)
	if run.ErasedAt.IsZero() || run.Input != "" || run.Status != "completed" {
		t.Errorf("the run: %+v", run)
	}
	for _, path := range []string{"/v1/runs/" + string(over.RunID) + "/events?follow=false", "/v1/runs/" + string(over.RunID) + "/steps", "/v1/audit?format=jsonl", "/v1/runs"} {
		if code, body := h.HTTP(http.MethodGet, path, nil); code != http.StatusOK || strings.Contains(string(body), "S3CRET") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, _ := h.HTTP(http.MethodGet, "/v1/interactions/"+string(q.ID), nil); code != http.StatusNotFound {
		t.Errorf("its question: %d", code)
	}
	var verified api.Verified
	h.Get("/v1/runs/"+string(over.RunID)+"/verification", &verified)
	if list := h.Events(over.RunID); !verified.Holds || len(list) < 4 || list[len(list)-1].Type != event.RunCompleted {
		t.Errorf("the record: %+v, %d events", verified, len(list))
	}
	if p := h.Pending(waits.RunID); len(p) != 1 {
		t.Errorf("what waits: %+v", p)
	}
}

func TestAUsersDataIsErased(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(obliging()), apptest.WithRules(`{match: bash, decision: allow}`),
		withConfig("---\ntype: session_store\nname: kept\nstore_type: sqlite\ndsn: kept.db\n"))
	run := h.Begin("a word of the requester's")
	h.Ended(run.RunID)
	h.HTTP(http.MethodPost, "/v1/permissions/requester/allow", map[string]any{"pattern": "bash(ls)"})
	o := app.Options{Data: h.Options.Data} // where dev runs, it need not be said what is configured
	var told []app.ErasedData
	err := app.Erase(context.Background(), o, app.Erasure{Users: []interaction.PrincipalID{"requester"}}, func(e app.ErasedData) error { told = append(told, e); return nil })
	if err != nil || len(told) != 2 || told[0].Runs != 1 || told[0].Workflows[0] != run.Workflow || told[1].Rules != 1 {
		t.Errorf("%+v, %v", told, err)
	}
	if err := app.Erase(context.Background(), o, app.Erasure{Sessions: []interaction.SessionID{"nobodys"}}, nil); err == nil || !strings.Contains(err.Error(), "nobodys") {
		t.Errorf("a session that is none: %v", err)
	}
}
