package activities

import (
	"holdpoint/event"
	"holdpoint/flow"
	"holdpoint/interaction"
)

// A workflow of agents goes step by step: a step is a stage, in an iteration, or all branches at once. Steps count from 1.

// TakeStageInput asks what a step is.
type TakeStageInput struct {
	RunID       interaction.RunID `json:"run_id"`
	AgentDigest string            `json:"agent_digest"`
	Step        int               `json:"step"`
}

// TakeStageResult is a step, as much of it as a workflow needs. It is the same for every attempt. Inputs and outputs stay
// in the store.
type TakeStageResult struct {
	// Ended: there are no more steps, and the run has its output. With Stopped it has none, and this is why.
	Ended   bool     `json:"ended,omitempty"`
	Stopped *Stopped `json:"stopped,omitempty"`
	// Skipped: its condition does not hold, and the next step is to be taken.
	Skipped bool                 `json:"skipped,omitempty"`
	Gate    *interaction.Request `json:"gate,omitempty"`
	// Runs are those to be started: one, or that of each branch.
	Runs      []ChildRun     `json:"runs,omitempty"`
	OnFailure flow.OnFailure `json:"on_failure,omitempty"` // with branches
	Head      event.Head     `json:"head"`
}

// EndBranchInput says that a branch has ended, while others may go on.
type EndBranchInput struct {
	RunID  interaction.RunID `json:"run_id"`
	Step   int               `json:"step"`
	Branch int               `json:"branch"`
	Failed string            `json:"failed,omitempty"` // why there is no record of how it ended
}

// EndBranchResult has the end of the record.
type EndBranchResult struct {
	Head event.Head `json:"head"`
}

// EndStageInput ends a step: a gate by its outcome, others by how their runs ended.
type EndStageInput struct {
	RunID       interaction.RunID    `json:"run_id"`
	AgentDigest string               `json:"agent_digest"`
	Step        int                  `json:"step"`
	Outcome     *interaction.Outcome `json:"outcome,omitempty"`
	// Failed has, by branch, why there is no record of how a run ended; "" for most.
	Failed []string `json:"failed,omitempty"`
}

// EndStageResult says whether the run goes on: it does unless it is stopped.
type EndStageResult struct {
	Stopped *Stopped `json:"stopped,omitempty"`
	// Aborted: a person stopped the stage, and with it the run. It says how.
	Aborted string     `json:"aborted,omitempty"`
	Head    event.Head `json:"head"`
}

// Codes with which a run of a workflow of agents fails.
const (
	CodeStageFailed   = "stage_failed"
	CodeRejected      = "rejected"       // at a gate
	CodeExpired       = "expired"        // at a gate
	CodeCondition     = "condition"      // a condition could not be evaluated
	CodeMaxIterations = "max_iterations" // a loop reached its limit
)
