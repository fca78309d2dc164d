package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/agent"
	"holdpoint/interaction"
)

// gate is where one call waits for people. It is open until outcome is set.
type gate struct {
	it      interaction.Interaction
	outcome *interaction.Outcome
	// released: a rule decides the call now, so it goes on without an answer.
	released bool
	changes  int    // since it was opened
	claim    string // of the attempt that asks while it runs
	// passed: a rule would have released it while it was held.
	passed bool
}

// open makes an interaction known, and applies the answers that came before it was.
func (r *agentRun) open(ctx workflow.Context, req interaction.Request) *gate {
	g := &gate{it: interaction.Open(req, workflow.Now(ctx))}
	r.gates = append(r.gates, g)
	for _, resp := range r.st.takeEarly(req.ID) {
		if _, err := r.apply(ctx, resp); err != nil {
			r.refuse(MessageRespond, resp.ID, err)
		}
	}
	r.showDetails(ctx)
	return g
}

// wait returns how the gate closed. It returns nil when the run stops first. alone says that it is the run's own coroutine
// that waits, and for nothing else.
func (r *agentRun) wait(ctx workflow.Context, g *gate, alone bool) (*interaction.Outcome, error) {
	await := workflow.Await
	if alone && r.version >= versionOneCoroutine {
		await = r.relieve
	}
	if err := await(ctx, func() bool { return g.outcome != nil || r.st.Stop != nil }); err != nil {
		return nil, err
	}
	return g.outcome, nil
}

// find returns the open gate of an interaction.
func (r *agentRun) find(id interaction.ID) *gate {
	for _, g := range r.gates {
		if g.it.Request.ID == id {
			return g
		}
	}
	return nil
}

// decided closes a gate that has an outcome.
func (r *agentRun) decided(ctx workflow.Context, g *gate, out *interaction.Outcome) {
	g.outcome = out
	r.st.close(g.it, *out)
	switch {
	case g.it.Request.Live:
		r.st.Ended = append(r.st.Ended, *out)
		r.recordSoon(ctx)
	case r.kind != "": // gates of a workflow that is no run owe nothing to a record
		r.owed = append(r.owed, *out)
	}
	for i, other := range r.gates {
		if other == g {
			r.gates = append(r.gates[:i:i], r.gates[i+1:]...)
			break
		}
	}
	if out.Action == interaction.ActionTerminate {
		stop := &Stop{Note: "stopped at " + string(out.InteractionID), Outcome: out}
		if n := len(out.Responses); n > 0 {
			stop.By = out.Responses[n-1].Reviewer.ID
			if note := out.Responses[n-1].Note + out.Responses[n-1].Feedback; note != "" {
				stop.Note = note
			}
		}
		r.stop(stop)
	}
	r.showDetails(ctx)
}

// stop ends the run: what is in flight is cancelled.
func (r *agentRun) stop(s *Stop) {
	if r.st.Stop == nil && r.ended == "" {
		r.st.Stop = s
		r.cancel()
	}
}

// closeGates cancels what is open when the run ends, so that a late answer is told so.
func (r *agentRun) closeGates(ctx workflow.Context, status agent.RunStatus) {
	for len(r.gates) > 0 {
		g := r.gates[0]
		out, ok := g.it.Cancel(fmt.Sprintf("the run ended (%s)", status), workflow.Now(ctx))
		if !ok {
			return
		}
		r.decided(ctx, g, out)
	}
}

// earliest is when time does something to an open gate next, zero when it does nothing.
func (r *agentRun) earliest() time.Time {
	var next time.Time
	for _, g := range r.gates {
		at := g.it.NextAt()
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// deadline keeps one timer, for the earliest deadline of the open gates.
//
// workflow.AwaitWithTimeout is not used: its timer goes on after the condition came true, and when an answer and
// the deadline reach the workflow in one task the deadline would win although the answer came first.
type deadline struct {
	due    time.Time
	timer  workflow.Future // nil while none is kept
	cancel workflow.CancelFunc
	over   bool // the workflow was cancelled
	busy   bool // somebody follows, and has let others go on meanwhile
}

// moved reports whether there is something to do: the timer has fired, or is not the right one any more.
func (d *deadline) moved(r *agentRun) bool {
	return !d.over && !d.busy && (r.life.Err() != nil || !r.earliest().Equal(d.due) || d.timer != nil && d.timer.IsReady())
}

// follow expires what is due, and sees to it that the timer is that of the earliest deadline.
func (d *deadline) follow(ctx workflow.Context, r *agentRun) {
	switch {
	case r.life.Err() != nil:
		d.drop()
		d.over = true
		return
	case d.timer != nil && d.timer.IsReady():
		d.timer, d.due = nil, time.Time{}
		d.busy = true
		yield(ctx)
		d.busy = false
		r.expire(r.life)
	default:
		d.drop()
	}
	if d.due = r.earliest(); d.due.IsZero() {
		return
	}
	var timerCtx workflow.Context
	timerCtx, d.cancel = workflow.WithCancel(r.life)
	d.timer = workflow.NewTimerWithOptions(timerCtx, max(d.due.Sub(workflow.Now(ctx)), 0),
		workflow.TimerOptions{Summary: r.waitingFor()})
}

func (d *deadline) drop() {
	if d.timer != nil {
		d.cancel()
	}
	d.timer, d.due = nil, time.Time{}
}

// yield lets every other coroutine run once: an answer that arrived in the same workflow task as a deadline is
// applied before the deadline is.
func yield(ctx workflow.Context) {
	again := false
	_ = workflow.Await(ctx, func() bool {
		second := again
		again = true
		return second
	})
}

func (r *agentRun) expire(ctx workflow.Context) {
	r.drain(ctx)
	now := workflow.Now(ctx)
	for _, g := range append([]*gate(nil), r.gates...) {
		if out, ok := g.it.Expire(now); ok {
			r.decided(ctx, g, out)
			continue
		}
		for _, kind := range g.it.Tick(now) {
			r.changed(ctx, g, kind, nil)
		}
	}
}

// changed notes what happened to a gate that stays open, for the record and for those who look at the run.
func (r *agentRun) changed(ctx workflow.Context, g *gate, kind interaction.ChangeKind, by *interaction.Response) {
	g.changes++
	r.st.Changes = append(r.st.Changes, activities.Change{Key: fmt.Sprintf("%s-%d", g.it.Request.ID, g.changes),
		Interaction: g.it.Request.ID, Kind: kind, Standing: g.it.Standing(), Response: by})
	if kind == interaction.ChangeResumed && g.passed {
		g.passed = false
		r.recheckSoon()
	}
	r.showDetails(ctx)
	r.recordSoon(ctx)
}
