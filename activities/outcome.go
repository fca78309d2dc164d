package activities

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/tool"
)

// storePatience is how long a result is held while the store can't be reached. Losing it would turn a known
// effect into an unknown one.
const storePatience = 10 * time.Minute

// store writes what the tool returned. It goes on when the activity has been cancelled: the effect has happened.
func (x *execution) store(ctx context.Context, out tool.Outcome) (RunToolResult, error) {
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), storePatience)
	defer cancel()
	if x.quick { // nothing is lost with what it has read
		lasting = ctx
	}
	x.gate = x.a.outputGateOf(x.run, x.ag, x.impl.Definition(), x.args)
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		var res *RunToolResult
		err := x.a.Store.Write(lasting, func(tx Tx) (err error) {
			res, err = x.storeIn(lasting, tx, out)
			return err
		})
		if err == nil {
			return derefTool(res), nil
		}
		x.log(ctx).Error("a tool's result could not be stored", "error", err)
		select {
		case <-lasting.Done():
			return RunToolResult{}, fmt.Errorf("result of call %s: %w", x.in.CallID, err)
		case <-time.After(wait):
		}
	}
}

func (x *execution) storeIn(ctx context.Context, tx Tx, out tool.Outcome) (*RunToolResult, error) {
	run, head, err := lockRun(ctx, tx, x.in.RunID)
	if err != nil {
		return nil, err
	}
	if x.rec, err = callOf(ctx, tx, x.in.CallID); err != nil {
		return nil, err
	}
	if x.rec.Result != nil {
		return &RunToolResult{Status: x.rec.Result.Status, Head: head}, nil
	}
	entry, _, err := tx.Execution(ctx, x.in.CallID)
	if err != nil {
		return nil, err
	}
	if entry.Claim != x.claim && entry.State == tool.StateStarted {
		return x.late(ctx, tx)
	}
	w := &callWriter{ctx: ctx, tx: tx, rec: &x.rec, now: x.a.Now()}
	if e := x.boundary(run); e != nil {
		w.events = append(w.events, *e)
	}
	if x.inquired.Load() > 0 {
		if err := w.endInquiries("the call ended without the answer"); err != nil {
			return nil, err
		}
	}
	if out.Request != nil {
		entry.State, entry.Phase = tool.StateAsked, entry.Phase+1
		if err := tx.SaveExecution(ctx, entry); err != nil {
			return nil, err
		}
		if !x.ag.EnableHITL {
			return w.finish(unanswered(*out.Request))
		}
		q := x.toolQuestion(*out.Request)
		if err := interaction.Open(q, w.now).Request.Validate(); err != nil {
			return w.finish(tool.Result{Status: tool.StatusError, Content: "The tool asked what can't be put to a person: " + err.Error()})
		}
		if q.HasSecret() && x.a.Secrets == nil {
			return w.finish(tool.Result{Status: tool.StatusError, Content: noKey})
		}
		return w.ask(q)
	}
	return x.storeResult(ctx, tx, w, entry, x.gate.silence(*out.Result))
}

// storeResult ends the call with what the tool returned, unless people must release that first.
func (x *execution) storeResult(ctx context.Context, tx Tx, w *callWriter, entry tool.Execution, res tool.Result) (*RunToolResult, error) {
	if x.edited {
		if err := remember(ctx, tx, x.rec, *x.in.Approval); err != nil {
			return nil, err
		}
	}
	if x.gate.waits(res) {
		entry.KeepAs = x.resultKey()
		return w.hold(x.run, x.ag, entry, x.args, res, x.gate)
	}
	entry.State, entry.EndedAt = tool.StateFinished, w.now
	if err := tx.SaveExecution(ctx, entry); err != nil {
		return nil, err
	}
	if err := x.keep(ctx, tx, res); err != nil {
		return nil, err
	}
	if x.edited {
		res.Content = editedNote(x.args) + res.Content
	}
	return w.finish(res)
}

// editedNote tells the model what ran in place of what it had asked for.
func editedNote(args []byte) string {
	return "A reviewer changed the arguments of this call. What ran: " + string(args) + "\n\n"
}

// late notes an effect that was reported after a person had it run again.
func (x *execution) late(ctx context.Context, tx Tx) (*RunToolResult, error) {
	e := event.New(x.in.RunID, event.Error, x.a.Now(), event.ErrorData{Code: "late_result",
		Message: fmt.Sprintf("An earlier execution of call %s ended after it was run again; both may have had an effect.", x.in.CallID)})
	e.Key = "late-" + x.claim
	head, err := tx.AppendEvents(ctx, x.in.RunID, e)
	return &RunToolResult{Status: tool.StatusUnknown, Head: head}, err
}

// approvedArgs returns the arguments that are about to run: the call's own; what an approved interaction showed;
// or what a reviewer made of them, in whichever way that was sent.
func (x *execution) approvedArgs(ctx context.Context, tx Tx) ([]byte, error) {
	ap := x.in.Approval
	if ap == nil || len(ap.Responses) == 0 {
		return x.rec.Call.Args, nil
	}
	if ap.Action != interaction.ActionModifyArgs {
		return x.asked.Request.ToolArgs, nil
	}
	return editedArgs(ctx, tx, ap.Responses[len(ap.Responses)-1])
}

// metaAttempt is the request's metadata key for the execution whose outcome is unknown.
const metaAttempt = "attempt"

// mayRunAgain reports whether a started execution may be run again: the tool is idempotent, or a person who was
// told of exactly this attempt said so.
func (x *execution) mayRunAgain(entry tool.Execution) bool {
	if x.impl.Definition().Idempotent {
		return true
	}
	ap := x.in.Approval
	return ap != nil && ap.Status == interaction.StatusAnswered && ap.Action == interaction.ActionApprove &&
		x.asked.Request.Kind == interaction.KindOutcomeUnknown &&
		x.asked.Request.Metadata[metaAttempt] == strconv.Itoa(entry.Attempt)
}

// askOutcome has people say what becomes of an effect that may or may not have happened. It is not tried again without them.
func (x *execution) askOutcome(w *callWriter, entry tool.Execution) (*RunToolResult, error) {
	if !x.ag.EnableHITL {
		return w.finish(unknownResult(interaction.Outcome{}))
	}
	return w.ask(x.unknownOutcome(entry))
}

// unknownOutcome asks what to do about an effect that may or may not have happened.
func (x *execution) unknownOutcome(entry tool.Execution) interaction.Request {
	r := request(x.run, x.ag, x.rec, interaction.TypeToolApproval, interaction.KindOutcomeUnknown)
	r.Title = clip("Outcome unknown: "+x.rec.Call.Name, interaction.MaxTitleBytes)
	r.Message = fmt.Sprintf("The worker %s stopped while this call ran (since %s). Whether it had its effect is not known. "+
		"Look at the system it touches before you decide.", interaction.Visible(entry.Worker), entry.StartedAt.UTC().Format(time.RFC3339))
	r.Reason = "the execution began and its end was never recorded"
	r.Risk = "high"
	r.ToolArgs = x.args
	r.Base = x.base
	r.Digest = interaction.Digest(x.rec.Call.Name, x.args, x.base)
	r.Metadata = map[string]string{metaAttempt: strconv.Itoa(entry.Attempt)}
	r.LinkedTo = entry.Interact
	applyApproval(&r, x.decide.Approval, x.a.Now())
	return r
}

// again asks anew because an approval is not enough, or not for this.
func (x *execution) again(why string) interaction.Request {
	call := x.rec.Call
	call.Args = x.args
	rec := x.rec
	rec.Call = call
	rec.Digest = interaction.Digest(call.Name, x.args, x.base)
	r := question(x.run, x.ag, rec, x.decide, taken{call: call, def: x.impl.Definition(), base: x.base, preview: x.preview}, x.a.Now())
	if why != "" {
		r.Message += " It is asked again: " + why + "."
	}
	switch {
	case x.in.Approval != nil:
		r.LinkedTo = x.in.Approval.InteractionID
	case x.in.Released != nil:
		r.LinkedTo = x.in.Released.InteractionID
	}
	return r
}

// toolQuestion completes the request that a tool returned.
func (x *execution) toolQuestion(q interaction.Request) interaction.Request {
	r := request(x.run, x.ag, x.rec, q.Type, interaction.KindTool)
	r.Title, r.Message, r.Details = clip(interaction.Visible(q.Title), interaction.MaxTitleBytes), q.Message, q.Details
	r.Placeholder, r.Required, r.Multiline, r.Multiple, r.Secret = q.Placeholder, q.Required, q.Multiline, q.Multiple, q.Secret
	r.ConfirmText, r.CancelText, r.Interactions, r.Metadata = q.ConfirmText, q.CancelText, q.Interactions, q.Metadata
	r.Options = withStandard(q.Options, r.Options)
	applyApproval(&r, x.decide.Approval, x.a.Now())
	return r
}

// withStandard puts the ways out that every request has after the tool's own options, whose ids come first.
func withStandard(own, standard []interaction.Option) []interaction.Option {
	out := slices.Clone(own)
	for _, s := range standard {
		if !slices.ContainsFunc(own, func(o interaction.Option) bool { return o.ID == s.ID }) {
			out = append(out, s)
		}
	}
	return out
}
