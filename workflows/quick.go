package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
)

// A local activity runs in the middle of a workflow task. What is sent to the run meanwhile waits for the end of the task, and
// what the task was given by updates is not in history before. So only what nobody's word led to runs so, while nobody is
// asked: a call that was allowed as the model made it.

// quickTimeout is how long a workflow task is held open at the most; the activity ends by itself before.
const quickTimeout = 2 * activities.QuickLimit

// changeQuick: runs from before this version run every call as an activity.
const changeQuick = "quick-calls-in-workflow-tasks"

// mayRunQuick reports whether a call runs in the workflow task that goes on now.
func (r *agentRun) mayRunQuick(ctx workflow.Context, p activities.CallPlan) bool {
	return p.Quick && p.TaskQueue == "" && len(r.gates) == 0 && r.since(ctx, changeQuick)
}

// runQuick runs a call in this workflow task. It returns false if the call did not come to an end in it.
func (r *agentRun) runQuick(ctx workflow.Context, p activities.CallPlan, in activities.RunToolInput) (activities.RunToolResult, bool) {
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{ScheduleToCloseTimeout: quickTimeout,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: clip(p.Tool, 60)})
	var res activities.RunQuickResult
	err := workflow.ExecuteLocalActivity(ctx, activities.RunQuickName, in).Get(ctx, &res)
	return res.RunToolResult, err == nil && !res.Left
}
