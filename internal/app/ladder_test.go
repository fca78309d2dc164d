package app_test

import (
	"context"
	"testing"
	"time"

	"holdpoint/internal/app/apptest"
	"holdpoint/permission"
)

// A rule that names people only for later must not let them in sooner, whatever asked before it was changed.
func TestARungCountsOnlyOnceItsTimeHasCome(t *testing.T) {
	t.Parallel()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`))))
	asksWith(h, permission.Approval{Reviewers: []string{"carol"}})
	run := h.Begin("go")
	first := h.Waits(run.RunID, 1)[0].ID
	later := permission.Rule{ID: "asks-later", Effect: permission.Ask, Pattern: "effect", UserID: "requester", CreatedAt: time.Now().UTC(),
		Source: permission.Source{Layer: permission.LayerUser}, Approval: permission.Approval{Reviewers: []string{"alice"},
			Escalate: []permission.Escalation{{After: time.Hour, To: []string{"carol"}}}}}
	if err := h.Store().SaveRule(context.Background(), later); err != nil {
		t.Fatal(err)
	}
	h.Answer(first, by("carol", map[string]any{"action": "approve"}))
	h.Eventually("a fresh question", func() bool {
		return h.Waits(run.RunID, 1)[0].ID != first
	})
	if done.count() != 0 {
		t.Fatalf("%d effects of an approval an hour too early", done.count())
	}
	h.Answer(h.Waits(run.RunID, 1)[0].ID, by("alice", map[string]any{"action": "approve"}))
	if end := h.Ended(run.RunID); end.Status != "completed" || done.count() != 1 {
		t.Errorf("the run ended %s after %d effects", end.Status, done.count())
	}
}
