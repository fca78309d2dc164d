package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
)

// KeepName is the workflow that compares the store with Temporal, once. A schedule starts it again and again.
const KeepName = "Keep"

// KeepWorkflowID is its workflow id, and the schedule's: there is one for all workers of a task queue.
func KeepWorkflowID(taskQueue string) string { return "keep-" + taskQueue }

// keepHeartbeat is after how long a round counts as lost whose worker died. Until then no other begins.
const keepHeartbeat = time.Minute

// Keep mends what is safe to mend, and returns what else was found.
func Keep(ctx workflow.Context) (res activities.KeepResult, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Minute, ScheduleToCloseTimeout: 30 * time.Minute,
		HeartbeatTimeout: keepHeartbeat, RetryPolicy: patient(), Summary: "compare the store with Temporal"})
	err = workflow.ExecuteActivity(ctx, activities.KeepName, activities.KeepInput{Mend: true}).Get(ctx, &res)
	return res, err
}
