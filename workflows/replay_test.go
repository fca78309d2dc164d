package workflows_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
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
			if err := replayer().ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
				t.Error(err)
			}
		})
	}
}

func replayer() worker.WorkflowReplayer {
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(workflows.AgentRun, workflow.RegisterOptions{Name: workflows.AgentRunName})
	r.RegisterWorkflowWithOptions(workflows.Pipeline, workflow.RegisterOptions{Name: workflows.PipelineName})
	r.RegisterWorkflowWithOptions(workflows.Approval, workflow.RegisterOptions{Name: workflows.ApprovalName})
	r.RegisterWorkflowWithOptions(workflows.Notify, workflow.RegisterOptions{Name: workflows.NotifyName})
	r.RegisterWorkflowWithOptions(workflows.Keep, workflow.RegisterOptions{Name: workflows.KeepName})
	return r
}

// A run that has taken an answer with a stated zero goes on as it did, though such an answer is refused now.
func TestAnAnswerThatWasTakenStaysTaken(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "histories", "approved_by_signal.json"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.HistoryFromJSON(bytes.NewReader(text), client.HistoryJSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, e := range h.Events {
		if s := e.GetWorkflowExecutionSignaledEventAttributes(); s.GetSignalName() == workflows.MessageRespond {
			p := s.Input.Payloads[0]
			p.Data = append([]byte(`{"until":"0001-01-01T00:00:00Z",`), bytes.TrimPrefix(p.Data, []byte("{"))...)
			changed++
		}
	}
	if err := replayer().ReplayWorkflowHistory(nil, h); err != nil || changed != 1 {
		t.Errorf("%d answers changed: %v", changed, err)
	}
}
