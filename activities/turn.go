package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

// taken is a call as it is taken in: what could be found out about it before the transaction.
type taken struct {
	call    tool.Call
	def     tool.Definition
	base    string // of what an edit is based on
	preview string
	fault   string // why it can't be carried out at all, for the model
	invalid string // what is wrong with its arguments; a deny is looked at first
	verdict *verdict
	// away: what it would do can only be seen on the machine where it runs, so it is asked about there.
	away bool
}

// takeIn looks at each call that the model asked for. Files are read here, outside the transaction.
func (a *Activities) takeIn(ctx context.Context, in CallModelInput, ag agent.Agent, reply llm.Reply) ([]taken, error) {
	calls := reply.Message.ToolCalls
	if len(calls) == 0 {
		return nil, nil
	}
	var run agent.Run
	var rules inForce
	err := a.Store.Write(ctx, func(tx Tx) (err error) {
		if run, _, err = lockRun(ctx, tx, in.RunID); err == nil {
			rules, err = a.rulesFor(ctx, tx, run, ag)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]taken, 0, len(calls))
	for i, c := range calls {
		t := taken{call: tool.Call{ID: callID(in.RunID, in.Turn, i+1), RunID: in.RunID, SessionID: in.SessionID,
			ProviderID: c.ProviderID, Name: c.Name, Workspace: ag.Workspace}}
		args, err := c.JSON()
		impl, def, known := a.toolOf(ag, c.Name)
		t.def, t.call.Args = def, args
		switch {
		case reply.Truncated: // what is there may be whole JSON by chance
			t.fault = "Your answer was cut off at its token limit, so this call was not made. Send it again, shorter."
		case i >= maxCallsPerTurn:
			t.fault = fmt.Sprintf("Too many tool calls in one turn: at most %d are carried out. Call this again later.", maxCallsPerTurn)
		case !known && a.missing(ag, c.Name) != "":
			t.fault = a.gone(ag, c.Name)
		case !known:
			t.fault = fmt.Sprintf("There is no tool named %q. The tools are: %s.", interaction.Visible(clip(c.Name, 100)), strings.Join(a.toolNames(ag), ", "))
		case err != nil:
			t.fault = fmt.Sprintf("The arguments are not valid JSON, so the call was not made: %v. Send one JSON object.", err)
		default:
			t.verdict = &verdict{rules.key, a.judge(rules, run, ag, def, args)}
			if bad := a.Validate(def, args); bad != nil {
				t.invalid = fmt.Sprintf("The arguments were not accepted, so the call was not made: %v.", bad)
			} else if t.verdict.decision.Effect != permission.Deny {
				if t.away = def.TaskQueue != "" && looks(impl); !t.away {
					t.base, t.preview = based(ctx, impl, t.call)
				}
			}
		}
		if err != nil {
			t.call.Args, _ = json.Marshal(c.Args) // kept as the text it was, for the record
		}
		out = append(out, t)
	}
	return out, nil
}

func (a *Activities) toolNames(ag agent.Agent) []string {
	var names []string
	tools, _ := a.offered(ag)
	for _, t := range tools {
		names = append(names, t.Definition().Name)
	}
	for _, callee := range ag.Agents {
		names = append(names, AgentToolPrefix+callee)
	}
	return names
}

// toolOf returns a tool that the agent may use.
func (a *Activities) toolOf(ag agent.Agent, name string) (tool.Tool, tool.Definition, bool) {
	if a.mayUse(ag, name) {
		if t, ok := a.Definitions.Tool(name); ok {
			return t, t.Definition(), true
		}
	}
	for _, t := range a.agentTools(ag) {
		if t.Definition().Name == name {
			return t, t.Definition(), true
		}
	}
	return nil, tool.Definition{}, false
}

// baseUnreadable stands for a base that could not be found out; it equals no other reading of it.
const baseUnreadable = "unreadable"

// looks reports whether a tool can show what it would do, or what that depends on.
func looks(t tool.Tool) bool {
	_, based := t.(tool.Based)
	_, previews := t.(tool.Previewer)
	return based || previews
}

// based asks a tool what its effect depends on and how it would look.
func based(ctx context.Context, t tool.Tool, c tool.Call) (base, preview string) {
	c.Outside = true // reading for the reviewer's eyes; whether it may run is decided elsewhere
	if b, ok := t.(tool.Based); ok {
		var err error
		if base, err = b.Base(ctx, c); err != nil {
			base = baseUnreadable
		}
	}
	if p, ok := t.(tool.Previewer); ok {
		var err error
		if preview, err = p.Preview(ctx, c); err != nil {
			preview = "No preview: " + err.Error()
		}
	}
	return base, preview
}

// storeTurn writes a turn: the texts that joined, the assistant's step, its calls.
func (a *Activities) storeTurn(ctx context.Context, tx Tx, in CallModelInput, ag agent.Agent, reply answered, calls []taken) (CallModelResult, error) {
	run, _, err := lockRun(ctx, tx, in.RunID)
	if err != nil {
		return CallModelResult{}, err
	}
	seq, err := tx.NextSequence(ctx, in.SessionID)
	if err != nil {
		return CallModelResult{}, err
	}
	w := &turnWriter{a: a, ctx: ctx, tx: tx, in: in, ag: ag, run: run, next: seq, now: a.Now()}
	if err := w.texts(); err != nil {
		return CallModelResult{}, err
	}
	w.events = append(w.events, withoutEvents(in.RunID, reply.without, w.now)...)
	if err := w.write(reply.Reply, calls); err != nil {
		return CallModelResult{}, err
	}
	return w.commit(reply.Reply)
}

// turnWriter gathers what one turn adds, so that everything goes into one transaction in one order.
type turnWriter struct {
	a      *Activities
	ctx    context.Context
	tx     Tx
	in     CallModelInput
	ag     agent.Agent
	run    agent.Run
	next   int64     // the next free sequence of the session
	now    time.Time // when the turn is stored: its deadlines count from here
	events []event.Event
	plans  []CallPlan
	asked  []interaction.ID
	// first has, for each call that asks what an earlier one of the turn asks, the index of that one.
	first map[int]int
	recs  []*tool.Record // of the turn's calls so far
	stop  *Stopped
}

func (w *turnWriter) step(id string, m llm.Message) llm.Step {
	s := llm.Step{ID: interaction.StepID(id), RunID: w.in.RunID, SessionID: w.in.SessionID, Sequence: w.next, Turn: w.in.Turn,
		Message: m, CreatedAt: w.a.Now()}
	w.next++
	return s
}

func (w *turnWriter) emit(t event.Type, data any) {
	w.events = append(w.events, event.New(w.in.RunID, t, w.a.Now(), data))
}

func (w *turnWriter) texts() error {
	for i, t := range w.in.Texts {
		s := w.step(fmt.Sprintf("%s-%d-text-%d", w.in.RunID, w.in.Turn, i+1), llm.Message{Role: llm.RoleUser, Content: t.Text})
		if err := w.tx.InsertStep(w.ctx, s); err != nil {
			return err
		}
		w.emit(event.StepCompleted, stepData(s))
	}
	return nil
}

// write stores the assistant's step first, so that its event precedes those of its calls.
func (w *turnWriter) write(reply llm.Reply, calls []taken) error {
	for i := range reply.Message.ToolCalls {
		reply.Message.ToolCalls[i].ID = calls[i].call.ID
	}
	s := w.step(fmt.Sprintf("%s-%d", w.in.RunID, w.in.Turn), reply.Message)
	s.Usage = reply.Usage
	if err := w.tx.InsertStep(w.ctx, s); err != nil {
		return err
	}
	decisions := make([]permission.Decision, len(calls))
	data := stepData(s)
	for i, c := range calls {
		var err error
		if decisions[i], err = w.decide(c); err != nil {
			return err
		}
		data.ToolCalls = append(data.ToolCalls, event.ToolCallData{ID: c.call.ID, Name: c.call.Name, Args: c.call.Args,
			Effect: decisions[i].Effect.String(), Reason: decisions[i].Reason})
	}
	w.emit(event.StepCompleted, data)
	w.first = w.identical(calls, decisions)
	for i, c := range calls {
		if err := w.call(s.ID, i, c, decisions[i]); err != nil {
			return err
		}
	}
	return nil
}

// identical finds calls that would ask a person just what an earlier call of the turn asks.
func (w *turnWriter) identical(calls []taken, decisions []permission.Decision) map[int]int {
	first, seen := map[int]int{}, map[string]int{}
	for i, c := range calls {
		if c.fault != "" || c.invalid != "" || decisions[i].Effect != permission.Ask || !w.ag.EnableHITL {
			continue
		}
		key := callKey(c.call.Name, c.call.Args, c.base)
		if at, ok := seen[key]; ok && key != "" {
			first[i] = at
		} else {
			seen[key] = i
		}
	}
	return first
}

func (w *turnWriter) decide(c taken) (permission.Decision, error) {
	if c.fault != "" {
		return permission.Decision{Effect: permission.Deny, Reason: c.fault}, nil
	}
	return w.a.decide(w.ctx, w.tx, w.run, w.ag, c.def, c.call.Args, nil, c.verdict)
}

// call stores one call and what becomes of it: a result at once, a gate, or a plan to run it.
func (w *turnWriter) call(step interaction.StepID, index int, c taken, d permission.Decision) error {
	rec := &tool.Record{Call: c.call, Turn: w.in.Turn, Index: index + 1, Sequence: w.next,
		Digest: interaction.Digest(c.call.Name, c.call.Args, c.base)}
	w.next++
	w.recs = append(w.recs, rec)
	var err error
	if rec.Decision, err = json.Marshal(d); err != nil {
		return fmt.Errorf("decision on %s: %w", c.call.ID, err)
	}
	plan := CallPlan{CallID: c.call.ID, Tool: clip(c.call.Name, 100), TaskQueue: c.def.TaskQueue, Timeout: c.def.Timeout}
	var closed *tool.Result
	switch {
	case c.fault != "":
		closed = &tool.Result{Status: tool.StatusError, Content: c.fault}
	case d.Effect == permission.Deny:
		closed = w.denied(c, d)
	case c.invalid != "":
		closed = &tool.Result{Status: tool.StatusError, Content: c.invalid}
	case d.Effect == permission.Allow:
		plan.Next, plan.Quick = NextRun, quick(c.def)
	case !w.ag.EnableHITL:
		closed = unapproved(d)
	default:
		closed, err = w.ask(&plan, rec, step, c, d)
	}
	if err != nil {
		return err
	}
	if err := w.tx.InsertCall(w.ctx, *rec); err != nil {
		return err
	}
	if closed != nil {
		plan.Next, plan.Status = NextDone, closed.Status
		if err := w.close(rec, *closed); err != nil {
			return err
		}
	}
	w.plans = append(w.plans, plan)
	return nil
}

// ask has a person decide about a call, unless one has: it opens an interaction, joins that of an identical call of the
// turn, or closes the call with an earlier rejection.
func (w *turnWriter) ask(plan *CallPlan, rec *tool.Record, step interaction.StepID, c taken, d permission.Decision) (*tool.Result, error) {
	if at, ok := w.first[rec.Index-1]; ok {
		first := w.recs[at]
		if first.Result != nil {
			return first.Result, nil
		}
		plan.Next, rec.SharedWith = NextShared, first.Call.ID
		return nil, nil
	}
	key, memory, found, err := w.recall(c)
	if err != nil {
		return nil, err
	}
	if found && memory.Answered == tool.AnsweredRejected {
		return w.rejectedBefore(key, memory)
	}
	for i, at := range w.first {
		if at == rec.Index-1 {
			rec.Shared = append(rec.Shared, callID(w.in.RunID, w.in.Turn, i+1))
		}
	}
	slices.Sort(rec.Shared)
	if c.away {
		plan.Next = NextRun // RunTool asks
		return nil, nil
	}
	req := question(w.run, w.ag, *rec, d, c, w.now)
	req.StepID, req.SharedCallIDs = step, rec.Shared
	if found && memory.Answered == tool.AnsweredEdited {
		req.LinkedTo = memory.Interaction
		req.Message += " A reviewer" + named(interaction.Response{Reviewer: interaction.Principal{ID: memory.By}}) + " changed the arguments of this same call before."
	}
	plan.Next = NextGate
	plan.Interaction, err = w.open(rec, req)
	return nil, err
}

func (w *turnWriter) denied(c taken, d permission.Decision) *tool.Result {
	w.emit(event.ToolAuthDenied, deniedData(c.call, d, ""))
	return deniedResult(d)
}

func (w *turnWriter) open(rec *tool.Record, req interaction.Request) (*interaction.Request, error) {
	evs, brief, err := openInteraction(w.ctx, w.tx, rec, req, w.a.Now())
	w.events = append(w.events, evs...)
	if err == nil {
		w.asked = append(w.asked, brief.ID)
	}
	return brief, err
}

func (w *turnWriter) close(rec *tool.Record, res tool.Result) error {
	evs, err := storeResult(w.ctx, w.tx, rec, res, w.a.Now())
	w.events = append(w.events, evs...)
	return err
}

// commit writes the events, the run's row and the turn's result.
func (w *turnWriter) commit(reply llm.Reply) (CallModelResult, error) {
	out := CallModelResult{Calls: w.plans, Final: len(w.plans) == 0, Stopped: w.stop}
	if len(w.asked) > 0 {
		w.emit(event.ExecutionSuspended, event.SuspendedData{Interactions: w.asked})
		if w.run.Status != agent.RunPaused {
			w.run.Status = agent.RunAwaitingHuman
		}
	}
	if err := w.conclude(reply, &out); err != nil {
		return CallModelResult{}, err
	}
	if out.Final {
		w.run.Output = reply.Message.Content
	}
	if err := w.tx.UpdateRun(w.ctx, w.run); err != nil {
		return CallModelResult{}, err
	}
	var err error
	if out.Head, err = w.tx.AppendEvents(w.ctx, w.in.RunID, w.events...); err != nil {
		return CallModelResult{}, err
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return CallModelResult{}, fmt.Errorf("result of turn %d: %w", w.in.Turn, err)
	}
	if err := w.tx.SaveTurn(w.ctx, w.in.RunID, w.in.Turn, raw); err != nil {
		return CallModelResult{}, err
	}
	return out, w.tx.ClearDeltas(w.ctx, w.in.RunID, w.in.Turn)
}
