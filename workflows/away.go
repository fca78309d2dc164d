package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/interaction"
)

// pickUp is how long a task queue of a tool's own may leave a call lying before the record says that nobody serves it.
const pickUp = time.Minute

// codeNoWorker is the code of the event that says so.
const codeNoWorker = "no_worker"

// runAway runs a call on the machine that its tool is bound to. A queue that nobody serves is told, and then waited for.
func (r *agentRun) runAway(ctx workflow.Context, p activities.CallPlan, in activities.RunToolInput) (res activities.RunToolResult, err error) {
	r.away = append(r.away, p)
	r.showDetails(ctx)
	defer func() {
		r.away = slices.DeleteFunc(r.away, func(o activities.CallPlan) bool { return o.CallID == p.CallID })
		r.showDetails(ctx)
	}()
	options := workflow.GetActivityOptions(ctx)
	options.ScheduleToStartTimeout = pickUp
	for range 2 {
		err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), activities.RunToolName, in).Get(ctx, &res)
		var late *temporal.TimeoutError
		if !errors.As(err, &late) || late.TimeoutType() != enums.TIMEOUT_TYPE_SCHEDULE_TO_START {
			break
		}
		r.refuse(clip(p.Tool, 60), "", &interaction.Error{Code: codeNoWorker,
			Message: fmt.Sprintf("call %s waits: no worker has taken it from the task queue %s within %s. Start one there (holdpoint worker --tools-only), or stop the run", p.CallID, p.TaskQueue, pickUp)})
		r.recordSoon(ctx)
		options.ScheduleToStartTimeout = 0
	}
	return res, err
}
