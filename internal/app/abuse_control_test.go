package app_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/tool"
	"holdpoint/workflows"
)

// listens is a model that waits until it is told to stop, or let go on.
type listens struct {
	begun   chan struct{}
	release chan struct{}
}

func newListens() listens {
	return listens{begun: make(chan struct{}, 10), release: make(chan struct{})}
}

// Generate implements llm.Model.
func (l listens) Generate(ctx context.Context, req llm.Request) (llm.Reply, error) {
	select {
	case l.begun <- struct{}{}:
	default: // nobody waits for that many
	}
	select {
	case <-ctx.Done():
		return llm.Reply{}, ctx.Err()
	case <-l.release:
		return llm.Reply{Message: llm.Message{Content: fmt.Sprintf("heard %d messages", spoken([]llm.Request{req}))}}, nil
	}
}

func TestAbortingARun(t *testing.T) {
	t.Parallel()
	t.Run("that is parked", func(t *testing.T) {
		t.Parallel()
		c := &counter{}
		h := startEffect(t, effectOnce(1), c)
		run := h.Begin("go")
		asked := h.Waits(run.RunID, 1)[0]
		controlRun(h, run.RunID, "enough")
		abortedBy(h, run, "dev", "enough")
		if rec := recordOf(h, asked.ID); rec.Status != interaction.StatusCancelled || c.count() != 0 {
			t.Errorf("%d executions, and the interaction is %s", c.count(), rec.Status)
		}
		refusedWith(h, asked.ID, map[string]any{"action": "approve"}, http.StatusConflict)
		if res := resultOf(h, run.RunID, asked.ToolCallID); res == nil || res.ToolStatus != string(tool.StatusAborted) {
			t.Errorf("the call's result is %+v", res)
		}
	})
	t.Run("while a tool runs", func(t *testing.T) {
		t.Parallel()
		abortWhileAToolRuns(t)
	})
	t.Run("while the model is asked", func(t *testing.T) {
		t.Parallel()
		model := newListens()
		h := apptest.Start(t, apptest.WithModel(model))
		run := h.Begin("go")
		<-model.begun
		controlRun(h, run.RunID, "enough")
		abortedBy(h, run, "dev", "enough")
		if len(model.begun) != 0 {
			t.Error("the model was asked again")
		}
	})
	t.Run("while the provider is down", func(t *testing.T) {
		t.Parallel()
		model := &moody{errors: []error{&llm.Error{Kind: llm.ErrRateLimited, Message: "later", RetryAfter: time.Hour}}}
		h := apptest.Start(t, apptest.WithModel(model))
		run := h.Begin("go")
		h.Eventually("the model to be asked", func() bool { return model.asked() == 1 })
		controlRun(h, run.RunID, "enough")
		abortedBy(h, run, "dev", "enough")
	})
}

// abortedBy waits for a run's end and sees that the record says who stopped it and why.
func abortedBy(h *apptest.Holdpoint, run apptest.RunView, who interaction.PrincipalID, note string) {
	h.T.Helper()
	end := h.Ended(run.RunID)
	last := eventsOf[event.RunAbortedData](h, run.RunID, event.RunAbortedByHuman)
	if end.Status != "aborted" || len(last) != 1 || last[0].By != who || last[0].Note != note {
		h.T.Errorf("the run ended %s, recorded as %+v", end.Status, last)
	}
	h.Closed(run.Workflow)
}

// abortWhileAToolRuns stops a run whose command has a child in the background and one that ignores signals.
func abortWhileAToolRuns(t *testing.T) {
	const script = `(trap '' TERM HUP INT; echo $BASHPID > stubborn.pid; while :; do sleep 0.1; done) & sleep 1000 & echo $! > child.pid; echo $$ > shell.pid; wait`
	model := apptest.Turns(apptest.Calls("bash", apptest.Bash(script)))
	h := apptest.Start(t, apptest.WithModel(model))
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	var pids []string
	h.Eventually("the command to run", func() bool {
		pids = nil
		for _, name := range []string{"stubborn.pid", "child.pid", "shell.pid"} {
			if b, err := os.ReadFile(filepath.Join(h.Dir, name)); err == nil && strings.HasSuffix(string(b), "\n") {
				pids = append(pids, strings.TrimSpace(string(b)))
			}
		}
		return len(pids) == 3
	})
	began := time.Now()
	controlRun(h, run.RunID, "enough")
	h.Eventually("all its processes to be gone", func() bool {
		for _, pid := range pids {
			if processLives(pid) {
				return false
			}
		}
		return true
	})
	took := time.Since(began)
	abortedBy(h, run, "dev", "enough")
	t.Logf("the processes were gone after %s", took)
	if took > soon {
		t.Errorf("the processes were gone only after %s", took)
	}
	res := resultOf(h, run.RunID, asked.ToolCallID)
	if res == nil || res.ToolStatus != string(tool.StatusAborted) {
		t.Errorf("the call's result is %+v", res)
	}
}

// soon is three seconds where nothing else runs: the word comes with a heartbeat, at most two seconds later.
const soon = 12 * time.Second

// processLives reports whether a process still does something.
func processLives(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// TestCancellingTheWorkflowIsAnAbort cancels a run in Temporal itself.
func TestCancellingTheWorkflowIsAnAbort(t *testing.T) {
	t.Parallel()
	t.Run("that is parked", func(t *testing.T) {
		t.Parallel()
		c := &counter{}
		model := &cast{}
		model.plays("first", effectCall(1))
		model.plays("second")
		h := startEffect(t, model, c)
		conversation := newSession()
		run := h.BeginIn(conversation, "first")
		asked := h.Waits(run.RunID, 1)[0]
		cancelNatively(h, run)
		abortedBy(h, run, "", "the workflow was cancelled in Temporal")
		if rec := recordOf(h, asked.ID); rec.Status != interaction.StatusCancelled || c.count() != 0 {
			t.Errorf("%d executions, and the interaction is %s", c.count(), rec.Status)
		}
		next := h.BeginIn(conversation, "second")
		completes(h, next.RunID)
		if got := toolMessages(model.requests("second")[0]); len(got) != 1 || got[0].ToolStatus != string(tool.StatusAborted) {
			t.Errorf("the next run's model got %+v", got)
		}
	})
	t.Run("while a tool runs", func(t *testing.T) {
		t.Parallel()
		c := &counter{}
		running := make(chan struct{})
		hold := func(ctx context.Context, _ tool.Call) { close(running); <-ctx.Done() }
		h := apptest.Start(t, apptest.WithModel(effectOnce(1)), withEffect(apptest.Effect{Log: c.log, Hold: hold}))
		run := h.Begin("go")
		asked := h.Waits(run.RunID, 1)[0]
		h.Answer(asked.ID, map[string]any{"action": "approve"})
		<-running
		cancelNatively(h, run)
		abortedBy(h, run, "", "the workflow was cancelled in Temporal")
		res := resultOf(h, run.RunID, asked.ToolCallID)
		if res == nil || res.ToolStatus != string(tool.StatusAborted) || !contains(*res, "stopped while it ran") || c.count() != 1 {
			t.Errorf("%d executions, and the result is %+v", c.count(), res)
		}
	})
}

// TestWhatIsCancelledBeforeItBeginsEnds has the cancellation come with the first workflow task, of a run that no bridge has
// stored: so it is with an agent whose caller is stopped as it calls.
func TestWhatIsCancelledBeforeItBeginsEnds(t *testing.T) {
	t.Parallel()
	for kind, test := range map[string]struct{ agent, input, shape string }{
		workflows.AgentRunName: {"tester", "go", "cancelled_before_it_began"},
		workflows.PipelineName: {"release", "go", "workflow_cancelled_before_it_began"},
		workflows.ApprovalName: {agent.ApprovalAgent, `{"title":"Deploy?"}`, "approval_cancelled_before_it_began"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h := apptest.Start(t, apptest.WithModel(apptest.Turns()), withConfig(flows))
			run := native(h, kind, test.agent, test.input, time.Hour)
			cancelNatively(h, run)
			events := h.Closed(run.Workflow)
			keep(t, test.shape, events)
			replay(t, events)
			abortedBy(h, run, "", "the workflow was cancelled in Temporal")
		})
	}
}

// TestAnAskThatCannotBeReadEnds starts an approval without the bridge, which would refuse it.
func TestAnAskThatCannotBeReadEnds(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]string{"no JSON": "Deploy?", "no object": "[1]"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := apptest.Start(t, apptest.WithModel(apptest.Turns()))
			run := native(h, workflows.ApprovalName, agent.ApprovalAgent, input, 0)
			h.Closed(run.Workflow)
			if end := h.Ended(run.RunID); end.Status != "failed" || !strings.Contains(string(end.Error), "can't be read") {
				t.Errorf("it ended %s: %s", end.Status, end.Error)
			}
		})
	}
}

// native starts a workflow as anybody does who has no bridge.
func native(h *apptest.Holdpoint, kind, name, input string, delay time.Duration) apptest.RunView {
	h.T.Helper()
	in := workflows.RunInput{RunID: interaction.RunID(uuid.NewString()), SessionID: interaction.SessionID(newSession()), Agent: name, Input: input, TaskQueue: h.Options.TaskQueue}
	run := apptest.RunView{RunID: in.RunID, Workflow: workflows.RunWorkflowID(in.RunID)}
	_, err := h.Client.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: run.Workflow, TaskQueue: in.TaskQueue, StartDelay: delay}, kind, in)
	if err != nil {
		h.T.Fatal(err)
	}
	return run
}

func cancelNatively(h *apptest.Holdpoint, run apptest.RunView) {
	h.T.Helper()
	if err := h.Client.CancelWorkflow(context.Background(), run.Workflow, ""); err != nil {
		h.T.Fatal(err)
	}
}

// TestAMessageForAnotherRunIsRefused sends what was meant for a session's earlier run.
func TestAMessageForAnotherRunIsRefused(t *testing.T) {
	t.Parallel()
	c := &counter{}
	model := &cast{}
	model.plays("first")
	model.plays("second", effectCall(1))
	h := startEffect(t, model, c)
	conversation := newSession()
	first := h.BeginIn(conversation, "first")
	completes(h, first.RunID)
	run := h.BeginIn(conversation, "second")
	asked := h.Waits(run.RunID, 1)[0]
	stop := workflows.ControlMessage{RunID: first.RunID, Action: workflows.AbortRun}
	say := workflows.TextMessage{RunID: first.RunID, Text: "hello"}
	for name, arg := range map[string]any{workflows.MessageControl: stop, workflows.MessageText: say} {
		if err := updateNatively(h, run.Workflow, name, arg); err == nil || !strings.Contains(err.Error(), "not the live run") {
			t.Errorf("the update %s was answered %v", name, err)
		}
		signalRaw(h, run.Workflow, name, arg)
	}
	for _, r := range refusals(h, run.RunID, 2) {
		if r.Code != string(interaction.CodeWrongRun) {
			t.Errorf("refused as %+v", r)
		}
	}
	for path, body := range map[string]map[string]string{"/control": {"action": "abort_run"}, "/messages": {"text": "hello"}} {
		code, out := h.HTTP("POST", "/v1/runs/"+string(first.RunID)+path, body)
		if p := problemOf(h, out); code != http.StatusConflict || p.Code != "run_ended" {
			t.Errorf("%s was answered %d %s", path, code, out)
		}
	}
	stillAsks(h, run, asked.ID)
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
	if heard := spoken(model.requests("second")); heard != 2 || c.count() != 1 {
		t.Errorf("%d executions, and the model heard %d messages", c.count(), heard)
	}
}
