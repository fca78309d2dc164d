package app_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/activities"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

// glance is the effect tool as one that says of itself that it only reads, and soon ends. What it does in run is for a test.
func glance(run func(ctx context.Context, c tool.Call)) apptest.Setup {
	return withEffect(apptest.Effect{Idempotent: true, Quick: true, Hold: run})
}

const allowsEffect = `{match: effect, decision: allow}`

// ways counts how the tool calls of a run were carried out: in a workflow task, and as activities.
func ways(h *apptest.Holdpoint, workflowID string) (inTasks, asActivities int) {
	h.T.Helper()
	for _, e := range h.History(workflowID, "") {
		if m := e.GetMarkerRecordedEventAttributes(); m.GetMarkerName() == "LocalActivity" &&
			strings.Contains(m.GetDetails()["data"].String(), activities.RunQuickName) {
			inTasks++
		}
		if e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == activities.RunToolName {
			asActivities++
		}
	}
	return inTasks, asActivities
}

func wentAs(h *apptest.Holdpoint, run apptest.RunView, inTasks, asActivities int) {
	h.T.Helper()
	if a, b := ways(h, run.Workflow); a != inTasks || b != asActivities {
		h.T.Errorf("%d calls were carried out in workflow tasks and %d as activities; want %d and %d", a, b, inTasks, asActivities)
	}
}

func TestAFileIsReadInAWorkflowTaskByTheSameRules(t *testing.T) {
	t.Parallel()
	model := &cast{}
	read := func(path string) llm.Message { return apptest.Calls("file_read", `{"path":"`+path+`"}`) }
	model.plays("allowed", read("note.txt"), read("note.txt"))
	model.plays("denied", read("secret.txt"))
	model.plays("outside", read("/etc/hostname"))
	model.plays("released", read("held.txt"))
	h := apptest.Start(t, apptest.WithModel(model), apptest.WithRules(`{match: "file_read(./secret.txt)", decision: deny}`,
		`{match: "file_read(./held.txt)", decision: ask, stage: result}`))
	for _, name := range []string{"note.txt", "secret.txt", "held.txt"} {
		if err := os.WriteFile(filepath.Join(h.Dir, name), []byte("it says "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	last := func(input string) llm.Message {
		all := model.requests(input)
		messages := all[len(all)-1].Messages
		return messages[len(messages)-1]
	}

	run := h.Begin("allowed")
	completes(h, run.RunID)
	wentAs(h, run, 2, 0)
	if got := last("allowed"); got.Content != "it says note.txt\n" {
		t.Errorf("the model got %+v", got)
	}
	const events = "run_started step_completed step_completed step_completed step_completed step_completed step_completed run_completed"
	if got := strings.TrimSpace(h.EventTypes(run.RunID)); got != events {
		t.Errorf("the record has %s", got)
	}

	run = h.Begin("denied")
	completes(h, run.RunID)
	wentAs(h, run, 0, 0)
	if got := last("denied"); got.ToolStatus != string(tool.StatusDenied) {
		t.Errorf("the model got %+v", got)
	}

	run = h.Begin("outside") // it asks, and what was asked about is carried out by an activity
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
	wentAs(h, run, 0, 1)

	run = h.Begin("released")
	asked := h.Waits(run.RunID, 1)[0]
	if asked.Kind != interaction.KindResult {
		t.Errorf("asked: %+v", asked)
	}
	h.Answer(asked.ID, map[string]any{"action": "redact", "text": "nothing"})
	completes(h, run.RunID)
	wentAs(h, run, 1, 1)
	if got := last("released"); strings.Contains(got.Content, "it says") {
		t.Errorf("the model got %+v", got)
	}
}

// A rule that is saved between the model's call and its execution decides, in a workflow task as anywhere.
func TestAQuickCallIsDecidedAgainBeforeItRuns(t *testing.T) {
	t.Parallel()
	c := &counter{}
	var h *apptest.Holdpoint
	saved := false
	deny := func(p activities.Point) {
		if p != activities.PointBeforeClaim || saved {
			return
		}
		saved = true
		rule := permission.Rule{ID: "late", Effect: permission.Deny, Pattern: "effect", UserID: "requester", GrantedBy: "alice",
			Source: permission.Source{Layer: permission.LayerUser}, CreatedAt: time.Now().UTC()}
		if err := h.Store().SaveRule(context.Background(), rule); err != nil {
			t.Error(err)
		}
	}
	h = apptest.Start(t, apptest.WithModel(effectOnce(1)), withEffect(apptest.Effect{Idempotent: true, Quick: true, Log: c.log}),
		apptest.WithRules(allowsEffect), func(o *app.Options) { o.Faults = deny })
	run := h.Begin("go")
	completes(h, run.RunID)
	wentAs(h, run, 1, 0)
	if !strings.Contains(h.EventTypes(run.RunID), "tool_auth_denied") || c.count() != 0 {
		t.Errorf("%d executions, and the record has %s", c.count(), h.EventTypes(run.RunID))
	}
}

// A quick tool that is none holds a workflow task open for half a second, and no longer: it is stopped, or left behind, and
// runs again as any other, where what people send reaches it.
func TestAQuickCallThatLastsHoldsNothingUp(t *testing.T) {
	t.Parallel()
	for name, heeds := range map[string]bool{"and heeds its end": true, "and heeds nothing": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began, release := make(chan struct{}, 10), make(chan struct{})
			t.Cleanup(func() { close(release) })
			var times atomic.Int32
			h := apptest.Start(t, apptest.WithModel(effectOnce(1)), apptest.WithRules(allowsEffect), glance(func(ctx context.Context, _ tool.Call) {
				began <- struct{}{}
				if first := times.Add(1) == 1; first && !heeds {
					<-release
				}
				<-ctx.Done()
			}))
			run := h.Begin("go")
			<-began
			sent := time.Now()
			if code, body := h.HTTP(http.MethodPost, "/v1/runs/"+string(run.RunID)+"/messages", map[string]any{"text": "hurry"}); code != http.StatusOK {
				t.Errorf("a message while it runs: %d %s", code, body)
			}
			if took := time.Since(sent); took > 2*time.Second {
				t.Errorf("a message was held up for %s", took)
			}
			<-began // as an activity
			sent = time.Now()
			controlRun(h, run.RunID, "enough")
			abortedBy(h, run, "dev", "enough")
			if took := time.Since(sent); took > 3*time.Second {
				t.Errorf("the run was stopped after %s", took)
			}
			wentAs(h, run, 1, 1)
		})
	}
}

func TestARunIsStoppedWhileAQuickCallRuns(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 10)
	h := apptest.Start(t, apptest.WithModel(effectOnce(1)), apptest.WithRules(allowsEffect), glance(func(ctx context.Context, _ tool.Call) {
		began <- struct{}{}
		<-ctx.Done()
	}))
	run := h.Begin("go")
	<-began
	sent := time.Now()
	controlRun(h, run.RunID, "enough")
	abortedBy(h, run, "dev", "enough")
	if took := time.Since(sent); took > 3*time.Second {
		t.Errorf("the run was stopped after %s", took)
	}
}

// While anybody is asked, a quick call is an activity, so that no answer waits for it.
func TestAnAnswerDoesNotWaitForAQuickCall(t *testing.T) {
	t.Parallel()
	began, release := make(chan struct{}, 10), make(chan struct{})
	h := apptest.Start(t, apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`, "bash", apptest.Bash("echo yes > yes")))),
		apptest.WithRules(allowsEffect, `{match: bash, decision: ask}`), glance(func(ctx context.Context, _ tool.Call) {
			began <- struct{}{}
			select {
			case <-release:
			case <-ctx.Done():
			}
		}))
	run := h.Begin("go")
	<-began
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "approve"})
	h.Eventually("what was approved to have run", func() bool { return exists(filepath.Join(h.Dir, "yes")) })
	if n := len(began); n != 0 {
		t.Errorf("the quick call ran %d more times", n)
	}
	close(release)
	completes(h, run.RunID)
	wentAs(h, run, 0, 2)
}

// Held back by a pause, a quick call is one that a person's word lets go on: it runs as an activity.
func TestAQuickCallOfAPausedRunWaitsForItsEnd(t *testing.T) {
	t.Parallel()
	c := &counter{}
	begun, on := make(chan struct{}), make(chan struct{})
	model := &apptest.Model{Turn: func(n int, _ llm.Request) llm.Message {
		if n > 1 {
			return llm.Message{Content: "done"}
		}
		close(begun)
		<-on
		return effectCall(1)
	}}
	h := apptest.Start(t, apptest.WithModel(model), apptest.WithRules(allowsEffect), withEffect(apptest.Effect{Idempotent: true, Quick: true, Log: c.log}))
	run := h.Begin("go")
	control := func(action string) {
		if code, body := h.HTTP(http.MethodPost, "/v1/runs/"+string(run.RunID)+"/control", map[string]any{"action": action}); code != http.StatusOK {
			t.Fatalf("%s: %d %s", action, code, body)
		}
	}
	<-begun
	control("pause_run")
	close(on)
	h.Eventually("the call to be held", func() bool {
		state, err := h.State(run.Workflow)
		return err == nil && state.Steps == 1
	})
	if c.count() != 0 {
		t.Error("the call ran while its run was paused")
	}
	control("resume_run")
	completes(h, run.RunID)
	wentAs(h, run, 0, 1)
}

// A quick tool that is bound to machines of its own runs nowhere else.
func TestAQuickToolRunsWhereItsTaskQueueIs(t *testing.T) {
	t.Parallel()
	model := apptest.Turns(apptest.Calls("file_read", `{"path":"note.txt"}`))
	h := apptest.Start(t, apptest.WithModel(model), withConfig("---\ntype: tool\nname: file_read\ntask_queue: machines-of-"+newSession()+"\n"))
	run := h.Begin("go")
	h.Eventually("the call to be scheduled", func() bool {
		inTasks, asActivities := ways(h, run.Workflow)
		return inTasks+asActivities > 0
	})
	wentAs(h, run, 0, 1)
	if got := len(model.ToolResults()); got != 0 {
		t.Errorf("%d results came from nowhere", got)
	}
	controlRun(h, run.RunID, "nobody is there")
}

// The worker is killed with the workflow task in which the call runs: another one takes both up, and nothing is lost.
func TestAWorkerDiesInTheMiddleOfAQuickCall(t *testing.T) {
	t.Parallel()
	const script = "turns:\n  - calls: [{name: glance, args: {n: 1}}]\n  - say: \"It said: {{result}}\"\n"
	var tests []subtest
	for _, p := range []struct {
		point activities.Point
		times int // that the tool ran, in the end
	}{{activities.PointBeforeClaim, 1}, {activities.PointClaimed, 1}, {pointGlanceBegun, 2}, {activities.PointEffectDone, 2}, {activities.PointResultStored, 1}} {
		tests = append(tests, subtest{string(p.point), func(t *testing.T) {
			c := newCrash(t, workerAlone, script, `{match: glance, decision: allow}`)
			c.victim.Points, c.victim.Dies = []activities.Point{p.point}, true
			c.start()
			run := c.begin("go")
			c.gone()
			c.restart()
			c.Ended(run.RunID)
			inTasks, asActivities := ways(c.Holdpoint, run.Workflow)
			left := inTasks + asActivities - 1 // on a machine so busy that the call lasted, and was begun again as an activity
			if left != 0 && (inTasks != 1 || asActivities != 1) {
				t.Errorf("the call was carried out %d times in workflow tasks and %d times as an activity", inTasks, asActivities)
			}
			c.completes(run.RunID, `It said: did {"n":1}`, p.times+left)
			c.audit()
		}})
	}
	sideBySide(t, tests...)
}

// The server of the tests, like those of dev and deploy, hands the first workflow task out with the answer to the start, and
// an activity with the answer to the task that schedules it.
func TestARunAndItsActivitiesBeginAtOnce(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithModel(apptest.Turns()))
	run := h.Begin("go")
	completes(h, run.RunID)
	events := h.Closed(run.Workflow)
	if !events[0].GetWorkflowExecutionStartedEventAttributes().GetEagerExecutionAccepted() {
		t.Error("the first workflow task went through the task queue")
	}
	scheduled := map[int64]time.Time{}
	soonest := time.Hour
	for _, e := range events {
		scheduled[e.GetEventId()] = e.GetEventTime().AsTime()
		if a := e.GetActivityTaskStartedEventAttributes(); a != nil {
			soonest = min(soonest, e.GetEventTime().AsTime().Sub(scheduled[a.GetScheduledEventId()]))
		}
	}
	if soonest > 500*time.Microsecond { // through its task queue none comes so soon
		t.Errorf("no activity began sooner than %s after it was scheduled", soonest)
	}
}
