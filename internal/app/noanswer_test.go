package app_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"holdpoint/event"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
)

// replies is a model that gives these replies in order, the last again and again.
type replies struct {
	mu   sync.Mutex
	list []llm.Reply
	got  []llm.Request
}

// Generate implements llm.Model.
func (r *replies) Generate(_ context.Context, req llm.Request) (llm.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, req)
	return r.list[min(len(r.got), len(r.list))-1], nil
}

// TestARunNeverCompletesWithNothing has models that answer without words, or not to the end.
func TestARunNeverCompletesWithNothing(t *testing.T) {
	t.Parallel()
	empty, done := llm.Reply{}, llm.Reply{Message: llm.Message{Content: "done"}}
	cut := func(r llm.Reply) llm.Reply { r.Truncated = true; return r }
	paused := func(r llm.Reply) llm.Reply { r.Truncated, r.Paused = true, true; return r }
	calls := llm.Reply{Message: apptest.Calls("bash", apptest.Bash("true"))}
	say := func(text string) llm.Reply { return llm.Reply{Message: llm.Message{Content: text}} }
	for name, tc := range map[string]struct {
		replies          []llm.Reply
		status, code     string
		output           string
		said             string // codes of the events
		asked            int
		nudged, keptName string
	}{
		"nothing, and then an answer":    {[]llm.Reply{empty, done}, "completed", "", "done", "empty_answer", 2, "was empty", "answered_with_nothing_at_first"},
		"only spaces after a tool":       {[]llm.Reply{calls, say(" \n"), done}, "completed", "", "done", "empty_answer", 3, "was empty", ""},
		"nothing again and again":        {[]llm.Reply{empty}, "failed", "no_answer", "", "empty_answer empty_answer", 3, "was empty", "answered_with_nothing"},
		"all tokens went into thinking":  {[]llm.Reply{cut(empty)}, "failed", "no_answer", "", "empty_answer empty_answer", 3, "was empty", ""},
		"nothing, a call, nothing twice": {[]llm.Reply{empty, calls, empty, empty, done}, "completed", "", "done", "empty_answer empty_answer empty_answer", 5, "was empty", ""},
		"cut off":                        {[]llm.Reply{cut(say("half an"))}, "completed", "", "half an", "answer_cut_off", 1, "", ""},
		"paused":                         {[]llm.Reply{paused(say("half an")), say("answer")}, "completed", "", "answer", "answer_cut_off", 2, "was cut off", ""},
		"paused for ever":                {[]llm.Reply{paused(say("half an"))}, "completed", "", "half an", "answer_cut_off answer_cut_off answer_cut_off", 3, "was cut off", ""},
		"a filter without a word":        {[]llm.Reply{{Message: llm.Message{Refusal: true}}}, "failed", "refused", "", "", 1, "", ""},
		"a refusal in words":             {[]llm.Reply{{Message: llm.Message{Refusal: true, Content: "I can't."}}}, "completed", "", "I can't.", "", 1, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := &replies{list: tc.replies}
			h := apptest.Start(t, func(o *app.Options) { o.Models = map[string]llm.Model{"played": model} })
			run := h.Begin("go")
			end := h.Ended(run.RunID)
			if end.Status != tc.status || end.ErrorCode != tc.code || end.Output != tc.output {
				t.Errorf("it ended %s (%s: %s) with %q", end.Status, end.ErrorCode, end.Error, end.Output)
			}
			var codes []string
			for _, e := range eventsOf[event.ErrorData](h, run.RunID, event.Error) {
				codes = append(codes, e.Code)
			}
			if got := strings.Join(codes, " "); got != tc.said || len(model.got) != tc.asked {
				t.Errorf("the record says %q, and the model was asked %d times", got, len(model.got))
			}
			for n, req := range model.got {
				if err := llm.CheckPairing(req.Messages); err != nil {
					t.Error(err)
				}
				last := req.Messages[len(req.Messages)-1]
				if nudged := strings.HasPrefix(last.Content, "Your last answer"); last.Role == llm.RoleAssistant || n == 0 && nudged || nudged && !strings.Contains(last.Content, tc.nudged) {
					t.Errorf("request %d ends with %+v", n, last)
				}
			}
			for _, s := range steps(h, run.RunID) {
				if s.Message.Role == llm.RoleUser && s.Message.Content != "go" {
					t.Errorf("the transcript has words that nobody said: %q", s.Message.Content)
				}
			}
			if tc.keptName != "" {
				events := h.Closed(run.Workflow)
				keep(t, tc.keptName, events)
				replay(t, events)
			}
		})
	}
}
