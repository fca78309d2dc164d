package app_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/store"
	"holdpoint/llm"
	"holdpoint/workflows"
)

// doctor examines a Holdpoint that runs, with no patience for disagreements.
func doctor(h *apptest.Holdpoint, in activities.KeepInput) activities.KeepResult {
	h.T.Helper()
	res, err := app.Doctor(context.Background(), app.Options{Data: h.Options.Data, KeepGrace: time.Nanosecond}, in)
	if err != nil {
		h.T.Fatal(err)
	}
	return res
}

// kinds are the findings in brief, "!" behind those that were mended.
func kinds(res activities.KeepResult) string {
	var out []string
	for _, f := range res.Findings {
		text := string(f.Kind)
		if f.Mended {
			text += "!"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// obliging is a model that answers each message of a person with a command.
func obliging() *apptest.Model {
	return &apptest.Model{Turn: func(_ int, req llm.Request) llm.Message {
		if req.Messages[len(req.Messages)-1].Role == llm.RoleUser {
			return apptest.Calls("bash", apptest.Bash("echo a"))
		}
		return llm.Message{Content: "done"}
	}}
}

func terminate(h *apptest.Holdpoint, workflowID string) {
	h.T.Helper()
	if err := h.Client.TerminateWorkflow(context.Background(), workflowID, "", "an operator's slip"); err != nil {
		h.T.Fatal(err)
	}
}

// TestTheKeeperClosesTheRecordOfATerminatedRun has a run ended from outside while it waits for a person.
func TestTheKeeperClosesTheRecordOfATerminatedRun(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(obliging()), apptest.WithRules(`{match: bash, decision: ask}`),
		func(o *app.Options) { o.KeepEvery, o.KeepGrace = time.Second, time.Nanosecond })
	run := h.BeginIn("kept", "go")
	q := h.Waits(run.RunID, 1)[0]
	terminate(h, run.Workflow)
	end := h.Ended(run.RunID)
	if end.Status != "failed" {
		t.Errorf("the run ended %s", end.Status)
	}
	i, _, err := h.Store().Interaction(context.Background(), q.ID)
	if err != nil || i.Status != interaction.StatusCancelled {
		t.Errorf("its question is %s, %v", i.Status, err)
	}
	if code, body := h.Respond(q.ID, map[string]any{"action": "approve"}); code != 409 && code != 410 {
		t.Errorf("an answer then: %d %s", code, body)
	}
	events := h.Events(run.RunID)
	last, err := event.Decode(events[len(events)-1])
	if failed, ok := last.(event.RunFailedData); err != nil || !ok || failed.Code != activities.CodeOrphaned || !strings.Contains(failed.Message, "Terminated") {
		t.Errorf("its stream ends with %+v, %v", last, err)
	}
	if err := h.Store().VerifyRun(context.Background(), run.RunID); err != nil {
		t.Error(err)
	}
	d, err := h.Client.ScheduleClient().GetHandle(context.Background(), workflows.KeepWorkflowID(h.Options.TaskQueue)).Describe(context.Background())
	if err != nil || len(d.Info.RecentActions) == 0 {
		t.Fatalf("the schedule: %+v, %v", d, err)
	}
	round := h.Closed(d.Info.RecentActions[0].StartWorkflowResult.WorkflowID)
	keep(t, "keep", round)
	replay(t, round)
	next := h.BeginIn("kept", "go on")
	h.Answer(h.Waits(next.RunID, 1)[0].ID, map[string]any{"action": "approve"})
	if end := h.Ended(next.RunID); end.Status != "completed" {
		t.Errorf("the session's next run ended %s", end.Status)
	}
}

func TestTheDoctorFindsAndMends(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(obliging()), apptest.WithRules(`{match: bash, decision: ask}`))
	fine := h.Begin("fine")
	h.Waits(fine.RunID, 1)
	if res := doctor(h, activities.KeepInput{Mend: true}); kinds(res) != "" || res.Runs != 1 {
		t.Fatalf("of a run that waits: %+v", res)
	}

	gone := h.BeginIn("gone", "go")
	h.Waits(gone.RunID, 1)
	terminate(h, gone.Workflow)
	later := h.BeginIn("gone", "again") // the session's workflow runs, but it is another run's
	h.Waits(later.RunID, 1)
	lost := agent.Run{ID: "lost", SessionID: "lost", WorkflowID: "session-lost", Agent: "tester", UserID: "requester", Requester: "requester", Status: agent.RunRunning, StartedAt: time.Now()}
	ended := h.Begin("ended")
	h.Waits(ended.RunID, 1)
	write(h, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.InsertRun(ctx, lost); err != nil {
			return err
		}
		run, _, _, err := tx.LockRun(ctx, ended.RunID)
		if err != nil {
			return err
		}
		run.Status, run.EndedAt = agent.RunFailed, time.Now()
		return tx.UpdateRun(ctx, run)
	})
	want := "ended_run missing_workflow orphaned_run stray_interaction"
	for range 2 { // looking changes nothing
		if res := doctor(h, activities.KeepInput{}); kinds(res) != want {
			t.Fatalf("found %s: %+v", kinds(res), res)
		}
	}
	if res := doctor(h, activities.KeepInput{Mend: true}); kinds(res) != "ended_run missing_workflow orphaned_run! stray_interaction!" {
		t.Errorf("mended %s", kinds(res))
	}
	if res := doctor(h, activities.KeepInput{GiveUp: []interaction.RunID{"lost"}}); kinds(res) != "ended_run missing_workflow!" {
		t.Errorf("given up %s", kinds(res))
	}
	if v := h.Show("lost"); v.Status != "failed" {
		t.Errorf("the lost run is %s", v.Status)
	}
	terminate(h, ended.Workflow)
	h.Eventually("nothing more to be found", func() bool { return kinds(doctor(h, activities.KeepInput{})) == "" })
	h.Waits(fine.RunID, 1)
	h.Waits(later.RunID, 1)
}

// TestARunWhoseSessionWasTakenByHandIsClosed has somebody start a session's workflow anew by Temporal's own tools, which say nothing of whose it is.
func TestARunWhoseSessionWasTakenByHandIsClosed(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(obliging()), apptest.WithRules(`{match: bash, decision: ask}`))
	gone := h.BeginIn("taken", "go")
	h.Waits(gone.RunID, 1)
	terminate(h, gone.Workflow)
	_, err := h.Client.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: gone.Workflow, TaskQueue: h.Options.TaskQueue}, workflows.AgentRunName,
		workflows.RunInput{RunID: "by-hand", SessionID: "taken", Agent: "tester", UserID: "requester", Requester: "requester", Input: "go"})
	if err != nil {
		t.Fatal(err)
	}
	h.Waits("by-hand", 1)
	if res := doctor(h, activities.KeepInput{Mend: true}); kinds(res) != "orphaned_run!" || res.Findings[0].RunID != gone.RunID {
		t.Errorf("found %+v", res)
	}
	if res := doctor(h, activities.KeepInput{Mend: true}); kinds(res) != "" {
		t.Errorf("found again %+v", res)
	}
	h.Waits("by-hand", 1)
}

// TestOneRecordThatCannotBeClosedKeepsNoOtherFromIt has one of two runs that were ended from outside name an agent that is not kept.
func TestOneRecordThatCannotBeClosedKeepsNoOtherFromIt(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(obliging()), apptest.WithRules(`{match: bash, decision: ask}`))
	fine := h.Begin("fine")
	h.Waits(fine.RunID, 1)
	broken := h.Begin("broken") // the newest is looked at first
	h.Waits(broken.RunID, 1)
	write(h, func(ctx context.Context, tx *store.Tx) error {
		run, _, _, err := tx.LockRun(ctx, broken.RunID)
		if err != nil {
			return err
		}
		run.AgentDigest = "lost"
		return tx.UpdateRun(ctx, run)
	})
	terminate(h, broken.Workflow)
	terminate(h, fine.Workflow)
	res, err := app.Doctor(context.Background(), app.Options{Data: h.Options.Data, KeepGrace: time.Nanosecond}, activities.KeepInput{Mend: true})
	if err == nil || !strings.Contains(err.Error(), string(broken.RunID)) || kinds(res) != "orphaned_run orphaned_run!" {
		t.Errorf("found %+v, %v", res, err)
	}
	if v := h.Show(fine.RunID); v.Status != "failed" {
		t.Errorf("the other run is %s", v.Status)
	}
}

func write(h *apptest.Holdpoint, fn func(context.Context, *store.Tx) error) {
	h.T.Helper()
	if err := h.Store().Write(context.Background(), func(tx *store.Tx) error { return fn(context.Background(), tx) }); err != nil {
		h.T.Fatal(err)
	}
}

// TestRunsThatOthersCalledAreClosedBeforeTheirCallers keeps a stream's last event its last.
func TestRunsThatOthersCalledAreClosedBeforeTheirCallers(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, withEffect(apptest.Effect{}), apptest.WithModel(teamwork()), withConfig(team))
	run := startTeam(h)
	asked := descendant(h, run.RunID)
	terminate(h, run.Workflow)
	h.Eventually("all three to be closed", func() bool {
		res := doctor(h, activities.KeepInput{Mend: true})
		return res.Runs == 0
	})
	events := h.Events(run.RunID)
	if last := events[len(events)-1]; last.RunID != run.RunID || !last.Type.Last() {
		t.Errorf("the stream ends with %s of %s", last.Type, last.RunID)
	}
	if v := h.Show(asked.RunID); v.Status != "aborted" && v.Status != "failed" { // it is cancelled with its caller
		t.Errorf("the worker's run is %s", v.Status)
	}
	if err := h.Store().VerifyRun(context.Background(), run.RunID); err != nil {
		t.Error(err)
	}
}

func TestTheDoctorSeesThatNobodyWorks(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, func(o *app.Options) { o.NoWorker = true })
	res := doctor(h, activities.KeepInput{})
	if kinds(res) != "no_worker" || !res.Findings[0].Fault() || !strings.Contains(res.Findings[0].What, h.Options.TaskQueue) {
		t.Errorf("%+v", res)
	}
	if _, err := app.Doctor(context.Background(), app.Options{Data: t.TempDir()}, activities.KeepInput{}); err == nil || !strings.Contains(err.Error(), "--config") {
		t.Errorf("where nothing is: %v", err)
	}
}

// absent is a model that is away.
type absent struct{}

func (absent) Generate(context.Context, llm.Request) (llm.Reply, error) {
	return llm.Reply{}, &llm.Error{Kind: llm.ErrUnavailable, Message: "the model is away", RetryAfter: 10 * time.Millisecond}
}

// TestTheDoctorSeesWhatFailsAgainAndAgain has a model that is away, and then a build that can't carry the run on.
func TestTheDoctorSeesWhatFailsAgainAndAgain(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(absent{}))
	run := h.Begin("go")
	h.Eventually("the activity to be found", func() bool {
		res := doctor(h, activities.KeepInput{})
		return kinds(res) == "failing_activity" && strings.Contains(res.Findings[0].What, "the model is away")
	})
	h.StopWorker()
	broken := worker.New(h.Client, h.Options.TaskQueue, worker.Options{})
	broken.RegisterWorkflowWithOptions(func(workflow.Context, workflows.RunInput) error { panic("a build that can't") }, workflow.RegisterOptions{Name: workflows.AgentRunName})
	if err := broken.Start(); err != nil {
		t.Fatal(err)
	}
	defer broken.Stop()
	if err := h.Client.SignalWorkflow(context.Background(), run.Workflow, "", workflows.MessageRecheck, struct{}{}); err != nil { // a reason for a task
		t.Fatal(err)
	}
	h.Eventually("the task to be found", func() bool {
		return slices.ContainsFunc(doctor(h, activities.KeepInput{Mend: true}).Findings, func(f activities.Finding) bool {
			return f.Kind == activities.FindingFailingTask && f.RunID == run.RunID
		})
	})
}
