package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
)

// A version costs a run two events and an action, so there is one for the whole: a run that has it has all that changed before
// it too, and asks for nothing else. What changes next raises the number. Runs from before it ask for each change where
// they come to it, as they always did.
const (
	changeWhole = "the-whole"

	// versionStartHere opens the record in the run's first workflow task.
	versionStartHere = 1
	// versionFewCoroutines has no coroutine wait for rules to change, and none for a turn's only call.
	versionFewCoroutines = 2

	// versionOneCoroutine has the run itself do what its listener does, while it waits at its only gate.
	versionOneCoroutine = 3

	latestVersion = versionOneCoroutine
)

// versioned finds out which version the run has. It comes before anything that depends on it.
func (r *agentRun) versioned(ctx workflow.Context) {
	if r.kind == AgentRunName || r.kind == PipelineName { // an approval's workflow has nothing to gain
		r.version = workflow.GetVersion(ctx, changeWhole, workflow.DefaultVersion, latestVersion)
	}
}

// since reports whether the run goes by a change from before the version of the whole.
func (r *agentRun) since(ctx workflow.Context, change string) bool {
	return r.version >= versionStartHere || workflow.GetVersion(ctx, change, workflow.DefaultVersion, 1) == 1
}

// startHereTimeout is how long the first workflow task is held open for the store at the most.
const startHereTimeout = 2 * time.Second

// startHere opens the record in the workflow task that goes on. Nobody's word led to it, and done twice it is done once. It
// returns false if it did not come to an end, for whatever reason that may pass.
func (r *agentRun) startHere(ctx workflow.Context, in activities.StartRunInput) (res activities.StartRunResult, err error, done bool) {
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{ScheduleToCloseTimeout: startHereTimeout,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}, Summary: "agent " + clip(r.in.Agent, 60)})
	err = workflow.ExecuteLocalActivity(ctx, activities.StartRunName, in).Get(ctx, &res)
	var app *temporal.ApplicationError
	permanent := errors.As(err, &app) && app.NonRetryable()
	return res, err, err == nil || permanent || temporal.IsCanceledError(err)
}
