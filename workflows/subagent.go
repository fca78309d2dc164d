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
	_, err := r.runChild(ctx, child)
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

// runChild runs an agent, or a workflow of agents, to its end. The result is empty where only the record has it.
func (r *agentRun) runChild(ctx workflow.Context, child activities.ChildRun) (RunResult, error) {
	called := &calledRun{id: child.RunID}
	r.children = append(r.children, called)
	begun := func() { workflow.Go(ctx, func(ctx workflow.Context) { r.catchUp(ctx, called) }) }
	res, err := r.callAgent(ctx, workflowOf(child), child, begun)
	var lives *temporal.ChildWorkflowExecutionAlreadyStartedError
	if errors.As(err, &lives) { // after a reset: the agent works on, and its end is waited for
		begun()
		err = r.awaitAgent(ctx, child)
	}
	called.ended = true
	r.children = slices.DeleteFunc(r.children, func(c *calledRun) bool { return c == called })
	return res, err
}

// calledRun is the run of an agent that this run has called and waits for.
type calledRun struct {
	id interaction.RunID
	// paused is what it was last told, telling is true while it is being told something.
	paused, telling, ended bool
}

// Two pauses in a row must not overtake one another on their way, and an agent that had not begun when the run was paused
// must hear of it when it has. Runs from before this version do neither.
const changeTellInOrder = "tell-called-runs-in-order"

// tellChildren hands a control message on to the runs of the agents that this run has called.
func (r *agentRun) tellChildren(ctx workflow.Context, m ControlMessage) {
	for _, c := range slices.Clone(r.children) {
		workflow.Go(ctx, func(ctx workflow.Context) {
			if c.telling && r.since(ctx, changeTellInOrder) {
				if err := workflow.Await(ctx, func() bool { return !c.telling }); err != nil {
					return
				}
			}
			r.tell(ctx, c, m)
		})
	}
}

// tell hands a control message to one of them. One that has ended, or has not begun, can't be told.
func (r *agentRun) tell(ctx workflow.Context, c *calledRun, m ControlMessage) (told bool) {
	c.telling = true
	defer func() { c.telling = false }()
	m.RunID, m.ID = c.id, clipID(m.ID+interaction.ResponseID("-"+string(c.id)))
	if err := workflow.SignalExternalWorkflow(ctx, RunWorkflowID(c.id), "", MessageControl, m).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Info("a called run could not be told", "run_id", c.id, "action", m.Action, "error", err)
		return false
	}
	if m.Action == PauseRun || m.Action == ResumeRun {
		c.paused = m.Action == PauseRun
	}
	return true
}

// catchUp tells an agent that has begun what it could not be told before.
func (r *agentRun) catchUp(ctx workflow.Context, c *calledRun) {
	for {
		if err := workflow.Await(ctx, func() bool { return !c.telling }); err != nil {
			return
		}
		if c.paused == r.st.Paused || c.ended || r.st.Stop != nil || r.lastHold == nil || !r.since(ctx, changeTellInOrder) {
			return
		}
		if !r.tell(ctx, c, *r.lastHold) {
			return
		}
	}
}
