package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/interaction"
)

// ParallelTools bounds how many calls of one run are carried out at once: each command that schedules one carries
// what people answered, and commands of one task above 4 MB would never be accepted. Gates are not bounded.
const ParallelTools = 16

// carryOut takes a turn's calls to their ends, side by side.
func (r *agentRun) carryOut(ctx workflow.Context, calls []*call) error {
	if len(calls) == 1 && r.version >= versionFewCoroutines {
		calls[0].alone = true
		return calls[0].carry(ctx)
	}
	return r.carryAll(ctx, calls)
}

// begun are the calls that are not done yet. All gates are opened before any call is carried on.
func (r *agentRun) begun(ctx workflow.Context, plans []activities.CallPlan) (calls []*call) {
	slots := workflow.NewSemaphore(ctx, ParallelTools)
	for _, p := range plans {
		if p.Next == activities.NextDone || p.Next == activities.NextShared {
			continue
		}
		c := &call{run: r, plan: p, slots: slots}
		if p.Next == activities.NextGate && p.Interaction != nil {
			c.gate = r.open(ctx, *p.Interaction)
			c.plan.Interaction = nil // the gate has it
		}
		calls = append(calls, c)
	}
	return calls
}

// carryAll takes calls to their ends, each in a coroutine of its own.
func (r *agentRun) carryAll(ctx workflow.Context, calls []*call) (failed error) {
	left := 0
	for _, c := range calls {
		left++
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer func() { left-- }()
			if err := c.carry(ctx); err != nil && failed == nil {
				failed = err
			}
		})
	}
	free, cancel := workflow.NewDisconnectedContext(ctx) // an abort cancels the calls, and waits for them
	defer cancel()
	if err := workflow.Await(free, func() bool { return left == 0 }); err != nil {
		return err
	}
	return failed
}

// call is one tool call on its way to a result.
type call struct {
	run      *agentRun
	plan     activities.CallPlan
	slots    workflow.Semaphore
	gate     *gate
	approval *interaction.Outcome
	answer   *interaction.Outcome
	released *interaction.Outcome
	// ran: the tool has run, and what is left to do needs it no more.
	ran   bool
	alone bool                 // the run's own coroutine carries it, and nothing else
	child *activities.ChildRun // whose turn it is to carry it on
}

// carry goes back and forth between gate and tool until the call has its result.
func (c *call) carry(ctx workflow.Context) error {
	for {
		var out *interaction.Outcome
		if c.gate != nil {
			c.plan.Quick = false
			var err error
			out, err = c.run.wait(ctx, c.gate, c.alone)
			if err != nil || out == nil || out.Action == interaction.ActionTerminate {
				return nil // the run stops; FinishRun closes the call
			}
		}
		err := c.run.aside(ctx, func(ctx workflow.Context) error { return c.goOn(ctx, out) })
		if err == nil && c.child != nil {
			err = c.handOn(ctx) // not aside: it may take months
		}
		if err != nil || c.gate == nil {
			return err
		}
	}
}

// goOn carries the call on with what was decided at its gate, if it had one, as far as the next.
func (c *call) goOn(ctx workflow.Context, out *interaction.Outcome) error {
	if c.gate != nil {
		released, runs := c.gate.released, c.gate.released || c.runs(out)
		c.gate = nil
		if !runs {
			return c.resolve(ctx, out)
		}
		if released {
			c.released, c.approval = out, nil
		}
	}
	return c.perform(ctx)
}

// handOn has another agent carry the call out.
func (c *call) handOn(ctx workflow.Context) error {
	child := *c.child
	c.child = nil
	next, err := c.agent(ctx, child)
	return c.done(ctx, next, err)
}

// done opens the next gate, if there is one.
func (c *call) done(ctx workflow.Context, next *interaction.Request, err error) error {
	switch {
	case err != nil && c.run.st.Stop != nil:
		return nil
	case err != nil:
		return err
	case next != nil:
		c.gate = c.run.open(ctx, *next)
	}
	return nil
}

// perform runs the tool, and opens the next gate if there is one.
func (c *call) perform(ctx workflow.Context) error {
	if !c.run.recorded() || c.run.recording || c.run.st.Paused {
		c.plan.Quick = false // it may wait here, or somebody's word has just let it go on
	}
	if err := c.run.written(ctx); err != nil {
		return nil // the run stops; FinishRun closes the call
	}
	if err := c.run.hold(ctx); err != nil || c.run.st.Stop != nil {
		return nil // the run stops; FinishRun closes the call
	}
	res, err := c.tool(ctx)
	c.run.endAsked(ctx, c.plan.CallID, "", "the call ended without the answer")
	if err == nil {
		if err := c.run.holdCall(ctx, c.plan.CallID); err != nil {
			return nil // the run stops; FinishRun closes the call
		}
	}
	if err == nil && res.Child != nil {
		c.child = res.Child
		return nil
	}
	return c.done(ctx, res.Interaction, err)
}

// runs reports whether an outcome lets the tool run, and keeps it for the tool.
func (c *call) runs(out *interaction.Outcome) bool {
	if out.Status != interaction.StatusAnswered {
		return false
	}
	switch out.Action {
	case interaction.ActionApprove, interaction.ActionModifyArgs, interaction.ActionRedact:
		c.approval, c.answer = out, nil
		c.ran = c.gate.it.Request.Kind == interaction.KindResult
		return true
	case interaction.ActionAnswer, interaction.ActionProvideInfo, interaction.ActionCustom:
		if c.gate.it.Request.Kind == interaction.KindTool {
			c.answer = out
			return true
		}
		return false
	default:
		return false
	}
}

// tool runs the call. The result says what must be asked or which agent must run before it can go on, if anything.
func (c *call) tool(ctx workflow.Context) (activities.RunToolResult, error) {
	if !c.slots.TryAcquire(ctx, 1) {
		c.plan.Quick = false
		if err := c.slots.Acquire(ctx, 1); err != nil {
			return activities.RunToolResult{}, err
		}
	}
	defer c.slots.Release(1)
	r := c.run
	r.running = append(r.running, c.plan.CallID)
	defer func() {
		r.running = slices.DeleteFunc(r.running, func(id interaction.CallID) bool { return id == c.plan.CallID })
	}()
	plan := c.plan
	if c.ran {
		plan.TaskQueue = ""
	}
	in := activities.RunToolInput{RunID: r.in.RunID, CallID: c.plan.CallID,
		AgentDigest: r.st.AgentDigest, Approval: c.approval, Answer: c.answer, Released: c.released}
	if r.mayRunQuick(ctx, plan) {
		if res, ok := r.runQuick(ctx, plan, in); ok {
			return res, nil
		}
	}
	res, err := r.runTool(ctx, plan, in)
	if err == nil {
		r.carriedOut(c.approval, c.answer, c.released)
	}
	return res, err
}

// resolve records an answer that runs no tool.
func (c *call) resolve(ctx workflow.Context, out *interaction.Outcome) error {
	if err := c.run.written(ctx); err != nil {
		return nil // the run stops; FinishRun closes the call
	}
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return nil // the run stops; FinishRun closes the call
	}
	defer c.slots.Release(1)
	err := c.run.resolveCall(ctx, activities.ResolveCallInput{RunID: c.run.in.RunID, CallID: c.plan.CallID, Outcome: *out})
	if err == nil {
		c.run.carriedOut(out)
	}
	if err != nil && c.run.st.Stop != nil {
		return nil
	}
	return err
}
