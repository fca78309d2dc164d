package workflows

import (
	"encoding/json"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/agent"
	"holdpoint/interaction"
)

// Approval is one thing that a program asks: may it go on? Its input is that of a run, with an agent.Ask as JSON in
// Input. It takes the messages that AgentRun takes, but for those to an agent, and ends when it is decided.
func Approval(ctx workflow.Context, in RunInput) (RunResult, error) {
	r, err := newAgentRun(ctx, ApprovalName, in)
	if err != nil {
		return RunResult{}, err
	}
	return (&approval{agentRun: r}).run(ctx)
}

// approval is a run whose turns are its gates: one, unless what was approved is not enough when it is.
type approval struct {
	*agentRun
	outcome  *interaction.Outcome // of the gate before
	released bool
}

// run is the story of an approval. What was answered before it is stopped counts.
func (a *approval) run(ctx workflow.Context) (RunResult, error) {
	work, cancel := a.watch(ctx)
	defer cancel()
	for {
		step, err := a.take(ctx)
		if err != nil {
			return a.fail(ctx, a.neverTaken(ctx, err))
		}
		if step.Gate == nil {
			return a.finish(ctx, activities.FinishRunInput{Status: agent.RunCompleted})
		}
		if err := a.ask(work, *step.Gate); err != nil || a.outcome == nil {
			return a.fail(ctx, err)
		}
		paused := a.st.Paused
		if err := a.hold(work); err != nil || paused && a.st.Stop != nil {
			return a.fail(ctx, err)
		}
		if err := a.written(ctx); err != nil {
			return a.fail(ctx, err)
		}
	}
}

// step is what decides the next step.
func (a *approval) step(ctx workflow.Context) activities.TakeApprovalInput {
	in := activities.TakeApprovalInput{RunID: a.in.RunID, SessionID: a.in.SessionID, WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID,
		UserID: a.in.UserID, Requester: a.in.Requester, Step: a.st.Turn + 1, Outcome: a.outcome, Released: a.released}
	if in.Step == 1 {
		in.Metadata = a.in.Metadata
		if ask := json.RawMessage(a.in.Input); json.Valid(ask) { // what is no JSON can't be handed to an activity, which says so
			in.Ask = ask
		}
	}
	return in
}

// take decides the next step.
func (a *approval) take(ctx workflow.Context) (activities.TakeApprovalResult, error) {
	in := a.step(ctx)
	if a.outcome != nil {
		free, cancel := workflow.NewDisconnectedContext(ctx) // what was answered is recorded, whatever comes now
		defer cancel()
		ctx = free
	}
	a.modelTurn = in.Step
	a.showDetails(ctx)
	res, err := a.takeApproval(ctx, in)
	a.modelTurn = 0
	if err == nil {
		a.st.AgentDigest = res.AgentDigest
		a.carriedOut(a.outcome)
	}
	return res, err
}

// An approval that is cancelled before its first step was taken gets a record to end in. Those from before this version that no bridge
// has stored try to record their end for ever.
const changeRecordOfUnasked = "record-of-what-is-not-asked"

// neverTaken opens the record of such an approval, and returns what to end it with.
func (a *approval) neverTaken(ctx workflow.Context, err error) error {
	if a.st.AgentDigest != "" || !temporal.IsCanceledError(err) || !a.since(ctx, changeRecordOfUnasked) {
		return err
	}
	free, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	in := a.step(ctx)
	in.Unasked = true
	if _, failed := a.takeApproval(free, in); failed != nil {
		return failed
	}
	return err
}

// ask waits until the gate has closed.
func (a *approval) ask(ctx workflow.Context, req interaction.Request) error {
	g := a.open(ctx, req)
	a.st.Turn++
	free, cancel := workflow.NewDisconnectedContext(ctx) // an answer and an abort may come together
	defer cancel()
	err := workflow.Await(free, func() bool { return g.outcome != nil || a.st.Stop != nil || ctx.Err() != nil })
	a.outcome, a.released = g.outcome, g.released
	a.dropStale()
	if err == nil && g.outcome == nil {
		err = ctx.Err()
	}
	return err
}
