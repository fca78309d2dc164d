package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"holdpoint/activities"
	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/store"
	"holdpoint/workflows"
)

// newKeeper makes what compares the store with Temporal.
func (a *App) newKeeper(acts *activities.Activities) *activities.Keeper {
	return &activities.Keeper{Records: acts, Books: books{a.store, a.o.Now}, KeepFor: a.defs.cfg.KeepFor(), Executions: executions{a.client, a.keys.Converter(), a.o.TaskQueue}, Grace: a.o.KeepGrace,
		Wake: func(ctx context.Context) error {
			a.wakeOutbox()
			return ctx.Err()
		}}
}

// books is the store as a keeper reads it.
type books struct {
	*store.Store
	now func() time.Time
}

func (b books) Erase(ctx context.Context, id interaction.SessionID) (bool, error) {
	_, err := b.EraseSession(ctx, id, b.now())
	var open *store.OpenRunError
	if errors.As(err, &open) || errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// scheduleKeeper has the store compared with Temporal every so often, once for all workers of the task queue.
func (a *App) scheduleKeeper() error {
	if a.o.KeepEvery <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), outboxPatience)
	defer cancel()
	id := workflows.KeepWorkflowID(a.o.TaskQueue)
	spec := client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: a.o.KeepEvery}}}
	_, err := a.client.ScheduleClient().Create(ctx, client.ScheduleOptions{ID: id, Spec: spec, Overlap: enums.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: time.Minute,
		Action: &client.ScheduleWorkflowAction{ID: id, Workflow: workflows.KeepName, TaskQueue: a.o.TaskQueue, WorkflowRunTimeout: time.Hour}})
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return err
	}
	return a.client.ScheduleClient().GetHandle(ctx, id).Update(ctx, client.ScheduleUpdateOptions{DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
		if old := in.Description.Schedule.Spec.Intervals; len(old) == 1 && old[0].Every == a.o.KeepEvery {
			return nil, temporal.ErrSkipScheduleUpdate
		}
		in.Description.Schedule.Spec = &spec
		return &client.ScheduleUpdate{Schedule: &in.Description.Schedule}, nil
	}})
}

// executions asks Temporal.
type executions struct {
	client    client.Client
	converter converter.DataConverter
	queue     string // another one is another Holdpoint's
}

func (x executions) Execution(ctx context.Context, id string) (activities.Execution, bool, error) {
	all, err := x.client.DescribeWorkflow(ctx, id, "")
	var none *serviceerror.NotFound
	if errors.As(err, &none) {
		return activities.Execution{}, false, nil
	}
	if err != nil {
		return activities.Execution{}, false, fmt.Errorf("describe workflow %s: %w", id, err)
	}
	d := all.RawResponse
	out := x.of(d.GetWorkflowExecutionInfo())
	out.TaskAttempts = int(d.GetPendingWorkflowTask().GetAttempt())
	for _, p := range d.GetPendingActivities() {
		if p.GetAttempt() > 1 && p.GetLastFailure() != nil {
			out.Failing = append(out.Failing, activities.FailingActivity{Name: p.GetActivityType().GetName(), Attempts: int(p.GetAttempt()), Failure: p.GetLastFailure().GetMessage()})
		}
	}
	return out, true, nil
}

// runTypes are the workflows that are runs.
var runTypes = []string{workflows.AgentRunName, workflows.PipelineName, workflows.ApprovalName}

func (x executions) Live(ctx context.Context, token []byte) ([]activities.Execution, []byte, error) {
	page, err := x.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{PageSize: 500, NextPageToken: token,
		Query: fmt.Sprintf("ExecutionStatus = 'Running' AND TaskQueue = '%s' AND WorkflowType IN ('%s')", strings.ReplaceAll(x.queue, "'", "''"), strings.Join(runTypes, "', '"))})
	if err != nil {
		return nil, nil, fmt.Errorf("list the open workflows: %w", err)
	}
	var out []activities.Execution
	for _, info := range page.GetExecutions() {
		out = append(out, x.of(info))
	}
	return out, page.GetNextPageToken(), nil
}

func (x executions) of(info *workflow.WorkflowExecutionInfo) activities.Execution {
	id := info.GetExecution().GetWorkflowId()
	out := activities.Execution{WorkflowID: id, Status: info.GetStatus().String(), Open: info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING,
		StartedAt: info.GetStartTime().AsTime(), ClosedAt: info.GetCloseTime().AsTime()}
	for _, own := range []string{workflows.RunWorkflowID(""), workflows.ApprovalWorkflowID("")} {
		if run, ok := strings.CutPrefix(id, own); ok {
			out.RunID = interaction.RunID(run)
		}
	}
	if out.RunID == "" {
		out.RunID = x.memo(info.GetMemo().GetFields()[api.MemoRun])
	}
	return out
}

// memo is the run that a session's workflow says that it is; "" where it doesn't, or where the keys can't read it.
func (x executions) memo(p *common.Payload) (id interaction.RunID) {
	if p == nil || x.converter.FromPayload(p, &id) != nil {
		return ""
	}
	return id
}
