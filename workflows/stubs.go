package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
)

// One typed stub per activity: what a run needs to know of time limits and retries is here and nowhere else.

const (
	heartbeatTimeout = 10 * time.Second
	modelTimeout     = 15 * time.Minute
	// recordTimeout is for activities that only write to the store. A worker that is killed with one, and a task that
	// Temporal loses on its way, cost a run this much time; a write that takes longer is simply tried again.
	recordTimeout = 15 * time.Second
	// toolMargin is added to a tool's own limit, so that the tool's own message about it is what the model sees.
	toolMargin = 15 * time.Minute
	// longestPause is added to that: a tool that is paused takes no time of its own. That a worker is gone is known by its
	// heartbeat, and a tool's own limit is the worker's to keep.
	longestPause       = 365 * 24 * time.Hour
	defaultToolTimeout = activities.DefaultToolTimeout
	// awaitTimeout is when waiting for an orphaned agent begins anew; it may take any time.
	awaitTimeout = 24 * time.Hour
)

// patient goes on for as long as the store is away; a run never fails for that.
func patient() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: time.Minute}
}

func (r *agentRun) record(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: r.in.TaskQueue,
		StartToCloseTimeout: recordTimeout, RetryPolicy: patient(), Summary: summary})
}

func (r *agentRun) startRun(ctx workflow.Context) (res activities.StartRunResult, err error) {
	in := activities.StartRunInput{RunID: r.in.RunID, SessionID: r.in.SessionID, WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID,
		Agent: r.in.Agent, UserID: r.in.UserID, Requester: r.in.Requester, Input: r.in.Input, Metadata: r.in.Metadata, Parent: r.in.Parent}
	if r.version >= versionStartHere {
		if res, err, done := r.startHere(ctx, in); done {
			return res, err
		}
	}
	err = workflow.ExecuteActivity(r.record(ctx, "agent "+clip(r.in.Agent, 60)), activities.StartRunName, in).Get(ctx, &res)
	return res, err
}

func (r *agentRun) model(ctx workflow.Context, in activities.CallModelInput) (res activities.CallModelResult, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: r.in.TaskQueue, StartToCloseTimeout: modelTimeout,
		HeartbeatTimeout: heartbeatTimeout, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute, MaximumAttempts: 20}})
	err = workflow.ExecuteActivity(ctx, activities.CallModelName, in).Get(ctx, &res)
	return res, err
}

// runTool retries without bound: the ledger, not the number of attempts, keeps an effect from happening twice.
func (r *agentRun) runTool(ctx workflow.Context, p activities.CallPlan, in activities.RunToolInput) (res activities.RunToolResult, err error) {
	queue := r.in.TaskQueue
	if p.TaskQueue != "" {
		queue = p.TaskQueue
	}
	limit := p.Timeout
	if limit <= 0 {
		limit = defaultToolTimeout
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: queue, StartToCloseTimeout: limit + toolMargin + longestPause,
		HeartbeatTimeout: heartbeatTimeout, WaitForCancellation: true, RetryPolicy: patient(), Summary: clip(p.Tool, 60)})
	if p.TaskQueue != "" {
		return r.runAway(ctx, p, in)
	}
	err = workflow.ExecuteActivity(ctx, activities.RunToolName, in).Get(ctx, &res)
	return res, err
}

func (r *agentRun) resolveCall(ctx workflow.Context, in activities.ResolveCallInput) error {
	return workflow.ExecuteActivity(r.record(ctx, string(in.Outcome.Action)), activities.ResolveCallName, in).Get(ctx, nil)
}

func (r *agentRun) recheck(ctx workflow.Context, in activities.RecheckInput) (res activities.RecheckResult, err error) {
	err = workflow.ExecuteActivity(r.record(ctx, "rules changed"), activities.RecheckName, in).Get(ctx, &res)
	return res, err
}

// callAgent runs another agent to its end, which may be months away. begun is called when it has.
func (r *agentRun) callAgent(ctx workflow.Context, kind string, child activities.ChildRun, begun func()) (res RunResult, err error) {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: RunWorkflowID(child.RunID), TaskQueue: r.in.TaskQueue,
		ParentClosePolicy: enums.PARENT_CLOSE_POLICY_REQUEST_CANCEL, WaitForCancellation: true,
		StaticSummary: "agent " + clip(child.Agent, 60)})
	in := RunInput{RunID: child.RunID, SessionID: child.SessionID, Agent: child.Agent, UserID: r.in.UserID, Requester: r.in.Requester,
		TaskQueue: r.in.TaskQueue, Parent: &child.Parent, Trust: r.in.Trust}
	run := workflow.ExecuteChildWorkflow(ctx, kind, in)
	if err := run.GetChildWorkflowExecution().Get(ctx, nil); err == nil {
		begun()
	}
	err = run.Get(ctx, &res)
	return res, err
}

// awaitAgent waits for the end of an agent's run that is nobody's child any more.
func (r *agentRun) awaitAgent(ctx workflow.Context, child activities.ChildRun) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: r.in.TaskQueue, StartToCloseTimeout: awaitTimeout,
		HeartbeatTimeout: heartbeatTimeout, WaitForCancellation: true, RetryPolicy: patient(), Summary: "agent " + clip(child.Agent, 60)})
	return workflow.ExecuteActivity(ctx, activities.AwaitAgentName, activities.AwaitAgentInput{WorkflowID: RunWorkflowID(child.RunID)}).Get(ctx, nil)
}

func (r *agentRun) resolveAgent(ctx workflow.Context, in activities.ResolveAgentInput) (res activities.ResolveCallResult, err error) {
	err = workflow.ExecuteActivity(r.record(ctx, "answer of "+clip(string(in.Child), 60)), activities.ResolveAgentName, in).Get(ctx, &res)
	return res, err
}

func (r *agentRun) finishRecord(ctx workflow.Context, in activities.FinishRunInput) error {
	return workflow.ExecuteActivity(r.record(ctx, string(in.Status)), activities.FinishRunName, in).Get(ctx, nil)
}

func (r *agentRun) takeApproval(ctx workflow.Context, in activities.TakeApprovalInput) (res activities.TakeApprovalResult, err error) {
	err = workflow.ExecuteActivity(r.record(ctx, fmt.Sprintf("step %d", in.Step)), activities.TakeApprovalName, in).Get(ctx, &res)
	return res, err
}

func (r *agentRun) takeStage(ctx workflow.Context, step int) (res activities.TakeStageResult, err error) {
	in := activities.TakeStageInput{RunID: r.in.RunID, AgentDigest: r.st.AgentDigest, Step: step}
	err = workflow.ExecuteActivity(r.record(ctx, fmt.Sprintf("step %d", step)), activities.TakeStageName, in).Get(ctx, &res)
	return res, err
}

func (r *agentRun) endBranch(ctx workflow.Context, in activities.EndBranchInput) error {
	return workflow.ExecuteActivity(r.record(ctx, fmt.Sprintf("branch %d", in.Branch)), activities.EndBranchName, in).Get(ctx, nil)
}

func (r *agentRun) endStage(ctx workflow.Context, in activities.EndStageInput) (res activities.EndStageResult, err error) {
	err = workflow.ExecuteActivity(r.record(ctx, fmt.Sprintf("end of step %d", in.Step)), activities.EndStageName, in).Get(ctx, &res)
	return res, err
}
