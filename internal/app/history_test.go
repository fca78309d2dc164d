package app_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/tool"
	"holdpoint/workflows"
)

// record writes the histories of shapes that have none yet to workflows/testdata. One that is there stays: a
// change that breaks it is a bug.
var record = flag.Bool("record", false, "record the histories of workflow shapes that have none yet")

// shapes are the ways that a run goes. Each is run on the real server, its history is replayed, and what it cost
// is counted.
var shapes = []struct {
	name  string
	rules []string
	turns []llm.Message
	drive func(t *testing.T, h *apptest.Holdpoint, run apptest.RunView)
	// events beyond those of a run without tools, workflow tasks left out; model calls are 3 each.
	events  int
	actions int                              // beyond those of a run without tools
	quick   func(context.Context, tool.Call) // makes the effect a quick tool's, which does this
}{
	{name: "allowed", rules: []string{`{match: "effect", decision: allow}`}, turns: one(), events: 6, actions: 2},
	{name: "approved", turns: one(), drive: answerAll("approve"), events: 6 + 2, actions: 2 + 1},
	{name: "approved_before_a_deadline", rules: deadline("1h"), turns: one(), drive: answerAll("approve"), events: 6 + 4, actions: 2 + 2},
	{name: "approved_by_signal", rules: deadline("1h"), turns: one(), drive: signalAll, events: 6 + 3, actions: 2 + 2},
	{name: "rejected", rules: deadline("1h"), turns: one(), drive: answerAll("reject"), events: 6 + 4, actions: 2 + 2},
	{name: "retry", turns: one(), drive: answerAll("retry"), events: 6 + 2, actions: 2 + 1},
	{name: "skipped", turns: one(), drive: answerAll("skip"), events: 6 + 2, actions: 2 + 1},
	{name: "edited", turns: one(), drive: edit, events: 6 + 2, actions: 2 + 1},
	{name: "expired", rules: deadline("1s"), turns: one(), events: 6 + 2, actions: 2 + 1},
	{name: "two_parallel_gates", rules: deadline("1h"), turns: parallel(2), drive: oneByOne, events: 3 + 6 + 6, actions: 1 + 2 + 3},
	{name: "five_answered_together", rules: deadline("1h"), turns: parallel(5), drive: together, events: 3 + 19, actions: 1 + 7},
	{name: "aborted", rules: deadline("1h"), turns: one(), drive: abort, events: 2 + 2, actions: 2},
	{name: "terminated", turns: one(), drive: answerAll("terminate"), events: 2, actions: 1},
	{name: "asked_by_a_tool", turns: []llm.Message{apptest.Calls("ask_human", `{"question":"which?"}`)}, drive: answerText, events: 6 + 3 + 2, actions: 2 + 1 + 1},
	{name: "result_released", rules: gatedResult, turns: one(), drive: answerAll("approve"), events: 6 + 3 + 2, actions: 2 + 1 + 1},
	{name: "result_withheld", rules: gatedResult, turns: one(), drive: answerAll("withhold"), events: 6 + 3 + 2, actions: 2 + 1 + 1},
	{name: "result_redacted", rules: gatedResult, turns: one(), drive: redact, events: 6 + 3 + 2, actions: 2 + 1 + 1},
	{name: "answered_by_a_person", turns: one(), drive: answerText, events: 6 + 2, actions: 2 + 1},
	{name: "quorum", rules: []string{`{match: effect, decision: ask, quorum: 2}`}, turns: one(), drive: twoVotes, events: 6 + 4, actions: 2 + 2},
	{name: "steered", turns: one(), drive: steer, events: 6 + 4, actions: 2 + 2},
	{name: "quick", rules: []string{`{match: "effect", decision: allow}`}, turns: one(), quick: func(context.Context, tool.Call) {},
		events: 3 + 1, actions: 1 + 1},
	{name: "five_quick", rules: []string{`{match: "effect", decision: allow}`}, turns: parallel(5), quick: func(context.Context, tool.Call) {},
		events: 3 + 5, actions: 1 + 1},
	{name: "quick_cut_off", rules: []string{`{match: "effect", decision: allow}`}, turns: one(), quick: slowAtFirst(),
		events: 3 + 1 + 3, actions: 1 + 1 + 1},
	{name: "quick_beside_a_gate", rules: []string{`{match: "effect(n:0)", decision: ask}`, `{match: "effect(n:1)", decision: allow}`}, turns: parallel(2),
		quick: func(context.Context, tool.Call) {}, drive: answerAll("approve"), events: 3 + 3 + 3 + 2, actions: 1 + 1 + 1 + 1},
	{name: "malformed_signal", turns: one(), drive: malformed, events: 6 + 2 + 4, actions: 2 + 1 + 2},
}

// bare is what a run without tools costs: started, its version, StartRun in the first workflow task, CallModel, FinishRun, completed.
const bare, bareActions = 1 + 2 + 1 + 3 + 3 + 1, 4

func one() []llm.Message { return parallel(1) }

func parallel(n int) []llm.Message {
	var pairs []string
	for i := range n {
		pairs = append(pairs, "effect", fmt.Sprintf(`{"n":%d}`, i))
	}
	return []llm.Message{apptest.Calls(pairs...)}
}

func deadline(d string) []string { return []string{fmt.Sprintf(asksFor, d)} }

func answerAll(action string) func(*testing.T, *apptest.Holdpoint, apptest.RunView) {
	return func(_ *testing.T, h *apptest.Holdpoint, run apptest.RunView) {
		h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": action})
	}
}

func answerText(_ *testing.T, h *apptest.Holdpoint, run apptest.RunView) {
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "answer", "text": "this one"})
}

func redact(_ *testing.T, h *apptest.Holdpoint, run apptest.RunView) {
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "redact", "text": "nothing to see"})
}

func twoVotes(_ *testing.T, h *apptest.Holdpoint, run apptest.RunView) {
	id := h.Waits(run.RunID, 1)[0].ID
	for _, who := range []string{"ada", "bob"} {
		h.Answer(id, map[string]any{"action": "approve", "reviewer": map[string]any{"id": who}})
	}
}

func steer(t *testing.T, h *apptest.Holdpoint, run apptest.RunView) {
	id := h.Waits(run.RunID, 1)[0].ID
	if code, body := h.HTTP("POST", "/v1/runs/"+string(run.RunID)+"/messages", map[string]any{"text": "be quick"}); code != 200 {
		t.Fatalf("message: %d %s", code, body)
	}
	h.Answer(id, map[string]any{"action": "approve"})
}

func edit(_ *testing.T, h *apptest.Holdpoint, run apptest.RunView) {
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "modify_args", "args": map[string]any{"n": 6}})
}

func signalAll(_ *testing.T, h *apptest.Holdpoint, run apptest.RunView) {
	h.Signal(run.Workflow, approve(h.Waits(run.RunID, 1)[0].ID))
}

func malformed(_ *testing.T, h *apptest.Holdpoint, run apptest.RunView) {
	asked := h.Waits(run.RunID, 1)[0]
	h.Signal(run.Workflow, map[string]any{"approved": "no"})
	h.Eventually("the refusal to be in the record", func() bool {
		return strings.Contains(h.EventTypes(run.RunID), "error")
	})
	h.Answer(asked.ID, map[string]any{"action": "approve"})
}

func oneByOne(_ *testing.T, h *apptest.Holdpoint, run apptest.RunView) {
	asked := h.Waits(run.RunID, 2)
	h.Answer(asked[0].ID, map[string]any{"action": "approve"})
	h.Waits(run.RunID, 1)
	h.Answer(asked[1].ID, map[string]any{"action": "approve"})
}

func together(t *testing.T, h *apptest.Holdpoint, run apptest.RunView) {
	var batch []map[string]any
	for _, r := range h.Waits(run.RunID, 5) {
		batch = append(batch, map[string]any{"request_id": r.ID, "action": "approve"})
	}
	if code, body := h.HTTP("POST", "/v1/interactions/respond", map[string]any{"responses": batch}); code != 200 {
		t.Fatalf("batch: %d %s", code, body)
	}
}

func abort(t *testing.T, h *apptest.Holdpoint, run apptest.RunView) {
	h.Waits(run.RunID, 1)
	if code, body := h.HTTP("POST", "/v1/runs/"+string(run.RunID)+"/control", map[string]any{"action": "abort_run", "note": "enough"}); code != 200 {
		t.Fatalf("abort: %d %s", code, body)
	}
}

func TestHistoriesStaySmallAndReplay(t *testing.T) {
	t.Parallel()
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			effect := apptest.Effect{Quick: s.quick != nil, Idempotent: s.quick != nil, Hold: s.quick}
			h := apptest.Start(t, apptest.WithModel(apptest.Turns(s.turns...)), withEffect(effect), apptest.WithRules(rulesOr(s.rules)...))
			run := h.Begin("go")
			if s.drive != nil {
				s.drive(t, h, run)
			}
			h.Ended(run.RunID)
			events := h.Closed(run.Workflow)
			keep(t, s.name, events)
			replay(t, events)
			if got := lasting(events) - bare; got != s.events {
				t.Errorf("%d events beyond a bare run, want %d:\n%s", got, s.events, names(events))
			}
			if got := actions(events) - bareActions; got != s.actions {
				t.Errorf("%d billable actions beyond a bare run, want %d:\n%s", got, s.actions, names(events))
			}
			if tasks := len(events) - lasting(events); tasks > 3*(len(events)-tasks) {
				t.Errorf("%d workflow task events among %d", tasks, len(events))
			}
		})
	}
}

func rulesOr(rules []string) []string {
	if len(rules) == 0 {
		return []string{`{match: "effect", decision: ask}`}
	}
	return rules
}

// lasting counts the events that do not depend on timing.
func lasting(events []*history.HistoryEvent) int {
	n := 0
	for _, e := range events {
		if !strings.HasPrefix(e.GetEventType().String(), "WorkflowTask") {
			n++
		}
	}
	return n
}

// slowAtFirst is a quick tool that does not end in time when it runs for the first time.
func slowAtFirst() func(context.Context, tool.Call) {
	var once sync.Once
	return func(ctx context.Context, _ tool.Call) { once.Do(func() { <-ctx.Done() }) }
}

// actions counts what Temporal Cloud would bill. All local activities of one workflow task are one action; so is a version marker,
// while the search attribute that comes with it is none.
func actions(events []*history.HistoryEvent) int {
	n := 0
	tasks := map[int64]bool{}
	for _, e := range events {
		switch e.GetEventType() {
		case enums.EVENT_TYPE_MARKER_RECORDED:
			m := e.GetMarkerRecordedEventAttributes()
			local := m.GetMarkerName() == "LocalActivity"
			if !local || !tasks[m.GetWorkflowTaskCompletedEventId()] {
				n++
			}
			if local {
				tasks[m.GetWorkflowTaskCompletedEventId()] = true
			}
		case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enums.EVENT_TYPE_TIMER_STARTED,
			enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
			n++
		default:
		}
	}
	return n
}

func names(events []*history.HistoryEvent) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%d %s\n", e.GetEventId(), e.GetEventType())
	}
	return b.String()
}

func replay(t *testing.T, events []*history.HistoryEvent) {
	t.Helper()
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(workflows.AgentRun, workflow.RegisterOptions{Name: workflows.AgentRunName})
	r.RegisterWorkflowWithOptions(workflows.Pipeline, workflow.RegisterOptions{Name: workflows.PipelineName})
	r.RegisterWorkflowWithOptions(workflows.Approval, workflow.RegisterOptions{Name: workflows.ApprovalName})
	r.RegisterWorkflowWithOptions(workflows.Notify, workflow.RegisterOptions{Name: workflows.NotifyName})
	r.RegisterWorkflowWithOptions(workflows.Keep, workflow.RegisterOptions{Name: workflows.KeepName})
	if err := r.ReplayWorkflowHistory(nil, &history.History{Events: events}); err != nil {
		t.Errorf("the history does not replay: %v", err)
	}
}

var identity = regexp.MustCompile(`"identity": ?"[^"]*"`)

// generation is the directory of histories of today's runs, named by the version of the whole that they have. Those of older runs
// stay where they are.
const generation = "3"

// keep writes a history where -record asks for it and none is kept yet.
func keep(t *testing.T, name string, events []*history.HistoryEvent) {
	t.Helper()
	path := filepath.Join("..", "..", "workflows", "testdata", "histories", generation, name+".json")
	if _, err := os.Stat(path); err == nil || !*record {
		return
	}
	raw, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(&history.History{Events: events})
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	pretty, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	pretty = identity.ReplaceAll(pretty, []byte(`"identity": "recorded"`))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(pretty, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestATurnsHistoryDoesNotGrow compares what turn 5 and turn 50 of one conversation add.
func TestATurnsHistoryDoesNotGrow(t *testing.T) {
	t.Parallel()
	const last = 51
	long := strings.Repeat("the conversation grows. ", 200)
	model := &apptest.Model{Turn: func(n int, _ llm.Request) llm.Message {
		m := llm.Message{Content: long}
		if n < last {
			m.ToolCalls = apptest.Calls("effect", `{"n":1}`).ToolCalls
		}
		return m
	}}
	rules := apptest.WithRules(`{match: "effect", decision: allow}`)
	h := startEffect(t, model, &counter{}, rules, apptest.WithMaxSteps(200))
	run := h.Begin("go")
	if end := h.Ended(run.RunID); end.Status != "completed" {
		t.Fatalf("ended %+v", end)
	}
	turns := bytesByTurn(h.Closed(run.Workflow))
	const slack = 40 // counters have more digits
	if len(turns) < 50 || turns[49] > turns[4]+slack {
		t.Errorf("turn 5 added %d bytes, turn 50 added %d", turns[4], turns[49])
	}
	t.Logf("turn 5: %d bytes, turn 50: %d bytes", turns[4], turns[49])
}

// bytesByTurn adds up the events from one model call to the next. Workflow tasks are left out: their number
// depends on timing.
func bytesByTurn(events []*history.HistoryEvent) []int {
	var turns []int
	for _, e := range events {
		if strings.HasPrefix(e.GetEventType().String(), "WorkflowTask") {
			continue
		}
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil && a.GetActivityType().GetName() == "CallModel" {
			turns = append(turns, 0)
		}
		if len(turns) > 0 {
			turns[len(turns)-1] += proto.Size(e)
		}
	}
	return turns
}
