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
