package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/tool"
)

// asShown are arguments whose types are easily lost on the way.
const asShown = `{"n":5,"ok":false,"tags":[]}`

// startArgs runs a Holdpoint whose model asks for the effect with asShown, and waits for the question.
func startArgs(t *testing.T, e *executions, rules ...string) (*apptest.Holdpoint, *apptest.Model, apptest.RunView, interaction.Request) {
	t.Helper()
	model := apptest.Turns(apptest.Calls("effect", asShown))
	setups := []apptest.Setup{apptest.WithModel(model), withEffect(apptest.Effect{Log: e.log})}
	if len(rules) > 0 {
		setups = append(setups, apptest.WithRules(rules...))
	}
	h := apptest.Start(t, setups...)
	run := h.Begin("go")
	return h, model, run, h.Waits(run.RunID, 1)[0]
}

func ranWith(t *testing.T, e *executions, run interaction.RunID, args string) {
	t.Helper()
	if ran := e.of(run); len(ran) != 1 || string(ran[0].Args) != args {
		t.Errorf("what ran is %+v, want one execution with %s", ran, args)
	}
}

func edited(args string) map[string]any {
	return map[string]any{"action": "modify_args", "args": json.RawMessage(args)}
}

func TestArgumentsKeepTheirTypes(t *testing.T) {
	t.Parallel()
	t.Run("approved as they are", func(t *testing.T) {
		t.Parallel()
		e := &executions{}
		h, model, run, asked := startArgs(t, e)
		if string(asked.ToolArgs) != asShown {
			t.Errorf("shown is %s", asked.ToolArgs)
		}
		h.Answer(asked.ID, map[string]any{"action": "approve"})
		completes(h, run.RunID)
		ranWith(t, e, run.RunID, asShown)
		if got := model.ToolResults(); len(got) != 1 || got[0].Content != "did "+asShown {
			t.Errorf("the model got %+v", got)
		}
	})
	t.Run("edited", func(t *testing.T) {
		t.Parallel()
		e := &executions{}
		h, model, run, asked := startArgs(t, e)
		const args = `{"n":6,"ok":false,"tags":[]}`
		h.Answer(asked.ID, edited(args))
		completes(h, run.RunID)
		ranWith(t, e, run.RunID, args)
		if got := model.ToolResults(); len(got) != 1 || !contains(got[0], "reviewer changed", args, "did "+args) {
			t.Errorf("the model is not told what ran: %+v", got)
		}
		closed := eventsOf[event.InteractionResponseData](h, run.RunID, event.InteractionResponse)
		if len(closed) != 1 || string(closed[0].ArgsBefore) != asShown || string(closed[0].ArgsAfter) != args {
			t.Errorf("the record does not have both versions: %+v", closed)
		}
	})
	t.Run("edited by a native signal", func(t *testing.T) {
		t.Parallel()
		e := &executions{}
		h, _, run, asked := startArgs(t, e)
		const args = `{"n":6,"ok":true,"tags":["a"]}`
		h.Signal(run.Workflow, interaction.Response{RequestID: asked.ID, Action: interaction.ActionModifyArgs, Args: json.RawMessage(args)})
		completes(h, run.RunID)
		ranWith(t, e, run.RunID, args)
	})
}

// badEdits are arguments that an approval can't be given with, and where in the body the refusal must point.
var badEdits = []struct {
	body     string
	status   int
	location string
}{
	{`{"action":"modify_args","args":{"n":"six"}}`, http.StatusUnprocessableEntity, "body.args.n"},
	{`{"action":"modify_args","args":{"n":5.5}}`, http.StatusUnprocessableEntity, "body.args.n"},
	{`{"action":"modify_args","args":{"n":6,"ok":"false"}}`, http.StatusUnprocessableEntity, "body.args.ok"},
	{`{"action":"modify_args","args":{"n":6,"tags":{}}}`, http.StatusUnprocessableEntity, "body.args.tags"},
	{`{"action":"modify_args","args":{"n":6,"n":7}}`, http.StatusUnprocessableEntity, "body.args.n"},
	{`{"action":"modify_args","args":[]}`, http.StatusUnprocessableEntity, "body.args"},
	{`{"action":"modify_args","args":"{\"n\":6}"}`, http.StatusUnprocessableEntity, "body.args"},
	{`{"action":"modify_args"}`, http.StatusUnprocessableEntity, "body.args"},
	// an edit of the tool's name
	{`{"action":"modify_args","args":{"n":6},"tool_name":"bash"}`, http.StatusBadRequest, "body.tool_name"},
	{`{"action":"modify_args","args":{"n":6},"tool":"bash"}`, http.StatusBadRequest, "body.tool"},
	{`{"action":"approve","name":"bash"}`, http.StatusBadRequest, "body.name"},
	// what only the bridge may say
	{`{"action":"modify_args","args_ref":"other","args_digest":"00"}`, http.StatusBadRequest, "body.args_ref"},
}

func TestAnEditThatDoesNotFitIsRefusedAtItsPlace(t *testing.T) {
	t.Parallel()
	e := &executions{}
	h, _, run, asked := startArgs(t, e)
	for _, b := range badEdits {
		code, out := h.Respond(asked.ID, b.body)
		if code != b.status {
			t.Errorf("%s was answered %d %s; want %d", b.body, code, out, b.status)
			continue
		}
		if p := problemOf(h, out); len(p.Errors) == 0 || p.Errors[0].Location != b.location {
			t.Errorf("%s was answered %q at %+v; want it at %s", b.body, p.Detail, p.Errors, b.location)
		}
	}
	stillAsks(h, run, asked.ID)
	h.Signal(run.Workflow, json.RawMessage(fmt.Sprintf(`{"request_id":%q,"action":"modify_args","args":{"n":6},"tool_name":"bash"}`, asked.ID)))
	if got := refusals(h, run.RunID, 1); !strings.Contains(got[0].Message, "the tool of a call can't be changed") {
		t.Errorf("the signal is in the record as %+v", got)
	}
	stillAsks(h, run, asked.ID)
	if ran := e.of(run.RunID); len(ran) != 0 {
		t.Errorf("it ran: %+v", ran)
	}
}

// TestANativeEditIsHeldToTheSchema sends an edit past the bridge, which would have refused it.
func TestANativeEditIsHeldToTheSchema(t *testing.T) {
	t.Parallel()
	e := &executions{}
	h, _, run, asked := startArgs(t, e)
	h.Signal(run.Workflow, interaction.Response{RequestID: asked.ID, Action: interaction.ActionModifyArgs, Args: json.RawMessage(`{"n":"six"}`)})
	again := following(h, run, asked.ID)
	if again.LinkedTo != asked.ID || !strings.Contains(again.Message, "args.n") || len(e.of(run.RunID)) != 0 {
		t.Errorf("it is asked again with %q, linked to %q, after %d executions", again.Message, again.LinkedTo, len(e.of(run.RunID)))
	}
	const marked = `{"n":6,"tags":["a [redacted]"]}`
	if code, out := h.Respond(again.ID, edited(marked)); code != http.StatusUnprocessableEntity {
		t.Errorf("the bridge takes what was hidden: %d %s", code, out)
	}
	h.Signal(run.Workflow, interaction.Response{RequestID: again.ID, Action: interaction.ActionModifyArgs, Args: json.RawMessage(marked)})
	third := following(h, run, again.ID)
	if !strings.Contains(third.Message, "args.tags[0]") || !strings.Contains(third.Message, interaction.Redacted) || len(e.of(run.RunID)) != 0 {
		t.Errorf("what was hidden is asked about with %q after %d executions", third.Message, len(e.of(run.RunID)))
	}
	h.Answer(third.ID, edited(asShown))
	completes(h, run.RunID)
	ranWith(t, e, run.RunID, asShown)
}

func TestAnEditIsHeldToTheRules(t *testing.T) {
	t.Parallel()
	rules := []string{`{match: "effect(n:13)", decision: deny}`, `{match: "effect(n:7)", decision: ask, reviewers: [cy]}`, `{match: "effect", decision: ask}`}
	t.Run("a deny denies it", func(t *testing.T) {
		t.Parallel()
		e := &executions{}
		h, model, run, asked := startArgs(t, e, rules...)
		h.Answer(asked.ID, edited(`{"n":13}`))
		completes(h, run.RunID)
		if got := model.ToolResults(); len(e.of(run.RunID)) != 0 || len(got) != 1 || got[0].ToolStatus != string(tool.StatusDenied) {
			t.Errorf("it ran %d times, and the model got %+v", len(e.of(run.RunID)), got)
		}
		denied := eventsOf[event.ToolAuthDeniedData](h, run.RunID, event.ToolAuthDenied)
		if len(denied) != 1 || denied[0].InteractionID != asked.ID || denied[0].Rule != "effect(n:13)" {
			t.Errorf("the record does not link approval and rule: %+v", denied)
		}
	})
	t.Run("another reviewer's rule asks that reviewer", func(t *testing.T) {
		t.Parallel()
		e := &executions{}
		h, _, run, asked := startArgs(t, e, rules...)
		h.Answer(asked.ID, edited(`{"n":7}`))
		again := following(h, run, asked.ID)
		if again.LinkedTo != asked.ID || string(again.ToolArgs) != `{"n":7}` || len(e.of(run.RunID)) != 0 {
			t.Errorf("asked again is %+v after %d executions", again, len(e.of(run.RunID)))
		}
		refusedWith(h, again.ID, map[string]any{"action": "approve", "reviewer": map[string]string{"id": "ada"}}, http.StatusForbidden)
		h.Answer(again.ID, map[string]any{"action": "approve", "reviewer": map[string]string{"id": "cy"}})
		completes(h, run.RunID)
		ranWith(t, e, run.RunID, `{"n":7}`)
	})
}

// TestThreeWaysOfNotRunningAreToldApart: a deadline, a rejection and the end of a run.
func TestThreeWaysOfNotRunningAreToldApart(t *testing.T) {
	t.Parallel()
	model := &cast{}
	model.plays("first", apptest.Calls("effect", `{"n":1}`, "effect", `{"n":2}`, "effect", `{"n":3}`))
	model.plays("second")
	c := &counter{}
	h := startEffect(t, model, c, apptest.WithRules(`{match: "effect(n:1)", decision: ask, timeout: 1s}`, `{match: "effect", decision: ask}`))
	conversation := newSession()
	run := h.BeginIn(conversation, "first")
	var asked []interaction.Request
	h.Eventually("three questions", func() bool {
		asked = eventsOf[interaction.Request](h, run.RunID, event.InteractionRequest)
		return len(asked) >= 3
	})
	if code, out := h.Respond(asked[1].ID, map[string]any{"action": "reject"}); code != http.StatusOK && code != http.StatusAccepted {
		t.Fatalf("the rejection was answered %d %s", code, out)
	}
	h.Eventually("the first to expire and the second to be rejected", func() bool {
		return resultOf(h, run.RunID, asked[0].ToolCallID) != nil && resultOf(h, run.RunID, asked[1].ToolCallID) != nil
	})
	controlRun(h, run.RunID, "enough")
	if end := h.Ended(run.RunID); end.Status != "aborted" {
		t.Fatalf("the run ended %s", end.Status)
	}
	next := h.BeginIn(conversation, "second")
	completes(h, next.RunID)
	want := []struct {
		result   tool.Status
		recorded interaction.Status
		action   interaction.Action
	}{{tool.StatusExpired, interaction.StatusExpired, interaction.ActionReject},
		{tool.StatusRejected, interaction.StatusAnswered, interaction.ActionReject},
		{tool.StatusAborted, interaction.StatusCancelled, ""}}
	results := toolMessages(model.requests("second")[0])
	if len(results) != 3 || c.count() != 0 {
		t.Fatalf("%d executions, and the model got %+v", c.count(), results)
	}
	for i, w := range want {
		rec := recordOf(h, asked[i].ID)
		if results[i].ToolStatus != string(w.result) || rec.Status != w.recorded || rec.Action != w.action {
			t.Errorf("call %d: the model got %s (%s), the record has %s %s", i+1, results[i].ToolStatus, results[i].Content, rec.Status, rec.Action)
		}
		if i > 0 && results[i].Content == results[i-1].Content {
			t.Errorf("calls %d and %d read alike: %s", i, i+1, results[i].Content)
		}
	}
}

func toolMessages(req llm.Request) (out []llm.Message) {
	for _, m := range req.Messages {
		if m.Role == llm.RoleTool {
			out = append(out, m)
		}
	}
	return out
}
