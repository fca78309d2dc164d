package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/tool"
)

// questionnaire is a tool that asks several things at once, one of which are several in their turn, and says what it was told.
type questionnaire struct{ apptest.Effect }

// Run implements tool.Tool.
func (questionnaire) Run(_ context.Context, c tool.Call) (tool.Outcome, error) {
	if c.Answer == nil {
		return tool.Outcome{Request: &interaction.Request{Type: interaction.TypeCombined, Title: "Where to?", Interactions: []interaction.Request{
			{ID: "sure", Type: interaction.TypeConfirm, Title: "Sure?", Required: true},
			{ID: "place", Type: interaction.TypeCombined, Title: "Which place?", Interactions: []interaction.Request{
				{ID: "regions", Type: interaction.TypeSelect, Title: "Which regions?", Multiple: true, Required: true,
					Options: []interaction.Option{{ID: "eu", Label: "Europe"}, {ID: "us", Label: "America"}}},
				{ID: "why", Type: interaction.TypeInput, Title: "Why?", Multiline: true, Required: true},
				{ID: "label", Type: interaction.TypeInput, Title: "A label?"}}}}}}, nil
	}
	parts := c.Answer.Responses
	place := parts[1].Responses
	return tool.Text(fmt.Sprintf("%t %v %q %s", *parts[0].Confirmed, place[0].Selected, place[1].Text, place[2].Action)), nil
}

// TestSeveralQuestionsAtOnceAreCheckedOneByOne answers questions in questions wrongly, at each place, by both roads.
func TestSeveralQuestionsAtOnceAreCheckedOneByOne(t *testing.T) {
	t.Parallel()
	model := apptest.Turns(apptest.Calls("effect", `{"n":1}`))
	h := apptest.Start(t, func(o *app.Options) { o.Tools = []tool.Tool{questionnaire{}} }, apptest.WithModel(model), apptest.WithRules(`{match: effect, decision: allow}`))
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	const sure, good = `{"confirmed":true}`, `{"selected":["eu","us"]},{"text":"first\nsecond"},{"action":"skip"}`
	for _, b := range []struct{ responses, location string }{
		{`[]`, "body.action"},
		{`[` + sure + `]`, "body.responses"},
		{`[{},{"responses":[` + good + `]}]`, "body.responses[0].confirmed"},
		{`[{"confirmed":"yes"},{"responses":[` + good + `]}]`, "body.responses[0].confirmed"},
		{`[{"action":"skip"},{"responses":[` + good + `]}]`, "body.responses[0].action"},
		{`[` + sure + `,{"responses":[]}]`, "body.responses[1].responses"},
		{`[` + sure + `,{"responses":[{"selected":["eu"]},{"text":"x"}]}]`, "body.responses[1].responses"},
		{`[` + sure + `,{"responses":[{"selected":["eu","mars"]},{"text":"x"},{}]}]`, "body.responses[1].responses[0].selected[1]"},
		{`[` + sure + `,{"responses":[{"selected":["eu","eu"]},{"text":"x"},{}]}]`, "body.responses[1].responses[0].selected[1]"},
		{`[` + sure + `,{"responses":[{"selected":["eu"]},{"text":" "},{"text":"x"}]}]`, "body.responses[1].responses[1].text"},
		{`[` + sure + `,{"responses":[{"selected":["eu"]},{"text":7},{"text":"x"}]}]`, "body.responses[1].responses[1].text"},
		{`[` + sure + `,{"responses":[{"selected":["eu"]},{"text":"x"},{"text":"two\nlines"}]}]`, "body.responses[1].responses[2].text"},
		{`[` + sure + `,{"responses":[{"selected":["eu"]},{"text":"x"},{"action":"approve"}]}]`, "body.responses[1].responses[2].action"},
		{`[` + sure + `,{"responses":[{"selected":["eu"]},{"text":"x"},{"txt":"x"}]}]`, "body.responses[1].responses[2].txt"},
	} {
		code, out := h.Respond(asked.ID, `{"responses":`+b.responses+`}`)
		if code != http.StatusBadRequest && code != http.StatusUnprocessableEntity {
			t.Errorf("%s was answered %d %s", b.responses, code, out)
			continue
		}
		if p := problemOf(h, out); len(p.Errors) == 0 || p.Errors[0].Location != b.location {
			t.Errorf("%s was answered %q at %+v; want it at %s", b.responses, p.Detail, p.Errors, b.location)
		}
		if err := h.Update(run.Workflow, encoded("json/plain", fmt.Sprintf(`{"request_id":%q,"responses":%s}`, asked.ID, b.responses))); err == nil {
			t.Errorf("the update %s was taken", b.responses)
		}
	}
	stillAsks(h, run, asked.ID)
	h.Answer(asked.ID, map[string]any{"responses": json.RawMessage(`[` + sure + `,{"responses":[` + good + `]}]`)})
	completes(h, run.RunID)
	if got := model.ToolResults(); len(got) != 1 || got[0].Content != `true [eu us] "first\nsecond" skip` {
		t.Errorf("the tool was told %+v", got)
	}
}
