package workflows

import (
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/agent"
	"holdpoint/flow"
)

// Pipeline is one run of a workflow of agents: its stages in order, its branches side by side, or its loop. Each stage is
// a run of its own, a child, or a gate at which people decide about the output so far. It takes the messages that AgentRun
// takes, but for those to an agent.
func Pipeline(ctx workflow.Context, in RunInput) (RunResult, error) {
	r, err := newAgentRun(ctx, PipelineName, in)
	if err != nil {
		return RunResult{}, err
	}
	return (&pipeline{r}).run(ctx)
}

// pipeline is a run whose turns are the steps of a workflow of agents.
type pipeline struct{ *agentRun }

// run is the story of a workflow of agents.
func (p *pipeline) run(ctx workflow.Context) (RunResult, error) {
	work, cancel, err := p.begin(ctx)
	defer cancel()
	for err == nil && p.st.Stop == nil {
		if err = p.ready(work); err != nil || p.st.Stop != nil {
			break
		}
		var step activities.TakeStageResult
		if step, err = p.take(work); err != nil {
			break
		}
		if step.Ended {
			return p.complete(ctx, step.Stopped)
		}
		if !step.Skipped {
			var end activities.EndStageResult
			if end, err = p.carryOutStage(work, step); err != nil || p.st.Stop != nil {
				break
			}
			if end.Stopped != nil {
				return p.complete(ctx, end.Stopped)
			}
			if end.Aborted != "" {
				p.stop(&Stop{Note: end.Aborted})
				break
			}
		}
		p.st.Turn++
		p.dropStale()
		yield(ctx) // what came together with the end of a stage is still taken in
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && p.st.Stop == nil {
			return p.continueAsNew(ctx)
		}
	}
	return p.fail(ctx, err)
}

// complete ends the run, as failed if there is a reason.
func (p *pipeline) complete(ctx workflow.Context, why *activities.Stopped) (RunResult, error) {
	switch {
	case p.st.Stop != nil:
		return p.fail(ctx, nil)
	case why != nil:
		return p.finish(ctx, activities.FinishRunInput{Status: agent.RunFailed, Code: why.Code, Message: why.Message})
	default:
		return p.finish(ctx, activities.FinishRunInput{Status: agent.RunCompleted})
	}
}

// ready waits while the run is paused, and until what came before is in the record.
func (p *pipeline) ready(ctx workflow.Context) error {
	if err := p.hold(ctx); err != nil {
		return err
	}
	return p.written(ctx)
}

func (p *pipeline) take(ctx workflow.Context) (activities.TakeStageResult, error) {
	p.modelTurn = p.st.Turn + 1
	p.showDetails(ctx)
	res, err := p.takeStage(ctx, p.st.Turn+1)
	p.modelTurn = 0
	return res, err
}

// carryOutStage takes a step to its end and records it.
func (p *pipeline) carryOutStage(ctx workflow.Context, step activities.TakeStageResult) (activities.EndStageResult, error) {
	in := activities.EndStageInput{RunID: p.in.RunID, AgentDigest: p.st.AgentDigest, Step: p.st.Turn + 1}
	if step.Gate != nil {
		out, err := p.wait(ctx, p.open(ctx, *step.Gate), true)
		if err != nil || out == nil || p.st.Stop != nil {
			return activities.EndStageResult{}, err
		}
		if err := p.written(ctx); err != nil {
			return activities.EndStageResult{}, err
		}
		in.Outcome = out
	} else {
		if err := p.heldStage(ctx); err != nil || p.st.Stop != nil {
			return activities.EndStageResult{}, err
		}
		in.Failed = p.runAll(ctx, step)
	}
	free, cancel := workflow.NewDisconnectedContext(ctx) // how it ended is recorded, whatever ended it
	defer cancel()
	res, err := p.endStage(free, in)
	if err == nil {
		p.carriedOut(in.Outcome)
	}
	return res, err
}

// A run that was paused while a step was taken begins what the step is made of once it goes on. Runs from before this
// version began it, and told it to pause.
const changeHoldTakenStages = "hold-taken-stages"

func (p *pipeline) heldStage(ctx workflow.Context) error {
	if !p.st.Paused || !p.since(ctx, changeHoldTakenStages) {
		return nil
	}
	return p.hold(ctx)
}

// runAll runs what a step is made of, side by side, and returns for each why there may be no record of its end.
func (p *pipeline) runAll(ctx workflow.Context, step activities.TakeStageResult) []string {
	branches, cancel := workflow.WithCancel(ctx)
	defer cancel()
	failed := make([]string, len(step.Runs))
	left := len(step.Runs)
	for i, run := range step.Runs {
		workflow.Go(branches, func(ctx workflow.Context) {
			defer func() { left-- }()
			res, err := p.runChild(ctx, run)
			if err != nil && !temporal.IsCanceledError(err) {
				failed[i] = clip(err.Error(), 1000)
			}
			if step.OnFailure == "" { // it is the step
				return
			}
			p.branchEnded(ctx, i+1, failed[i])
			if step.OnFailure == flow.FailureStops && (err != nil || res.Status == agent.RunFailed || res.Status == agent.RunAborted) {
				cancel()
			}
		})
	}
	free, stop := workflow.NewDisconnectedContext(ctx) // an abort cancels the branches, and waits for them
	defer stop()
	_ = workflow.Await(free, func() bool { return left == 0 })
	return failed
}

func workflowOf(run activities.ChildRun) string {
	if run.Workflow {
		return PipelineName
	}
	return AgentRunName
}

// branchEnded puts the end of a branch into the record. What can't be written is told with the end of the step.
func (p *pipeline) branchEnded(ctx workflow.Context, branch int, failed string) {
	free, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	err := p.endBranch(free, activities.EndBranchInput{RunID: p.in.RunID, Step: p.st.Turn + 1, Branch: branch, Failed: failed})
	if err != nil {
		workflow.GetLogger(ctx).Error("the end of a branch could not be recorded", "run_id", p.in.RunID, "branch", branch, "error", err)
	}
}

// atWork names the runs of the stages that are at work.
func (r *agentRun) atWork() string {
	if len(r.children) == 0 {
		return ""
	}
	names := make([]string, len(r.children))
	for i, c := range r.children {
		names[i] = string(c.id)
	}
	return ", " + strings.Join(names, " or ")
}
