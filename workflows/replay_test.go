package workflows_test

import (
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdpoint/workflows"
)

// TestRecordedHistoriesReplay replays one history per shape that was ever shipped. Runs may be parked for months:
// a change that breaks one of these breaks them. Guard such a change with workflow.GetVersion; never record anew.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	old, _ := filepath.Glob(filepath.Join("testdata", "histories", "*.json"))
	versions, _ := filepath.Glob(filepath.Join("testdata", "histories", "*", "*.json"))
	if len(old) < 60 || len(versions) < 60 {
		t.Fatalf("recorded histories are missing: %d of runs before there was a version of the whole, and %d", len(old), len(versions))
	}
	files := append(old, versions...)
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, filepath.Join("testdata", "histories")+"/"), func(t *testing.T) {
			t.Parallel()
			r := worker.NewWorkflowReplayer()
			r.RegisterWorkflowWithOptions(workflows.AgentRun, workflow.RegisterOptions{Name: workflows.AgentRunName})
			r.RegisterWorkflowWithOptions(workflows.Pipeline, workflow.RegisterOptions{Name: workflows.PipelineName})
			r.RegisterWorkflowWithOptions(workflows.Approval, workflow.RegisterOptions{Name: workflows.ApprovalName})
			r.RegisterWorkflowWithOptions(workflows.Notify, workflow.RegisterOptions{Name: workflows.NotifyName})
			r.RegisterWorkflowWithOptions(workflows.Keep, workflow.RegisterOptions{Name: workflows.KeepName})
			if err := r.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
				t.Error(err)
			}
		})
	}
}
