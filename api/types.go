package api

import (
	"encoding/json"
	"time"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/llm"
	"holdpoint/workflows"
)

// StartRun is the body of POST /v1/runs.
type StartRun struct {
	Agent     string            `json:"agent" minLength:"1" maxLength:"128" doc:"Name of the agent"`
	SessionID string            `json:"session_id,omitempty" pattern:"^[A-Za-z0-9._-]{1,128}$" doc:"The conversation to go on with; made when left out"`
	UserID    string            `json:"user_id,omitempty" maxLength:"256" doc:"For whom; the caller, unless they have the role act_for and name another"`
	Input     string            `json:"input" minLength:"1" doc:"The user's message, 64 KiB at most"`
	Metadata  map[string]string `json:"metadata,omitempty" maxProperties:"32" doc:"Kept with the run and shown"`
}

// StartedRun answers POST /v1/runs.
type StartedRun struct {
	RunID      interaction.RunID     `json:"run_id"`
	SessionID  interaction.SessionID `json:"session_id"`
	WorkflowID string                `json:"workflow_id"`
	Status     agent.RunStatus       `json:"status"`
	Warnings   []string              `json:"warnings,omitempty" doc:"What to know before waiting for it, such as that nobody is told of what it asks"`
}

// RunView is a run as GET /v1/runs/{run_id} shows it.
type RunView struct {
	agent.Run
	Steps   int       `json:"steps" doc:"Messages that the run has added to its session"`
	Pending []Pending `json:"pending" nullable:"false" doc:"What waits for a person, oldest first"`
}

// Verified is what became of verifying a run's record.
type Verified struct {
	RunID interaction.RunID `json:"run_id" doc:"The run that a person started: those that it called have their events in its record"`
	Holds bool              `json:"holds"`
	Fault string            `json:"fault,omitempty" doc:"What is wrong, and where" example:"the record was tampered with: run r1: event 7 (step_completed) was changed after it was written"`
}

// Pending is an open interaction in brief.
type Pending struct {
	ID          interaction.ID       `json:"id"`
	Type        interaction.Type     `json:"type"`
	Status      interaction.Status   `json:"status"`
	Title       string               `json:"title"`
	ToolName    string               `json:"tool_name,omitempty"`
	Risk        string               `json:"risk,omitempty"`
	Actions     []interaction.Action `json:"actions,omitempty"`
	CreatedAt   time.Time            `json:"created_at,omitzero"`
	ExpiresAt   time.Time            `json:"expires_at,omitzero"`
	SubmittedAt time.Time            `json:"submitted_at,omitzero" doc:"An answer was accepted and is not carried out yet"`
}

// Interaction is an interaction as the bridge shows it: the request, and what became of it.
type Interaction struct {
	interaction.Request
	Status       interaction.Status     `json:"status"`
	Responses    []interaction.Response `json:"responses,omitempty" doc:"The accepted ones, in order"`
	Action       interaction.Action     `json:"action,omitempty" doc:"What it ended in"`
	ClosedReason string                 `json:"closed_reason,omitempty" doc:"Why it expired or was cancelled"`
	ClosedAt     time.Time              `json:"closed_at,omitzero"`
	SubmittedAt  time.Time              `json:"submitted_at,omitzero" doc:"An answer was accepted and is not carried out yet"`
	MayAnswer    bool                   `json:"may_answer,omitempty" doc:"It is open, and an answer of the caller's would count"`
}

// Settled reports that it was decided, and that its run has not carried that out yet: the run is paused, or no worker is there.
func (i Interaction) Settled() bool {
	if i.Status.Final() || i.SubmittedAt.IsZero() {
		return false
	}
	n := len(i.Responses)
	return i.QuorumNeeded() == 1 || n > 0 && interaction.Interaction{Request: i.Request, Responses: i.Responses}.Decides(i.Responses[n-1])
}

// Page is one page of a list. NextPageToken is "" on the last one.
type Page[T any] struct {
	Items         []T    `json:"items" nullable:"false"`
	NextPageToken string `json:"next_page_token"`
}

// The lists.
type (
	RunList         = Page[agent.Run]
	StepList        = Page[llm.Step]
	InteractionList = Page[Interaction]
	AgentList       = Page[AgentInfo]
)

// AgentInfo is an agent that can be started.
type AgentInfo struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Model       string   `json:"model,omitempty"`
	Tools       []string `json:"tools,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	// Digest names exactly this definition: a run that is started now is pinned to it.
	Digest string `json:"digest,omitempty"`
	// Workflow is the kind of a workflow of agents, "" of an agent.
	Workflow string `json:"workflow,omitempty"`
}

// StatusStored is the status of a message that Temporal keeps until a worker comes.
const StatusStored = "stored"

// Answered says what became of a response.
type Answered struct {
	ResponseID    interaction.ResponseID `json:"response_id"`
	InteractionID interaction.ID         `json:"interaction_id"`
	Applied       bool                   `json:"applied" doc:"By this request or an earlier one of the same response id"`
	Status        string                 `json:"status,omitempty" doc:"Of the interaction afterwards; 'stored' when it is kept until the run can take it"`
	Approvals     int                    `json:"approvals,omitempty" doc:"Distinct approvers so far"`
	Quorum        int                    `json:"quorum,omitempty" doc:"Approvers needed"`
}

// RespondBatch is the body of POST /v1/interactions/respond: each is a response whose request_id names its interaction.
type RespondBatch struct {
	Responses []json.RawMessage `json:"responses"`
}

// AnsweredItem is the result of one response of a batch.
type AnsweredItem struct {
	Answered
	HTTPStatus int      `json:"http_status" doc:"What the response alone would have been answered with"`
	Problem    *Problem `json:"problem,omitempty" doc:"Why it was refused"`
}

// AnsweredBatch answers a batch, one item per response, in their order.
type AnsweredBatch struct {
	Items []AnsweredItem `json:"items" nullable:"false"`
}

// Control is the body of POST /v1/runs/{run_id}/control.
type Control struct {
	ID            interaction.ResponseID  `json:"id,omitempty" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"Chosen by the sender: the same id is applied once"`
	Action        workflows.ControlAction `json:"action" enum:"abort_run,pause_run,resume_run,pause,resume,lift_rejection"`
	InteractionID interaction.ID          `json:"interaction_id,omitempty" maxLength:"256" doc:"With pause, resume and lift_rejection: which one"`
	ToolCallID    interaction.CallID      `json:"tool_call_id,omitempty" maxLength:"256" doc:"With pause and resume, in place of interaction_id: a call that runs"`
	Note          string                  `json:"note,omitempty" doc:"4 KiB at most"`
}

// SendMessage is the body of POST /v1/runs/{run_id}/messages.
type SendMessage struct {
	ID   interaction.ResponseID `json:"id,omitempty" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"Chosen by the sender: the same id is applied once"`
	Text string                 `json:"text" minLength:"1" doc:"64 KiB at most"`
}

// Delivered answers control and messages.
type Delivered struct {
	ID        interaction.ResponseID `json:"id"`
	Status    string                 `json:"status" enum:"accepted,stored"`
	Duplicate bool                   `json:"duplicate,omitempty" doc:"The same id was applied before"`
}

// Health answers /healthz and /readyz.
type Health struct {
	Status string `json:"status"`
}

// newInteraction is an interaction as p may see it: who may not answer it does not see the output that it is about.
func newInteraction(p interaction.Principal, i interaction.Interaction) Interaction {
	if !seesOutput(p, i.Request) {
		i = i.WithoutOutput()
	}
	v := Interaction{Request: i.Request, Status: i.Status, Responses: i.Responses, Action: i.Action,
		ClosedReason: i.Reason, ClosedAt: i.ClosedAt, SubmittedAt: i.SubmittedAt, MayAnswer: mayAnswer(p, i)}
	v.ToolArgs = validJSON(v.ToolArgs)
	return v
}

func newPending(i interaction.Interaction) Pending {
	p := Pending{ID: i.Request.ID, Type: i.Request.Type, Status: i.Status, Title: i.Request.Title,
		ToolName: i.Request.ToolName, Risk: i.Request.Risk, CreatedAt: i.Request.CreatedAt,
		ExpiresAt: i.Request.ExpiresAt, SubmittedAt: i.SubmittedAt}
	for _, o := range i.Request.Options {
		p.Actions = append(p.Actions, o.Action)
	}
	return p
}

// validJSON keeps one stored value that is no JSON from making a whole answer unreadable: it is shown as text.
func validJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || json.Valid(raw) {
		return raw
	}
	s, err := json.Marshal(string(raw))
	if err != nil {
		return nil
	}
	return s
}
