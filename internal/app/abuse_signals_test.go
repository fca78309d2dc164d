package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/workflows"
)

// wrongShapes come on every channel: as JSON text, or as something else.
var wrongShapes = []any{
	json.RawMessage(`{}`),
	json.RawMessage(`null`),
	json.RawMessage(`[]`),
	json.RawMessage(`"x"`),
	json.RawMessage(`17`),
	json.RawMessage(`{"approved":"no"}`),
	json.RawMessage(`{"payload":{"action":"approve"}}`),
	nil,
	[]byte(`{"action":"approve"}`),
	encoded("json/protobuf", `{"action":"approve"}`),
	encoded("json/plain", `{"action":`),
	encoded("json/plain", "{\"note\":\"\xff\"}"),
	encoded("", ``),
}

func encoded(encoding, data string) converter.RawValue {
	return converter.NewRawValue(&common.Payload{Metadata: map[string][]byte{"encoding": []byte(encoding)}, Data: []byte(data)})
}

// wrongMessages come on one channel. RUN and ASKED stand for the run's and the interaction's ids.
var wrongMessages = map[string][]string{
	workflows.MessageRespond: {
		`{"request_id":"ASKED"}`,
		`{"request_id":"ASKED","action":"yes"}`,
		`{"request_id":"ASKED","Action":"approve"}`,
		`{"request_id":"ASKED","action":"reject","action":"approve"}`,
		`{"request_id":"ASKED","action":"approve","note":"LONG"}`,
		`{"request_id":"ASKED-2","action":"approve"}`,
		`{"request_id":"ASKED","action":"approve","grant":{"scope":"session","max_uses":0}}`,
		`{"request_id":"ASKED","action":"approve","grant":{"scope":"session","expires_at":"0001-01-01T00:00:00Z"}}`,
		`{"responses":[]}`,
	},
	workflows.MessageControl: {
		`{"run_id":"RUN"}`,
		`{"run_id":"RUN","action":"pause_everything"}`,
		`{"run_id":"RUN","Action":"abort_run"}`,
		`{"run_id":"another","action":"abort_run"}`,
		`{"action":"abort_run"}`,
		`{"run_id":"RUN","action":"abort_run","action":"abort_run"}`,
		`{"run_id":"RUN","action":"abort_run","note":"LONG"}`,
	},
	workflows.MessageText: {
		`{"run_id":"RUN"}`,
		`{"run_id":"RUN","text":7}`,
		`{"run_id":"RUN","Text":"hello"}`,
		`{"run_id":"another","text":"hello"}`,
		`{"text":"hello"}`,
		`{"run_id":"RUN","text":"a","text":"b"}`,
		`{"run_id":"RUN","text":"LONGLONGLONGLONGLONGLONGLONGLONGLONGLONGLONGLONGLONGLONGLONGLONGLONG"}`,
	},
}

func TestASignalThatCannotBeReadMovesNothingAndIsSeen(t *testing.T) {
	t.Parallel()
	for channel, own := range wrongMessages {
		t.Run(channel, func(t *testing.T) {
			t.Parallel()
			c := &counter{}
			model := effectOnce(1)
			h := startEffect(t, model, c)
			run := h.Begin("go")
			asked := h.Waits(run.RunID, 1)[0]
			words := strings.NewReplacer("RUN", string(run.RunID), "ASKED", string(asked.ID), "LONG", strings.Repeat("x", interaction.MaxNoteBytes+1))
			signals := append([]any(nil), wrongShapes...)
			for _, text := range own {
				signals = append(signals, json.RawMessage(words.Replace(text)))
			}
			for _, s := range signals {
				signalRaw(h, run.Workflow, channel, s)
			}
			for _, r := range refusals(h, run.RunID, len(signals)) {
				if r.Code == "" || !strings.HasPrefix(r.Message, channel+": ") || len(r.Message) < len(channel)+10 {
					t.Errorf("a refusal that does not say what and why: %+v", r)
				}
			}
			s, err := h.State(run.Workflow)
			if err != nil || len(s.Refused) != min(len(signals), 20) { // the newest
				t.Errorf("the state shows %d of %d refused messages, %v", len(s.Refused), len(signals), err)
			}
			stillAsks(h, run, asked.ID)
			if c.count() != 0 {
				t.Errorf("%d executions", c.count())
			}
			h.Answer(asked.ID, map[string]any{"action": "approve"})
			completes(h, run.RunID)
			if got := refusals(h, run.RunID, 0); len(got) != len(signals) || spoken(model.Requests()) != 1 {
				t.Errorf("%d refusals of %d, and the model heard %d messages", len(got), len(signals), spoken(model.Requests()))
			}
		})
	}
}

func signalRaw(h *apptest.Holdpoint, workflowID, name string, arg any) {
	h.T.Helper()
	if err := h.Client.SignalWorkflow(context.Background(), workflowID, "", name, arg); err != nil {
		h.T.Fatalf("%s %v: %v", name, arg, err)
	}
}

// spoken counts the user's messages in the last request.
func spoken(requests []llm.Request) (n int) {
	for _, m := range requests[len(requests)-1].Messages {
		if m.Role == llm.RoleUser {
			n++
		}
	}
	return n
}

// TestASignalWithoutAnyPayloadIsSeen sends what no client library would.
func TestASignalWithoutAnyPayloadIsSeen(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := startEffect(t, effectOnce(1), c)
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	_, err := h.Client.WorkflowService().SignalWorkflowExecution(context.Background(), &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: client.DefaultNamespace, WorkflowExecution: &common.WorkflowExecution{WorkflowId: run.Workflow},
		SignalName: workflows.MessageRespond, RequestId: uuid.NewString()})
	if err != nil {
		t.Fatal(err)
	}
	if got := refusals(h, run.RunID, 1); !strings.Contains(got[0].Message, "send one JSON object") {
		t.Errorf("recorded as %+v", got)
	}
	stillAsks(h, run, asked.ID)
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
}

// TestEveryRefusedSignalOfAFloodIsInTheRecord sends more at once than a run keeps at hand.
func TestEveryRefusedSignalOfAFloodIsInTheRecord(t *testing.T) {
	t.Parallel()
	const flood = 60
	c := &counter{}
	h := startEffect(t, effectOnce(1), c)
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	atOnce(flood, 12, func(i int) {
		signalRaw(h, run.Workflow, workflows.MessageRespond, map[string]any{"id": fmt.Sprintf("flood-%d", i), "request_id": asked.ID, "action": "resume"})
	})
	seen := map[interaction.ResponseID]bool{}
	for _, r := range refusals(h, run.RunID, flood) {
		seen[r.ResponseID] = true
	}
	if len(seen) != flood {
		t.Errorf("%d of %d are in the record", len(seen), flood)
	}
	stillAsks(h, run, asked.ID)
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
}

// TestAHostileIDHoldsNothingUp sends ids that no store takes as they are.
func TestAHostileIDHoldsNothingUp(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := startEffect(t, effectOnce(1), c)
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	ids := []string{"nul \x00 nul", "\u202eevil", strings.Repeat("é", 100), strings.Repeat("x", 5000), "\n"}
	for _, id := range ids {
		signalRaw(h, run.Workflow, workflows.MessageRespond, map[string]any{"id": id, "request_id": asked.ID, "action": "resume"})
		signalRaw(h, run.Workflow, workflows.MessageControl, map[string]any{"id": id, "run_id": run.RunID, "action": "nothing"})
		signalRaw(h, run.Workflow, workflows.MessageText, map[string]any{"id": id, "run_id": "another", "text": "hello"})
	}
	refusals(h, run.RunID, 3*len(ids))
	stillAsks(h, run, asked.ID)
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
	h.Closed(run.Workflow)
}

func TestAnAnswerOfThreeMegabytesIsRefused(t *testing.T) {
	t.Parallel()
	c := &counter{}
	h := startEffect(t, effectOnce(1), c)
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	big := map[string]any{"request_id": asked.ID, "action": "approve", "note": strings.Repeat("x", 3<<20)}
	if p := refusedWith(h, asked.ID, big, http.StatusRequestEntityTooLarge); p.Code != "too_large" {
		t.Errorf("refused as %+v", p)
	}
	if code, out := h.HTTP("POST", "/v1/interactions/respond", map[string]any{"responses": []any{big}}); code != http.StatusRequestEntityTooLarge {
		t.Errorf("the batch was answered %d %s", code, out)
	}
	if err := h.Client.SignalWorkflow(context.Background(), run.Workflow, "", workflows.MessageRespond, big); err == nil {
		t.Error("Temporal took a signal of 3 MB")
	}
	big["note"] = strings.Repeat("x", 1<<20) // Temporal takes it; the run must not
	signalRaw(h, run.Workflow, workflows.MessageRespond, big)
	if got := refusals(h, run.RunID, 1); got[0].Code != string(interaction.CodeTooLarge) {
		t.Errorf("a signal of 1 MB is in the record as %+v", got)
	}
	stillAsks(h, run, asked.ID)
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
	if c.count() != 1 {
		t.Errorf("%d executions", c.count())
	}
}
