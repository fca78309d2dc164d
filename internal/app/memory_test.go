package app_test

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/tool"
)

// results are the tool results of a run, in the order of the transcript.
func results(h *apptest.Holdpoint, run interaction.RunID) (list []event.StepCompletedData) {
	h.T.Helper()
	for _, e := range h.Events(run) {
		var d event.StepCompletedData
		if e.Type != event.StepCompleted {
			continue
		}
		if err := json.Unmarshal(e.Payload, &d); err != nil {
			h.T.Fatal(err)
		}
		if d.ToolCallID != "" {
			list = append(list, d)
		}
	}
	return list
}

func TestIdenticalCallsOfATurnShareOneInteraction(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules   string
		answer  map[string]any // nil: its time runs out
		effects int
		status  tool.Status
	}{
		"approved": {answer: map[string]any{"action": "approve"}, effects: 1, status: tool.StatusSuccess},
		"rejected": {answer: map[string]any{"action": "reject"}, status: tool.StatusRejected},
		"edited":   {answer: edited(`{"n":7}`), effects: 1, status: tool.StatusSuccess},
		"answered": {answer: map[string]any{"action": "answer", "text": "blue"}, status: tool.StatusSuccess},
		"skipped":  {answer: map[string]any{"action": "skip"}, status: tool.StatusSkipped},
		"retried":  {answer: map[string]any{"action": "retry", "feedback": "think"}, status: tool.StatusRetry},
		"expired":  {rules: `{match: effect, decision: ask, timeout: 1s}`, status: tool.StatusExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done, hook := &counter{}, &receiver{attempts: map[string]int{}}
			at := httptest.NewServer(hook)
			t.Cleanup(at.Close)
			model := apptest.Turns(apptest.Calls("effect", `{"n":1,"ok":true}`, "effect", `{"ok":true, "n":1.0}`, "bash", apptest.Bash("true"),
				"effect", `{"n":1,"ok":true}`))
			h := startEffect(t, model, done, apptest.WithRules(`{match: "bash(true)", decision: allow}`, cmp.Or(tc.rules, `{match: effect, decision: ask}`)), withHook(at.URL))
			run := h.Begin("go")
			var asked []interaction.Request
			h.Eventually("the question", func() bool {
				asked = eventsOf[interaction.Request](h, run.RunID, event.InteractionRequest)
				return len(asked) > 0
			})
			if tc.answer != nil {
				h.Answer(asked[0].ID, tc.answer)
			}
			completes(h, run.RunID)
			told := model.ToolResults()
			if len(told) != 4 || done.count() != tc.effects {
				t.Fatalf("the effect happened %d times, and the model got %d results", done.count(), len(told))
			}
			if told[0].ToolStatus != string(tc.status) || told[0].Content != told[1].Content || told[0].Content != told[3].Content {
				t.Errorf("the same call has different results: %+v", told)
			}
			if asked = eventsOf[interaction.Request](h, run.RunID, event.InteractionRequest); len(asked) != 1 || len(asked[0].SharedCallIDs) != 2 {
				t.Errorf("asked was %+v", asked)
			}
			h.Eventually("the notifier to be told of the end", func() bool { return len(hook.of("interaction.closed", string(asked[0].ID))) > 0 })
			hook.mu.Lock()
			defer hook.mu.Unlock()
			if len(hook.got) != 2 {
				t.Errorf("the notifier was told %+v", hook.got)
			}
		})
	}
}

// withHook has a receiver told of every interaction.
func withHook(at string) apptest.Setup {
	return withConfig(fmt.Sprintf("---\ntype: notifier\nname: hook\nkind: webhook\nurl: %s\nsecret: whsec_%s\n", at, base64.StdEncoding.EncodeToString(hookKey)))
}

func TestARejectedCallIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	done := &counter{}
	again := &apptest.Model{Turn: func(int, llm.Request) llm.Message { return apptest.Calls("effect", `{"n":1}`) }}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(again))
	run := h.Begin("go")
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "reject", "feedback": "not on a Friday",
		"reviewer": map[string]any{"id": "alice"}})
	end := h.Ended(run.RunID)
	if end.Status != "failed" || end.ErrorCode != "rejected_repeatedly" || !strings.Contains(string(end.Error), "alice") {
		t.Errorf("the run ended %s with %s: %s", end.Status, end.ErrorCode, end.Error)
	}
	told := results(h, run.RunID)
	if len(told) != 1+tool.MaxRepeats || done.count() != 0 {
		t.Fatalf("%d results, %d effects", len(told), done.count())
	}
	for i, d := range told {
		if d.Status != string(tool.StatusRejected) || !strings.Contains(d.Content, "alice") || !strings.Contains(d.Content, "not on a Friday") {
			t.Errorf("result %d: %s %q", i, d.Status, d.Content)
		}
	}
	keep(t, "rejected_repeatedly", h.Closed(run.Workflow))
}

func TestALiftedRejectionIsAskedAgain(t *testing.T) {
	t.Parallel()
	done := &counter{}
	same := apptest.Calls("effect", `{"n":1}`)
	model := apptest.Turns(same, apptest.Calls("effect", `{"n":2}`), same)
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(model))
	run := h.Begin("go")
	first := h.Waits(run.RunID, 1)[0].ID
	h.Answer(first, map[string]any{"action": "reject"})
	h.Eventually("the second call", func() bool { p := h.Pending(run.RunID); return len(p) == 1 && p[0].ID != first })
	second := h.Waits(run.RunID, 1)[0].ID
	control := "/v1/runs/" + string(run.RunID) + "/control"
	if code, body := h.HTTP("POST", control, map[string]any{"action": "lift_rejection", "interaction_id": second}); code != http.StatusNotFound {
		t.Errorf("what was not rejected was lifted: %d %s", code, body)
	}
	if code, body := h.HTTP("POST", control, map[string]any{"action": "lift_rejection", "interaction_id": first, "note": "it may now"}); code != http.StatusOK {
		t.Fatalf("lift: %d %s", code, body)
	}
	h.Answer(second, map[string]any{"action": "skip"})
	h.Eventually("the first call to be asked again", func() bool { p := h.Pending(run.RunID); return len(p) == 1 && p[0].ID != second })
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "approve"})
	if end := h.Ended(run.RunID); end.Status != "completed" || done.count() != 1 {
		t.Errorf("the run ended %s after %d effects", end.Status, done.count())
	}
	if !strings.Contains(h.EventTypes(run.RunID), "execution_resumed") {
		t.Error("the record does not say that the rejection was lifted")
	}
	keep(t, "rejection_lifted", h.Closed(run.Workflow))
}

func TestAnEditedCallMadeAgainIsAskedAgainAndLinked(t *testing.T) {
	t.Parallel()
	done := &counter{}
	original := apptest.Calls("effect", `{"n":1}`)
	model := apptest.Turns(original, original)
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(model))
	run := h.Begin("go")
	first := h.Waits(run.RunID, 1)[0].ID
	h.Answer(first, map[string]any{"action": "modify_args", "args": map[string]any{"n": 7}})
	h.Eventually("the original to be asked again", func() bool { p := h.Pending(run.RunID); return len(p) == 1 && p[0].ID != first })
	second := h.Waits(run.RunID, 1)[0]
	if second.LinkedTo != first || !strings.Contains(second.Message, "changed the arguments of this same call") {
		t.Errorf("linked to %q: %q", second.LinkedTo, second.Message)
	}
	h.Answer(second.ID, map[string]any{"action": "reject"})
	h.Ended(run.RunID)
	if told := model.ToolResults(); done.count() != 1 || !strings.Contains(told[0].Content, `{"n":7}`) {
		t.Errorf("%d effects; the model was told %q", done.count(), told[0].Content)
	}
}
