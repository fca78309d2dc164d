package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"holdpoint/event"
	"holdpoint/flow"
	"holdpoint/interaction"
)

// TakeStage finds out what a step of a workflow of agents is: its condition is evaluated and its text filled in here, once,
// so that what the workflow does never depends on what is evaluated again.
func (a *Activities) TakeStage(ctx context.Context, in TakeStageInput) (TakeStageResult, error) {
	var out TakeStageResult
	err := a.Store.Write(ctx, func(tx Tx) error {
		s, err := a.stager(ctx, tx, in.RunID, in.AgentDigest, in.Step)
		if err != nil {
			return err
		}
		var taken stageTaken
		found, err := s.read(takenTurn(s.step), &taken)
		if err == nil && !found {
			taken, err = s.take()
		}
		out = taken.Result
		return err
	})
	if err == nil {
		a.at(PointStageStored)
	}
	return out, err
}

func (s *stager) take() (stageTaken, error) {
	scope, err := s.scope()
	if err != nil {
		return stageTaken{}, err
	}
	taken, err := s.decide(scope)
	var wrong *conditionError
	if errors.As(err, &wrong) {
		taken, err = stageTaken{Result: TakeStageResult{Ended: true, Stopped: &Stopped{Code: CodeCondition, Message: wrong.Error()}}}, nil
	}
	if err != nil {
		return taken, err
	}
	if taken.Result.Head, err = s.flush(); err != nil {
		return taken, err
	}
	return taken, s.write(takenTurn(s.step), taken)
}

// decide says what the step is: the end, a stage, or the branches.
func (s *stager) decide(scope flow.Scope) (stageTaken, error) {
	iteration, n := s.flow.Position(s.step)
	if n == 0 {
		ended, taken, err := s.ended(iteration, scope)
		if err != nil || ended {
			return taken, err
		}
		if s.flow.Kind == flow.KindLoop {
			s.emit(event.IterationStarted, "iteration", event.StageData{})
		}
	}
	if s.flow.Kind == flow.KindParallel {
		return s.branches(scope)
	}
	stage := s.flow.Stages[n]
	runs, err := condition(stage.Name+".when", stage.When, scope)
	switch {
	case err != nil:
		return stageTaken{}, err
	case !runs:
		s.emit(event.StageSkipped, "end", event.StageData{Stage: stage.Name, Reason: "its condition does not hold: " + stage.When})
		latest := s.before
		latest.Output = ""
		return stageTaken{Result: TakeStageResult{Skipped: true}}, s.write(endedTurn(s.step), latest)
	case stage.Gate != nil:
		return s.ask(stage, scope)
	}
	child := s.child(stage, 1)
	s.emit(event.StageStarted, "start", event.StageData{Stage: stage.Name, Agent: child.Agent, StageRunID: child.RunID})
	return stageTaken{Result: TakeStageResult{Runs: []ChildRun{child}}, Inputs: []string{text(stage, scope)}}, nil
}

// ended says whether the run has gone through all its stages as often as it should. Its output is then in its row.
func (s *stager) ended(iteration int, scope flow.Scope) (bool, stageTaken, error) {
	over := iteration >= s.flow.Iterations()
	met := false
	if s.flow.Kind == flow.KindLoop && s.flow.Until != "" && iteration > 0 {
		scope.Iteration = iteration // the condition is about the one that has just ended
		var err error
		if met, err = condition("until", s.flow.Until, scope); err != nil {
			return false, stageTaken{}, err
		}
	}
	if !over && !met {
		return false, stageTaken{}, nil
	}
	end := TakeStageResult{Ended: true}
	if s.flow.Until != "" && !met && s.flow.AtLimit != flow.LimitCompletes {
		end.Stopped = &Stopped{Code: CodeMaxIterations,
			Message: fmt.Sprintf("the loop %s went through its %d iterations, its limit, and until did not hold", s.ag.Name, iteration)}
		return true, stageTaken{Result: end}, nil
	}
	s.run.Output = scope.Previous
	return true, stageTaken{Result: end}, s.tx.UpdateRun(s.ctx, s.run)
}

// branches are all stages whose conditions hold, at once.
func (s *stager) branches(scope flow.Scope) (stageTaken, error) {
	taken := stageTaken{Result: TakeStageResult{OnFailure: s.flow.OnFailure}}
	for i, stage := range s.flow.Stages {
		runs, err := condition(stage.Name+".when", stage.When, scope)
		if err != nil {
			return taken, err
		}
		if !runs {
			s.emit(event.StageSkipped, fmt.Sprintf("skip-%d", i), event.StageData{Stage: stage.Name, Reason: "its condition does not hold: " + stage.When})
			continue
		}
		child := s.child(stage, len(taken.Inputs)+1)
		s.emit(event.BranchStarted, fmt.Sprintf("start-%d", i), event.StageData{Stage: stage.Name, Agent: child.Agent, StageRunID: child.RunID})
		taken.Result.Runs = append(taken.Result.Runs, child)
		taken.Inputs = append(taken.Inputs, text(stage, scope))
	}
	if len(taken.Inputs) == 0 {
		taken.Result.Skipped = true
		return taken, s.write(endedTurn(s.step), s.before)
	}
	return taken, nil
}

// ask opens a gate stage's interaction.
func (s *stager) ask(stage flow.Stage, scope flow.Scope) (stageTaken, error) {
	shown := text(stage, scope)
	req := s.question(stage, shown)
	open := interaction.Open(req, s.now)
	if err := s.tx.SaveInteraction(s.ctx, open); err != nil {
		return stageTaken{}, fmt.Errorf("interaction %s: %w", req.ID, err)
	}
	s.emit(event.StageStarted, "start", event.StageData{Stage: stage.Name, Interact: req.ID})
	s.events = append(s.events, event.New(s.run.ID, event.InteractionRequest, s.now, open.Request),
		event.New(s.run.ID, event.ExecutionSuspended, s.now, event.SuspendedData{Interactions: []interaction.ID{req.ID}}))
	brief := open.Request.Brief()
	return stageTaken{Result: TakeStageResult{Gate: &brief}, Shown: shown}, nil
}

func (s *stager) question(stage flow.Stage, shown string) interaction.Request {
	req := interaction.Request{ID: interaction.ID(fmt.Sprintf("%s-%d-1-1", s.run.ID, s.step)), RunID: s.run.ID, SessionID: s.run.SessionID,
		Type: interaction.TypeToolApproval, Kind: interaction.KindStage, Requester: requester(s.run), AgentPath: s.path(stage),
		Title: stage.Gate.Title, Message: fmt.Sprintf("The workflow %s waits at its stage %s. Approved, it goes on with this output.", s.ag.Name, stage.Name),
		Details: shown, Risk: string(stage.Gate.Risk), Reason: "a gate of the workflow"}
	if req.Title == "" {
		req.Title = "Go on after " + s.ag.Name + "/" + stage.Name + "?"
	}
	req.Title = clip(interaction.Visible(req.Title), interaction.MaxTitleBytes)
	about, err := json.Marshal(shown)
	if err == nil { // a string always has a JSON form
		req.Digest = interaction.Digest(s.ag.Name+"/"+stage.Name, about, "")
	}
	applyApproval(&req, stage.Gate.Approval, s.now)
	return req
}

// text is what a stage gets.
func text(stage flow.Stage, scope flow.Scope) string {
	if strings.TrimSpace(stage.Input) == "" {
		return clip(scope.Previous, interaction.MaxMessageBytes)
	}
	return flow.Text(stage.Input, scope, interaction.MaxMessageBytes)
}

// conditionError is a condition that could not be evaluated. It is never taken for one that holds.
type conditionError struct{ message string }

func (e *conditionError) Error() string { return e.message }

func condition(name, source string, scope flow.Scope) (bool, error) {
	if source == "" {
		return true, nil
	}
	holds, err := flow.Holds(source, scope)
	if err != nil {
		return false, &conditionError{clip(fmt.Sprintf("the condition %s could not be evaluated: %v", name, err), 500)}
	}
	return holds, nil
}
