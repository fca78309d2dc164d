package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/interaction"
)

// checkRunning refuses to pause a call that does not run, and to resume one that is not paused.
func (r *agentRun) checkRunning(m ControlMessage) error {
	if m.InteractionID != "" {
		return &interaction.Error{Code: interaction.CodeInvalid, Field: "tool_call_id",
			Message: "stands beside interaction_id: name the question, or the call that runs"}
	}
	if m.Action == ResumeCall && slices.Contains(r.st.HeldCalls, m.ToolCallID) || m.Action == PauseCall && slices.Contains(r.running, m.ToolCallID) {
		return nil
	}
	what := "runs"
	if m.Action == ResumeCall {
		what = "is paused"
	}
	return &interaction.Error{Code: interaction.CodeUnknown, Field: "tool_call_id",
		Message: fmt.Sprintf("no call %q of this run %s now", clip(string(m.ToolCallID), 200), what)}
}

// pauseRunning holds one call that runs, or lets it go on. The worker that runs it learns of it from the record.
func (r *agentRun) pauseRunning(ctx workflow.Context, m ControlMessage) {
	paused := m.Action == PauseCall
	if slices.Contains(r.st.HeldCalls, m.ToolCallID) == paused {
		return
	}
	if paused {
		r.st.HeldCalls = append(r.st.HeldCalls, m.ToolCallID)
	} else {
		r.st.HeldCalls = slices.DeleteFunc(r.st.HeldCalls, func(id interaction.CallID) bool { return id == m.ToolCallID })
	}
	r.st.CallHolds = append(r.st.CallHolds, activities.CallHold{Key: m.ID, CallID: m.ToolCallID, Paused: paused, By: m.Principal.ID, Note: m.Note})
	r.showDetails(ctx)
	r.recordSoon(ctx)
}

// holdCall waits while the call is paused that has just come to a boundary.
func (r *agentRun) holdCall(ctx workflow.Context, id interaction.CallID) error {
	if !slices.Contains(r.st.HeldCalls, id) {
		return nil
	}
	return workflow.Await(ctx, func() bool { return !slices.Contains(r.st.HeldCalls, id) || r.st.Stop != nil })
}
