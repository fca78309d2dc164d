package activities

import "holdpoint/interaction"

// FindingKind says what is not as it should be.
type FindingKind string

const (
	FindingOrphanedRun      FindingKind = "orphaned_run"      // open in the store, and its workflow has ended
	FindingMissingWorkflow  FindingKind = "missing_workflow"  // open in the store, and Temporal has no such workflow
	FindingUnrecorded       FindingKind = "unrecorded_run"    // its workflow is open, and the store has no such run
	FindingEndedRun         FindingKind = "ended_run"         // its workflow is open, and the store says that it ended
	FindingStrayInteraction FindingKind = "stray_interaction" // open, of a run that ended
	FindingFailingTask      FindingKind = "failing_task"
	FindingFailingActivity  FindingKind = "failing_activity"
	FindingUndelivered      FindingKind = "undelivered"
	FindingNoWorker         FindingKind = "no_worker"
	FindingUnreachable      FindingKind = "unreachable"   // the store or Temporal, without which much can't be looked at
	FindingExpiredRules     FindingKind = "expired_rules" // for information: they allow nothing any more
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Kind       FindingKind       `json:"kind"`
	RunID      interaction.RunID `json:"run_id,omitempty"`
	WorkflowID string            `json:"workflow_id,omitempty"`
	What       string            `json:"what"`
	Advice     string            `json:"advice,omitempty"`
	Mended     bool              `json:"mended,omitempty"`
}

// Fault reports whether somebody has to do something about it.
func (f Finding) Fault() bool { return !f.Mended && f.Kind != FindingExpiredRules }

// Unreachable reports whether it is about something that couldn't be looked at.
func (f Finding) Unreachable() bool { return f.Kind == FindingUnreachable }

// KeepInput says what to do.
type KeepInput struct {
	// Mend what is safe to mend; else everything is reported only.
	Mend bool `json:"mend,omitempty"`
	// GiveUp are runs to be closed that Temporal knows no workflow of. Somebody has looked at them.
	GiveUp []interaction.RunID `json:"give_up,omitempty"`
}

// KeepResult is what was found, at most maxFindings.
type KeepResult struct {
	Runs     int       `json:"runs"`             // open ones that were looked at
	Erased   int       `json:"erased,omitempty"` // sessions whose time was over
	Findings []Finding `json:"findings,omitempty"`
	More     bool      `json:"more,omitempty"` // there is more than that
}
