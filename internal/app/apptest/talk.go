package apptest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/llm"
	"holdpoint/workflows"
)

// Patience bounds every wait for a condition.
const Patience = 3 * time.Minute

// Eventually waits until ok is true and fails the test when it does not come.
func (h *Holdpoint) Eventually(what string, ok func() bool) {
	h.T.Helper()
	deadline := time.Now().Add(Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			h.T.Fatalf("waited %s in vain: %s", Patience, what)
		}
		<-tick.C
	}
}

// HTTP sends a request to the bridge and returns status and body. body may be nil, a string, or anything JSON.
func (h *Holdpoint) HTTP(method, path string, body any, header ...string) (int, []byte) {
	h.T.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			h.T.Fatal(err)
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, h.URL()+path, r)
	if err != nil {
		h.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.Token())
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.T.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		h.T.Fatal(err)
	}
	h.Described(req, resp, out)
	return resp.StatusCode, out
}

// Get reads JSON from the bridge into v.
func (h *Holdpoint) Get(path string, v any) {
	h.T.Helper()
	code, body := h.HTTP("GET", path, nil)
	if code != http.StatusOK {
		h.T.Fatalf("GET %s: %d %s", path, code, body)
	}
	if err := json.Unmarshal(body, v); err != nil {
		h.T.Fatalf("GET %s: %v in %s", path, err, body)
	}
}

// Run is a run as the bridge shows it.
type RunView struct {
	RunID     interaction.RunID     `json:"run_id"`
	SessionID interaction.SessionID `json:"session_id"`
	Workflow  string                `json:"workflow_id"`
	Status    string                `json:"status"`
	Output    string                `json:"output"`
	ErrorCode string                `json:"error_code"`
	Error     json.RawMessage       `json:"error"`
}

// Begin starts a run of the agent "tester".
func (h *Holdpoint) Begin(input string) RunView { return h.BeginIn("", input) }

// BeginIn starts a run in a session.
func (h *Holdpoint) BeginIn(session, input string) RunView {
	h.T.Helper()
	return h.StartIn(interaction.SessionID(session), "tester", input)
}

// Start starts a run of an agent.
func (h *Holdpoint) Start(agent, input string) RunView { return h.StartIn("", agent, input) }

// StartIn starts a run of an agent in a session; "" makes a new one.
func (h *Holdpoint) StartIn(session interaction.SessionID, agent, input string) RunView {
	h.T.Helper()
	ask := map[string]string{"agent": agent, "input": input, "user_id": "requester"}
	if session != "" {
		ask["session_id"] = string(session)
	}
	code, body := h.HTTP("POST", "/v1/runs", ask)
	if code != http.StatusCreated {
		h.T.Fatalf("start: %d %s", code, body)
	}
	var v RunView
	if err := json.Unmarshal(body, &v); err != nil {
		h.T.Fatal(err)
	}
	return v
}

// Show reads a run.
func (h *Holdpoint) Show(id interaction.RunID) (v RunView) {
	h.T.Helper()
	h.Get("/v1/runs/"+string(id), &v)
	return v
}

// Pending returns the requests of a run that wait for an answer, oldest first.
func (h *Holdpoint) Pending(id interaction.RunID) []interaction.Request {
	h.T.Helper()
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	h.Get("/v1/interactions?status=pending&page_size=200&run_id="+string(id), &list)
	var out []interaction.Request
	for i := len(list.Items) - 1; i >= 0; i-- {
		out = append(out, request(h, list.Items[i]))
	}
	return out
}

func request(h *Holdpoint, raw json.RawMessage) interaction.Request {
	h.T.Helper()
	var wrapped struct {
		Request *interaction.Request `json:"request"`
	}
	var flat interaction.Request
	if err := json.Unmarshal(raw, &wrapped); err == nil && wrapped.Request != nil {
		return *wrapped.Request
	}
	if err := json.Unmarshal(raw, &flat); err != nil {
		h.T.Fatal(err)
	}
	return flat
}

// Waits waits until n requests of a run are pending and known to its workflow.
func (h *Holdpoint) Waits(id interaction.RunID, n int) (list []interaction.Request) {
	h.T.Helper()
	h.Eventually(fmt.Sprintf("%d pending interactions of run %s", n, id), func() bool {
		list = h.Pending(id)
		return len(list) == n
	})
	v := h.Show(id)
	h.Eventually("the workflow to know them", func() bool {
		s, err := h.State(v.Workflow)
		return err == nil && len(s.Pending) == n
	})
	return list
}

// State queries a run's workflow.
func (h *Holdpoint) State(workflowID string) (s workflows.State, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	v, err := h.Client.QueryWorkflow(ctx, workflowID, "", workflows.QueryState)
	if err != nil {
		return s, err
	}
	return s, v.Get(&s)
}

// Respond answers by the bridge and returns status and body.
func (h *Holdpoint) Respond(id interaction.ID, body any) (int, []byte) {
	h.T.Helper()
	return h.HTTP("POST", "/v1/interactions/"+string(id)+"/respond", body)
}

// Answer answers by the bridge and expects 200.
func (h *Holdpoint) Answer(id interaction.ID, body map[string]any) {
	h.T.Helper()
	if code, out := h.Respond(id, body); code != http.StatusOK {
		h.T.Fatalf("respond to %s with %v: %d %s", id, body, code, out)
	}
}

// Events reads a run's stored events.
func (h *Holdpoint) Events(id interaction.RunID) []event.Event {
	h.T.Helper()
	code, body := h.HTTP("GET", "/v1/runs/"+string(id)+"/events", nil, "Accept", "text/event-stream")
	if code != http.StatusOK {
		h.T.Fatalf("events: %d %s", code, body)
	}
	var out []event.Event
	for line := range strings.SplitSeq(string(body), "\n") {
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			var e event.Event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				h.T.Fatal(err)
			}
			if e.Number > 0 {
				out = append(out, e)
			}
		}
	}
	return out
}

// EventTypes names the stored events of a run that may still be live, in order, separated by blanks.
func (h *Holdpoint) EventTypes(id interaction.RunID) string {
	h.T.Helper()
	events, err := h.Store().Events(context.Background(), id, 0, 1000)
	if err != nil {
		h.T.Fatal(err)
	}
	var b strings.Builder
	for _, e := range events {
		b.WriteString(string(e.Type) + " ")
	}
	return b.String()
}

// Closed waits for a workflow's end in Temporal and returns its history.
func (h *Holdpoint) Closed(workflowID string) (events []*history.HistoryEvent) {
	h.T.Helper()
	h.Eventually("workflow "+workflowID+" to close", func() bool {
		events = h.History(workflowID, "")
		switch events[len(events)-1].GetEventType() {
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
			enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
			enums.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
			return true
		default:
			return false
		}
	})
	return events
}

// History reads a workflow's history.
func (h *Holdpoint) History(workflowID, runID string) []*history.HistoryEvent {
	h.T.Helper()
	var out []*history.HistoryEvent
	it := h.Client.GetWorkflowHistory(context.Background(), workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		if err != nil {
			h.T.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// TakenIn waits until a workflow has that many activities left and has taken in the results of all others. What an activity
// has stored is seen before its workflow knows of it.
func (h *Holdpoint) TakenIn(workflowID string, left int) {
	h.T.Helper()
	h.Eventually("the workflow to take in what its activities did", func() bool {
		open, known := 0, true
		for _, e := range h.History(workflowID, "") {
			switch e.GetEventType() {
			case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
				open++
			case enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, enums.EVENT_TYPE_ACTIVITY_TASK_FAILED, enums.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
				open, known = open-1, false
			case enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
				known = true
			}
		}
		return known && open == left
	})
}

// Update sends respond as an update.
func (h *Holdpoint) Update(workflowID string, arg any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	u, err := h.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: workflowID, UpdateName: workflows.MessageRespond,
		Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err != nil {
		return err
	}
	return u.Get(ctx, nil)
}

// Signal sends respond as a signal.
func (h *Holdpoint) Signal(workflowID string, arg any) {
	h.T.Helper()
	if err := h.Client.SignalWorkflow(context.Background(), workflowID, "", workflows.MessageRespond, arg); err != nil {
		h.T.Fatal(err)
	}
}

// Model plays a model: Turn gets the request and its number in the session, from 1.
type Model struct {
	Turn    func(n int, req llm.Request) llm.Message
	Forgets bool // requests are not kept: where memory is measured, they would weigh more than runs

	mu       sync.Mutex
	requests []llm.Request
}

// Generate implements llm.Model. It refuses a transcript that a provider would refuse.
func (m *Model) Generate(_ context.Context, req llm.Request) (llm.Reply, error) {
	if err := llm.CheckPairing(req.Messages); err != nil {
		return llm.Reply{}, &llm.Error{Kind: llm.ErrBadRequest, Message: err.Error()}
	}
	m.mu.Lock()
	if !m.Forgets {
		m.requests = append(m.requests, req)
	}
	m.mu.Unlock()
	n := 1
	for _, msg := range req.Messages {
		if msg.Role == llm.RoleAssistant {
			n++
		}
	}
	return llm.Reply{Message: m.Turn(n, req)}, nil
}

// Requests returns every request so far.
func (m *Model) Requests() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]llm.Request(nil), m.requests...)
}

// Turns plays these messages in order and then says "done".
func Turns(turns ...llm.Message) *Model {
	return &Model{Turn: func(n int, _ llm.Request) llm.Message {
		if n <= len(turns) {
			return turns[n-1]
		}
		return llm.Message{Content: "done"}
	}}
}

// Calls is an assistant message that calls tools: name, arguments, name, arguments…
func Calls(pairs ...string) llm.Message {
	m := llm.Message{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ProviderID: fmt.Sprintf("call_%d", i/2), Name: pairs[i], Args: pairs[i+1]})
	}
	return m
}

// Bash is the arguments of a bash call.
func Bash(command string) string {
	b, _ := json.Marshal(map[string]string{"command": command})
	return string(b)
}

// ToolResults returns the tool messages of the last request a model got.
func (m *Model) ToolResults() []llm.Message {
	all := m.Requests()
	if len(all) == 0 {
		return nil
	}
	var out []llm.Message
	for _, msg := range all[len(all)-1].Messages {
		if msg.Role == llm.RoleTool {
			out = append(out, msg)
		}
	}
	return out
}
