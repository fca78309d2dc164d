package adapters

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/workflows"
)

// approvalRequest is the design's ApprovalRequest, with the interaction that stands behind it.
type approvalRequest struct {
	SessionID     string          `json:"sessionId"`
	RunID         string          `json:"runId"`
	ToolCallID    string          `json:"toolCallId"`
	ToolName      string          `json:"toolName"`
	Arguments     json.RawMessage `json:"arguments"`
	RiskLevel     string          `json:"riskLevel,omitempty"`
	Reason        string          `json:"reason,omitempty"`
	InteractionID string          `json:"interactionId"`
	Redacted      bool            `json:"redacted,omitempty"` // ours: parts are hidden
}

func approvalOf(q interaction.Request, redacted bool) approvalRequest {
	return approvalRequest{SessionID: string(q.SessionID), RunID: string(q.RunID), ToolCallID: string(q.ToolCallID), ToolName: q.ToolName,
		Arguments: objectOf(q.ToolArgs), RiskLevel: riskLevel(q.Risk), Reason: q.Reason, InteractionID: string(q.ID), Redacted: redacted}
}

// riskLevel is a risk by the three names that the designs have.
func riskLevel(risk string) string {
	switch risk {
	case "", "low", "medium", "high":
		return risk
	default:
		return "high"
	}
}

// listApprovals lists the calls that wait, newest first: of a run, of a session, or all that the caller may see.
func (a *Adapters) listApprovals(w http.ResponseWriter, r *http.Request) {
	q := url.Values{}
	if run := r.URL.Query().Get("runId"); run != "" {
		q.Set("run_id", run)
	}
	open, err := a.waiting(r.Context(), q)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	session := r.URL.Query().Get("sessionId")
	list := approvalRequests{Approvals: []approvalRequest{}}
	for _, i := range open {
		if i.Type == interaction.TypeToolApproval && (session == "" || session == string(i.SessionID)) {
			list.Approvals = append(list.Approvals, approvalOf(i.Request, i.redacted))
		}
	}
	reply(w, http.StatusOK, list)
}

// approvalRequests answers GET /hitl/approvals.
type approvalRequests struct {
	Approvals []approvalRequest `json:"approvals" nullable:"false"`
}

// approvalDecision is the design's ApprovalDecision.
type approvalDecision struct {
	ToolCallID   string          `json:"toolCallId"`
	Action       string          `json:"action"`
	ModifiedArgs json.RawMessage `json:"modifiedArgs" required:"false"`
	Note         string          `json:"note" required:"false"`
	ReviewerID   string          `json:"reviewerId" required:"false"`
}

// decisionActions are the design's actions in ours.
var decisionActions = map[string]interaction.Action{
	"approve": interaction.ActionApprove, "deny": interaction.ActionReject, "modify_args": interaction.ActionModifyArgs,
	"pause": interaction.ActionPause, "resume": interaction.ActionResume, "abort_run": interaction.ActionTerminate,
}

// decide takes a decision on a call.
func (a *Adapters) decide(w http.ResponseWriter, r *http.Request) {
	var in approvalDecision
	if err := read(r, &in); err != nil {
		a.refuse(w, r, err)
		return
	}
	i, err := a.find(r.Context(), in.ToolCallID)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	answer, err := in.answerOf(i.Request)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	out, err := a.answer(r.Context(), i, answer)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	reply(w, http.StatusOK, decisionReply{in.ToolCallID, in.Action, i.ID, out.Status})
}

// decisionReply answers POST /hitl/decisions.
type decisionReply struct {
	ToolCallID    string         `json:"toolCallId"`
	Action        string         `json:"action"`
	InteractionID interaction.ID `json:"interactionId"`
	Status        string         `json:"status"`
}

func (in approvalDecision) answerOf(q interaction.Request) (interaction.Response, error) {
	r := interaction.Response{RequestID: q.ID, Note: in.Note, Reviewer: interaction.Principal{ID: interaction.PrincipalID(in.ReviewerID)}}
	action, known := decisionActions[in.Action]
	if !known {
		return r, refusal(http.StatusUnprocessableEntity, api.CodeInvalid,
			"action must be approve, deny, modify_args, pause, resume or abort_run, not %q", in.Action)
	}
	args := in.ModifiedArgs
	if string(args) == "null" {
		args = nil
	}
	if (action == interaction.ActionModifyArgs) != (args != nil) {
		return r, refusal(http.StatusUnprocessableEntity, api.CodeInvalid, "modifiedArgs goes with modify_args, and with nothing else")
	}
	if action == interaction.ActionReject {
		r.Feedback = in.Note
		if a, ok := offered(q, action, interaction.ActionWithhold, interaction.ActionSkip); ok {
			action = a
		}
	}
	r.Action, r.Args = action, args
	return r, nil
}

// controlSignal is the design's ControlSignal.
type controlSignal struct {
	RunID   string          `json:"runId"`
	Action  string          `json:"action"`
	Payload json.RawMessage `json:"payload" required:"false"`
}

// control pauses, resumes or ends a run. A note may be in the payload.
func (a *Adapters) control(w http.ResponseWriter, r *http.Request) {
	var in controlSignal
	if err := read(r, &in); err != nil {
		a.refuse(w, r, err)
		return
	}
	body, err := in.message()
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	var out api.Delivered
	if _, err := a.core.call(r.Context(), http.MethodPost, path("/v1/runs/%s/control", in.RunID), body, &out); err != nil {
		a.refuse(w, r, err)
		return
	}
	reply(w, http.StatusOK, controlReply{in.RunID, in.Action, out.Status})
}

// controlReply answers POST /hitl/control.
type controlReply struct {
	RunID  string `json:"runId"`
	Action string `json:"action"`
	Status string `json:"status"`
}

func (in controlSignal) message() (api.Control, error) {
	out := api.Control{Action: workflows.ControlAction(in.Action)}
	switch in.Action {
	case "pause_run", "resume_run", "abort_run":
	default:
		return out, refusal(http.StatusUnprocessableEntity, api.CodeInvalid, "action must be pause_run, resume_run or abort_run, not %q", in.Action)
	}
	if in.RunID == "" {
		return out, refusal(http.StatusUnprocessableEntity, api.CodeInvalid, "runId is missing")
	}
	note, err := in.note()
	out.Note = note
	return out, err
}

// note is what the payload, which the design leaves open, says for the record: its note alone, or else all of it.
func (in controlSignal) note() (string, error) {
	payload := bytes.TrimSpace(in.Payload)
	if len(payload) == 0 || string(payload) == "null" || string(payload) == "{}" {
		return "", nil
	}
	var members map[string]json.RawMessage
	if err := decode(payload, &members); err != nil {
		return "", err
	}
	if raw, there := members["note"]; there && len(members) == 1 {
		var note string
		if err := json.Unmarshal(raw, &note); err != nil {
			return "", refusal(http.StatusUnprocessableEntity, api.CodeInvalid, "payload.note must be text")
		}
		return note, nil
	}
	return string(payload), nil
}
