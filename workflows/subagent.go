package workflows

import (
	"errors"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/interaction"
)

// agent has another agent carry the call out, and returns what must be asked before its answer can be given on. What stops this run stops that one, and this one waits for its end.
func (c *call) agent(ctx workflow.Context, child activities.ChildRun) (*interaction.Request, error) {
	r := c.run
	if err := r.hold(ctx); err != nil || r.st.Stop != nil {
		return nil, nil // the run stops; FinishRun closes the call
	}
	r.children = append(r.children, child.RunID)
	_, err := r.callAgent(ctx, child)
	var lives *temporal.ChildWorkflowExecutionAlreadyStartedError
	if errors.As(err, &lives) { // after a reset: the agent works on, and its end is waited for
		err = r.awaitAgent(ctx, child)
	}
	r.children = slices.DeleteFunc(r.children, func(id interaction.RunID) bool { return id == child.RunID })
	in := activities.ResolveAgentInput{RunID: r.in.RunID, CallID: c.plan.CallID, Child: child.RunID}
	if err != nil && !temporal.IsCanceledError(err) {
		in.Failed = clip(err.Error(), 1000)
	}
	free, cancel := workflow.NewDisconnectedContext(ctx) // how it ended is recorded, whatever ended it
	defer cancel()
	res, err := r.resolveAgent(free, in)
	if r.st.Stop != nil {
		return nil, err // FinishRun closes what it asks
	}
	return res.Interaction, err
}

// tellChildren hands a control message on to the runs of the agents that this run has called.
func (r *agentRun) tellChildren(ctx workflow.Context, m ControlMessage) {
	for _, id := range slices.Clone(r.children) {
		to := m
		to.RunID, to.ID = id, clipID(m.ID+interaction.ResponseID("-"+string(id)))
		workflow.Go(ctx, func(ctx workflow.Context) {
			err := workflow.SignalExternalWorkflow(ctx, RunWorkflowID(id), "", MessageControl, to).Get(ctx, nil)
			if err != nil { // it has ended meanwhile
				workflow.GetLogger(ctx).Info("a called run could not be told", "run_id", id, "action", m.Action, "error", err)
			}
		})
	}
}
