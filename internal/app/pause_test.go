package app_test

import (
	"strings"
	"testing"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
)

func control(t *testing.T, h *apptest.Holdpoint, run apptest.RunView, action string) {
	t.Helper()
	code, body := h.HTTP("POST", "/v1/runs/"+string(run.RunID)+"/control", map[string]any{"action": action, "note": "a look"})
	if code != 200 {
		t.Fatalf("%s: %d %s", action, code, body)
	}
}

func TestAPausedRunStartsNothingAndLosesNoAnswer(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := startEffect(t, effectOnce(1), c)
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	control(t, h, run, "pause_run")
	control(t, h, run, "pause_run") // twice is once
	h.Eventually("the run to show as paused", func() bool { return h.Show(run.RunID).Status == "paused" })
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	h.Eventually("the gate to close", func() bool {
		s, err := h.State(run.Workflow)
		return err == nil && len(s.Pending) == 0 && s.Status == "paused"
	})
	if c.count() != 0 {
		t.Error("a tool ran while the run was paused")
	}
	control(t, h, run, "resume_run")
	if end := h.Ended(run.RunID); end.Status != "completed" || c.count() != 1 {
		t.Errorf("ended %s with %d executions", end.Status, c.count())
	}
	types := h.EventTypes(run.RunID)
	if strings.Count(types, "run_paused") != 1 || strings.Count(types, "run_resumed") != 1 {
		t.Errorf("the record says %s", types)
	}
	events := h.Closed(run.Workflow)
	keep(t, "paused_and_resumed", events)
	replay(t, events)
}

func TestAPausedRunCallsNoModelAndCanBeAborted(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	model := &apptest.Model{Turn: func(n int, _ llm.Request) llm.Message {
		if n == 1 {
			<-release
			return apptest.Calls("effect", `{"n":1}`)
		}
		return llm.Message{Content: "done"}
	}}
	c := &counter{}
	h := startEffect(t, model, c, apptest.WithRules(`{match: "effect", decision: allow}`))
	run := h.Begin("go")
	h.Eventually("the model to be called", func() bool { return len(model.Requests()) == 1 })
	control(t, h, run, "pause_run")
	h.Eventually("the pause to be recorded", func() bool { return strings.Contains(h.EventTypes(run.RunID), "run_paused") })
	close(release)
	h.Eventually("the first turn to be stored", func() bool { return strings.Contains(h.EventTypes(run.RunID), "run_paused step_completed") })
	control(t, h, run, "abort_run")
	if end := h.Ended(run.RunID); end.Status != "aborted" || len(model.Requests()) != 1 || c.count() != 0 {
		t.Errorf("ended %s after %d model calls and %d executions", end.Status, len(model.Requests()), c.count())
	}
}

// TestAQuestionThatIsDecidedWhileTheRunIsPausedWaitsForNobody has the second vote of two come while nothing may go on.
func TestAQuestionThatIsDecidedWhileTheRunIsPausedWaitsForNobody(t *testing.T) {
	t.Parallel()
	h := startEffect(t, effectOnce(1), &counter{}, apptest.WithRules(`{match: effect, decision: ask, quorum: 2}`))
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	control(t, h, run, "pause_run")
	for n, who := range []string{"ada", "bob"} {
		h.Answer(asked.ID, said(who, "approve"))
		var it api.Interaction
		h.Get("/v1/interactions/"+string(asked.ID), &it)
		if it.Settled() != (n == 1) || it.Status != interaction.StatusPending {
			t.Errorf("after %d of two it is settled: %t, and %s", n+1, it.Settled(), it.Status)
		}
	}
	control(t, h, run, "resume_run")
	completes(h, run.RunID)
}
