package workflows_test

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"holdpoint/activities"
	"holdpoint/workflows"
)

// TestARoundWhoseWorkerDiesIsSoonBegunAgain: while one goes on, no other does.
func TestARoundWhoseWorkerDiesIsSoonBegunAgain(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	var lost time.Duration
	env.RegisterActivityWithOptions(func(ctx context.Context, _ activities.KeepInput) (activities.KeepResult, error) {
		lost = activity.GetInfo(ctx).HeartbeatTimeout
		return activities.KeepResult{}, nil
	}, activity.RegisterOptions{Name: activities.KeepName})
	env.ExecuteWorkflow(workflows.Keep)
	if err := env.GetWorkflowError(); err != nil || lost <= 0 || lost > 2*time.Minute {
		t.Errorf("it counts as lost after %s, %v", lost, err)
	}
}
