package app_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/store"
	"holdpoint/llm"
	"holdpoint/workflows"
)

// team is a chief who has a manager, who has a worker. Each is told by its prompt who it is.
const team = `---
type: agent
name: chief
model: played
policy: main
system_prompt: chief
agents: [manager]
---
type: agent
name: manager
model: played
policy: main
system_prompt: manager
agents: [worker]
description: Plans the work.
---
type: agent
name: worker
model: played
policy: main
system_prompt: worker
`

// teamwork plays all of them: each hands the task down, the worker calls the effect tool, and each hands the answer up.
func teamwork() *apptest.Model {
	return &apptest.Model{Turn: func(n int, req llm.Request) llm.Message {
		last := req.Messages[len(req.Messages)-1]
		task := fmt.Sprintf(`{"task":%q}`, req.System+"'s task")
		switch {
		case n > 1:
			return llm.Message{Content: req.System + " heard: " + last.Content}
		case req.System == "chief":
			return apptest.Calls("agent_manager", task)
		case req.System == "manager":
			return apptest.Calls("agent_worker", task)
		default:
			return apptest.Calls("effect", `{"n":1}`)
		}
	}}
}

func startTeam(h *apptest.Holdpoint) apptest.RunView {
	h.T.Helper()
	return h.Start("chief", "go")
}

// descendant waits for the one interaction that is open anywhere.
func descendant(h *apptest.Holdpoint, root interaction.RunID) (req interaction.Request) {
	h.T.Helper()
	h.Eventually("the worker's question", func() bool {
		list, _, err := h.Store().Interactions(context.Background(), store.InteractionFilter{Status: []interaction.Status{interaction.StatusPending}})
		if err != nil {
			h.T.Fatal(err)
		}
		for _, i := range list {
			if strings.HasPrefix(string(i.Request.RunID), string(root)+"-") {
				req = i.Request
				known, err := h.State(workflows.RunWorkflowID(req.RunID))
				return err == nil && len(known.Pending) == 1
			}
		}
		return false
	})
	return req
}

func TestAgentsCallAgents(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarts %t", restarts), func(t *testing.T) {
			t.Parallel()
			done := &counter{}
			h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(teamwork()), withConfig(team))
			run := startTeam(h)
			asked := descendant(h, run.RunID)
			if !slices.Equal(asked.AgentPath, []string{"chief", "manager", "worker"}) {
				t.Errorf("the question comes by way of %v", asked.AgentPath)
			}
			if restarts {
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
				h = apptest.Run(t, h.Options)
			}
			h.Answer(asked.ID, map[string]any{"action": "approve"})
			end := h.Ended(run.RunID)
			if want := `chief heard: manager heard: worker heard: did {"n":1}`; end.Output != want || done.count() != 1 {
				t.Errorf("the answer is %q after %d effects", end.Output, done.count())
			}
			oneStream(h, run.RunID, asked.RunID)
			if !restarts {
				h.Closed(run.Workflow)
				keep(t, "agent_calls_agent", h.History(run.Workflow, ""))
			}
		})
	}
}

// oneStream checks that the root's stream has the events of all, numbered without gaps, and ends with the root's own end.
func oneStream(h *apptest.Holdpoint, root, worker interaction.RunID) {
	h.T.Helper()
	events := h.Events(root)
	ends := 0
	for i, e := range events {
		if e.Number != int64(i+1) {
			h.T.Fatalf("event %d follows %d", e.Number, i)
		}
		if e.Type == event.RunCompleted {
			ends++
		}
	}
	if last := events[len(events)-1]; last.RunID != root || last.Type != event.RunCompleted || ends != 3 {
		h.T.Errorf("%d ends in the stream; the last event is %s of %s", ends, last.Type, last.RunID)
	}
	own := h.Events(worker)
	if len(own) == 0 || own[0].Type != event.RunStarted || own[len(own)-1].Type != event.RunCompleted {
		h.T.Errorf("the worker's own events are %v", own)
	}
	for _, e := range own {
		if e.RunID != worker {
			h.T.Errorf("the worker's events have one of %s", e.RunID)
		}
	}
	if err := h.Store().VerifyRun(context.Background(), root); err != nil {
		h.T.Error(err)
	}
}

func TestStoppingARunStopsTheAgentsThatItCalled(t *testing.T) {
	t.Parallel()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(teamwork()), withConfig(team))
	run := startTeam(h)
	asked := descendant(h, run.RunID)
	controlRun(h, run.RunID, "enough of this")
	if end := h.Ended(run.RunID); end.Status != "aborted" {
		t.Errorf("the run ended %s", end.Status)
	}
	worker := h.Show(asked.RunID)
	if worker.Status != "aborted" || !strings.Contains(string(worker.Error), "enough of this") {
		t.Errorf("the worker ended %s: %s", worker.Status, worker.Error)
	}
	if i := row(h, asked.ID); i.Status != interaction.StatusCancelled || done.count() > 0 {
		t.Errorf("the question is %s after %d effects", i.Status, done.count())
	}
	h.Closed(run.Workflow)
	keep(t, "agent_called_and_stopped", h.History(run.Workflow, ""))
}

func TestPausingARunPausesTheAgentsThatItCalled(t *testing.T) {
	t.Parallel()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(teamwork()), withConfig(team))
	run := startTeam(h)
	asked := descendant(h, run.RunID)
	control := func(action string) {
		if code, body := h.HTTP("POST", "/v1/runs/"+string(run.RunID)+"/control", map[string]string{"action": action}); code != 200 {
			t.Fatalf("%s: %d %s", action, code, body)
		}
	}
	control("pause_run")
	h.Eventually("the worker to be paused", func() bool { return h.Show(asked.RunID).Status == "paused" })
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	if done.count() > 0 {
		t.Error("the worker went on while the run was paused")
	}
	control("resume_run")
	if end := h.Ended(run.RunID); end.Status != "completed" || done.count() != 1 {
		t.Errorf("the run ended %s after %d effects", end.Status, done.count())
	}
	for name, id := range map[string]string{"paused_while_a_called_agent_works": run.Workflow, "paused_as_a_called_agent": workflows.RunWorkflowID(asked.RunID)} {
		events := h.Closed(id)
		keep(t, name, events)
		replay(t, events)
	}
}

func TestWhatBecomesOfACalledAgentIsToldToItsCaller(t *testing.T) {
	t.Parallel()
	model := teamwork()
	h := apptest.Start(t, withEffect(apptest.Effect{}), apptest.WithModel(model), withConfig(team))
	run := startTeam(h)
	h.Answer(descendant(h, run.RunID).ID, map[string]any{"action": "terminate", "note": "wrong task"})
	end := h.Ended(run.RunID)
	if end.Status != "completed" || !strings.Contains(end.Output, "was stopped") || !strings.Contains(end.Output, "wrong task") {
		t.Errorf("the run ended %s with %q", end.Status, end.Output)
	}
}

func TestAGrantForTheSessionHoldsForCalledAgents(t *testing.T) {
	t.Parallel()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(teamwork()), withConfig(team))
	run := startTeam(h)
	h.Answer(descendant(h, run.RunID).ID, always("session", "effect"))
	h.Ended(run.RunID)
	again := h.StartIn(run.SessionID, "chief", "again")
	if end := h.Ended(again.RunID); end.Status != "completed" {
		t.Errorf("the second run ended %s", end.Status)
	}
}

func TestAResetRunWaitsForTheAgentThatItHadCalled(t *testing.T) {
	t.Parallel()
	done := &counter{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(teamwork()), withConfig(team))
	run := startTeam(h)
	asked := descendant(h, run.RunID)
	h.Reset(run.Workflow)
	h.Eventually("the run to wait for the agent that works on", func() bool {
		d, err := h.Client.DescribeWorkflow(context.Background(), run.Workflow, "")
		if err != nil {
			return false
		}
		for _, a := range d.RawResponse.GetPendingActivities() {
			if a.GetActivityType().GetName() == "AwaitAgent" {
				return true
			}
		}
		return false
	})
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	if end := h.Ended(run.RunID); !strings.Contains(end.Output, `did {"n":1}`) || done.count() != 1 {
		t.Errorf("the run ended %s with %q after %d effects", end.Status, end.Output, done.count())
	}
}
