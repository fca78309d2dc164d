package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/client"

	"holdpoint/activities"
	"holdpoint/internal/store"
	"holdpoint/workflows"
)

// Examination says what Doctor is to do, and Diagnosis what it found.
type (
	Examination = activities.KeepInput
	Diagnosis   = activities.KeepResult
)

// Doctor looks once at what the keeper looks at all the time, and whether workers are there. Without o.Config it looks at
// the Dev of o.Data, which must be running. Where the store or Temporal can't be reached, that is found, and what the other
// knows by itself; nothing is mended then. What was found before an error is returned with it.
func Doctor(ctx context.Context, o Options, in Examination) (out Diagnosis, err error) {
	a, err := newApp(o)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	where, options, err := a.examined(ctx)
	if err != nil {
		return out, err
	}
	gone := a.reach(ctx, where, options)
	if err := ctx.Err(); err != nil {
		return out, err
	}
	if len(gone) > 0 {
		in = Examination{}
	}
	keeper := a.newKeeper(a.newActivities())
	if a.store == nil {
		keeper.Books = nil
	}
	if a.client == nil {
		keeper.Executions = nil
	}
	out, err = keeper.Keep(ctx, in)
	missing, unseen := a.unserved(ctx)
	if unseen == nil {
		var stranded []activities.Finding
		stranded, unseen = a.stranded(ctx)
		missing = append(missing, stranded...)
	}
	out.Findings = slices.Concat(gone, missing, out.Findings)
	return out, errors.Join(err, unseen)
}

// doctorPatience is how long the store is waited for: who asks what is wrong wants to know it now.
const doctorPatience = 30 * time.Second

// examined is where the store and Temporal are. Nothing is started.
func (a *App) examined(ctx context.Context) (where store.Config, options client.Options, err error) {
	part := "doctor"
	if a.o.Config == "" {
		info, err := ReadDevInfo(a.o.Data)
		if err != nil {
			return where, options, fmt.Errorf("no configuration, and no holdpoint dev runs on %s: name a file or directory with --config", a.o.Data)
		}
		part = partDev
		a.o.Config, a.o.TaskQueue, a.o.NoDemo = info.Config, info.TaskQueue, true
		orDefault(&a.o.TaskQueue, workflows.DefaultTaskQueue)
		options = client.Options{HostPort: info.TemporalAddress, Namespace: client.DefaultNamespace}
	} else if options, err = connection(); err != nil {
		return where, options, err
	}
	where, err = a.configure(ctx, part)
	return where, options, err
}

// reach connects to the store and to Temporal, and says which of them can't be looked at. a.store and a.client are nil then.
func (a *App) reach(ctx context.Context, where store.Config, options client.Options) (gone []activities.Finding) {
	add := func(what string, err error, unseen string) {
		if err != nil {
			gone = append(gone, activities.Finding{Kind: activities.FindingUnreachable, What: what + " can't be reached: " + err.Error(), Advice: "Not looked at: " + unseen + ". Nothing is mended while that is so."})
		}
	}
	soon, cancel := context.WithTimeout(ctx, doctorPatience) // another process may be bringing the schema up to date
	defer cancel()
	if err := a.openStores(soon, where); a.store == nil {
		add("the store", err, "the records of runs, questions, notices and rules")
	} else {
		add("the store of rules", err, "the rules")
	}
	err := a.dial(ctx, options)
	if err == nil {
		if err = namespaceThere(ctx, a.client, options); err != nil {
			a.client = nil // what made it closes it
		}
	}
	add("Temporal", err, "workflows, and whether workers are there")
	return gone
}

// unserved finds the task queues that no worker polls.
func (a *App) unserved(ctx context.Context) (out []activities.Finding, err error) {
	if a.client == nil {
		return nil, nil
	}
	queues := []string{a.o.TaskQueue}
	for _, t := range a.defs.cfg.Tools {
		queues = append(queues, t.TaskQueue)
	}
	slices.Sort(queues)
	for _, q := range slices.Compact(queues) {
		if q == "" {
			continue
		}
		kind := enums.TASK_QUEUE_TYPE_ACTIVITY // a worker for tools alone has no other
		if q == a.o.TaskQueue {
			kind = enums.TASK_QUEUE_TYPE_WORKFLOW
		}
		d, err := a.client.DescribeTaskQueue(ctx, q, kind)
		if err != nil {
			return out, fmt.Errorf("describe task queue %s: %w", q, err)
		}
		if f := unpolled(q, d.GetPollers(), d.GetVersioningInfo().GetCurrentDeploymentVersion(), time.Now()); f.Kind != "" {
			out = append(out, f)
		}
	}
	return out, nil
}

// unpolled says of a task queue whose tasks nobody takes what is missing: a worker, or one of the version that is current. Workers
// of other versions poll, and get nothing.
func unpolled(queue string, pollers []*taskqueue.PollerInfo, current *deployment.WorkerDeploymentVersion, now time.Time) (f activities.Finding) {
	if !polled(pollers, now) {
		return activities.Finding{Kind: activities.FindingNoWorker, What: fmt.Sprintf("no worker polls the task queue %q", queue),
			Advice: "Nothing is lost. Start one: answers and timers wait in Temporal."}
	}
	takes := func(p *taskqueue.PollerInfo) bool {
		of := p.GetDeploymentOptions()
		if versioned := of.GetWorkerVersioningMode() == enums.WORKER_VERSIONING_MODE_VERSIONED; current == nil || !versioned {
			return current == nil && !versioned
		}
		return of.GetDeploymentName() == current.GetDeploymentName() && of.GetBuildId() == current.GetBuildId()
	}
	if polled(slices.DeleteFunc(slices.Clone(pollers), func(p *taskqueue.PollerInfo) bool { return !takes(p) }), now) {
		return f
	}
	f.Kind = activities.FindingNoWorker
	f.Advice = "Nothing is lost: answers and timers wait in Temporal. Make the version of a worker that runs current, once it can take on the runs there are " +
		"(holdpoint replay): temporal worker deployment set-current-version"
	f.What = fmt.Sprintf("the workers that poll the task queue %q are of versions of a Worker Deployment, none of which is current", queue)
	if current != nil {
		f.What = fmt.Sprintf("no worker of version %s of the Worker Deployment %s polls the task queue %q, and that version is current", current.GetBuildId(), current.GetDeploymentName(), queue)
		f.Advice += ", or start a worker of that version"
	}
	f.Advice += "."
	return f
}

// pollsWithin is how recently a worker that runs has polled: a poll that finds nothing ends after a minute.
const pollsWithin = 2 * time.Minute

// polled reports whether one of the pollers is still there. Temporal lists a worker that was killed for five minutes more.
func polled(pollers []*taskqueue.PollerInfo, now time.Time) bool {
	return slices.ContainsFunc(pollers, func(p *taskqueue.PollerInfo) bool {
		return p.GetLastAccessTime() == nil || now.Sub(p.GetLastAccessTime().AsTime()) < pollsWithin
	})
}
