package app_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"holdpoint/activities"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/tool"
	"holdpoint/workflows"
)

// heavy is a tool of which everything can be huge.
type heavy struct {
	ran  *atomic.Int64
	give func(c tool.Call) (tool.Outcome, error)
}

func (h heavy) Definition() tool.Definition {
	return tool.Definition{Name: "heavy", Description: "gives what it is told", Resource: tool.ResourceArgs, Risk: "low",
		Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"text":{"type":"string"}}}`)}
}

func (h heavy) Run(_ context.Context, c tool.Call) (tool.Outcome, error) {
	h.ran.Add(1)
	return h.give(c)
}

func content(text string) (tool.Outcome, error) {
	return tool.Outcome{Result: &tool.Result{Status: tool.StatusSuccess, Content: text}}, nil
}

// megabytes is a text of that many. Temporal takes two in a message, and four in what one task orders.
func megabytes(n int) string { return strings.Repeat("too much ", n<<20/9) }

// largest is the greatest event of a run's history.
func largest(h *apptest.Holdpoint, workflowID string) (bytes int) {
	for _, e := range h.Closed(workflowID) {
		bytes = max(bytes, e.Size())
	}
	return bytes
}

// largestEvent bounds what is kept in Temporal: answers have 64 KiB, results the same, and there is what is said about them.
const largestEvent = 512 << 10

func TestNothingIsTooLargeForARun(t *testing.T) {
	t.Parallel()
	var many []string
	for n := range 40 {
		many = append(many, "heavy", fmt.Sprintf(`{"n":%d}`, n))
	}
	var large []string
	for range 10 {
		large = append(large, "heavy", `{"text":"`+strings.Repeat("x", 90<<10)+`"}`)
	}
	once := apptest.Calls("heavy", `{"n":1}`)
	ask := func(r interaction.Request) func(tool.Call) (tool.Outcome, error) {
		return func(c tool.Call) (tool.Outcome, error) {
			if c.Answer != nil {
				return content("answered")
			}
			return tool.Outcome{Request: &r}, nil
		}
	}
	for name, c := range map[string]struct {
		turn   llm.Message
		give   func(tool.Call) (tool.Outcome, error)
		rule   string // of heavy. "" allows it.
		ran    int64  // -1 for any
		status string
	}{
		"a result":              {turn: once, give: func(tool.Call) (tool.Outcome, error) { return content(megabytes(5)) }, ran: 1},
		"a result of NUL":       {turn: once, give: func(tool.Call) (tool.Outcome, error) { return content(strings.Repeat("\x00", 3<<20)) }, ran: 1},
		"a fault":               {turn: once, give: func(tool.Call) (tool.Outcome, error) { return tool.Outcome{}, errors.New(megabytes(5)) }, ran: 1},
		"results, many at once": {turn: apptest.Calls(many...), give: func(tool.Call) (tool.Outcome, error) { return content(megabytes(1)) }, ran: 40},
		"arguments":             {turn: apptest.Calls("heavy", `{"text":"`+megabytes(3)+`"}`), give: func(tool.Call) (tool.Outcome, error) { return content("done") }, status: "failed"},
		"arguments of quotes":   {turn: apptest.Calls("heavy", `{"text":"`+strings.Repeat(`\"`, 200<<10)+`"}`), give: func(tool.Call) (tool.Outcome, error) { return content("done") }, ran: 1},
		"arguments that are asked about": {turn: apptest.Calls("heavy", `{"text":"`+strings.Repeat(`\"`, 240<<10)+`"}`), give: func(tool.Call) (tool.Outcome, error) { return content("done") },
			rule: `{match: heavy, decision: ask}`, ran: 1},
		"arguments of many":      {turn: apptest.Calls(large...), give: func(tool.Call) (tool.Outcome, error) { return content("done") }, ran: 10},
		"the name of a tool":     {turn: apptest.Calls(megabytes(3), `{}`), status: "failed"},
		"what a model says":      {turn: llm.Message{Content: megabytes(5)}, status: "failed"},
		"a question of the tool": {turn: once, give: ask(interaction.Request{Type: interaction.TypeInput, Title: megabytes(3), Message: megabytes(3)}), ran: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := heavy{ran: &atomic.Int64{}, give: c.give}
			h := apptest.Start(t, func(o *app.Options) { o.Tools = append(o.Tools, tool) }, apptest.WithModel(apptest.Turns(c.turn)),
				apptest.WithRules(cmp.Or(c.rule, `{match: heavy, decision: allow}`)))
			run := h.Begin("go")
			h.Eventually("the run to end", func() bool {
				for _, q := range h.Pending(run.RunID) {
					action := map[string]any{"action": "answer", "text": "so it is"}
					if c.rule != "" {
						action = map[string]any{"action": "approve"}
					}
					h.Respond(q.ID, action)
				}
				s := h.Show(run.RunID).Status
				return s == "completed" || s == "failed"
			})
			got := h.Ended(run.RunID)
			if c.ran >= 0 && tool.ran.Load() != c.ran {
				t.Errorf("the tool ran %d times, want %d", tool.ran.Load(), c.ran)
			}
			if want := cmp.Or(c.status, "completed"); got.Status != want || want == "failed" && got.ErrorCode != activities.CodeReplyTooLarge {
				t.Errorf("the run ended as %s %s, want %s", got.Status, got.ErrorCode, want)
			}
			if n := largest(h, run.Workflow); n > largestEvent {
				t.Errorf("an event of the history has %d bytes", n)
			}
		})
	}
}

func TestNoAnswerIsTooLargeForARun(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithRules(`{match: effect, decision: ask}`), withEffect(apptest.Effect{}), apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1}`))))
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	for _, n := range []int{65 << 10, 1 << 20, 3 << 20} {
		answer := map[string]any{"request_id": asked.ID, "id": fmt.Sprint("large-", n), "action": "approve", "note": strings.Repeat("x", n)}
		if code, _ := h.Respond(asked.ID, answer); code != 413 {
			t.Errorf("the bridge took a note of %d bytes: %d", n, code)
		}
		if err := updateNatively(h, run.Workflow, workflows.MessageRespond, answer); err == nil {
			t.Errorf("the run took a note of %d bytes", n)
		}
		err := h.Client.SignalWorkflow(context.Background(), run.Workflow, "", workflows.MessageRespond, answer)
		if err == nil && n > 2<<20 {
			t.Errorf("Temporal took a signal of %d bytes", n)
		}
	}
	if len(h.Pending(run.RunID)) != 1 {
		t.Error("the question does not wait any more")
	}
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	if got := h.Ended(run.RunID); got.Status != "completed" {
		t.Errorf("the run ended as %s", got.Status)
	}
}
