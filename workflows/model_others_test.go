package workflows_test

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"holdpoint/activities"
	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/tool"
)

// What the world does beside calling tools one by one: calls that ask while they run, other agents, workflows of agents.

// askLive has a call ask in the middle of its work. It goes on once it knows how that ended, or gives up.
func (w *world) askLive(ctx context.Context, c *callState, id interaction.CallID) (activities.RunToolResult, error) {
	c.effects++
	c.runs = append(c.runs, w.now())
	c.token = activity.GetInfo(ctx).TaskToken
	q := w.ask(id, interaction.KindTool, liveRule)
	w.tell(q.RunID, activities.Inquiry{CallID: id, Claim: "claim", Request: q})
	if givesUp(id) {
		w.later(goneBy(*q).Sub(w.now()), func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if c.result == "" {
				w.tell(q.RunID, activities.Inquiry{CallID: id, Claim: "claim", Withdrawn: q.ID})
				w.endLiveCall(c)
			}
		})
	}
	return activities.RunToolResult{}, activity.ErrResultPending
}

func (w *world) endLive(id interaction.CallID) {
	if c := w.calls[id]; c.Fate == fateLive && c.token != nil && c.result == "" {
		w.endLiveCall(c)
	}
}

func (w *world) endLiveCall(c *callState) {
	c.result = tool.StatusSuccess
	w.ended(c.token, activities.RunToolResult{Status: c.result})
}

// handOver has another agent do the work.
func (w *world) handOver(c *callState, id interaction.CallID) (activities.RunToolResult, error) {
	if c.begun {
		w.complain("call %s handed its work over twice", id)
	}
	c.begun = true
	c.effects++
	c.runs = append(c.runs, w.now())
	run := interaction.RunID(id + "-sub")
	return activities.RunToolResult{Child: &activities.ChildRun{RunID: run, SessionID: interaction.SessionID(run), Agent: "other",
		Parent: activities.ParentRun{RunID: modelRun, CallID: id, Root: modelRun}}}, nil
}

func (w *world) resolveAgent(_ context.Context, in activities.ResolveAgentInput) (activities.ResolveCallResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.calls[in.CallID]
	if c.result != "" || !c.begun || in.Failed != "" || w.endOf(in.Child) == "" {
		w.complain("call %s was resolved (%+v) as %+v", in.CallID, in, c)
	}
	c.result = tool.StatusSuccess
	return activities.ResolveCallResult{Status: c.result}, nil
}

// endOf is how a run ended, "" while it goes on.
func (w *world) endOf(run interaction.RunID) agent.RunStatus {
	for _, end := range w.ends {
		if end.RunID == run {
			return end.Status
		}
	}
	return ""
}

// takeStage takes the next stage of a workflow of agents: a gate, or an agent, whose calls are those that it hands over.
func (w *world) takeStage(_ context.Context, in activities.TakeStageInput) (activities.TakeStageResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn = in.Step
	if in.Step > len(w.stages) {
		return activities.TakeStageResult{Ended: true}, nil
	}
	id := callID(in.Step, 1)
	if len(w.calls[id].Sub) == 0 {
		return activities.TakeStageResult{Gate: w.ask(id, interaction.KindStage, w.calls[id].Rule)}, nil
	}
	run := interaction.RunID(id + "-sub")
	return activities.TakeStageResult{Runs: []activities.ChildRun{{RunID: run, SessionID: interaction.SessionID(run), Agent: "other",
		Parent: activities.ParentRun{RunID: modelRun, Root: modelRun, Step: in.Step, Branch: 1}}}}, nil
}

func (w *world) endStage(_ context.Context, in activities.EndStageInput) (activities.EndStageResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := callID(in.Step, 1)
	c := w.calls[id]
	if len(c.Sub) > 0 {
		if w.endOf(interaction.RunID(id+"-sub")) == agent.RunAborted {
			return activities.EndStageResult{Aborted: "its run was stopped"}, nil
		}
		return activities.EndStageResult{}, nil
	}
	w.hand(in.Outcome)
	switch out := in.Outcome; {
	case out == nil:
		w.complain("stage %d is a gate, and how it closed was not said", in.Step)
	case votes(interaction.Response{Action: out.Action}) && out.Status == interaction.StatusAnswered:
		w.enough(id, *out)
		c.effects++
		c.result = tool.StatusSuccess
	default:
		c.result = tool.StatusRejected
		return activities.EndStageResult{Stopped: &activities.Stopped{Code: activities.CodeRejected, Message: fmt.Sprint(out.Status, out.Action)}}, nil
	}
	return activities.EndStageResult{}, nil
}

// goneBy is when a running call's question is waited for no longer.
func goneBy(a interaction.Request) time.Time {
	if a.Live && givesUp(a.ToolCallID) {
		return later(a.CreatedAt, givesUpAfter).Add(10 * time.Second) // not together with what people do
	}
	return time.Time{}
}
