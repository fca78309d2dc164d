package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
)

// NotifyName is the workflow that tells people and programs what waits in the outbox, and SignalWake tells it that there is
// something new.
const (
	NotifyName = "Notify"
	SignalWake = "wake"
)

// NotifyWorkflowID is its workflow id: there is one for all workers of a task queue.
func NotifyWorkflowID(taskQueue string) string { return "notify-" + taskQueue }

// Notify drains the outbox and ends. It is started by the signal that something is there; what it can't deliver yet it
// waits for.
func Notify(ctx workflow.Context) error {
	wake := workflow.GetSignalChannel(ctx, SignalWake)
	for {
		for wake.ReceiveAsync(nil) {
		}
		res, err := deliverDue(ctx)
		if err != nil {
			return err
		}
		switch {
		case wake.Len() > 0:
		case !res.Left:
			return nil
		case workflow.GetInfo(ctx).GetContinueAsNewSuggested():
			return workflow.NewContinueAsNewError(ctx, NotifyName)
		default:
			if _, err := workflow.AwaitWithTimeout(ctx, max(res.Wait, 10*time.Millisecond), func() bool { return wake.Len() > 0 }); err != nil {
				return err
			}
		}
	}
}

func deliverDue(ctx workflow.Context) (res activities.DeliverResult, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, RetryPolicy: patient(), Summary: "outbox"})
	err = workflow.ExecuteActivity(ctx, activities.DeliverDueName).Get(ctx, &res)
	return res, err
}
