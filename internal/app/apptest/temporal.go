package apptest

import (
	"context"
	"os"
	"os/exec"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// Reset resets a workflow to its first workflow task; Temporal then applies its messages again.
func (h *Holdpoint) Reset(workflowID string) {
	h.T.Helper()
	var at int64
	for _, e := range h.History(workflowID, "") {
		if e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			at = e.GetEventId()
			break
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err := h.Client.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{Namespace: client.DefaultNamespace,
		WorkflowExecution: &common.WorkflowExecution{WorkflowId: workflowID}, Reason: "test", RequestId: uuid.NewString(),
		WorkflowTaskFinishEventId: at})
	if err != nil {
		h.T.Fatal(err)
	}
}

// Executions returns Temporal's run ids that share a workflow id, the oldest first: one, and one more per
// continue-as-new.
func (h *Holdpoint) Executions(workflowID string) (ids []string) {
	h.T.Helper()
	d, err := h.Client.DescribeWorkflow(context.Background(), workflowID, "")
	if err != nil {
		h.T.Fatal(err)
	}
	for id := d.WorkflowExecution.RunID; id != ""; {
		ids = append([]string{id}, ids...)
		id = h.History(workflowID, id)[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
	}
	return ids
}

// Details is what the Temporal UI shows of a run right now.
func (h *Holdpoint) Details(workflowID string) string {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	v, err := h.Client.QueryWorkflow(ctx, workflowID, "", "__temporal_workflow_metadata")
	if err != nil {
		h.T.Fatal(err)
	}
	var meta struct {
		CurrentDetails string `json:"currentDetails"`
	}
	var raw converter.RawValue
	if err := v.Get(&raw); err != nil {
		h.T.Fatal(err)
	}
	if err := converter.NewJSONPayloadConverter().FromPayload(raw.Payload(), &meta); err != nil {
		h.T.Fatal(err)
	}
	return meta.CurrentDetails
}

// Shell runs a command line as a person would, with dir first on the PATH and the server's address set.
func (h *Holdpoint) Shell(dir, line string) string {
	h.T.Helper()
	cmd := exec.Command("bash", "-c", line)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TEMPORAL_ADDRESS="+h.TemporalAddress())
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.T.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}
