package activities

import (
	"context"
	"fmt"
	"strings"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/permission"
	"holdpoint/tool"
)

// A rule about results has an output stay in the ledger until people release it: until then it is in no step, no event and
// no cache. The question about it carries the output, for those who may answer.

// outputGate says whether an output waits for people, and how they are asked. The zero value lets it through.
type outputGate struct {
	holds    bool
	decision permission.Decision
}

// outputGateOf decides what becomes of a call's output, by the rules about results as they stand now. No grant is looked
// at: none releases an output.
func (a *Activities) outputGateOf(run agent.Run, ag agent.Agent, def tool.Definition, args []byte) outputGate {
	if _, found := a.Definitions.Policy(ag.Policy); !found && ag.Policy != "" {
		return outputGate{true, permission.Decision{Effect: permission.Ask, Risk: permission.Risk(def.Risk),
			Reason: "the policy that this agent names can't be read, so nothing is released without a person"}}
	}
	rules := a.Definitions.Results(ag.Policy)
	if len(rules) == 0 || !ag.EnablePermissions {
		return outputGate{}
	}
	call := a.permissionCall(inForce{at: a.Now()}, run, ag, def, args)
	call.Ran, call.Tool.Consent = true, permission.ConsentNever
	named := false
	for _, r := range rules {
		named = named || r.Names(call.Tool)
	}
	if !named {
		return outputGate{}
	}
	d := decideBy(a.memory.results(ag.Policy, rules), call, true, true)
	return outputGate{d.Effect != permission.Allow, d}
}

// waits reports whether there is something to release.
func (g outputGate) waits(res tool.Result) bool {
	return g.holds && (res.Status == tool.StatusSuccess || res.Status == tool.StatusError) && strings.TrimSpace(res.Content) != ""
}

// silence keeps the output of a call that was stopped from telling what would have waited.
func (g outputGate) silence(res tool.Result) tool.Result {
	if g.holds && res.Status == tool.StatusAborted {
		res.Content = "The call was stopped while it ran. Its output would have needed a person's release, and was not kept."
	}
	return res
}

// hold keeps an output in the ledger and asks people about it.
func (w *callWriter) hold(run agent.Run, ag agent.Agent, entry tool.Execution, args []byte, res tool.Result, g outputGate) (*RunToolResult, error) {
	if !ag.EnableHITL {
		return w.finish(tool.Result{Status: tool.StatusWithheld, Content: "The call was made. Its output needs a person's release (" +
			g.decision.Reason + "), and this agent runs without people, so it was withheld. Go on without it."})
	}
	res.Content = bounded(res.Content)
	entry.State, entry.Held = tool.StateHeld, &res
	if err := w.tx.SaveExecution(w.ctx, entry); err != nil {
		return nil, err
	}
	return w.ask(w.outputQuestion(run, ag, entry, args, g, ""))
}

// outputQuestion asks what becomes of a held output.
func (w *callWriter) outputQuestion(run agent.Run, ag agent.Agent, entry tool.Execution, args []byte, g outputGate, why string) interaction.Request {
	r := request(run, ag, *w.rec, interaction.TypeToolApproval, interaction.KindResult)
	r.ToolArgs, r.SharedCallIDs = args, w.rec.Shared
	r.Title = clip("Release the output of "+w.rec.Call.Name+": "+interaction.Visible(string(args)), interaction.MaxTitleBytes)
	r.Message = fmt.Sprintf("The call has run (%s). The agent %s gets its output only if it is released: %s.", entry.Held.Status, ag.Name, strings.TrimSuffix(g.decision.Reason, "."))
	if entry.Held.CachedFrom != "" {
		r.Message += " It is the kept result of an equal call, " + string(entry.Held.CachedFrom) + "."
	}
	if why != "" {
		r.Message += " It is asked again: " + why + "."
	}
	r.Details, r.Digest = entry.Held.Content, outputDigest(w.rec.Call.Name, args, *entry.Held)
	r.Reason, r.Risk, r.LinkedTo = g.decision.Reason, string(g.decision.Risk), entry.Interact
	if g.decision.Matched != nil {
		r.MatchedRule = g.decision.Matched.Pattern
	}
	applyApproval(&r, g.decision.Approval, w.now)
	return r
}

// outputDigest stands for an output, and for the call that it is of.
func outputDigest(name string, args []byte, res tool.Result) string {
	return interaction.Digest(name, args, "output "+string(res.Status)+" "+fingerprint(res.Content))
}

// release gives a held output, or what a reviewer wrote in its place, to the model, if what people answered is for this very
// output and enough by the rules as they stand now. Otherwise they are asked again.
func (x *execution) release(ctx context.Context, tx Tx, w *callWriter, entry tool.Execution) (*RunToolResult, error) {
	if entry.Held == nil {
		return w.end(entry, withheld(interaction.Outcome{}))
	}
	def := Unconfigured(x.rec.Call.Name)
	if x.known {
		def = x.impl.Definition()
	}
	g := x.a.outputGateOf(x.run, x.ag, def, x.args)
	if why := x.unreleased(entry, g); why != "" {
		q := w.outputQuestion(x.run, x.ag, entry, x.args, g, why)
		if x.asked.Request.Kind == interaction.KindResult {
			q.LinkedTo = x.asked.Request.ID
		}
		return w.ask(q)
	}
	res := *entry.Held
	last := x.in.Approval.Responses[len(x.in.Approval.Responses)-1]
	if x.in.Approval.Action == interaction.ActionRedact {
		res = tool.Result{Status: res.Status, Content: "A reviewer" + named(last) + " replaced the output of this call. What follows is theirs:\n\n" + last.Text}
	} else if entry.KeepAs != "" && res.Status == tool.StatusSuccess {
		if err := tx.KeepResult(ctx, entry.KeepAs, x.in.CallID); err != nil {
			return nil, err
		}
	}
	return w.end(entry, res)
}

// unreleased says why what people answered does not release a held output; "" if it does.
func (x *execution) unreleased(entry tool.Execution, g outputGate) string {
	ap, asked := x.in.Approval, x.asked.Request
	switch {
	case ap == nil || asked.Kind != interaction.KindResult || asked.ID != ap.InteractionID || asked.ToolCallID != x.rec.Call.ID || len(ap.Responses) == 0:
		return "nobody has released it yet"
	case asked.Digest != outputDigest(x.rec.Call.Name, x.args, *entry.Held):
		return "what was released is not this output"
	}
	if ok, why := enough(g.decision.Approval, requester(x.run), x.asked, ap, x.a.Now()); !ok {
		return why
	}
	return ""
}

// end closes a call whose output was held: it is in the ledger no longer.
func (w *callWriter) end(entry tool.Execution, res tool.Result) (*RunToolResult, error) {
	entry.State, entry.Held, entry.EndedAt = tool.StateFinished, nil, w.now
	if err := w.tx.SaveExecution(w.ctx, entry); err != nil {
		return nil, err
	}
	if len(w.rec.Edited) > 0 {
		res.Content = editedNote(w.rec.Edited) + res.Content
	}
	return w.finish(res)
}

// withheld words the result of a call whose output nobody released.
func withheld(out interaction.Outcome) tool.Result {
	content := "The call was made. Nobody released its output, so it was withheld. Go on without it."
	switch {
	case out.Status == interaction.StatusExpired:
		content = "The call was made. Nobody released its output before the deadline, so it was withheld. Go on without it."
	case out.Status == interaction.StatusAnswered && len(out.Responses) > 0:
		last := out.Responses[len(out.Responses)-1]
		content = sentence("The call was made. A reviewer"+named(last)+" withheld its output. Go on without it.", "Note", last.Feedback)
	}
	return tool.Result{Status: tool.StatusWithheld, Content: content}
}

// dropHeld forgets the output of a call that ends without it.
func dropHeld(ctx context.Context, tx Tx, id interaction.CallID, w *callWriter, res tool.Result) (*RunToolResult, error) {
	entry, begun, err := tx.Execution(ctx, id)
	if err != nil {
		return nil, err
	}
	if !begun {
		return w.finish(res)
	}
	return w.end(entry, res)
}
