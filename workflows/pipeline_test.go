package workflows_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/agent"
	"holdpoint/workflows"
)

// TestAStageThatIsTakenWhileTheRunIsPausedBeginsAfterwards pauses a workflow of agents while it finds out what its step is.
func TestAStageThatIsTakenWhileTheRunIsPausedBeginsAfterwards(t *testing.T) {
	t.Parallel()
	for _, paused := range []bool{false, true} {
		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
		env := suite.NewTestWorkflowEnvironment()
		env.SetTestTimeout(time.Minute)
		control := func(action workflows.ControlAction) {
			env.SignalWorkflow(workflows.MessageControl, workflows.ControlMessage{RunID: "p", Action: action})
		}
		began, resumed := env.Now(), env.Now()
		register := func(name string, f any) { env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name}) }
		register(activities.StartRunName, func(context.Context, activities.StartRunInput) (activities.StartRunResult, error) {
			return activities.StartRunResult{AgentDigest: "sha256:flow"}, nil
		})
		register(activities.TakeStageName, func(_ context.Context, in activities.TakeStageInput) (activities.TakeStageResult, error) {
			if in.Step > 1 {
				return activities.TakeStageResult{Ended: true}, nil
			}
			if paused {
				control(workflows.PauseRun)
			}
			return activities.TakeStageResult{Runs: []activities.ChildRun{{RunID: "p-1-1-sub", SessionID: "p-1-1-sub", Agent: "writer"}}}, nil
		})
		register(activities.EndStageName, func(context.Context, activities.EndStageInput) (activities.EndStageResult, error) {
			return activities.EndStageResult{}, nil
		})
		register(activities.RecordName, func(context.Context, activities.RecordInput) (activities.RecordResult, error) {
			return activities.RecordResult{}, nil
		})
		register(activities.FinishRunName, func(context.Context, activities.FinishRunInput) (activities.FinishRunResult, error) {
			return activities.FinishRunResult{}, nil
		})
		env.RegisterWorkflowWithOptions(func(ctx workflow.Context, in workflows.RunInput) (workflows.RunResult, error) {
			began = workflow.Now(ctx)
			return workflows.RunResult{RunID: in.RunID, Status: agent.RunCompleted}, nil
		}, workflow.RegisterOptions{Name: workflows.AgentRunName})
		env.RegisterDelayedCallback(func() { resumed = env.Now(); control(workflows.ResumeRun) }, time.Hour)
		env.ExecuteWorkflow(workflows.Pipeline, workflows.RunInput{RunID: "p", SessionID: "p", Agent: "flow", Input: "go"})
		var res workflows.RunResult
		if err := env.GetWorkflowResult(&res); err != nil || res.Status != agent.RunCompleted {
			t.Fatalf("paused %t: it ended %+v, %v", paused, res, err)
		}
		if paused && began.Before(resumed) {
			t.Errorf("the stage began at %s, and the run went on at %s", began, resumed)
		}
	}
}
