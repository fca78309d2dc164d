package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/tool"
)

// An agent, or a workflow of agents, that an agent may call is a tool of that one, named agent_NAME, with a task as its
// argument. It runs as a child workflow, with a session of its own and its events in the stream of the run that a person
// started.

// AgentToolPrefix begins the names of the tools by which agents call one another.
const AgentToolPrefix = "agent_"

// maxAgentDepth bounds how many agents may stand between a person and the one that works.
const maxAgentDepth = 8

const taskSchema = `{"type":"object","properties":{"task":{"type":"string","minLength":1,"description":"What to do, with all that the agent must know: it sees nothing else of this conversation."}},"required":["task"],"additionalProperties":false}`

// agentTool stands for an agent among the tools. The workflow runs it.
type agentTool struct{ def tool.Definition }

func (t agentTool) Definition() tool.Definition { return t.def }

// Run is never entered: RunTool hands the call to the workflow.
func (t agentTool) Run(context.Context, tool.Call) (tool.Outcome, error) {
	return tool.Failure("An agent can't be run as a tool here."), nil
}

// agentTools are the agents that an agent may call, as tools.
func (a *Activities) agentTools(ag agent.Agent) []tool.Tool {
	var out []tool.Tool
	for _, name := range ag.Agents {
		callee, ok := a.Definitions.Agent(name)
		text := "Hands a task to the agent " + name + " and returns its answer."
		if ok && callee.Flow != nil {
			text = "Hands a task to several agents, the workflow " + name + ", and returns what comes out of it."
		}
		if ok && callee.Description != "" {
			text += " " + callee.Description
		}
		out = append(out, agentTool{tool.Definition{Name: AgentToolPrefix + name, Description: text, Schema: json.RawMessage(taskSchema),
			Resource: tool.ResourceArgs, Closed: true, Consent: tool.ConsentNever, Idempotent: true}})
	}
	return out
}

// ChildRun is the run of an agent, or of a workflow of agents, that another run called.
type ChildRun struct {
	RunID     interaction.RunID     `json:"run_id"`
	SessionID interaction.SessionID `json:"session_id"`
	Agent     string                `json:"agent"`
	Parent    ParentRun             `json:"parent"`
	Workflow  bool                  `json:"workflow,omitempty"` // it is a workflow of agents
}

// ParentRun says which call a run was made for. The task is in the call's arguments.
type ParentRun struct {
	RunID   interaction.RunID  `json:"run_id"`
	CallID  interaction.CallID `json:"call_id"`
	Root    interaction.RunID  `json:"root"`
	Session string             `json:"session"` // whose grants hold
	Path    []string           `json:"path"`    // of the agents above, the first called by a person
	// A stage of a workflow has these in place of a call: its step, from 1, and its place among the branches.
	Step   int `json:"step,omitempty"`
	Branch int `json:"branch,omitempty"`
}

// child returns the run that a claimed call asks for; nil for other tools.
func (x *execution) child() *ChildRun {
	if _, ok := x.impl.(agentTool); !ok {
		return nil
	}
	id := string(x.rec.Call.ID) + "-sub"
	root := x.run.Root
	if root == "" {
		root = x.run.ID
	}
	name := strings.TrimPrefix(x.rec.Call.Name, AgentToolPrefix)
	callee, _ := x.a.Definitions.Agent(name)
	return &ChildRun{RunID: interaction.RunID(id), SessionID: interaction.SessionID(id), Agent: name, Workflow: callee.Flow != nil,
		Parent: ParentRun{RunID: x.run.ID, CallID: x.rec.Call.ID, Root: root, Session: string(x.run.GrantSession()),
			Path: append(slices.Clone(x.run.Path), x.ag.Name)}}
}

// fromParent completes the record of a run that another run called.
func fromParent(ctx context.Context, tx Tx, run agent.Run, p *ParentRun) (agent.Run, error) {
	if p == nil {
		return run, nil
	}
	if len(p.Path) > maxAgentDepth {
		return run, permanent(CodeTooDeep, "%d agents called one another; at most %d may", len(p.Path)+1, maxAgentDepth)
	}
	task, err := taskOf(ctx, tx, p)
	if err != nil {
		return run, err
	}
	caller, _, err := tx.Run(ctx, p.RunID)
	if err != nil {
		return run, err
	}
	run.Input, run.Parent, run.Root, run.Path, run.RootSession = task, p.RunID, p.Root, p.Path, interaction.SessionID(p.Session)
	run.UserID, run.Requester = caller.UserID, caller.Requester // its agent's definition may have named them
	return run, nil
}

// taskOf is what a run that another run called is to do.
func taskOf(ctx context.Context, tx Tx, p *ParentRun) (string, error) {
	if p.Step > 0 {
		return stageTask(ctx, tx, p)
	}
	rec, err := callOf(ctx, tx, p.CallID)
	if err != nil {
		return "", err
	}
	args := rec.Call.Args
	if len(rec.Edited) > 0 {
		args = rec.Edited
	}
	var task struct {
		Task string `json:"task"`
	}
	if err := json.Unmarshal(args, &task); err != nil {
		return "", permanent(CodeInternal, "the task of call %s can't be read: %v", p.CallID, err)
	}
	return task.Task, nil
}

// AwaitAgentInput names the workflow of an agent's run.
type AwaitAgentInput struct {
	WorkflowID string `json:"workflow_id"`
}

// AwaitAgent returns when the run of a called agent has ended that the workflow can't wait for as its child: after a
// reset, the one that was called before works on.
func (a *Activities) AwaitAgent(ctx context.Context, in AwaitAgentInput) error {
	stop := heartbeat(ctx)
	defer stop()
	if a.Await == nil {
		return permanent(CodeInternal, "this worker can't wait for %s", in.WorkflowID)
	}
	return a.Await(ctx, in.WorkflowID)
}

// ResolveAgentInput ends a call of an agent with what became of its run.
type ResolveAgentInput struct {
	RunID  interaction.RunID  `json:"run_id"`
	CallID interaction.CallID `json:"call_id"`
	Child  interaction.RunID  `json:"child"`
	Failed string             `json:"failed,omitempty"` // why there is no record of how it ended
}

// ResolveAgent stores the result of a call of an agent.
func (a *Activities) ResolveAgent(ctx context.Context, in ResolveAgentInput) (ResolveCallResult, error) {
	var out ResolveCallResult
	err := a.Store.Write(ctx, func(tx Tx) error {
		run, head, err := lockRun(ctx, tx, in.RunID)
		if err != nil {
			return err
		}
		rec, err := callOf(ctx, tx, in.CallID)
		if err != nil {
			return err
		}
		out.Head = head
		if rec.Result != nil {
			out.Status = rec.Result.Status
			return nil
		}
		child, found, err := tx.Run(ctx, in.Child)
		if err != nil {
			return err
		}
		entry, begun, err := tx.Execution(ctx, in.CallID)
		if err != nil {
			return err
		}
		w := &callWriter{ctx: ctx, tx: tx, rec: &rec, now: a.Now()}
		res, err := a.answerOf(w, run, entry, begun, agentResult(child, found, in.Failed))
		if err == nil {
			out = ResolveCallResult{Status: res.Status, Interaction: res.Interaction, Head: res.Head}
		}
		return err
	})
	return out, err
}

// answerOf ends a call of an agent with its answer, unless people must release that first.
func (a *Activities) answerOf(w *callWriter, run agent.Run, entry tool.Execution, begun bool, told tool.Result) (*RunToolResult, error) {
	if open, err := w.stillAsked(); open != nil || err != nil {
		return open, err
	}
	ag, err := agentOf(w.ctx, w.tx, run.AgentDigest)
	if err != nil {
		return nil, err
	}
	args := w.rec.Call.Args
	if len(w.rec.Edited) > 0 {
		args = w.rec.Edited
	}
	if _, def, known := a.toolOf(ag, w.rec.Call.Name); begun && known {
		if g := a.outputGateOf(run, ag, def, args); g.waits(told) {
			return w.hold(run, ag, entry, args, told, g)
		}
	}
	if !begun {
		return w.finish(told)
	}
	return w.end(entry, told)
}

func agentResult(child agent.Run, found bool, failed string) tool.Result {
	switch {
	case found && child.Status == agent.RunCompleted:
		return tool.Result{Status: tool.StatusSuccess, Content: child.Output}
	case found && child.Status == agent.RunFailed:
		return tool.Result{Status: tool.StatusError, Content: fmt.Sprintf("The agent %s came to no answer (%s): %s", child.Agent, child.ErrorCode, child.Error)}
	case found && child.Status == agent.RunAborted:
		return tool.Result{Status: tool.StatusAborted, Content: sentence("The run of the agent "+child.Agent+" was stopped.", "Note", child.Error)}
	case failed != "":
		return tool.Result{Status: tool.StatusError, Content: "The agent could not be run: " + failed}
	default:
		return tool.Result{Status: tool.StatusError, Content: "The agent's run ended without a record of how."}
	}
}
