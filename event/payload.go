package event

import (
	"encoding/json"
	"strconv"

	"holdpoint/interaction"
)

// The payloads, one struct per type that has one. interaction_request carries an interaction.Request.
type (
	// RunStartedData opens a run's stream.
	RunStartedData struct {
		SessionID   interaction.SessionID   `json:"session_id"`
		Agent       string                  `json:"agent"`
		AgentDigest string                  `json:"agent_digest"`
		UserID      interaction.PrincipalID `json:"user_id,omitempty"`
		Input       string                  `json:"input"`
		Metadata    map[string]string       `json:"metadata,omitempty"`
	}
	// StepDeltaData is a piece of an assistant step while it is written. Live only.
	StepDeltaData struct {
		Turn    int    `json:"turn"`
		Attempt int    `json:"attempt"`
		Offset  int    `json:"offset"` // bytes of this step's text before this piece
		Text    string `json:"text"`
	}
	// StepCompletedData says that a message joined the transcript.
	StepCompletedData struct {
		StepID     interaction.StepID `json:"step_id"`
		Sequence   int64              `json:"sequence"`
		Role       string             `json:"role"`
		Content    string             `json:"content,omitempty"`
		ToolCalls  []ToolCallData     `json:"tool_calls,omitempty"`
		ToolCallID interaction.CallID `json:"tool_call_id,omitempty"`
		ToolName   string             `json:"tool_name,omitempty"`
		Status     string             `json:"status,omitempty"`      // of a tool result
		CachedFrom interaction.CallID `json:"cached_from,omitempty"` // the call whose result it is, if not its own
	}
	// ToolCallData is a call that the model asked for, and what was decided when it was taken in.
	ToolCallData struct {
		ID     interaction.CallID `json:"id"`
		Name   string             `json:"name"`
		Args   json.RawMessage    `json:"args,omitempty"`
		Effect string             `json:"effect"`
		Reason string             `json:"reason,omitempty"`
	}
	// InteractionResponseData closes an interaction: by a person, by its deadline, or because the run ended.
	InteractionResponseData struct {
		InteractionID interaction.ID         `json:"interaction_id"`
		ToolCallID    interaction.CallID     `json:"tool_call_id,omitempty"`
		Status        interaction.Status     `json:"status"`
		Action        interaction.Action     `json:"action,omitempty"`
		Responses     []interaction.Response `json:"responses,omitempty"`
		ArgsBefore    json.RawMessage        `json:"args_before,omitempty"` // with modify_args
		ArgsAfter     json.RawMessage        `json:"args_after,omitempty"`
		Reason        string                 `json:"reason,omitempty"`
	}
	// SuspendedData and ResumedData frame a wait for people.
	SuspendedData struct {
		Interactions []interaction.ID `json:"interactions"`
	}
	ResumedData struct {
		InteractionID interaction.ID     `json:"interaction_id"`
		ToolCallID    interaction.CallID `json:"tool_call_id,omitempty"`
		// LiftedBy is who lifted the rejection that the interaction ended in: the same call may be asked again.
		LiftedBy interaction.PrincipalID `json:"lifted_by,omitempty"`
		Note     string                  `json:"note,omitempty"`
	}
	// ToolAuthDeniedData says that a rule forbade a call: when it was taken in, or just before it ran.
	ToolAuthDeniedData struct {
		ToolCallID    interaction.CallID `json:"tool_call_id"`
		ToolName      string             `json:"tool_name"`
		Reason        string             `json:"reason"`
		Rule          string             `json:"rule,omitempty"`
		RuleID        string             `json:"rule_id,omitempty"`
		InteractionID interaction.ID     `json:"interaction_id,omitempty"` // the approval that it overruled
	}
	// HoldData says who paused a run, or let it go on.
	HoldData struct {
		By   interaction.PrincipalID `json:"by,omitempty"`
		Note string                  `json:"note,omitempty"`
	}
	// ToolHoldData says that one call is held, or goes on. Either it waits at an interaction, whose clocks stand; or it
	// runs, alone or with its run, and How says how it stands.
	ToolHoldData struct {
		InteractionID interaction.ID          `json:"interaction_id,omitempty"`
		ToolCallID    interaction.CallID      `json:"tool_call_id,omitempty"`
		By            interaction.PrincipalID `json:"by,omitempty"`
		Note          string                  `json:"note,omitempty"`
		How           How                     `json:"how,omitempty"`
	}
	// StageData says what became of a stage or branch of a workflow of agents, or that an iteration of it began.
	StageData struct {
		Workflow   string            `json:"workflow"`
		Stage      string            `json:"stage,omitempty"`     // a branch is one, too
		Iteration  int               `json:"iteration,omitempty"` // of a loop, from 1
		Agent      string            `json:"agent,omitempty"`     // the agent or workflow that it runs
		StageRunID interaction.RunID `json:"stage_run_id,omitempty"`
		Interact   interaction.ID    `json:"interaction_id,omitempty"` // of a gate
		Status     string            `json:"status,omitempty"`         // at its end: completed, failed, aborted, rejected, expired
		Reason     string            `json:"reason,omitempty"`
	}
	// RunCompletedData ends a run that came to a final answer.
	RunCompletedData struct {
		Output string `json:"output"`
	}
	// RunFailedData ends a run that could not go on. Code is stable, Message is for people.
	RunFailedData struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	// RunAbortedData ends a run that a person stopped.
	RunAbortedData struct {
		By   interaction.PrincipalID `json:"by,omitempty"`
		Note string                  `json:"note,omitempty"`
	}
	// ErrorData is something that went wrong and did not end the run: a message that could not be applied,
	// an effect whose report came too late.
	ErrorData struct {
		Code       string                 `json:"code"`
		Message    string                 `json:"message"`
		ResponseID interaction.ResponseID `json:"response_id,omitempty"`
	}
)

// How says how a call that runs is paused.
type How string

const (
	// HowStopped: nothing of it moves, and its time does not count.
	HowStopped How = "stopped"
	// HowBoundary: it can't be stopped in its middle. It goes on to its end, and nothing follows until it is resumed.
	HowBoundary How = "at its next boundary"
)

// Describe says in a line what an event of a workflow of agents tells.
func (d StageData) Describe(t Type) string {
	what := d.Workflow + "/" + d.Stage
	switch t {
	case IterationStarted:
		return "iteration " + strconv.Itoa(d.Iteration) + " of " + d.Workflow
	case StageSkipped:
		return what + " is skipped: " + d.Reason
	case StageStarted, BranchStarted:
		if d.Agent != "" {
			return what + " begins, by " + d.Agent
		}
		return what + " begins"
	}
	if d.Reason != "" {
		return what + " has ended: " + d.Status + ", " + d.Reason
	}
	return what + " has ended: " + d.Status
}
