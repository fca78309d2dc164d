package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdpoint/internal/app/apptest"
	"holdpoint/tool"
)

// reshaped is the effect tool with another schema.
type reshaped struct {
	apptest.Effect
	schema string
}

func (r reshaped) Definition() tool.Definition {
	d := r.Effect.Definition()
	d.Schema = json.RawMessage(r.schema)
	return d
}

// TestAToolIsUpgradedWhileACallOfItIsParked deploys another version of the tool before the approval is carried out.
func TestAToolIsUpgradedWhileACallOfItIsParked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tools  func(done *counter) []tool.Tool
		asks   string // why it is asked again; "" where it is not
		then   map[string]any
		effect int
		told   string
	}{
		"unchanged": {tools: func(c *counter) []tool.Tool { return []tool.Tool{apptest.Effect{Log: c.log}} }, effect: 1, told: "did"},
		"with a new optional argument": {tools: func(c *counter) []tool.Tool {
			return []tool.Tool{reshaped{apptest.Effect{Log: c.log}, `{"type":"object","properties":{"n":{"type":"integer"},"where":{"type":"string"}}}`}}
		}, asks: "the tool has changed since it was shown", then: map[string]any{"action": "approve"}, effect: 1, told: "did"},
		"with a new required argument": {tools: func(c *counter) []tool.Tool {
			return []tool.Tool{reshaped{apptest.Effect{Log: c.log}, `{"type":"object","properties":{"n":{"type":"integer"},"where":{"type":"string"}},"required":["where"]}`}}
		}, asks: "does not take these arguments any more", then: map[string]any{"action": "modify_args", "args": map[string]any{"n": 1, "where": "here"}}, effect: 1, told: "here"},
		"removed": {tools: func(*counter) []tool.Tool { return nil }, told: "no longer exists"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := &counter{}
			model := apptest.Turns(apptest.Calls("effect", `{"n":1}`))
			h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), apptest.WithModel(model))
			run := h.Begin("go")
			first := h.Waits(run.RunID, 1)[0].ID
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			o := h.Options
			o.Tools = tc.tools(done)
			h = apptest.Run(t, o)
			h.Answer(first, map[string]any{"action": "approve"})
			if tc.asks != "" {
				h.Eventually("it to be asked again", func() bool { p := h.Pending(run.RunID); return len(p) == 1 && p[0].ID != first })
				again := h.Waits(run.RunID, 1)[0]
				if !strings.Contains(again.Message, tc.asks) || done.count() > 0 {
					t.Errorf("asked again with %q after %d effects", again.Message, done.count())
				}
				if name == "with a new required argument" { // as it is, nobody can approve it any more
					h.Answer(again.ID, map[string]any{"action": "approve"})
					again = following(h, run, first, again.ID)
					if !strings.Contains(again.Message, tc.asks) || done.count() > 0 {
						t.Errorf("approved blindly, it is asked again with %q after %d effects", again.Message, done.count())
					}
				}
				h.Answer(again.ID, tc.then)
			}
			if end := h.Ended(run.RunID); end.Status != "completed" || done.count() != tc.effect {
				t.Errorf("the run ended %s after %d effects", end.Status, done.count())
			}
			if told := model.ToolResults(); len(told) != 1 || !strings.Contains(told[0].Content, tc.told) {
				t.Errorf("the model was told %+v", told)
			}
		})
	}
}
