package activities

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/flow"
)

// stagesLeft are the ends of stages and branches that were announced and that the end of their run overtook, in whatever
// way it came. Those that have ended said so under the same keys, so that nothing ends twice.
func (a *Activities) stagesLeft(ctx context.Context, tx Tx, run agent.Run, in FinishRunInput) ([]event.Event, error) {
	if run.AgentDigest == "" {
		return nil, nil
	}
	ag, err := agentOf(ctx, tx, run.AgentDigest)
	if err != nil || ag.Flow == nil {
		return nil, err
	}
	s := &stager{ctx: ctx, tx: tx, run: run, ag: ag, flow: *ag.Flow, now: a.Now()}
	taken, err := s.last()
	if err != nil || s.step == 0 {
		return nil, err
	}
	left := cmp.Or(in.Note, in.Message)
	if taken.Result.Gate != nil {
		_, n := s.flow.Position(s.step)
		s.emit(event.StageCompleted, "end", event.StageData{Stage: s.flow.Stages[n].Name, Interact: taken.Result.Gate.ID,
			Status: string(in.Status), Reason: clip(left, 800)})
	}
	for i, child := range taken.Result.Runs {
		how, err := s.overtaken(child, in.Status, left)
		if err != nil {
			return nil, err
		}
		t, key := event.StageCompleted, "end"
		if s.flow.Kind == flow.KindParallel {
			t, key = event.BranchCompleted, fmt.Sprintf("end-%d", i+1)
		}
		_, name, _ := strings.Cut(lastOf(child.Parent.Path), "/")
		s.emit(t, key, event.StageData{Stage: name, Agent: child.Agent, StageRunID: child.RunID, Status: string(how.status), Reason: how.reason})
	}
	return s.events, nil
}

// overtaken is how a stage's run ended, or, where it never came to an end of its own, how its caller did.
func (s *stager) overtaken(child ChildRun, status agent.RunStatus, why string) (runEnd, error) {
	run, found, err := s.tx.Run(s.ctx, child.RunID)
	if err != nil || found && run.Status.Final() {
		end, err := s.endOf(child, "")
		return end, err
	}
	return runEnd{status: status, reason: clip(why, 800)}, nil
}

// last finds the step that was taken last, and makes it the stager's; 0 is none. Steps are taken one after the other, so
// it is looked for by halves.
func (s *stager) last() (stageTaken, error) {
	var taken stageTaken
	is := func(step int) (bool, error) {
		var t stageTaken
		found, err := s.read(takenTurn(step), &t)
		if found && step > s.step {
			s.step, taken = step, t
		}
		return found, err
	}
	beyond := 1
	for {
		found, err := is(beyond)
		if err != nil {
			return taken, err
		}
		if !found {
			break
		}
		beyond *= 2
	}
	for beyond-s.step > 1 {
		middle := s.step + (beyond-s.step)/2
		found, err := is(middle)
		if err != nil {
			return taken, err
		}
		if !found {
			beyond = middle
		}
	}
	return taken, nil
}
