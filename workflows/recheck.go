package workflows

import (
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/interaction"
)

// recheckSignal notes that rules have changed. What it carries says nothing that is needed.
func (r *agentRun) recheckSignal(workflow.Context, []byte) { r.recheckSoon() }

// recheckSoon has waiting calls decided again when rules have changed: what a rule now allows runs, what one denies is
// denied, and nobody needs to answer. The gate is closed here before the call goes on, so an answer that comes at the
// same time is either applied or refused, never both.
func (r *agentRun) recheckSoon() {
	r.rulesChanged = true
	if r.rulesMoved != nil {
		r.rulesMoved()
	}
}

// watchRules waits for rules to change, in runs from before versionFewCoroutines.
func (r *agentRun) watchRules(ctx workflow.Context) {
	for {
		if err := workflow.Await(ctx, func() bool { return r.rulesChanged }); err != nil {
			return
		}
		r.decideAgain(ctx)
	}
}

func (r *agentRun) decideAgain(ctx workflow.Context) {
	defer func() { r.rechecking = false }()
	for r.rulesChanged && ctx.Err() == nil {
		r.rulesChanged = false
		in := activities.RecheckInput{RunID: r.in.RunID, AgentDigest: r.st.AgentDigest}
		for _, g := range r.gates {
			if k := g.it.Request.Kind; k == interaction.KindPermission || k == interaction.KindProgram {
				in.Interactions = append(in.Interactions, g.it.Request.ID)
			}
		}
		if len(in.Interactions) == 0 {
			continue
		}
		res, err := r.recheck(ctx, in)
		if err != nil {
			if ctx.Err() == nil {
				workflow.GetLogger(ctx).Error("what waits could not be decided again", "run_id", r.in.RunID, "error", err)
			}
			continue
		}
		for _, rel := range res.Released {
			r.release(ctx, rel)
		}
	}
}

// release closes a gate that nobody needs to answer any more.
func (r *agentRun) release(ctx workflow.Context, rel activities.Released) {
	g := r.find(rel.Interaction)
	if g == nil {
		return
	}
	if rel.Allowed && g.it.Status == interaction.StatusHeld { // a person holds it, and no rule lets it go
		g.passed = true
		return
	}
	if out, ok := g.it.Cancel(rel.Reason, workflow.Now(ctx)); ok {
		g.released = true
		r.decided(ctx, g, out)
	}
}
