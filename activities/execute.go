package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"holdpoint/permission"
	"holdpoint/tool"
)

// execute runs the tool. Its faults become results, so that the model always gets an answer.
func (x *execution) execute(ctx context.Context) (out tool.Outcome) {
	call := x.rec.Call
	call.Args = x.args
	call.Key = fmt.Sprintf("%s-%d", call.ID, x.entry.Phase)
	call.Workspace = x.ag.Workspace
	call.Outside = outside(x.decide, x.ag.Workspace)
	call.Private = x.decide.Private && x.decide.Effect != permission.Deny
	call.Hop = x.hop
	call.Answer = x.answer
	limit := x.impl.Definition().Timeout
	if limit <= 0 {
		limit = DefaultToolTimeout
	}
	observed, ended := x.a.observer().Running(ctx, x.impl.Definition().Name)
	defer func() { ended(statusOf(out)) }()
	runCtx, clock := tool.WithLimit(observed, limit)
	defer clock.End()
	x.still = &standstill{x: x, limit: clock}
	x.running = runCtx
	if x.a.Inquire != nil && !x.quick {
		call.Ask = x.inquire
	}
	call.Stoppable = x.still.stoppable
	end := x.still.follow(ctx)
	out, err := x.enter(runCtx, call)
	end()
	switch {
	case err != nil && ctx.Err() != nil:
		return aborted(ctx, "The call was stopped while it ran: "+err.Error())
	case err != nil && runCtx.Err() != nil:
		return tool.Failure(fmt.Sprintf("The call was stopped after %s, its limit: %v", limit, err))
	case err != nil:
		return tool.Failure("The call failed: " + err.Error())
	case out.Result == nil && out.Request == nil:
		return tool.Failure("The tool returned nothing.")
	case out.Result != nil && out.Result.Status == tool.StatusError && ctx.Err() != nil: // it says what it had done by then
		return aborted(ctx, out.Result.Content)
	}
	return out
}

// aborted is the outcome of a call that was stopped. It was nobody's wish where its worker was shut down.
func aborted(ctx context.Context, content string) tool.Outcome {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		content += "\n[the worker was shut down, and did not wait for the call any longer]"
	default:
	}
	return tool.Outcome{Result: &tool.Result{Status: tool.StatusAborted, Content: content}}
}

// settleEvery is how often Settle looks.
const settleEvery = 20 * time.Millisecond

// Settle returns when no call runs here any more, or ctx ends: a worker that was stopped has let go of the calls that it ran, and
// they are still being brought to their ends.
func (a *Activities) Settle(ctx context.Context) {
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for a.calls.Load() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// DefaultToolTimeout bounds one execution of a tool that names no limit of its own.
const DefaultToolTimeout = 10 * time.Minute
