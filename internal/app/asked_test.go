package app_test

import (
	"context"
	"strings"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/tool"
)

// inquirer is a tool that asks people while it runs, one thing after the other.
type inquirer struct{ apptest.Effect }

func (i inquirer) Run(ctx context.Context, c tool.Call) (tool.Outcome, error) {
	said := ""
	for _, title := range []string{"Which?", "And then?"} {
		out, err := c.Ask(ctx, interaction.Request{Type: interaction.TypeInput, Title: title, Required: true})
		if err != nil {
			return tool.Outcome{}, err
		}
		said += string(out.Status) + " "
		for _, r := range out.Responses {
			said += r.Text + " "
		}
	}
	return tool.Text(said), nil
}

// TestARunningCallWaitsForPeople has a tool ask twice while it runs; people answer by both roads, and at its next call by
// stopping the run. Its history is kept.
func TestARunningCallWaitsForPeople(t *testing.T) {
	t.Parallel()
	model := apptest.Turns(apptest.Calls("effect", `{"n":1}`), apptest.Calls("effect", `{"n":2}`))
	h := apptest.Start(t, func(o *app.Options) { o.Tools = []tool.Tool{inquirer{}} }, apptest.WithModel(model),
		apptest.WithRules(`{match: effect, decision: allow}`))
	run := h.Begin("go")
	first := h.Waits(run.RunID, 1)[0]
	h.Answer(first.ID, map[string]any{"action": "answer", "text": "this", "id": "one"})
	h.Eventually("the second question", func() bool { p := h.Pending(run.RunID); return len(p) == 1 && p[0].ID != first.ID })
	if status, body := h.Respond(first.ID, map[string]any{"action": "answer", "text": "that"}); status != 409 || !strings.Contains(string(body), "already decided") {
		t.Errorf("another answer: %d %s", status, body)
	}
	second := h.Waits(run.RunID, 1)[0]
	h.Signal(run.Workflow, map[string]any{"request_id": second.ID, "action": "answer", "text": "the end"})
	h.Eventually("the second call to ask", func() bool { p := h.Pending(run.RunID); return len(p) == 1 && p[0].ToolCallID != first.ToolCallID })
	third := h.Waits(run.RunID, 1)[0]
	h.Answer(third.ID, map[string]any{"action": "terminate", "note": "enough"})
	if v := h.Ended(run.RunID); v.Status != "aborted" {
		t.Errorf("the run ended %+v", v)
	}
	events := h.Closed(run.Workflow)
	keep(t, "asked_while_it_runs", events)
	replay(t, events)
	if got := model.ToolResults(); len(got) != 1 || got[0].Content != "answered this answered the end " {
		t.Errorf("the model was told %+v", got)
	}
}

// router is a tool that asks in its own way, and says what it was handed.
type router struct{ apptest.Effect }

func (router) Run(_ context.Context, c tool.Call) (tool.Outcome, error) {
	if c.Answer == nil {
		return tool.Outcome{Request: &interaction.Request{Type: interaction.TypeCustom, Title: "The way is blocked", Options: []interaction.Option{
			{ID: "reroute", Label: "Another way", Action: interaction.ActionCustom, RequiresInput: true, Metadata: map[string]string{"form": "stops"}},
			{ID: "wait", Label: "Wait", Action: interaction.ActionCustom}}}}, nil
	}
	return tool.Text(string(c.Answer.Action) + " " + c.Answer.OptionID + " " + string(c.Answer.Data)), nil
}

// TestAToolIsHandedItsOwnActionAsItIs has a tool offer what only it understands.
func TestAToolIsHandedItsOwnActionAsItIs(t *testing.T) {
	t.Parallel()
	model := apptest.Turns(apptest.Calls("effect", `{"n":1}`), apptest.Calls("effect", `{"n":2}`))
	h := apptest.Start(t, func(o *app.Options) { o.Tools = []tool.Tool{router{}} }, apptest.WithModel(model), apptest.WithRules(`{match: effect, decision: allow}`))
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	refusedWith(h, asked.ID, map[string]any{"option_id": "reroute"}, 400)
	refusedWith(h, asked.ID, map[string]any{"option_id": "elsewhere", "data": 1}, 400)
	h.Answer(asked.ID, map[string]any{"option_id": "reroute", "data": map[string]any{"stops": []int{7, 9}}})
	h.Answer(following(h, run, asked.ID).ID, map[string]any{"option_id": "wait"})
	completes(h, run.RunID)
	if got := model.ToolResults(); len(got) != 2 || got[0].Content != `custom reroute {"stops":[7,9]}` || got[1].Content != "custom wait " {
		t.Errorf("the tool was handed %+v", got)
	}
	keep(t, "handed_as_it_is", h.Closed(run.Workflow))
}
