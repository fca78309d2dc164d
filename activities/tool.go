package activities

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/google/uuid"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/permission"
	"holdpoint/tool"
)

// RunTool runs one call, at most once: it decides again with fresh rules, checks that what people approved is
// what is about to run and is still enough, claims the execution in the ledger, executes, and stores the
// result. Where it can't go on without a person it returns an interaction instead.
func (a *Activities) RunTool(ctx context.Context, in RunToolInput) (RunToolResult, error) {
	a.calls.Add(1)
	defer a.calls.Add(-1)
	stop := heartbeat(ctx)
	defer stop()
	return (&execution{a: a, in: in, claim: uuid.NewString()}).carry(ctx)
}

// carry takes the call as far as this attempt gets.
func (x *execution) carry(ctx context.Context) (RunToolResult, error) {
	a := x.a
	if err := x.ready(ctx); err != nil {
		return RunToolResult{}, err
	}
	a.at(PointBeforeClaim)
	var out *RunToolResult
	err := a.Store.Write(ctx, func(tx Tx) (err error) {
		out, err = x.claimIn(ctx, tx)
		return err
	})
	if err != nil {
		return RunToolResult{}, err
	}
	if x.unknown {
		a.observer().Unknown(x.impl.Definition().Name)
	}
	if x.granted {
		told := a.tellRuns(ctx, x.run.UserID)
		defer told()
	}
	if out != nil {
		a.at(PointResultStored)
		return *out, nil
	}
	a.at(PointClaimed)
	if child := x.child(); child != nil {
		return RunToolResult{Child: child}, nil
	}
	outcome := x.runOnce(ctx)
	if x.quick && ctx.Err() != nil {
		return RunToolResult{}, errLeft // whatever it says of itself, it was stopped by its limit here and not by a person
	}
	a.at(PointEffectDone)
	res, err := x.store(ctx, outcome)
	if err == nil {
		a.at(PointResultStored)
	}
	return res, err
}

func derefTool(r *RunToolResult) RunToolResult {
	if r == nil {
		return RunToolResult{}
	}
	return *r
}

// execution is one attempt of RunTool.
type execution struct {
	a     *Activities
	in    RunToolInput
	claim string // ours alone, so that a commit whose answer was lost is recognised
	quick bool   // in the middle of a workflow task

	// Found out by prepare, outside the transaction.
	ag      agent.Agent
	run     agent.Run
	rec     tool.Record
	asked   interaction.Interaction // what the approval answered
	told    interaction.Interaction // what the answer answered
	impl    tool.Tool
	known   bool
	args    []byte // what is about to run: the model's, or a reviewer's
	edited  bool
	base    string
	preview string
	invalid string // what is wrong with edited arguments
	verdict *verdict
	gate    outputGate
	answer  *interaction.Response // to what the tool asked
	sealed  map[string]string     // the secrets in it, encrypted, by place
	hidden  []string              // and open: they go to the tool alone

	// Set by the claim.
	entry    tool.Execution
	granted  bool // the approval left a grant behind
	unknown  bool // nobody knows how the execution before ended
	decide   permission.Decision
	still    *standstill // while it runs
	running  context.Context
	inquired atomic.Int32 // questions that it asked while it ran
}

// prepare reads what the claim needs and does the slow part, reading files, before the transaction.
func (x *execution) prepare(ctx context.Context) error {
	var rules inForce
	err := x.a.Store.Write(ctx, func(tx Tx) (err error) {
		if x.ag, err = agentOf(ctx, tx, x.in.AgentDigest); err != nil {
			return err
		}
		x.ag = x.a.here(x.ag)
		if x.rec, err = callOf(ctx, tx, x.in.CallID); err != nil {
			return err
		}
		if x.in.Approval != nil {
			if x.asked, _, err = tx.Interaction(ctx, x.in.Approval.InteractionID); err != nil {
				return err
			}
		}
		if x.in.Answer != nil {
			if x.told, _, err = tx.Interaction(ctx, x.in.Answer.InteractionID); err != nil {
				return err
			}
		}
		if x.args, err = x.approvedArgs(ctx, tx); err != nil {
			return err
		}
		x.edited = !bytes.Equal(x.args, x.rec.Call.Args)
		if err = x.readAnswer(ctx, tx); err != nil {
			return err
		}
		if x.run, _, err = lockRun(ctx, tx, x.in.RunID); err != nil {
			return err
		}
		rules, err = x.a.rulesFor(ctx, tx, x.run, x.ag)
		return err
	})
	if err != nil {
		return err
	}
	var def tool.Definition
	x.impl, def, x.known = x.a.toolOf(x.ag, x.rec.Call.Name)
	if !x.known {
		return nil
	}
	x.verdict = &verdict{rules.key, x.a.judge(rules, x.run, x.ag, def, x.args)}
	if bad := x.a.Validate(def, x.args); bad != nil {
		x.invalid = bad.Error()
		return nil
	}
	if marked := interaction.CheckMarks(x.args); marked != nil && x.edited { // sent past the bridge, which refuses it
		x.invalid = marked.Error()
		return nil
	}
	x.gate = x.a.outputGateOf(x.run, x.ag, def, x.args)
	call := x.rec.Call
	call.Args, call.Workspace = x.args, x.ag.Workspace
	x.base, x.preview = based(ctx, x.impl, call)
	return nil
}

func callOf(ctx context.Context, tx Tx, id interaction.CallID) (tool.Record, error) {
	rec, found, err := tx.Call(ctx, id)
	if err != nil {
		return rec, fmt.Errorf("call %s: %w", id, err)
	}
	if !found {
		return rec, permanent(CodeInternal, "call %s is not in the store", id)
	}
	return rec, nil
}

// claimIn decides and claims. A non-nil result ends the activity without executing.
func (x *execution) claimIn(ctx context.Context, tx Tx) (*RunToolResult, error) {
	run, _, err := lockRun(ctx, tx, x.in.RunID)
	if err != nil {
		return nil, err
	}
	x.run, x.unknown = run, false
	if x.rec, err = callOf(ctx, tx, x.in.CallID); err != nil {
		return nil, err
	}
	w := &callWriter{ctx: ctx, tx: tx, rec: &x.rec, now: x.a.Now()}
	if err := w.closeAnswered(x.in.Approval, x.rec.Call.Args, x.args, x.edited); err != nil {
		return nil, err
	}
	if err := w.closeAnswered(x.in.Answer, nil, nil, false); err != nil {
		return nil, err
	}
	if err := w.closeAnswered(x.in.Released, nil, nil, false); err != nil {
		return nil, err
	}
	if x.rec.Result != nil { // what people answered is recorded all the same
		head, err := w.flush()
		return &RunToolResult{Status: x.rec.Result.Status, Head: head}, err
	}
	entry, begun, err := tx.Execution(ctx, x.in.CallID)
	if err != nil {
		return nil, err
	}
	if begun && entry.State == tool.StateStarted && entry.Claim == x.claim {
		x.entry = entry // our own claim, committed although its answer was lost
		return nil, nil
	}
	if open, err := w.stillAsked(); open != nil || err != nil {
		return open, err
	}
	if begun && entry.State == tool.StateHeld {
		return x.release(ctx, tx, w, entry)
	}
	if !x.known {
		return w.finish(tool.Result{Status: tool.StatusError, Content: x.a.gone(x.ag, x.rec.Call.Name)})
	}
	if x.decide, err = x.a.decide(ctx, tx, x.run, x.ag, x.impl.Definition(), x.args, entry.Grants, x.verdict); err != nil {
		return nil, err
	}
	if begun && entry.State == tool.StateStarted && !x.mayRunAgain(entry) {
		x.unknown = true
		return x.askOutcome(w, entry)
	}
	if stop, err := x.check(w); stop != nil || err != nil {
		return stop, err
	}
	if err := x.keepApproval(ctx, tx, w); err != nil {
		return nil, err
	}
	if !begun {
		if kept, err := x.kept(ctx, tx); err != nil {
			return nil, err
		} else if kept != nil && x.gate.waits(*kept) { // it was released to an earlier call, not to this one
			return w.hold(x.run, x.ag, tool.Execution{CallID: x.in.CallID, RunID: x.in.RunID, Attempt: 1, StartedAt: w.now}, x.args, *kept, x.gate)
		} else if kept != nil {
			return w.finish(*kept)
		}
	}
	return nil, x.take(ctx, tx, w, entry, begun)
}

// check holds the call against the rules and approvals as they stand now. A non-nil result stops it.
func (x *execution) check(w *callWriter) (*RunToolResult, error) {
	d := x.decide
	if d.Effect == permission.Deny {
		var by interaction.ID
		if x.in.Approval != nil {
			by = x.in.Approval.InteractionID
		}
		w.emit(event.ToolAuthDenied, deniedData(x.rec.Call, d, by))
		return w.finish(*deniedResult(d))
	}
	switch {
	case x.invalid != "" && x.edited:
		return x.reask(w, "the edited arguments were not accepted ("+x.invalid+")")
	case x.invalid != "" && x.in.Approval != nil:
		return x.reask(w, "the tool has changed and does not take these arguments any more ("+x.invalid+")")
	case x.invalid != "":
		return w.finish(tool.Result{Status: tool.StatusError, Content: fmt.Sprintf("The tool has changed and does not take these arguments any more, so the call was not made: %s.", x.invalid)})
	}
	if d.Effect == permission.Allow && x.in.Approval == nil {
		return nil, nil
	}
	if why := x.unbound(); why != "" {
		return x.reask(w, why)
	}
	if d.Effect == permission.Allow {
		return nil, nil
	}
	ok, why := enough(d.Approval, requester(x.run), x.asked, x.in.Approval, x.a.Now())
	if !ok && x.in.Approval == nil && x.in.Released != nil {
		why = "the rule by which it was to run without an answer does not allow it any more"
	}
	if !ok {
		return x.reask(w, why)
	}
	return nil, nil
}

func (x *execution) reask(w *callWriter, why string) (*RunToolResult, error) {
	if !x.ag.EnableHITL {
		return w.finish(*unapproved(x.decide))
	}
	return w.ask(x.again(why))
}

// unbound says why an approval does not cover what is about to run; "" if it does. An approval is bound to the
// digest of exactly the tool and arguments the reviewer saw, and to the file an edit is based on.
func (x *execution) unbound() string {
	if x.in.Approval == nil {
		return ""
	}
	asked := x.asked.Request
	if asked.ToolCallID != x.rec.Call.ID || asked.ID != x.in.Approval.InteractionID {
		return "the approval was given for another call"
	}
	if asked.ToolDigest != "" && asked.ToolDigest != toolDigest(x.impl.Definition()) {
		return "the tool has changed since it was shown"
	}
	if x.base == baseUnreadable || asked.Base != x.base {
		return "the file has changed since it was shown"
	}
	if x.in.Approval.Action == interaction.ActionModifyArgs {
		return "" // bound by the digest of the reviewer's own arguments, checked when they were read
	}
	if asked.Digest != interaction.Digest(x.rec.Call.Name, x.args, x.base) {
		return "what was approved is not what is about to run"
	}
	return ""
}

// take writes the claim.
func (x *execution) take(ctx context.Context, tx Tx, w *callWriter, entry tool.Execution, begun bool) error {
	next := tool.Execution{CallID: x.in.CallID, RunID: x.in.RunID, Attempt: 1, State: tool.StateStarted, Claim: x.claim,
		Worker: x.a.Worker, Digest: interaction.Digest(x.rec.Call.Name, x.args, x.base), StartedAt: w.now}
	if begun {
		next.Attempt, next.Phase, next.Grants = entry.Attempt+1, entry.Phase, entry.Grants
	}
	if err := x.useGrants(ctx, tx, &next); err != nil {
		return err
	}
	if x.in.Approval != nil {
		next.Interact = x.in.Approval.InteractionID
		w.emit(event.ExecutionResumed, event.ResumedData{InteractionID: next.Interact, ToolCallID: x.in.CallID})
	}
	x.entry = next
	if err := tx.SaveExecution(ctx, next); err != nil {
		return err
	}
	if x.edited {
		x.rec.Edited = x.args
		if err := tx.UpdateCall(ctx, x.rec); err != nil {
			return err
		}
	}
	_, err := w.flush()
	return err
}
