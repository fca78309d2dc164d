package activities

import (
	"context"
	"fmt"
	"strings"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/flow"
	"holdpoint/interaction"
)

// EndBranch records that a branch has ended.
func (a *Activities) EndBranch(ctx context.Context, in EndBranchInput) (EndBranchResult, error) {
	var out EndBranchResult
	err := a.Store.Write(ctx, func(tx Tx) error {
		run, _, err := lockRun(ctx, tx, in.RunID)
		if err != nil {
			return err
		}
		s := &stager{ctx: ctx, tx: tx, run: run, step: in.Step, now: a.Now()}
		var taken stageTaken
		found, err := s.read(takenTurn(in.Step), &taken)
		if err != nil {
			return err
		}
		if !found || in.Branch < 1 || in.Branch > len(taken.Result.Runs) {
			return permanent(CodeInternal, "step %d of run %s has no branch %d", in.Step, in.RunID, in.Branch)
		}
		child := taken.Result.Runs[in.Branch-1]
		end, err := s.endOf(child, in.Failed)
		if err != nil {
			return err
		}
		workflow, name, _ := strings.Cut(lastOf(child.Parent.Path), "/")
		s.ag.Name = workflow
		s.emit(event.BranchCompleted, fmt.Sprintf("end-%d", in.Branch), event.StageData{Stage: name, Agent: child.Agent, StageRunID: child.RunID,
			Status: string(end.status), Reason: end.reason})
		out.Head, err = s.flush()
		return err
	})
	return out, err
}

func lastOf(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return path[len(path)-1]
}

// EndStage records how a step ended and what came out of it, once.
func (a *Activities) EndStage(ctx context.Context, in EndStageInput) (EndStageResult, error) {
	var out EndStageResult
	err := a.Store.Write(ctx, func(tx Tx) error {
		s, err := a.stager(ctx, tx, in.RunID, in.AgentDigest, in.Step)
		if err != nil {
			return err
		}
		var taken stageTaken
		if found, err := s.read(takenTurn(s.step), &taken); err != nil || !found {
			return fmt.Errorf("step %d of run %s (found %t): %w", s.step, in.RunID, found, err)
		}
		var output string
		switch {
		case taken.Result.Gate != nil:
			output, out, err = s.endGate(taken, in.Outcome)
		case s.flow.Kind == flow.KindParallel:
			output, out, err = s.endBranches(taken, in.Failed)
		default:
			output, out, err = s.endRun(taken.Result.Runs[0], in.Failed)
		}
		if err != nil {
			return err
		}
		if err := s.keep(output, out); err != nil {
			return err
		}
		out.Head, err = s.flush()
		return err
	})
	return out, err
}

// keep stores the output of the step.
func (s *stager) keep(output string, how EndStageResult) error {
	var end stageEnded
	if found, err := s.read(endedTurn(s.step), &end); err != nil || found || how.Stopped != nil || how.Aborted != "" {
		return err
	}
	end = s.before
	_, n := s.flow.Position(s.step)
	end.Latest = append([]int(nil), s.before.Latest...)
	end.Latest[n], end.Previous, end.Output = s.step, s.step, bounded(output)
	return s.write(endedTurn(s.step), end)
}

// runEnd is how a stage's run ended.
type runEnd struct {
	status agent.RunStatus
	output string
	reason string
}

func (s *stager) endOf(child ChildRun, failed string) (runEnd, error) {
	run, found, err := s.tx.Run(s.ctx, child.RunID)
	switch {
	case err != nil:
		return runEnd{}, err
	case found && run.Status == agent.RunCompleted:
		return runEnd{status: run.Status, output: run.Output}, nil
	case found && run.Status == agent.RunFailed:
		return runEnd{status: run.Status, reason: clip(fmt.Sprintf("%s (%s)", run.Error, run.ErrorCode), 800)}, nil
	case found && run.Status == agent.RunAborted:
		return runEnd{status: run.Status, reason: clip(run.Error, 800)}, nil
	case failed != "":
		return runEnd{status: agent.RunFailed, reason: clip(failed, 800)}, nil
	default:
		return runEnd{status: agent.RunFailed, reason: "its run ended without a record of how"}, nil
	}
}

func (s *stager) endRun(child ChildRun, failed []string) (string, EndStageResult, error) {
	_, n := s.flow.Position(s.step)
	stage := s.flow.Stages[n]
	end, err := s.endOf(child, at(failed, 0))
	if err != nil {
		return "", EndStageResult{}, err
	}
	s.emit(event.StageCompleted, "end", event.StageData{Stage: stage.Name, Agent: child.Agent, StageRunID: child.RunID,
		Status: string(end.status), Reason: end.reason})
	return end.output, end.result(stage.Name), nil
}

// result says whether the run goes on after a stage that ended so.
func (e runEnd) result(stage string) EndStageResult {
	switch e.status {
	case agent.RunCompleted:
		return EndStageResult{}
	case agent.RunAborted:
		return EndStageResult{Aborted: clip("stage "+stage+" was stopped: "+e.reason, 1000)}
	default:
		return EndStageResult{Stopped: &Stopped{Code: CodeStageFailed, Message: clip("stage "+stage+" failed: "+e.reason, 1000)}}
	}
}

// endBranches joins the outputs of the branches under their names, in the order of the definition.
func (s *stager) endBranches(taken stageTaken, failed []string) (string, EndStageResult, error) {
	var joined strings.Builder
	var first, aborted *EndStageResult
	share := interaction.MaxMessageBytes / max(len(taken.Result.Runs), 1)
	for i, child := range taken.Result.Runs {
		end, err := s.endOf(child, at(failed, i))
		if err != nil {
			return "", EndStageResult{}, err
		}
		_, name, _ := strings.Cut(lastOf(child.Parent.Path), "/")
		text := end.output
		if res := end.result(name); res.Stopped != nil {
			text = "(This branch failed: " + end.reason + ")"
			if first == nil {
				first = &res
			}
		} else if res.Aborted != "" {
			text = "(This branch was stopped: " + end.reason + ")"
			if aborted == nil {
				aborted = &res
			}
		}
		fmt.Fprintf(&joined, "## %s\n\n%s\n\n", name, clip(text, share))
	}
	output := strings.TrimRight(joined.String(), "\n")
	switch {
	case s.flow.OnFailure == flow.FailureIncluded:
		return output, EndStageResult{}, nil
	case first != nil: // before what was stopped because of it
		return output, *first, nil
	case aborted != nil:
		return output, *aborted, nil
	}
	return output, EndStageResult{}, nil
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// endGate closes a gate's interaction. Only an answer that releases the output lets the run go on.
func (s *stager) endGate(taken stageTaken, out *interaction.Outcome) (string, EndStageResult, error) {
	if out == nil {
		return "", EndStageResult{}, permanent(CodeInternal, "step %d of run %s is a gate, and how it closed was not said", s.step, s.run.ID)
	}
	_, n := s.flow.Position(s.step)
	data, err := closeInteraction(s.ctx, s.tx, *out)
	if err != nil {
		return "", EndStageResult{}, err
	}
	if data != nil {
		s.events = append(s.events, event.New(s.run.ID, event.InteractionResponse, s.now, *data),
			event.New(s.run.ID, event.ExecutionResumed, s.now, event.ResumedData{InteractionID: out.InteractionID}))
	}
	output, res, status := gateEnd(s.flow.Stages[n].Name, taken.Shown, *out)
	ended := event.StageData{Stage: s.flow.Stages[n].Name, Interact: out.InteractionID, Status: status}
	if res.Stopped != nil {
		ended.Reason = res.Stopped.Message
	}
	s.emit(event.StageCompleted, "end", ended)
	return output, res, nil
}

func gateEnd(stage, shown string, out interaction.Outcome) (output string, res EndStageResult, status string) {
	var last interaction.Response
	if n := len(out.Responses); n > 0 {
		last = out.Responses[n-1]
	}
	answered := out.Status == interaction.StatusAnswered
	switch {
	case answered && out.Action == interaction.ActionApprove:
		return shown, res, string(agent.RunCompleted)
	case answered && out.Action == interaction.ActionRedact:
		return last.Text, res, string(agent.RunCompleted)
	case out.Status == interaction.StatusExpired:
		res.Stopped = &Stopped{Code: CodeExpired, Message: clip(fmt.Sprintf("stage %s: %s", stage, out.Reason), 1000)}
		return "", res, "expired"
	default:
		message := sentence(fmt.Sprintf("stage %s was rejected%s.", stage, named(last)), "Reason", last.Feedback, last.Note, out.Reason)
		res.Stopped = &Stopped{Code: CodeRejected, Message: clip(message, 1000)}
		return "", res, "rejected"
	}
}
