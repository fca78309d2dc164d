package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/sdk/client"

	"holdpoint/activities"
	"holdpoint/workflows"
)

// Examination says what Doctor is to do, and Diagnosis what it found.
type (
	Examination = activities.KeepInput
	Diagnosis   = activities.KeepResult
)

// Doctor looks once at what the keeper looks at all the time, and whether workers are there. Without o.Config it looks at
// the Dev of o.Data, which must be running.
func Doctor(ctx context.Context, o Options, in Examination) (out Diagnosis, err error) {
	a, err := newApp(o)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := a.examining(ctx); err != nil {
		return out, err
	}
	if out, err = a.newKeeper(a.newActivities()).Keep(ctx, in); err != nil {
		return out, err
	}
	missing, err := a.unserved(ctx)
	out.Findings = append(missing, out.Findings...)
	return out, err
}

// examining connects to the store and to Temporal, and starts nothing.
func (a *App) examining(ctx context.Context) error {
	if a.o.Config != "" {
		return a.startHalf(ctx, "doctor", func() error { return nil })
	}
	info, err := ReadDevInfo(a.o.Data)
	if err != nil {
		return fmt.Errorf("no configuration, and no holdpoint dev runs on %s: name a file or directory with --config", a.o.Data)
	}
	a.o.Config, a.o.TaskQueue, a.o.NoDemo = info.Config, info.TaskQueue, true
	orDefault(&a.o.TaskQueue, workflows.DefaultTaskQueue)
	if err := a.prepare(ctx, partDev); err != nil {
		return err
	}
	return a.dial(ctx, client.Options{HostPort: info.TemporalAddress, Namespace: client.DefaultNamespace})
}

// unserved finds the task queues that no worker polls.
func (a *App) unserved(ctx context.Context) (out []activities.Finding, err error) {
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
		if !polled(d.GetPollers(), time.Now()) {
			out = append(out, activities.Finding{Kind: activities.FindingNoWorker, What: fmt.Sprintf("no worker polls the task queue %q", q),
				Advice: "Nothing is lost. Start one: answers and timers wait in Temporal."})
		}
	}
	return out, nil
}

// pollsWithin is how recently a worker that runs has polled: a poll that finds nothing ends after a minute.
const pollsWithin = 2 * time.Minute

// polled reports whether one of the pollers is still there. Temporal lists a worker that was killed for five minutes more.
func polled(pollers []*taskqueue.PollerInfo, now time.Time) bool {
	return slices.ContainsFunc(pollers, func(p *taskqueue.PollerInfo) bool {
		return p.GetLastAccessTime() == nil || now.Sub(p.GetLastAccessTime().AsTime()) < pollsWithin
	})
}
