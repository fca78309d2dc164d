package adapters

import (
	"encoding/json"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
)

// suspended is the data of execution_suspended and execution_resumed.
type suspended struct {
	InteractionRequestID string `json:"interaction_request_id"`
}

// authRequired is the data of tool_auth_required.
type authRequired struct {
	ToolCallID        string     `json:"tool_call_id"`
	ToolName          string     `json:"tool_name"`
	ArgsPreview       string     `json:"args_preview"`
	SuggestedPatterns []string   `json:"suggested_patterns"`
	Reason            string     `json:"reason"`
	ExpiresAtHint     *time.Time `json:"expires_at_hint"`
}

// authDenied is the data of tool_auth_denied.
type authDenied struct {
	ToolCallID string `json:"tool_call_id"`
	ToolName   string `json:"tool_name"`
	Reason     string `json:"reason"`
}

// agioStep is the design's Step, the snapshot of step_completed.
type agioStep struct {
	ID         string         `json:"id"`
	RunID      string         `json:"run_id"`
	Sequence   int64          `json:"sequence"`
	Role       string         `json:"role"`
	Content    string         `json:"content"`
	ToolCalls  []agioToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
	Name       string         `json:"name,omitempty"`
}

type agioToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function agioFunction `json:"function"`
}

type agioFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// payload decodes an event's; what can't be decoded is empty.
func payload[T any](e event.Event) (v T) {
	_ = json.Unmarshal(e.Payload, &v) // an erased payload, or one of a later version, shows nothing
	return v
}

func (t *agioStream) event(e event.Event, typ event.Type, data any) agioEvent {
	return agioEvent{Type: string(typ), RunID: string(e.RunID), Timestamp: e.Time.UTC().Format(time.RFC3339Nano), Data: data, Redacted: e.Redacted}
}

// translate is an event in the design's form. What the design does not know keeps its own payload as data.
func (t *agioStream) translate(e event.Event) ([]agioEvent, error) {
	one := t.event(e, e.Type, e.Payload)
	switch e.Type {
	case event.StepDelta:
		one.Delta = map[string]string{"content": payload[event.StepDeltaData](e).Text}
	case event.StepCompleted:
		d := payload[event.StepCompletedData](e)
		one.StepID, one.Snapshot = string(d.StepID), stepOf(e, d)
	case event.InteractionRequest:
		return t.asked(e)
	case event.InteractionResponse:
		return t.closed(e, one)
	case event.ExecutionSuspended:
		var out []agioEvent
		for _, id := range payload[event.SuspendedData](e).Interactions {
			out = append(out, t.event(e, e.Type, suspended{string(id)}))
		}
		return out, nil
	case event.ExecutionResumed:
		one.Data = suspended{string(payload[event.ResumedData](e).InteractionID)}
	case event.ToolAuthDenied:
		d := payload[event.ToolAuthDeniedData](e)
		one.Data = authDenied{string(d.ToolCallID), d.ToolName, d.Reason}
	case event.RunCompleted:
		one.Data = map[string]any{"response": payload[event.RunCompletedData](e).Output, "metrics": map[string]any{}}
	case event.RunFailed:
		one.Data = map[string]string{"error": payload[event.RunFailedData](e).Message, "code": payload[event.RunFailedData](e).Code}
	default:
	}
	return []agioEvent{one}, nil
}

func stepOf(e event.Event, d event.StepCompletedData) agioStep {
	s := agioStep{ID: string(d.StepID), RunID: string(e.RunID), Sequence: d.Sequence, Role: d.Role, Content: d.Content,
		ToolCallID: string(d.ToolCallID), Name: d.ToolName}
	for _, c := range d.ToolCalls {
		s.ToolCalls = append(s.ToolCalls, agioToolCall{string(c.ID), "function", agioFunction{c.Name, string(c.Args)}})
	}
	return s
}

// asked is a question: as the design's request, and where rules ask about a call, as tool_auth_required before it.
func (t *agioStream) asked(e event.Event) ([]agioEvent, error) {
	q, err := t.request(payload[interaction.Request](e))
	if err != nil {
		return nil, err
	}
	one := t.event(e, event.InteractionRequest, map[string]any{"interaction_request": agioOf(q)})
	one.StepID = string(q.StepID)
	if q.Type != interaction.TypeToolApproval || q.Kind != interaction.KindPermission {
		return []agioEvent{one}, nil
	}
	d := authRequired{ToolCallID: string(q.ToolCallID), ToolName: q.ToolName, ArgsPreview: preview(q), SuggestedPatterns: []string{}, Reason: q.Reason}
	if q.MaxGrant != "" && q.MaxGrant != interaction.GrantNone && len(q.SuggestedPattern) > 0 {
		d.SuggestedPatterns = q.SuggestedPattern
	}
	if !q.ExpiresAt.IsZero() {
		d.ExpiresAtHint = &q.ExpiresAt
	}
	return []agioEvent{t.event(e, event.ToolAuthRequired, d), one}, nil
}

// request is a question as the caller may see it; one that they may see only as an event is shown as that has it.
func (t *agioStream) request(q interaction.Request) (interaction.Request, error) {
	i, err := t.a.interaction(t.ctx, q.ID)
	if isNotFound(err) {
		return q, nil
	}
	return i.Request, err
}

// preview is the whole of what would run: of a command the command itself, of anything else its arguments.
func preview(q interaction.Request) string {
	var one map[string]json.RawMessage
	var text string
	if json.Unmarshal(q.ToolArgs, &one) == nil && len(one) == 1 {
		for _, v := range one {
			if json.Unmarshal(v, &text) == nil {
				return text
			}
		}
	}
	return string(q.ToolArgs)
}

// closed is an answer, followed by tool_auth_denied where a call was not let run by a person, or by nobody in time.
func (t *agioStream) closed(e event.Event, one agioEvent) ([]agioEvent, error) {
	d := payload[event.InteractionResponseData](e)
	reason := ""
	switch {
	case d.Status == interaction.StatusExpired:
		reason = "Timeout"
	case d.Status == interaction.StatusAnswered && d.Action == interaction.ActionReject:
		reason = "User denied"
	default:
		return []agioEvent{one}, nil
	}
	q, err := t.request(interaction.Request{ID: d.InteractionID, ToolCallID: d.ToolCallID})
	if err != nil || q.Type != interaction.TypeToolApproval {
		return []agioEvent{one}, err
	}
	return []agioEvent{one, t.event(e, event.ToolAuthDenied, authDenied{string(q.ToolCallID), q.ToolName, reason})}, nil
}
