package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
)

// brittle are branches of which one fails, dealt with as on_failure says.
func brittle(onFailure string) string {
	return fmt.Sprintf(`---
type: agent
name: loser
model: played
policy: main
system_prompt: loser
max_steps: 1
---
type: agent
name: waiter
model: played
policy: main
system_prompt: waiter
---
type: workflow
name: brittle
kind: parallel
on_failure: %s
stages:
  - {name: bad, agent: loser}
  - {name: slow, agent: waiter}
---
type: workflow
name: outer
kind: pipeline
stages:
  - {name: both, workflow: brittle}
  - {name: after, agent: waiter, input: "say: {{previous}}"}
`, onFailure)
}

// losing is a model of which the loser never comes to an answer, and the waiter needs a person unless it is to say something.
func losing() *apptest.Model {
	return &apptest.Model{Turn: func(n int, req llm.Request) llm.Message {
		last := req.Messages[len(req.Messages)-1].Content
		switch {
		case req.System == "loser":
			return apptest.Calls("nothing", `{}`)
		case n > 1 || strings.HasPrefix(last, "say: "):
			return llm.Message{Content: "said: " + last}
		default:
			return apptest.Calls("effect", `{"n":1}`)
		}
	}}
}

func startBrittle(t *testing.T, onFailure string) (*apptest.Holdpoint, apptest.RunView, *counter) {
	t.Helper()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(losing()), withConfig(brittle(onFailure)))
	return h, h.Start("outer", "go"), done
}

func TestAFailedBranchStopsTheOthers(t *testing.T) {
	t.Parallel()
	h, run, done := startBrittle(t, "stop")
	end := h.Ended(run.RunID)
	if end.Status != "failed" || !strings.Contains(string(end.Error), "stage both failed") || !strings.Contains(string(end.Error), "stage bad failed") {
		t.Errorf("it ended as %s: %s", end.Status, end.Error)
	}
	got := stagesOf(h.Events(run.RunID))
	if !slices.Contains(got, "branch_completed brittle/bad failed") || !slices.Contains(got, "branch_completed brittle/slow aborted") || done.count() > 0 {
		t.Errorf("%d effects; the stream has\n%s", done.count(), strings.Join(got, "\n"))
	}
	if open := pendingUnder(h, run.RunID); len(open) > 0 {
		t.Errorf("still open: %v", open)
	}
	h.Closed(run.Workflow)
	keep(t, "pipeline_branch_failed_and_stopped", h.History("run-"+string(run.RunID)+"-1-1-sub", ""))
}

// approveBranch answers what the slow branch asks, once the other has failed.
func approveBranch(h *apptest.Holdpoint, run apptest.RunView) {
	h.T.Helper()
	h.Eventually("the branch to fail", func() bool {
		events, err := h.Store().Events(h.T.Context(), run.RunID, 0, 1000)
		return err == nil && slices.Contains(stagesOf(events), "branch_completed brittle/bad failed")
	})
	var asked []interaction.ID
	h.Eventually("the other branch to ask", func() bool { asked = pendingUnder(h, run.RunID); return len(asked) == 1 })
	h.Answer(asked[0], map[string]any{"action": "approve"})
}

func TestAFailedBranchLetsTheOthersEndAndFails(t *testing.T) {
	t.Parallel()
	h, run, done := startBrittle(t, "wait")
	approveBranch(h, run)
	end := h.Ended(run.RunID)
	if end.Status != "failed" || !strings.Contains(string(end.Error), "stage bad failed") || done.count() != 1 {
		t.Errorf("it ended as %s after %d effects: %s", end.Status, done.count(), end.Error)
	}
	if got := stagesOf(h.Events(run.RunID)); !slices.Contains(got, "branch_completed brittle/slow completed") {
		t.Errorf("the stream has\n%s", strings.Join(got, "\n"))
	}
	h.Closed(run.Workflow)
	keep(t, "pipeline_branch_failed_and_waited", h.History("run-"+string(run.RunID)+"-1-1-sub", ""))
}

func TestAFailedBranchStandsInTheOutput(t *testing.T) {
	t.Parallel()
	h, run, done := startBrittle(t, "include")
	approveBranch(h, run)
	end := h.Ended(run.RunID)
	if end.Status != "completed" || !strings.Contains(end.Output, "## bad\n\n(This branch failed: ") || !strings.Contains(end.Output, `did {"n":1}`) || done.count() != 1 {
		t.Errorf("it ended as %s after %d effects with %q: %s", end.Status, done.count(), end.Output, end.Error)
	}
}
