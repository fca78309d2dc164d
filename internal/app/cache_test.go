package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

// lookup is a cacheable tool. It counts its executions, and fails while failing is set.
type lookup struct {
	counter *counter
	failing *bool
}

func (l lookup) Definition() tool.Definition {
	return tool.Definition{Name: "lookup", Description: "looks something up", Resource: tool.ResourceArgs, Consent: tool.ConsentNever,
		Cacheable: true, Schema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"number"}}}`)}
}

func (l lookup) Run(_ context.Context, c tool.Call) (tool.Outcome, error) {
	l.counter.log(c)
	if *l.failing {
		return tool.Failure("not now"), nil
	}
	return tool.Text(fmt.Sprintf("found, the %d. time", l.counter.count())), nil
}

func TestACacheableToolRunsOncePerSessionAndArguments(t *testing.T) {
	t.Parallel()
	l := lookup{counter: &counter{}, failing: new(bool)}
	*l.failing = true
	args := []string{`{"q":"x","n":1}`, `{"n":1.0, "q":"x"}`, `{"q":"y","n":1}`}
	model := &apptest.Model{Turn: asksOnce}
	h := apptest.Start(t, func(o *app.Options) { o.Tools = []tool.Tool{l} }, apptest.WithModel(model))
	ask := func(session, args string) tool.Result {
		t.Helper()
		run := h.BeginIn(session, args)
		if end := h.Ended(run.RunID); end.Status != "completed" {
			t.Fatalf("%s ended %s", args, end.Status)
		}
		return lastResult(t, h.Events(run.RunID))
	}
	expect := func(what string, got tool.Result, content string, cached bool, executions int) {
		t.Helper()
		if got.Content != content || (got.CachedFrom != "") != cached || l.counter.count() != executions {
			t.Errorf("%s: %+v after %d executions; want %q, cached %t, %d", what, got, l.counter.count(), content, cached, executions)
		}
	}
	expect("a failure", ask("one", args[0]), "not now", false, 1)
	*l.failing = false
	expect("after a failure", ask("one", args[0]), "found, the 2. time", false, 2)
	expect("the same again", ask("one", args[0]), "found, the 2. time", true, 2)
	expect("the same, written otherwise", ask("one", args[1]), "found, the 2. time", true, 2)
	expect("other arguments", ask("one", args[2]), "found, the 3. time", false, 3)
	expect("another session", ask("two", args[0]), "found, the 4. time", false, 4)

	forbid := permission.Rule{ID: "no-more", Effect: permission.Deny, Pattern: "lookup", UserID: "requester",
		Source: permission.Source{Layer: permission.LayerUser}, CreatedAt: time.Now().UTC()}
	if err := h.Store().SaveRule(context.Background(), forbid); err != nil {
		t.Fatal(err)
	}
	if got := ask("one", args[0]); got.Status != tool.StatusDenied || got.CachedFrom != "" {
		t.Errorf("what was kept came past a deny: %+v", got)
	}
}

// asksOnce calls lookup with what the user says, and then is done.
func asksOnce(_ int, req llm.Request) llm.Message {
	last := req.Messages[len(req.Messages)-1]
	if last.Role == llm.RoleUser {
		return apptest.Calls("lookup", last.Content)
	}
	return llm.Message{Content: "done"}
}

func TestACachedResultWaitsForItsApproval(t *testing.T) {
	t.Parallel()
	l := lookup{counter: &counter{}, failing: new(bool)}
	model := apptest.Turns(apptest.Calls("lookup", `{"q":"x"}`), apptest.Calls("lookup", `{"q":"x"}`))
	h := apptest.Start(t, func(o *app.Options) { o.Tools = []tool.Tool{l} },
		apptest.WithRules(`{match: lookup, decision: ask}`), apptest.WithModel(model))
	run := h.Begin("go")
	for range 2 {
		q := h.Waits(run.RunID, 1)[0]
		h.Answer(q.ID, map[string]any{"action": "approve"})
		h.Eventually("the answer to be carried out", func() bool { // the next question may be there at once
			return !slices.ContainsFunc(h.Pending(run.RunID), func(p interaction.Request) bool { return p.ID == q.ID })
		})
	}
	h.Ended(run.RunID)
	if got := lastResult(t, h.Events(run.RunID)); got.CachedFrom == "" || l.counter.count() != 1 {
		t.Errorf("the second call: %+v after %d executions", got, l.counter.count())
	}
}

// lastResult is the last tool result in a run's events.
func lastResult(t *testing.T, events []event.Event) (last tool.Result) {
	t.Helper()
	for _, e := range events {
		var d event.StepCompletedData
		if e.Type != event.StepCompleted {
			continue
		}
		if err := json.Unmarshal(e.Payload, &d); err != nil {
			t.Fatal(err)
		}
		if d.ToolCallID != "" {
			last = tool.Result{Status: tool.Status(d.Status), Content: d.Content, CachedFrom: d.CachedFrom}
		}
	}
	return last
}
