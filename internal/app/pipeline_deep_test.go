package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/workflows"
)

// deep are workflows over the team, a gate in a branch of one, and an agent that has one as a tool.
const deep = team + `---
type: workflow
name: review
kind: parallel
stages:
  - {name: worked, agent: chief}
  - {name: signed, workflow: signing}
---
type: workflow
name: signing
kind: pipeline
stages:
  - {name: sign, gate: {title: "Sign it?"}}
  - {name: note, agent: clerk, input: "note {{previous}}"}
---
type: agent
name: clerk
model: played
policy: main
system_prompt: clerk
---
type: agent
name: boss
model: played
policy: main
system_prompt: boss
agents: [signing]
---
type: workflow
name: rounds
kind: loop
max_iterations: 5
stages:
  - {name: write, agent: clerk, input: "round {{iteration}} of {{input}}"}
  - {name: check, gate: {title: "Another round?"}}
`

// deepTalk plays the team, a boss who hands its task to a workflow, and a clerk who repeats what it is told.
func deepTalk() *apptest.Model {
	others := teamwork()
	return &apptest.Model{Turn: func(n int, req llm.Request) llm.Message {
		last := req.Messages[len(req.Messages)-1].Content
		switch {
		case req.System == "clerk":
			return llm.Message{Content: "clerk: " + last}
		case req.System == "boss" && n == 1:
			return apptest.Calls("agent_signing", `{"task":"the contract"}`)
		default:
			return others.Turn(n, req)
		}
	}}
}

// openBelow waits until so many questions are open in a run and those that it has called.
func openBelow(h *apptest.Holdpoint, root interaction.RunID, n int) (list []interaction.ID) {
	h.T.Helper()
	h.Eventually(fmt.Sprintf("%d questions below %s", n, root), func() bool {
		list = pendingUnder(h, root)
		known := len(list) == n
		for _, id := range list {
			s, err := h.State(workflows.RunWorkflowID(row(h, id).Request.RunID))
			known = known && err == nil && len(s.Pending) == 1
		}
		return known
	})
	return list
}

func TestAnAgentCallsAWorkflowOfAgents(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(deepTalk()), withConfig(deep))
	run := h.Start("boss", "go")
	asked := row(h, openBelow(h, run.RunID, 1)[0]).Request
	if !slices.Equal(asked.AgentPath, []string{"boss", "signing/sign"}) || asked.Details != "the contract" {
		t.Errorf("it asks about %q by way of %v", asked.Details, asked.AgentPath)
	}
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	if end := h.Ended(run.RunID); end.Status != "completed" || end.Output != "boss heard: clerk: note the contract" {
		t.Errorf("it ended as %s with %q: %s", end.Status, end.Output, end.Error)
	}
	verified(h, run.RunID)
	h.Closed(run.Workflow)
	keep(t, "agent_calls_workflow", h.History(run.Workflow, ""))
	replay(t, h.History(run.Workflow, ""))

	rejected := h.Start("boss", "go")
	h.Answer(openBelow(h, rejected.RunID, 1)[0], map[string]any{"action": "reject", "feedback": "not this one"})
	if end := h.Ended(rejected.RunID); end.Status != "completed" || !strings.Contains(end.Output, "came to no answer") || !strings.Contains(end.Output, "not this one") {
		t.Errorf("rejected, it ended as %s with %q", end.Status, end.Output)
	}
}

// TestControlReachesThroughAWorkflow has a pause, and then an abort, reach a gate in a branch, and an agent at the third
// depth of another.
func TestControlReachesThroughAWorkflow(t *testing.T) {
	t.Parallel()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(deepTalk()), withConfig(deep))
	run := h.Start("review", "go")
	asked := openBelow(h, run.RunID, 2)
	control(t, h, run, "pause_run")
	for _, id := range asked { // at once: who paused need not wait
		h.Answer(id, map[string]any{"action": "approve"})
	}
	if done.count() > 0 {
		t.Error("an agent went on while the run was paused")
	}
	control(t, h, run, "resume_run")
	if end := h.Ended(run.RunID); end.Status != "completed" || done.count() != 1 || !strings.Contains(end.Output, "clerk: note go") {
		t.Errorf("it ended as %s after %d effects with %q", end.Status, done.count(), end.Output)
	}

	stopped := h.Start("review", "go")
	asked = openBelow(h, stopped.RunID, 2)
	control(t, h, stopped, "abort_run")
	for _, id := range asked {
		refusedWith(h, id, map[string]any{"action": "approve"}, 409)
	}
	if end := h.Ended(stopped.RunID); end.Status != "aborted" || done.count() != 1 {
		t.Errorf("stopped, it ended as %s after %d effects", end.Status, done.count())
	}
	for _, id := range asked {
		i := row(h, id)
		if i.Status != interaction.StatusCancelled {
			t.Errorf("%s is %s", id, i.Status)
		}
		h.Closed(workflows.RunWorkflowID(i.Request.RunID))
	}
	verified(h, stopped.RunID)
}

// TestALoopGoesOnInAnotherHistory has a server that suggests it after every few events, and answers each gate as it opens.
func TestALoopGoesOnInAnotherHistory(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(deepTalk()), withConfig(deep), func(o *app.Options) {
		o.Address, o.Temporal, o.DynamicConfig = "", apptest.Temporal(t), apptest.DynamicConfig()
		o.DynamicConfig["limit.historyCount.suggestContinueAsNew"] = "12"
	})
	run := h.Start("rounds", "go")
	seen := map[interaction.ID]bool{}
	h.Eventually("the loop to end", func() bool {
		for _, p := range h.Pending(run.RunID) {
			if !seen[p.ID] {
				seen[p.ID] = true
				if code, body := h.Respond(p.ID, map[string]any{"action": "approve"}); code > 202 { // 202: it came before the workflow knew the gate
					t.Errorf("answer to %s: %d %s", p.ID, code, body)
				}
			}
		}
		return h.Show(run.RunID).Status == "completed"
	})
	if end := h.Show(run.RunID); end.Output != "clerk: round 5 of go" || len(seen) != 5 {
		t.Errorf("after %d gates it came to %q", len(seen), end.Output)
	}
	rounds := slices.DeleteFunc(stagesOf(h.Events(run.RunID)), func(s string) bool { return !strings.HasPrefix(s, "iteration_started") })
	if len(rounds) != 5 {
		t.Errorf("the stream has %d iterations", len(rounds))
	}
	verified(h, run.RunID)
	executions := h.Executions(run.Workflow)
	if len(executions) < 2 {
		t.Errorf("the loop never continued as new: %d execution", len(executions))
	}
	for i, id := range executions {
		events := h.History(run.Workflow, id)
		if i < 2 {
			keep(t, fmt.Sprintf("pipeline_continued_%d", i+1), events)
		}
		replay(t, events)
	}
}
