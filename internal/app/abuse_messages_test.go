package app_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/workflows"
)

// updateNatively sends an update past the bridge.
func updateNatively(h *apptest.Holdpoint, workflowID, name string, arg any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	u, err := h.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: workflowID, UpdateName: name,
		Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err != nil {
		return err
	}
	return u.Get(ctx, nil)
}

// say sends a steering message by the bridge and reports whether it was accepted.
func say(h *apptest.Holdpoint, run interaction.RunID, id, text string) bool {
	h.T.Helper()
	code, out := h.HTTP("POST", "/v1/runs/"+string(run)+"/messages", map[string]string{"id": id, "text": text})
	switch code {
	case http.StatusOK, http.StatusAccepted:
		return true
	case http.StatusConflict, http.StatusRequestEntityTooLarge: // the sender knows
		problemOf(h, out)
		return false
	default:
		h.T.Errorf("message %s was answered %d %s", id, code, out)
		return false
	}
}

// texts are what the user said, in a request.
func texts(req llm.Request) (out []string) {
	for _, m := range req.Messages {
		if m.Role == llm.RoleUser {
			out = append(out, m.Content)
		}
	}
	return out
}

func TestASteeringMessageJoinsAtTheNextStep(t *testing.T) {
	t.Parallel()
	t.Run("sent during a model call", func(t *testing.T) {
		t.Parallel()
		model := newListens()
		h := apptest.Start(t, apptest.WithModel(model))
		run := h.Begin("go")
		<-model.begun
		if !say(h, run.RunID, "m1", "use the blue one") {
			t.Error("it was refused")
		}
		model.release <- struct{}{} // the answer to the old question is not the last
		<-model.begun
		close(model.release)
		completes(h, run.RunID)
		if end := h.Show(run.RunID); end.Output != "heard 2 messages" {
			t.Errorf("the run ended with %q", end.Output)
		}
	})
	t.Run("sent while the run is parked", func(t *testing.T) {
		t.Parallel()
		model := effectOnce(1)
		h := startEffect(t, model, &counter{})
		run := h.Begin("go")
		asked := h.Waits(run.RunID, 1)[0]
		say(h, run.RunID, "m1", "first")
		say(h, run.RunID, "m1", "first") // delivered twice
		signalRaw(h, run.Workflow, workflows.MessageText, workflows.TextMessage{ID: "m2", RunID: run.RunID, Text: "second"})
		signalRaw(h, run.Workflow, workflows.MessageText, workflows.TextMessage{ID: "m2", RunID: run.RunID, Text: "second"})
		stillAsks(h, run, asked.ID) // words approve nothing
		h.Answer(asked.ID, map[string]any{"action": "reject"})
		completes(h, run.RunID)
		requests := model.Requests()
		if got := strings.Join(texts(requests[len(requests)-1]), ", "); got != "go, first, second" {
			t.Errorf("the model heard: %s", got)
		}
	})
}

// TestNothingThatAPersonSaysIsLost speaks to runs all the while they come to their ends, by both roads.
func TestNothingThatAPersonSaysIsLost(t *testing.T) {
	t.Parallel()
	t.Run("when a run is aborted", func(t *testing.T) {
		t.Parallel()
		model := newListens()
		h := apptest.Start(t, apptest.WithModel(model))
		run := h.Begin("go")
		<-model.begun
		accounted(h, run, speak(h, run, 40, func() { controlRun(h, run.RunID, "enough") }))
	})
	t.Run("when a run has made all its steps", func(t *testing.T) {
		t.Parallel()
		model := newListens()
		h := apptest.Start(t, apptest.WithModel(model), apptest.WithMaxSteps(2))
		run := h.Begin("go")
		<-model.begun
		accounted(h, run, speak(h, run, 40, func() { close(model.release) }))
	})
	t.Run("when a run continues as new", func(t *testing.T) {
		t.Parallel()
		h := startShortHistories(t)
		run := h.Begin("go")
		sent := speak(h, run, 25, nil)
		accounted(h, run, sent)
		if n := len(h.Executions(run.Workflow)); n < 3 {
			t.Errorf("it continued as new %d times", n-1)
		}
	})
	t.Run("when a run comes to its answer", func(t *testing.T) {
		t.Parallel()
		h := apptest.Start(t, apptest.WithModel(&cast{}))
		atOnce(12, 4, func(i int) {
			h := as(t, h)
			run := h.Begin(fmt.Sprintf("input %d", i))
			sent := speak(h, run, i, nil)
			h.Ended(run.RunID) // in the record; its workflow may still be there
			if signalText(h, run, "late") == nil {
				sent = append(sent, "late")
			}
			accounted(h, run, sent)
		})
	})
}

// startShortHistories runs a Holdpoint on a server that wants every run to continue as new after a step or two. Its
// agent takes eight steps.
func startShortHistories(t *testing.T) *apptest.Holdpoint {
	t.Helper()
	o := apptest.Options(t, t.TempDir())
	o.Temporal, o.DynamicConfig = apptest.Temporal(t), apptest.DynamicConfig()
	o.DynamicConfig["limit.historyCount.suggestContinueAsNew"] = "12"
	model := apptest.Turns(effectCall(1), effectCall(2), effectCall(3), effectCall(4), effectCall(5), effectCall(6), effectCall(7))
	apptest.WithModel(model)(&o)
	withEffect(apptest.Effect{})(&o)
	apptest.WithRules(`{match: "effect", decision: allow}`)(&o)
	return apptest.Run(t, o)
}

// speak sends n messages by the bridge and n as signals, and returns the ids of those that were taken. then, if set,
// is called when the first were taken.
func speak(h *apptest.Holdpoint, run apptest.RunView, n int, then func()) (sent []string) {
	h.T.Helper()
	var mu sync.Mutex
	taken := func(id string) {
		mu.Lock()
		defer mu.Unlock()
		if sent = append(sent, id); len(sent) == 5 && then != nil {
			then()
		}
	}
	atOnce(2, 2, func(i int) {
		for k := range n {
			id := fmt.Sprintf("m%d-%d", i, k)
			if i == 0 && say(h, run.RunID, id, "said "+id) || i == 1 && signalText(h, run, id) == nil {
				taken(id)
			}
		}
	})
	return sent
}

func signalText(h *apptest.Holdpoint, run apptest.RunView, id string) error {
	return h.Client.SignalWorkflow(context.Background(), run.Workflow, "", workflows.MessageText,
		workflows.TextMessage{ID: interaction.ResponseID(id), RunID: run.RunID, Text: "said " + id})
}

// accounted checks that each message is in the transcript, or refused in the record: exactly one of the two.
func accounted(h *apptest.Holdpoint, run apptest.RunView, sent []string) {
	h.T.Helper()
	h.Ended(run.RunID)
	h.Closed(run.Workflow)
	where := map[string]int{}
	for _, s := range steps(h, run.RunID) {
		if id, ok := strings.CutPrefix(s.Message.Content, "said "); ok && s.Message.Role == llm.RoleUser {
			where[id]++
		}
	}
	heard := len(where)
	for _, r := range eventsOf[event.ErrorData](h, run.RunID, event.Error) {
		where[string(r.ResponseID)]++
	}
	for _, id := range sent {
		if where[id] != 1 {
			h.T.Errorf("message %s is %d times in transcript and record", id, where[id])
		}
	}
	h.T.Logf("%d messages were taken: %d are in the transcript, %d refused in the record", len(sent), heard, len(where)-heard)
}
