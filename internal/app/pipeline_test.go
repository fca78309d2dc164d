package app_test

import (
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

// flows are workflows of two agents, who are told by their prompts who they are.
const flows = `---
type: agent
name: writer
model: played
policy: main
system_prompt: writer
---
type: agent
name: critic
model: played
policy: main
system_prompt: critic
---
type: workflow
name: release
kind: pipeline
stages:
  - {name: draft, agent: writer}
  - {name: extra, agent: critic, when: 'outputs.draft contains "nothing"'}
  - {name: views, workflow: views, input: "look at: {{outputs.draft}}"}
  - {name: sign_off, gate: {title: 'Publish it?', reviewers: [alice, bob], quorum: 2}}
  - {name: publish, agent: writer, input: "publish {{previous}}"}
---
type: workflow
name: views
kind: parallel
stages:
  - {name: first, agent: critic}
  - {name: second, agent: critic, input: "twice {{input}}"}
---
type: workflow
name: polish
kind: loop
until: outputs.judge contains "good"
max_iterations: 4
stages:
  - {name: write, agent: writer, input: "round {{iteration}}: {{outputs.judge}}"}
  - {name: judge, agent: critic}
---
type: workflow
name: gated
kind: pipeline
stages:
  - {name: check, gate: {timeout: 1s}}
`

// echo is a model that says who it is and what it was told; a critic is content in the third round.
func echo() *apptest.Model {
	return &apptest.Model{Turn: func(_ int, req llm.Request) llm.Message {
		last := req.Messages[len(req.Messages)-1].Content
		if req.System == "critic" && strings.Contains(last, "round 3") {
			return llm.Message{Content: "good"}
		}
		return llm.Message{Content: req.System + "(" + last + ")"}
	}}
}

func stagesOf(events []event.Event) []string {
	var out []string
	for _, e := range events {
		data, err := event.Decode(e)
		if d, ok := data.(event.StageData); ok && err == nil {
			out = append(out, strings.Join(strings.Fields(fmt.Sprintf("%s %s/%s %s", e.Type, d.Workflow, d.Stage, d.Status)), " "))
		}
	}
	return out
}

func TestAPipelineWithBranchesAndAGate(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarts %t", restarts), func(t *testing.T) {
			t.Parallel()
			h := apptest.Start(t, apptest.WithModel(echo()), withConfig(flows))
			run := h.Start("release", "go")
			asked := h.Waits(run.RunID, 1)[0]
			views := "## first\n\ncritic(look at: writer(go))\n\n## second\n\ncritic(twice look at: writer(go))"
			if asked.Title != "Publish it?" || asked.Details != views || !slices.Equal(asked.AgentPath, []string{"release/sign_off"}) {
				t.Errorf("the gate asks %q about %q by way of %v", asked.Title, asked.Details, asked.AgentPath)
			}
			if code, body := h.HTTP("POST", "/v1/runs/"+string(run.RunID)+"/messages", map[string]any{"text": "hello"}); code < 400 {
				t.Errorf("a message to a workflow: %d %s", code, body)
			}
			if restarts {
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
				h = apptest.Run(t, h.Options)
			}
			replaced := map[string]any{"action": "redact", "text": "the short form"}
			for _, who := range []string{"alice", "bob"} {
				replaced["reviewer"] = map[string]string{"id": who}
				h.Answer(asked.ID, replaced)
			}
			end := h.Ended(run.RunID)
			if end.Status != "completed" || end.Output != "writer(publish the short form)" {
				t.Errorf("it ended as %s with %q (%s)", end.Status, end.Output, end.Error)
			}
			got := stagesOf(h.Events(run.RunID))
			for _, want := range []string{"stage_started release/draft", "stage_completed release/draft completed", "stage_skipped release/extra",
				"stage_started release/views", "branch_started views/first", "branch_started views/second", "branch_completed views/first completed",
				"branch_completed views/second completed", "stage_completed release/views completed", "stage_started release/sign_off",
				"stage_completed release/sign_off completed", "stage_completed release/publish completed"} {
				if n := len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != want })); n != 1 {
					t.Errorf("%q is %d times in the stream:\n%s", want, n, strings.Join(got, "\n"))
				}
			}
			verified(h, run.RunID)
			if !restarts {
				h.Closed(run.Workflow)
				keep(t, "pipeline_with_branches_and_gate", h.History(run.Workflow, ""))
			}
		})
	}
}

func verified(h *apptest.Holdpoint, root interaction.RunID) {
	h.T.Helper()
	if err := h.Store().VerifyRun(h.T.Context(), root); err != nil {
		h.T.Error(err)
	}
}

func TestAGateOfAWorkflowThatIsNotApprovedEndsTheRun(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(echo()), withConfig(flows))
	run := h.Start("release", "go")
	asked := h.Waits(run.RunID, 1)[0]
	h.Answer(asked.ID, map[string]any{"action": "reject", "feedback": "too long", "reviewer": map[string]string{"id": "bob"}})
	end := h.Ended(run.RunID)
	if end.Status != "failed" || !strings.Contains(string(end.Error), "too long") || !strings.Contains(string(end.Error), "bob") {
		t.Errorf("rejected, it ended as %s: %s", end.Status, end.Error)
	}
	late := h.Start("gated", "go")
	if end := h.Ended(late.RunID); end.Status != "failed" || !strings.Contains(string(end.Error), "nobody decided") {
		t.Errorf("not answered in time, it ended as %s: %s", end.Status, end.Error)
	}
}

func TestALoopEndsWhenItsConditionHolds(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(echo()), withConfig(flows))
	run := h.Start("polish", "go")
	end := h.Ended(run.RunID)
	if end.Status != "completed" || end.Output != "good" {
		t.Errorf("it ended as %s with %q: %s", end.Status, end.Output, end.Error)
	}
	rounds := 0
	for _, s := range stagesOf(h.Events(run.RunID)) {
		if strings.HasPrefix(s, "iteration_started") {
			rounds++
		}
	}
	if rounds != 3 {
		t.Errorf("%d iterations began, want 3", rounds)
	}
	h.Closed(run.Workflow)
	keep(t, "pipeline_loop", h.History(run.Workflow, ""))
}

// TestALoopThatIsNeverContentEndsAtItsLimit has a condition that never comes true.
func TestALoopThatIsNeverContentEndsAtItsLimit(t *testing.T) {
	t.Parallel()
	const never = "---\ntype: workflow\nname: %s\nkind: loop\nuntil: outputs.write == \"never\"\nmax_iterations: 3\n%sstages:\n  - {name: write, agent: writer, input: \"round {{iteration}}\"}\n"
	h := apptest.Start(t, apptest.WithModel(echo()), withConfig(flows+fmt.Sprintf(never, "strict", "")+fmt.Sprintf(never, "patient", "at_limit: complete\n")))
	for name, want := range map[string]string{"strict": "failed", "patient": "completed"} {
		run := h.Start(name, "go")
		end := h.Ended(run.RunID)
		if end.Status != want || want == "completed" && end.Output != "writer(round 3)" || want == "failed" && !strings.Contains(string(end.Error), "3 iterations") {
			t.Errorf("%s: it ended as %s with %q: %s", name, end.Status, end.Output, end.Error)
		}
		if got := strings.Count(h.EventTypes(run.RunID), "iteration_started"); got != 3 {
			t.Errorf("%s: %d iterations began, want 3", name, got)
		}
	}
}

func TestStoppingAWorkflowStopsItsStages(t *testing.T) {
	t.Parallel()
	done := &counter{}
	model := &apptest.Model{Turn: func(int, llm.Request) llm.Message { return apptest.Calls("effect", `{"n":1}`) }}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(model), withConfig(flows))
	run := h.Start("views", "go")
	h.Eventually("both branches wait", func() bool { return len(pendingUnder(h, run.RunID)) == 2 })
	if code, body := h.HTTP("POST", "/v1/runs/"+string(run.RunID)+"/control", map[string]any{"action": "abort_run", "note": "enough"}); code >= 300 {
		t.Fatalf("abort: %d %s", code, body)
	}
	if end := h.Ended(run.RunID); end.Status != "aborted" || done.count() != 0 {
		t.Errorf("it ended as %s after %d effects", end.Status, done.count())
	}
	h.Closed(run.Workflow)
	for _, child := range []string{"-1-1-sub", "-1-2-sub"} {
		h.Closed(workflows.RunWorkflowID(run.RunID + interaction.RunID(child)))
	}
	if open := pendingUnder(h, run.RunID); len(open) != 0 {
		t.Errorf("still open: %v", open)
	}
}

// pendingUnder lists what is open in the runs that a run has called.
func pendingUnder(h *apptest.Holdpoint, root interaction.RunID) (ids []interaction.ID) {
	h.T.Helper()
	list, _, err := h.Store().Interactions(h.T.Context(), store.InteractionFilter{Status: []interaction.Status{interaction.StatusPending}})
	if err != nil {
		h.T.Fatal(err)
	}
	for _, i := range list {
		if strings.HasPrefix(string(i.Request.RunID), string(root)+"-") {
			ids = append(ids, i.Request.ID)
		}
	}
	return ids
}

// TestPausingAWorkflowPausesItsStages answers what its branches ask while it is paused: nothing runs before it goes on.
func TestPausingAWorkflowPausesItsStages(t *testing.T) {
	t.Parallel()
	done := &counter{}
	model := &apptest.Model{Turn: func(n int, _ llm.Request) llm.Message {
		if n == 1 {
			return apptest.Calls("effect", `{"n":1}`)
		}
		return llm.Message{Content: "done"}
	}}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(model), withConfig(flows))
	run := h.Start("views", "go")
	h.Eventually("both branches wait", func() bool { return len(pendingUnder(h, run.RunID)) == 2 })
	branches := []interaction.RunID{run.RunID + "-1-1-sub", run.RunID + "-1-2-sub"}
	say := func(action string) {
		if code, body := h.HTTP("POST", "/v1/runs/"+string(run.RunID)+"/control", map[string]any{"action": action}); code >= 300 {
			t.Fatalf("%s: %d %s", action, code, body)
		}
	}
	say("pause_run")
	for _, b := range branches {
		h.Eventually("a branch to be paused", func() bool { s, err := h.State(workflows.RunWorkflowID(b)); return err == nil && s.Status == "paused" })
	}
	for _, id := range pendingUnder(h, run.RunID) {
		h.Answer(id, map[string]any{"action": "approve"})
	}
	if done.count() != 0 {
		t.Errorf("%d effects while it was paused", done.count())
	}
	say("resume_run")
	if end := h.Ended(run.RunID); end.Status != "completed" || done.count() != 2 {
		t.Errorf("it ended as %s after %d effects", end.Status, done.count())
	}
	h.Closed(run.Workflow)
	keep(t, "pipeline_paused_and_resumed", h.History(run.Workflow, ""))
	replay(t, h.History(run.Workflow, ""))
}
