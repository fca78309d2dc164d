package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"holdpoint/activities"
)

// versionAttribute is Temporal's search attribute of the version that a workflow is on: a deployment's name and a build id.
const versionAttribute = "TemporalWorkerDeploymentVersion"

// pinnedTo are the workflows that are open and pinned to one version of a Worker Deployment.
type pinnedTo struct {
	version string
	runs    int
	one     string // of their workflow ids
}

// stranded finds the versions of Worker Deployments that runs are pinned to and that no worker is of: Temporal says nothing of them.
func (a *App) stranded(ctx context.Context) (out []activities.Finding, err error) {
	if a.client == nil {
		return nil, nil
	}
	pinned, err := a.pinned(ctx)
	if err != nil || len(pinned) == 0 {
		return nil, err
	}
	d, err := a.client.DescribeTaskQueue(ctx, a.o.TaskQueue, enums.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil, fmt.Errorf("describe task queue %s: %w", a.o.TaskQueue, err)
	}
	for _, p := range pinned {
		if f := unmanned(a.o.TaskQueue, p, d.GetPollers(), a.o.Now()); f.Kind != "" {
			out = append(out, f)
		}
	}
	return out, nil
}

// pinned lists them by version, as far as visibility knows them. A server that knows no Worker Deployments has none.
func (a *App) pinned(ctx context.Context) (out []pinnedTo, err error) {
	in := &workflowservice.ListWorkflowExecutionsRequest{PageSize: 500, Query: fmt.Sprintf("ExecutionStatus = 'Running' AND TaskQueue = '%s' AND "+
		"TemporalWorkflowVersioningBehavior = 'Pinned'", strings.ReplaceAll(a.o.TaskQueue, "'", "''"))}
	for {
		page, err := a.client.ListWorkflow(ctx, in)
		var unknown *serviceerror.InvalidArgument
		if errors.As(err, &unknown) {
			return nil, nil
		}
		if err != nil {
			return out, fmt.Errorf("list the pinned workflows: %w", err)
		}
		for _, x := range page.GetExecutions() {
			var version string
			if p := x.GetSearchAttributes().GetIndexedFields()[versionAttribute]; p == nil || converter.GetDefaultDataConverter().FromPayload(p, &version) != nil {
				continue
			}
			n := slices.IndexFunc(out, func(p pinnedTo) bool { return p.version == version })
			if n < 0 {
				n, out = len(out), append(out, pinnedTo{version: version, one: x.GetExecution().GetWorkflowId()})
			}
			out[n].runs++
		}
		if in.NextPageToken = page.GetNextPageToken(); len(in.NextPageToken) == 0 {
			return out, nil
		}
	}
}

// unmanned says of a version that runs are pinned to that none of the workers is of it.
func unmanned(queue string, p pinnedTo, pollers []*taskqueue.PollerInfo, now time.Time) (f activities.Finding) {
	others := func(w *taskqueue.PollerInfo) bool {
		of := w.GetDeploymentOptions()
		return p.version != of.GetDeploymentName()+":"+of.GetBuildId() && p.version != of.GetDeploymentName()+"."+of.GetBuildId() // as servers write it
	}
	if polled(slices.DeleteFunc(slices.Clone(pollers), others), now) {
		return f
	}
	which := fmt.Sprintf("%s = '%s' AND TemporalWorkflowVersioningBehavior = 'Pinned'", versionAttribute, strings.ReplaceAll(p.version, "'", "''"))
	runs := "1 open workflow is"
	if p.runs > 1 {
		runs = fmt.Sprintf("%d open workflows are", p.runs)
	}
	return activities.Finding{Kind: activities.FindingNoWorker,
		What: fmt.Sprintf("%s pinned to version %s of a Worker Deployment, such as %s, and no worker of that version polls the task queue %q", runs, p.version, p.one, queue),
		Advice: fmt.Sprintf("Nothing is lost: answers and timers wait in Temporal. Start a worker of that version. Or move them to the one that is current, once it can take them on "+
			"(holdpoint replay --query \"%[1]s\"): temporal workflow update-options --query \"%[1]s\" --versioning-override-behavior auto_upgrade", which)}
}
