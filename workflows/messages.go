package workflows

import (
	"holdpoint/activities"
	"holdpoint/agent"
	"holdpoint/interaction"
)

// RunInput starts an AgentRun. All but Resume is the starter's; Resume is what a run hands to itself when it
// continues as new.
type RunInput struct {
	RunID     interaction.RunID       `json:"run_id"`
	SessionID interaction.SessionID   `json:"session_id"`
	Agent     string                  `json:"agent"`
	UserID    interaction.PrincipalID `json:"user_id,omitempty"`
	Requester interaction.PrincipalID `json:"requester,omitempty"`
	Input     string                  `json:"input"` // at most interaction.MaxMessageBytes
	Metadata  map[string]string       `json:"metadata,omitempty"`
	TaskQueue string                  `json:"task_queue,omitempty"` // where its activities run; "" is the workflow's own
	Parent    *activities.ParentRun   `json:"parent,omitempty"`     // of a run that another run called; its input is in the call
	Trust     *interaction.Trust      `json:"trust,omitempty"`      // whose answers count; nil takes them as they come
	Resume    *RunState               `json:"resume,omitempty"`
}

// RunResult is what an AgentRun returns. The output is in the store; history has only how it ended.
type RunResult struct {
	RunID     interaction.RunID `json:"run_id"`
	Status    agent.RunStatus   `json:"status"`
	ErrorCode string            `json:"error_code,omitempty"`
	Error     string            `json:"error,omitempty"`
	Steps     int               `json:"steps"`
}

// RespondMessage is the argument of respond: one response, or several under "responses".
type RespondMessage struct {
	Responses []interaction.Response `json:"responses"`
}

// RespondResult answers the update, one item per response, in order.
type RespondResult struct {
	Items []ResponseResult `json:"items"`
}

// ResponseResult says what became of one response.
type ResponseResult struct {
	ResponseID    interaction.ResponseID `json:"response_id"`
	InteractionID interaction.ID         `json:"interaction_id"`
	Applied       bool                   `json:"applied"`             // by this message or an earlier one of the same id
	Kept          bool                   `json:"kept,omitempty"`      // it came before its interaction was known, and waits for it
	Status        interaction.Status     `json:"status,omitempty"`    // of the interaction, afterwards
	Approvals     int                    `json:"approvals,omitempty"` // distinct approvers so far
	Quorum        int                    `json:"quorum,omitempty"`
	Code          string                 `json:"code,omitempty"`  // interaction.Code when refused
	Error         string                 `json:"error,omitempty"` // for people
}

// ControlAction is what control can do to a run. The set is closed.
type ControlAction string

const (
	// AbortRun stops a run; a running tool is cancelled.
	AbortRun ControlAction = "abort_run"
	// PauseRun keeps a run from starting another model call or tool. Commands that run are stopped where they stand, other
	// tools go on to their end; gates stay open, and what is answered meanwhile is carried out when the run is resumed.
	PauseRun ControlAction = "pause_run"
	// ResumeRun ends a pause.
	ResumeRun ControlAction = "resume_run"
	// LiftRejection lets the call that was rejected at InteractionID be asked about again.
	LiftRejection ControlAction = "lift_rejection"
	// PauseCall holds the call that waits at InteractionID: its clocks stand until ResumeCall. Or it holds the call
	// ToolCallID, which runs, as PauseRun would.
	PauseCall ControlAction = "pause"
	// ResumeCall lets a held call go on.
	ResumeCall ControlAction = "resume"
)

// controlActions are the actions above, for people.
const controlActions = "abort_run, pause_run, resume_run, pause, resume, lift_rejection"

// ControlMessage is the argument of control.
type ControlMessage struct {
	ID     interaction.ResponseID `json:"id,omitempty"` // chosen by the sender; the same id is applied once
	RunID  interaction.RunID      `json:"run_id"`
	Action ControlAction          `json:"action"`
	// InteractionID is what pause, resume and lift_rejection are about.
	InteractionID interaction.ID        `json:"interaction_id,omitempty"`
	ToolCallID    interaction.CallID    `json:"tool_call_id,omitempty"`
	Note          string                `json:"note,omitempty"`
	Principal     interaction.Principal `json:"principal,omitzero"`
}

// TextMessage is the argument of message: a user's words to a live run, taken in at the next step boundary.
type TextMessage struct {
	ID        interaction.ResponseID `json:"id,omitempty"`
	RunID     interaction.RunID      `json:"run_id"`
	Text      string                 `json:"text"`
	Principal interaction.Principal  `json:"principal,omitzero"`
}

// Accepted answers the control and message updates.
type Accepted struct {
	Duplicate bool `json:"duplicate,omitempty"` // the same id was applied before
}

// State answers the state query.
type State struct {
	RunID     interaction.RunID     `json:"run_id"`
	SessionID interaction.SessionID `json:"session_id"`
	Status    agent.RunStatus       `json:"status"`
	Steps     int                   `json:"steps"`
	Pending   []PendingInteraction  `json:"pending"`
	// LastOutcome is the last interaction that closed.
	LastOutcome *interaction.Outcome `json:"last_outcome,omitempty"`
	// Refused has the last messages that could not be applied, with the reason of each.
	Refused []Refusal `json:"refused,omitempty"`
}

// PendingInteraction is an open interaction in brief.
type PendingInteraction struct {
	ID        interaction.ID       `json:"id"`
	Title     string               `json:"title"`
	Status    interaction.Status   `json:"status"`
	Actions   []interaction.Action `json:"actions"`
	ExpiresAt string               `json:"expires_at,omitempty"`
	Approvals int                  `json:"approvals,omitempty"`
	Quorum    int                  `json:"quorum,omitempty"`
}

// Refusal is a message that came as a signal and could not be applied.
type Refusal struct {
	ResponseID interaction.ResponseID `json:"response_id,omitempty"`
	Message    string                 `json:"message"` // respond, control, message
	Code       string                 `json:"code"`
	Reason     string                 `json:"reason"`
}
