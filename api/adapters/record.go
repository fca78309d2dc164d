package adapters

import (
	"encoding/json"
	"net/http"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
)

// recordEntry is one entry of a run's record, under the design's names. The numbers are those of the run's events, so
// what is exported twice is the same, and in order.
type recordEntry struct {
	Number int64     `json:"number"`
	Type   string    `json:"type"`
	Time   time.Time `json:"time"`
	RunID  string    `json:"runId"`
	Data   any       `json:"data"`
	Hash   string    `json:"hash,omitempty"` // of the run's event
	// Redacted is ours: parts are hidden, while the hash is that of the whole.
	Redacted bool `json:"redacted,omitempty"`
}

// The design's names.
const (
	entryRequired = "approval_required"
	entryDecision = "approval_decision"
	entryPaused   = "tool_paused"
	entryResumed  = "tool_resumed"
	entryAborted  = "run_aborted_by_human"
)

// decisionEntry is the data of approval_decision. Arguments stand in it before and after the decision; nothing runs with
// them after one that denies.
type decisionEntry struct {
	ToolCallID      string          `json:"toolCallId"`
	InteractionID   string          `json:"interactionId"`
	Action          string          `json:"action"`
	Outcome         string          `json:"outcome"` // ours, which is finer
	Note            string          `json:"note,omitempty"`
	ReviewerID      string          `json:"reviewerId,omitempty"`
	ReviewerIDs     []string        `json:"reviewerIds,omitempty"` // all who decided, in order
	ArgumentsBefore json.RawMessage `json:"argumentsBefore"`
	ArgumentsAfter  json.RawMessage `json:"argumentsAfter"`
}

// heldEntry is the data of tool_paused and tool_resumed.
type heldEntry struct {
	ToolCallID    string `json:"toolCallId,omitempty"`
	InteractionID string `json:"interactionId,omitempty"`
	ReviewerID    string `json:"reviewerId,omitempty"`
	Note          string `json:"note,omitempty"`
}

// record exports what was asked and decided in a run so far, in order.
func (a *Adapters) record(w http.ResponseWriter, r *http.Request) {
	entries := []recordEntry{}
	shown := map[interaction.ID]approvalRequest{}
	run := r.PathValue("run_id")
	err := a.core.stream(r.Context(), http.MethodGet, path("/v1/runs/%s/events?follow=false", run), nil, nil, nil, func(f frame) error {
		var e event.Event
		if f.Event == "" || f.Event == string(event.StepDelta) {
			return nil
		}
		if err := json.Unmarshal([]byte(f.Data), &e); err != nil {
			return err
		}
		if typ, data := entryOf(e, shown); typ != "" {
			entries = append(entries, recordEntry{Number: e.Number, Type: typ, Time: e.Time, RunID: string(e.RunID), Data: data, Hash: e.Hash, Redacted: e.Redacted})
		}
		return nil
	})
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	reply(w, http.StatusOK, runRecord{run, entries})
}

// runRecord answers GET /hitl/runs/{run_id}/record.
type runRecord struct {
	RunID   string        `json:"runId"`
	Entries []recordEntry `json:"entries" nullable:"false"`
}

// entryOf is an event as an entry; "" for one that the design does not know. shown has the calls that were shown before.
func entryOf(e event.Event, shown map[interaction.ID]approvalRequest) (string, any) {
	switch e.Type {
	case event.InteractionRequest:
		q := payload[interaction.Request](e)
		if q.Type != interaction.TypeToolApproval {
			return "", nil
		}
		shown[q.ID] = approvalOf(q, e.Redacted)
		return entryRequired, shown[q.ID]
	case event.InteractionResponse:
		d := payload[event.InteractionResponseData](e)
		if before, known := shown[d.InteractionID]; known {
			return entryDecision, decisionOf(d, before)
		}
		return "", nil
	case event.ToolPaused, event.ToolResumed:
		d := payload[event.ToolHoldData](e)
		h := heldEntry{string(d.ToolCallID), string(d.InteractionID), string(d.By), d.Note}
		if h.ToolCallID == "" {
			h.ToolCallID = shown[d.InteractionID].ToolCallID
		}
		return string(e.Type), h
	case event.RunAbortedByHuman:
		d := payload[event.RunAbortedData](e)
		return entryAborted, heldEntry{ReviewerID: string(d.By), Note: d.Note}
	default:
		return "", nil
	}
}

func decisionOf(d event.InteractionResponseData, before approvalRequest) decisionEntry {
	out := decisionEntry{ToolCallID: before.ToolCallID, InteractionID: string(d.InteractionID), Action: decided(d),
		Outcome: string(d.Action), ArgumentsBefore: before.Arguments, ArgumentsAfter: before.Arguments}
	if d.Status != interaction.StatusAnswered {
		out.Outcome, out.Note = string(d.Status), d.Reason
	}
	if d.Action == interaction.ActionModifyArgs && len(d.ArgsAfter) > 0 {
		out.ArgumentsAfter = d.ArgsAfter
		if len(d.ArgsBefore) > 0 {
			out.ArgumentsBefore = d.ArgsBefore
		}
	}
	for _, r := range d.Responses {
		out.ReviewerIDs = append(out.ReviewerIDs, string(r.Reviewer.ID))
		out.ReviewerID = string(r.Reviewer.ID)
		if r.Note != "" {
			out.Note = r.Note
		} else if r.Feedback != "" {
			out.Note = r.Feedback
		}
	}
	return out
}

// decided is an outcome by the design's actions: whatever keeps the call from running is a denial.
func decided(d event.InteractionResponseData) string {
	if d.Status == interaction.StatusAnswered {
		switch d.Action {
		case interaction.ActionApprove:
			return "approve"
		case interaction.ActionModifyArgs:
			return "modify_args"
		case interaction.ActionTerminate:
			return "abort_run"
		default:
		}
	}
	return "deny"
}
