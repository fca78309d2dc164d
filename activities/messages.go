package activities

import (
	"time"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/tool"
)

// Names under which the activities are registered. They are part of recorded histories: never change one.
const (
	StartRunName     = "StartRun"
	CallModelName    = "CallModel"
	RunToolName      = "RunTool"
	RunQuickName     = "RunQuick" // as a local activity only
	ResolveCallName  = "ResolveCall"
	FinishRunName    = "FinishRun"
	RecordName       = "Record"
	RecheckName      = "Recheck"
	ResolveAgentName = "ResolveAgent"
	AwaitAgentName   = "AwaitAgent"
	TakeStageName    = "TakeStage"
	EndBranchName    = "EndBranch"
	EndStageName     = "EndStage"
	TakeApprovalName = "TakeApproval"
	DeliverDueName   = "DeliverDue"
	KeepName         = "Keep"
)

// StartRunInput begins a run's record.
type StartRunInput struct {
	RunID      interaction.RunID       `json:"run_id"`
	SessionID  interaction.SessionID   `json:"session_id"`
	WorkflowID string                  `json:"workflow_id"`
	Agent      string                  `json:"agent"`
	UserID     interaction.PrincipalID `json:"user_id,omitempty"`
	Requester  interaction.PrincipalID `json:"requester,omitempty"`
	Input      string                  `json:"input"`
	Metadata   map[string]string       `json:"metadata,omitempty"`
	Parent     *ParentRun              `json:"parent,omitempty"` // of a run that another run called
}

// StartRunResult says what the run is bound to.
type StartRunResult struct {
	AgentDigest string     `json:"agent_digest"`
	MaxSteps    int        `json:"max_steps"`
	Head        event.Head `json:"head"`
}

// Text is a steering message that joins the transcript before a model call.
type Text struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// CallModelInput asks for one turn. Turns count from 1.
type CallModelInput struct {
	RunID       interaction.RunID     `json:"run_id"`
	SessionID   interaction.SessionID `json:"session_id"`
	Turn        int                   `json:"turn"`
	AgentDigest string                `json:"agent_digest"`
	Texts       []Text                `json:"texts,omitempty"`
}

// Next says what is to be done about a call.
type Next string

const (
	NextRun  Next = "run"  // allowed: run it
	NextGate Next = "gate" // ask first
	NextDone Next = "done" // its result is stored already
	// NextShared: an identical call of the turn is asked about, and its answer and result are this one's too.
	NextShared Next = "shared"
)

// CallPlan is one tool call of a turn, as much of it as a workflow needs. Its arguments stay in the store.
type CallPlan struct {
	CallID      interaction.CallID   `json:"call_id"`
	Tool        string               `json:"tool"`
	Next        Next                 `json:"next"`
	Status      tool.Status          `json:"status,omitempty"` // with NextDone
	Interaction *interaction.Request `json:"interaction,omitempty"`
	TaskQueue   string               `json:"task_queue,omitempty"`
	Timeout     time.Duration        `json:"timeout,omitempty"`
	// Quick says of a call with NextRun that it may run in the middle of a workflow task.
	Quick bool `json:"quick,omitempty"`
}

// CallModelResult is one turn. It is the same for every attempt once the turn is stored.
type CallModelResult struct {
	Final bool       `json:"final,omitempty"` // no tool was called: the run has its answer
	Calls []CallPlan `json:"calls,omitempty"`
	// Again counts the replies in a row, this one included, that were no answer and asked for nothing; the model is asked anew.
	Again int `json:"again,omitempty"`
	// Stopped ends the run once the calls are carried out.
	Stopped *Stopped   `json:"stopped,omitempty"`
	Head    event.Head `json:"head"`
}

// Stopped says why a run must not go on.
type Stopped struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// RunToolInput runs one call. Approval and Answer are what people said so far, if anything.
type RunToolInput struct {
	RunID       interaction.RunID    `json:"run_id"`
	CallID      interaction.CallID   `json:"call_id"`
	AgentDigest string               `json:"agent_digest"`
	Approval    *interaction.Outcome `json:"approval,omitempty"`
	Answer      *interaction.Outcome `json:"answer,omitempty"`
	// Released closes the interaction that the call waited at: a rule decides it now.
	Released *interaction.Outcome `json:"released,omitempty"`
}

// RunToolResult says how the call ended, or what must be asked before it can.
type RunToolResult struct {
	Status      tool.Status          `json:"status,omitempty"`
	Interaction *interaction.Request `json:"interaction,omitempty"`
	// Child is the run of another agent that has the call's result; ResolveAgent stores it.
	Child *ChildRun  `json:"child,omitempty"`
	Head  event.Head `json:"head"`
}

// RunQuickResult is the same of an attempt in a workflow task. Left says that the call did not come to an end in it.
type RunQuickResult struct {
	RunToolResult
	Left bool `json:"left,omitempty"`
}

// ResolveCallInput records an answer that runs no tool.
type ResolveCallInput struct {
	RunID   interaction.RunID   `json:"run_id"`
	CallID  interaction.CallID  `json:"call_id"`
	Outcome interaction.Outcome `json:"outcome"`
}

// ResolveCallResult says how the call ended: a result that arrived meanwhile wins over the answer.
type ResolveCallResult struct {
	Status tool.Status `json:"status"`
	// Interaction, of a called agent's answer, is what must be asked before it can be given on.
	Interaction *interaction.Request `json:"interaction,omitempty"`
	Head        event.Head           `json:"head"`
}

// FinishRunInput ends a run's record.
type FinishRunInput struct {
	RunID   interaction.RunID       `json:"run_id"`
	Status  agent.RunStatus         `json:"status"`
	Code    string                  `json:"code,omitempty"`    // with failed
	Message string                  `json:"message,omitempty"` // with failed
	By      interaction.PrincipalID `json:"by,omitempty"`      // with aborted
	Note    string                  `json:"note,omitempty"`    // with aborted
	// Outcomes closes interactions whose end no other activity recorded.
	Outcomes []interaction.Outcome `json:"outcomes,omitempty"`
}

// FinishRunResult has the end of the record.
type FinishRunResult struct {
	Head event.Head `json:"head"`
}

// RecordInput writes into the record what no other activity does: messages that could not be applied, pauses.
type RecordInput struct {
	RunID   interaction.RunID `json:"run_id"`
	Refused []Refused         `json:"refused"`
	Holds   []Hold            `json:"holds,omitempty"`
	Lifts   []Lift            `json:"lifts,omitempty"`
	Changes []Change          `json:"changes,omitempty"`
	// CallHolds are pauses of calls that run, and their ends.
	CallHolds []CallHold `json:"call_holds,omitempty"`
	// Outcomes are how questions ended that running calls asked; those calls go on by them.
	Outcomes []interaction.Outcome `json:"outcomes,omitempty"`
}

// Inquiry says that a running call asks people, or that a question of its is withdrawn. Claim is of the attempt that asks:
// what an earlier one asked is withdrawn by it.
type Inquiry struct {
	CallID    interaction.CallID   `json:"tool_call_id"`
	Claim     string               `json:"claim"`
	Request   *interaction.Request `json:"interaction,omitempty"`
	Withdrawn interaction.ID       `json:"withdrawn,omitempty"`
}

// CallHold is a pause of one call that runs, or its end. Key makes recording it idempotent.
type CallHold struct {
	Key    interaction.ResponseID  `json:"key"`
	CallID interaction.CallID      `json:"tool_call_id"`
	Paused bool                    `json:"paused"`
	By     interaction.PrincipalID `json:"by,omitempty"`
	Note   string                  `json:"note,omitempty"`
}

// Change is what happened to an interaction that goes on, and how it stands since. Key makes recording it idempotent.
type Change struct {
	Key         string                 `json:"key"`
	Interaction interaction.ID         `json:"interaction_id"`
	Kind        interaction.ChangeKind `json:"kind"`
	Standing    interaction.Standing   `json:"standing"`
	Response    *interaction.Response  `json:"response,omitempty"`
}

// Lift ends the memory of a rejection: the call that was rejected at the interaction is asked again when the model
// makes it. Key makes recording it idempotent.
type Lift struct {
	Key         interaction.ResponseID  `json:"key"`
	Interaction interaction.ID          `json:"interaction_id"`
	By          interaction.PrincipalID `json:"by,omitempty"`
	Note        string                  `json:"note,omitempty"`
}

// Hold is a pause of a run, or its end. Key makes recording it idempotent.
type Hold struct {
	Key    interaction.ResponseID  `json:"key"`
	Paused bool                    `json:"paused"`
	By     interaction.PrincipalID `json:"by,omitempty"`
	Note   string                  `json:"note,omitempty"`
}

// Refused is one message that could not be applied. Key makes recording it idempotent.
type Refused struct {
	Key        string                 `json:"key"`
	ResponseID interaction.ResponseID `json:"response_id,omitempty"`
	Code       string                 `json:"code"`
	Reason     string                 `json:"reason"`
}

// RecordResult has the end of the record.
type RecordResult struct {
	Head event.Head `json:"head"`
}

// Codes with which a run fails, beside the kinds of llm.Error.
const (
	CodeUnknownAgent = "unknown_agent"
	CodeUnknownModel = "unknown_model"
	CodeMaxSteps     = "max_steps"
	CodeTooDeep      = "too_deep" // agents called one another too often
	CodeInternal     = "internal"
	// CodeReplyTooLarge: the model said more at once than is kept.
	CodeReplyTooLarge = "reply_too_large"
	// CodeNotDelivered, of an event: a notifier could not be reached.
	CodeNotDelivered = "not_delivered"
	// CodeRejectedRepeatedly: the model went on making a call that a person had rejected.
	CodeRejectedRepeatedly = "rejected_repeatedly"
)
