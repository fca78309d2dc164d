package app_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/permission"
	"holdpoint/tool"
	"holdpoint/workflows"
)

// save stores a rule for the tests' user and tells a run of it.
func saveRule(h *apptest.Holdpoint, workflowID string, effect permission.Effect, pattern string) {
	h.T.Helper()
	rule := permission.Rule{ID: "rule-" + workflowID + pattern, Effect: effect, Pattern: pattern, UserID: "requester", GrantedBy: "alice",
		Source: permission.Source{Layer: permission.LayerUser}, CreatedAt: time.Now().UTC()}
	if err := h.Store().SaveRule(context.Background(), rule); err != nil {
		h.T.Fatal(err)
	}
	if err := h.Client.SignalWorkflow(context.Background(), workflowID, "", workflows.MessageRecheck, struct{}{}); err != nil {
		h.T.Fatal(err)
	}
}

func TestASavedRuleReachesWhatWaits(t *testing.T) {
	t.Parallel()
	model := apptest.Turns(apptest.Calls("bash", apptest.Bash("echo a"), "bash", apptest.Bash("echo b"), "bash", apptest.Bash("echo c")))
	h := apptest.Start(t, apptest.WithModel(model))
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 3)
	saveRule(h, run.Workflow, permission.Allow, "bash(echo a)")
	h.Waits(run.RunID, 2)
	saveRule(h, run.Workflow, permission.Deny, "bash(echo b)")
	left := h.Waits(run.RunID, 1)
	if !strings.Contains(left[0].Title, "echo c") {
		t.Errorf("what no rule speaks of waits no more; left is %q", left[0].Title)
	}
	for _, q := range asked {
		if strings.Contains(q.Title, "echo a") {
			if code, body := h.Respond(q.ID, map[string]any{"action": "reject"}); code != 409 || !strings.Contains(string(body), "alice") {
				t.Errorf("an answer after the grant: %d %s", code, body)
			}
		}
	}
	h.Answer(left[0].ID, map[string]any{"action": "approve"})
	h.Ended(run.RunID)
	h.Closed(run.Workflow)
	keep(t, "released_by_rules", h.History(run.Workflow, ""))
	told := model.ToolResults()
	if len(told) != 3 || told[0].Content != "a\n" || told[1].ToolStatus != string(tool.StatusDenied) || told[2].Content != "c\n" {
		t.Errorf("the model got %+v", told)
	}
}

func TestARaceOfAnAnswerWithAGrantIsWonByOne(t *testing.T) {
	t.Parallel()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`))))
	for _, action := range []interaction.Action{interaction.ActionApprove, interaction.ActionReject} {
		run := h.Begin("go")
		id := h.Waits(run.RunID, 1)[0].ID
		before := done.count()
		saveRule(h, run.Workflow, permission.Allow, "effect")
		code, body := h.Respond(id, map[string]any{"action": action})
		h.Ended(run.RunID)
		ran := done.count() - before
		if want := code != 200 || action == interaction.ActionApprove; ran > 1 || (ran == 1) != want {
			t.Errorf("%s was answered %d %s, and the effect happened %d times", action, code, body, ran)
		}
		if err := h.Store().RevokeRule(context.Background(), "rule-"+run.Workflow+"effect", "alice", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoRuleLetsAHeldCallGo(t *testing.T) {
	t.Parallel()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`, "effect", `{"n":2}`))))
	run := h.Begin("go")
	held := h.Waits(run.RunID, 2)[0].ID
	control := "/v1/runs/" + string(run.RunID) + "/control"
	if code, body := h.HTTP("POST", control, map[string]any{"action": "pause", "interaction_id": held}); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	h.Eventually("the call to be held", func() bool { return row(h, held).Status == interaction.StatusHeld })
	saveRule(h, run.Workflow, permission.Allow, "effect")
	h.Eventually("the other call to run", func() bool { return done.count() == 1 })
	if at := row(h, held); at.Status != interaction.StatusHeld {
		t.Errorf("the held call is %s", at.Status)
	}
	if code, body := h.HTTP("POST", control, map[string]any{"action": "resume", "interaction_id": held}); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	if end := h.Ended(run.RunID); end.Status != "completed" || done.count() != 2 {
		t.Errorf("after it was let go the run ended %s with %d effects", end.Status, done.count())
	}
}
