package workflows

import (
	"holdpoint/interaction"
)

// Names that workers, bridges and the Temporal CLI use. They are part of recorded histories: never change one.
const (
	DefaultTaskQueue = "holdpoint"

	AgentRunName = "AgentRun"
	PipelineName = "Pipeline"
	ApprovalName = "Approval"

	MessageRespond = "respond" // update and signal
	MessageControl = "control" // update and signal
	MessageText    = "message" // update and signal
	MessageRecheck = "recheck" // signal: rules have changed, try what waits again; its payload is {}
	MessageAsked   = "asked"   // signal: a running call asks people; only activities send it
	QueryState     = "state"
)

// SessionWorkflowID is the workflow id of a session's top-level run. Temporal lets one run of an id be live,
// which is what keeps a session to one run at a time.
func SessionWorkflowID(id interaction.SessionID) string { return "session-" + string(id) }

// RunWorkflowID is the workflow id of a run that another run called.
func RunWorkflowID(id interaction.RunID) string { return "run-" + string(id) }

// ApprovalWorkflowID is the workflow id of an approval that a program asked for.
func ApprovalWorkflowID(id interaction.RunID) string { return "approval-" + string(id) }

// MaxWorkflowIDBytes bounds workflow ids; SQL visibility ends at 255.
const MaxWorkflowIDBytes = 200
