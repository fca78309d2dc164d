package activities

import (
	"context"
	"fmt"
	"time"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/llm"
)

// StartRun pins the agent's definition, stores the user's message and opens the run's record. A second
// execution finds the record and returns what the first one pinned.
func (a *Activities) StartRun(ctx context.Context, in StartRunInput) (StartRunResult, error) {
	ag, known := a.Definitions.Agent(in.Agent)
	unknown := permanent(CodeUnknownAgent, "no agent is named %q in this worker's configuration", in.Agent)
	var out StartRunResult
	err := a.Store.Write(ctx, func(tx Tx) error {
		run, err := fromParent(ctx, tx, newRun(in, a.Now()), in.Parent)
		if err != nil {
			return err
		}
		if _, err := tx.InsertRun(ctx, run); err != nil { // the bridge may have inserted it already
			return err
		}
		run, head, err := lockRun(ctx, tx, in.RunID)
		if err != nil {
			return err
		}
		if run.AgentDigest != "" {
			out, err = startedBefore(ctx, tx, run, head)
			return err
		}
		if !known {
			return nil // the row stays, for the run's end to be recorded in
		}
		out, err = a.openRecord(ctx, tx, run, ag)
		return err
	})
	if err == nil && out.AgentDigest == "" {
		return out, unknown
	}
	if err == nil {
		a.at(PointRunStored)
	}
	return out, err
}

func newRun(in StartRunInput, now time.Time) agent.Run {
	return agent.Run{ID: in.RunID, SessionID: in.SessionID, WorkflowID: in.WorkflowID, Agent: in.Agent, UserID: in.UserID,
		Requester: in.Requester, Input: in.Input, Metadata: in.Metadata, Status: agent.RunRunning, StartedAt: now}
}

func startedBefore(ctx context.Context, tx Tx, run agent.Run, head event.Head) (StartRunResult, error) {
	pinned, err := agentOf(ctx, tx, run.AgentDigest)
	if err != nil {
		return StartRunResult{}, err
	}
	return StartRunResult{AgentDigest: run.AgentDigest, MaxSteps: pinned.MaxSteps, Head: head}, nil
}

func (a *Activities) openRecord(ctx context.Context, tx Tx, run agent.Run, ag agent.Agent) (StartRunResult, error) {
	if ag.MaxSteps <= 0 && ag.Flow == nil {
		ag.MaxSteps = agent.DefaultMaxSteps
	}
	if run.UserID == "" {
		run.UserID = interaction.PrincipalID(ag.UserID)
	}
	run.AgentDigest = ag.Digest()
	if err := tx.SaveAgent(ctx, run.AgentDigest, ag); err != nil {
		return StartRunResult{}, err
	}
	if err := tx.UpdateRun(ctx, run); err != nil {
		return StartRunResult{}, err
	}
	seq, err := tx.NextSequence(ctx, run.SessionID)
	if err != nil {
		return StartRunResult{}, err
	}
	step := llm.Step{ID: interaction.StepID(fmt.Sprintf("%s-input", run.ID)), RunID: run.ID, SessionID: run.SessionID,
		Sequence: seq, Message: llm.Message{Role: llm.RoleUser, Content: run.Input}, CreatedAt: a.Now()}
	if err := tx.InsertStep(ctx, step); err != nil {
		return StartRunResult{}, err
	}
	head, err := tx.AppendEvents(ctx, run.ID,
		event.New(run.ID, event.RunStarted, a.Now(), event.RunStartedData{SessionID: run.SessionID, Agent: run.Agent,
			AgentDigest: run.AgentDigest, UserID: run.UserID, Input: run.Input, Metadata: run.Metadata}),
		event.New(run.ID, event.StepCompleted, a.Now(), stepData(step)))
	return StartRunResult{AgentDigest: run.AgentDigest, MaxSteps: ag.MaxSteps, Head: head}, err
}

// stepData is the event of a step that is neither a tool call nor a result.
func stepData(s llm.Step) event.StepCompletedData {
	return event.StepCompletedData{StepID: s.ID, Sequence: s.Sequence, Role: string(s.Message.Role), Content: s.Message.Content,
		ToolCallID: s.CallID, ToolName: s.Message.ToolName, Status: s.Message.ToolStatus}
}
