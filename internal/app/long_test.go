package app_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
)

// turns is how long the long run is. make long takes longer than the suite can.
var turns = flag.Int("turns", 12, "model calls of the long run; from 500 on, Temporal's own limits are in force")

// talker is a model that calls a tool at every turn, for a person's approval at every fourth, and ends once it has been
// told everything.
type talker struct {
	turns, messages int
	at              chan int // gets the number of each turn
	unpaired        atomic.Int64
	heard           atomic.Int64
}

func (m *talker) Generate(_ context.Context, req llm.Request) (llm.Reply, error) {
	if err := llm.CheckPairing(req.Messages); err != nil {
		m.unpaired.Add(1)
		return llm.Reply{}, &llm.Error{Kind: llm.ErrBadRequest, Message: err.Error()}
	}
	n, heard := 1, 0
	for _, msg := range req.Messages {
		switch {
		case msg.Role == llm.RoleAssistant:
			n++
		case msg.Role == llm.RoleUser && strings.Contains(msg.Content, "message "):
			heard++
		}
	}
	m.heard.Store(int64(heard))
	m.at <- n
	if n > m.turns && heard >= m.messages || n > m.turns+40 {
		return llm.Reply{Message: llm.Message{Content: "done"}}, nil
	}
	return llm.Reply{Message: apptest.Calls("effect", fmt.Sprintf(`{"n":%d,"ok":%t}`, n, n%4 == 0))}, nil
}

// TestALongRunLosesNothing has a run continue as new again and again while people answer and talk to it at any moment, by
// both roads, and pause it: everything is applied once, and no history grows beyond its bound.
func TestALongRunLosesNothing(t *testing.T) {
	t.Parallel()
	c := &counter{}
	model := &talker{turns: *turns, messages: *turns / 5, at: make(chan int, 10000)}
	o := apptest.Options(t, t.TempDir())
	o.Temporal, o.DynamicConfig = apptest.Temporal(t), apptest.DynamicConfig()
	bound := 4096
	if *turns < 500 {
		bound = 40
		o.DynamicConfig["limit.historyCount.suggestContinueAsNew"] = fmt.Sprint(bound)
	}
	apptest.WithModel(model)(&o)
	withEffect(apptest.Effect{Log: c.log})(&o)
	apptest.WithRules(`{match: effect, where: [{name: ok, equals: true}], decision: ask, timeout: 1h}`, `{match: effect, decision: allow}`)(&o)
	apptest.WithMaxSteps(2 * *turns)(&o)
	h := apptest.Run(t, o)
	began := time.Now()
	run := h.Begin("go")
	talked := make(chan int)
	go func() { talked <- model.talk(h, run) }()
	model.answer(h, run)
	sent := <-talked
	took := time.Since(began)
	if v := h.Show(run.RunID); v.Status != "completed" || model.unpaired.Load() > 0 {
		t.Fatalf("it ended %+v, with %d transcripts that no provider would take", v, model.unpaired.Load())
	}
	if got := model.heard.Load(); got != int64(sent) || sent != model.messages {
		t.Errorf("of %d messages %d were heard", sent, got)
	}
	if c.count() < *turns || c.count() != len(toolResults(h, run)) {
		t.Errorf("%d executions of %d calls", c.count(), len(toolResults(h, run)))
	}
	executions := h.Executions(run.Workflow)
	if len(executions) < 2 {
		t.Errorf("it never continued as new: %d histories", len(executions))
	}
	most, size := 0, 0
	for n, id := range executions {
		events := h.History(run.Workflow, id)
		most, size = max(most, len(events)), max(size, proto.Size(&history.History{Events: events}))
		if n < 3 {
			replay(t, events)
		}
	}
	if most > bound+60 || size > 4<<20 {
		t.Errorf("the largest history has %d events, %d bytes", most, size)
	}
	t.Logf("%d turns in %s, %d histories, the largest of %d events and %d bytes", *turns, took.Round(time.Millisecond), len(executions), most, size)
}

// talk sends the messages as the turns go by, by both roads, and pauses the run once. It returns how many it sent.
func (m *talker) talk(h *apptest.Holdpoint, run apptest.RunView) (sent int) {
	control := func(action string) {
		if code, body := h.HTTP("POST", "/v1/runs/"+string(run.RunID)+"/control", map[string]any{"action": action}); code != 200 {
			h.T.Errorf("%s: %d %s", action, code, body)
		}
	}
	for sent < m.messages {
		switch n := <-m.at; {
		case n == m.turns/2:
			control("pause_run")
			control("resume_run")
		case n%5 != 0:
			continue
		}
		sent++
		text := map[string]any{"text": fmt.Sprintf("message %d", sent)}
		if sent%2 == 0 {
			if code, body := h.HTTP("POST", "/v1/runs/"+string(run.RunID)+"/messages", text); code != 200 {
				h.T.Errorf("message %d: %d %s", sent, code, body)
			}
			continue
		}
		text["run_id"] = run.RunID
		if err := h.Client.SignalWorkflow(context.Background(), run.Workflow, "", "message", text); err != nil {
			h.T.Error(err)
		}
	}
	return sent
}

// answer approves what waits, at once and by both roads, until the run has ended.
func (m *talker) answer(h *apptest.Holdpoint, run apptest.RunView) {
	seen := map[interaction.ID]bool{}
	deadline := time.Now().Add(time.Minute + time.Duration(m.turns)*3*time.Second)
	for tick := time.NewTicker(30 * time.Millisecond); h.Show(run.RunID).Status != "completed" && time.Now().Before(deadline); <-tick.C {
		for _, p := range h.Pending(run.RunID) {
			switch {
			case seen[p.ID]:
				continue
			case len(seen)%2 == 0:
				if code, body := h.Respond(p.ID, map[string]any{"action": "approve"}); code >= 300 {
					h.T.Errorf("answer: %d %s", code, body)
				}
			default:
				h.Signal(run.Workflow, approve(p.ID))
			}
			seen[p.ID] = true
		}
	}
}

// toolResults are the results of a run's calls, as its steps have them.
func toolResults(h *apptest.Holdpoint, run apptest.RunView) (results []string) {
	token := ""
	for {
		var page struct {
			Items []struct {
				Message llm.Message `json:"message"`
			} `json:"items"`
			Next string `json:"next_page_token"`
		}
		h.Get("/v1/runs/"+string(run.RunID)+"/steps?page_size=200&page_token="+token, &page)
		for _, s := range page.Items {
			if s.Message.Role == llm.RoleTool {
				results = append(results, s.Message.Content)
			}
		}
		if token = page.Next; token == "" {
			return results
		}
	}
}
