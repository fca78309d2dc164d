package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/flow"
	"holdpoint/interaction"
)

// What a run of a workflow of agents keeps stands among its turns: of each step what was taken, and how it ended.

func takenTurn(step int) int { return 2*step - 1 }
func endedTurn(step int) int { return 2 * step }

// stageTaken is a step as it was taken: what the workflow is told, and what its runs get.
type stageTaken struct {
	Result TakeStageResult `json:"result"`
	Inputs []string        `json:"inputs,omitempty"`
	// Shown is the output that a gate is about.
	Shown string `json:"shown,omitempty"`
}

// stageEnded is how a step ended. Latest has for each stage the step whose output is its last, 0 for none; Previous is
// the step of the last output of all.
type stageEnded struct {
	Output   string `json:"output,omitempty"`
	Latest   []int  `json:"latest"`
	Previous int    `json:"previous,omitempty"`
}

// stager works on one step in one transaction.
type stager struct {
	ctx    context.Context
	tx     Tx
	run    agent.Run
	ag     agent.Agent
	flow   flow.Flow
	step   int
	now    time.Time
	before stageEnded
	events []event.Event
}

func (a *Activities) stager(ctx context.Context, tx Tx, id interaction.RunID, digest string, step int) (*stager, error) {
	run, _, err := lockRun(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	ag, err := agentOf(ctx, tx, digest)
	if err != nil {
		return nil, err
	}
	if ag.Flow == nil || len(ag.Flow.Stages) == 0 || step < 1 {
		return nil, permanent(CodeInternal, "%s is no workflow of agents, or has no step %d", ag.Name, step)
	}
	s := &stager{ctx: ctx, tx: tx, run: run, ag: ag, flow: *ag.Flow, step: step, now: a.Now()}
	s.before.Latest = make([]int, len(s.flow.Stages))
	if step > 1 {
		found, err := s.read(endedTurn(step-1), &s.before)
		if err != nil || !found {
			return nil, fmt.Errorf("step %d of run %s (found %t): %w", step-1, id, found, err)
		}
	}
	return s, nil
}

func (s *stager) read(turn int, v any) (bool, error) { return readTurn(s.ctx, s.tx, s.run.ID, turn, v) }

func readTurn(ctx context.Context, tx Tx, run interaction.RunID, turn int, v any) (bool, error) {
	raw, found, err := tx.Turn(ctx, run, turn)
	if err != nil || !found {
		return false, err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return false, fmt.Errorf("turn %d of run %s: %w", turn, run, err)
	}
	return true, nil
}

func (s *stager) write(turn int, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.tx.SaveTurn(s.ctx, s.run.ID, turn, raw)
}

// emit adds an event, at most once for each key.
func (s *stager) emit(t event.Type, key string, data event.StageData) {
	data.Workflow = s.ag.Name
	if s.flow.Kind == flow.KindLoop {
		iteration, _ := s.flow.Position(s.step)
		data.Iteration = iteration + 1
	}
	e := event.New(s.run.ID, t, s.now, data)
	e.Key = fmt.Sprintf("stage-%d-%s", s.step, key)
	s.events = append(s.events, e)
}

// flush appends the events and sets the run's status by what is open.
func (s *stager) flush() (event.Head, error) {
	if !s.run.Status.Final() {
		if err := stand(s.ctx, s.tx, s.run, s.run.Status == agent.RunPaused); err != nil {
			return event.Head{}, err
		}
	}
	return s.tx.AppendEvents(s.ctx, s.run.ID, s.events...)
}

// scope is what conditions and texts read at the step.
func (s *stager) scope() (flow.Scope, error) {
	iteration, _ := s.flow.Position(s.step)
	out := flow.Scope{Input: s.run.Input, Previous: s.run.Input, Iteration: iteration + 1, Outputs: map[string]string{}}
	for i, step := range s.before.Latest {
		text, err := s.outputOf(step)
		if err != nil {
			return out, err
		}
		out.Outputs[s.flow.Stages[i].Name] = text
	}
	if s.before.Previous > 0 {
		text, err := s.outputOf(s.before.Previous)
		if err != nil {
			return out, err
		}
		out.Previous = text
	}
	return out, nil
}

func (s *stager) outputOf(step int) (string, error) {
	if step == 0 {
		return "", nil
	}
	var end stageEnded
	found, err := s.read(endedTurn(step), &end)
	if err != nil || !found {
		return "", fmt.Errorf("the output of step %d of run %s (found %t): %w", step, s.run.ID, found, err)
	}
	return end.Output, nil
}

// path leads to a stage.
func (s *stager) path(stage flow.Stage) []string {
	return append(slices.Clone(s.run.Path), s.ag.Name+"/"+stage.Name)
}

// child is the run of a stage, the branch counted from 1.
func (s *stager) child(stage flow.Stage, branch int) ChildRun {
	id := fmt.Sprintf("%s-%d-%d-sub", s.run.ID, s.step, branch)
	root := s.run.Root
	if root == "" {
		root = s.run.ID
	}
	return ChildRun{RunID: interaction.RunID(id), SessionID: interaction.SessionID(id), Agent: stage.Runs(), Workflow: stage.Workflow != "",
		Parent: ParentRun{RunID: s.run.ID, Root: root, Session: string(s.run.GrantSession()), Path: s.path(stage), Step: s.step, Branch: branch}}
}

// stageTask is the text that a stage's run gets.
func stageTask(ctx context.Context, tx Tx, p *ParentRun) (string, error) {
	var taken stageTaken
	found, err := readTurn(ctx, tx, p.RunID, takenTurn(p.Step), &taken)
	if err != nil {
		return "", err
	}
	if !found || p.Branch < 1 || p.Branch > len(taken.Inputs) {
		return "", permanent(CodeInternal, "step %d of run %s has no branch %d", p.Step, p.RunID, p.Branch)
	}
	return taken.Inputs[p.Branch-1], nil
}
