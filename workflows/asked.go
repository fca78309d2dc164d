package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/interaction"
)

// A call may ask people while it runs. Its activity stores the question and says so here by a signal; the gate is the
// same as any other, but nothing of the run waits at it: how it ended goes into the record, where the activity looks.

// askedSignal opens the gate of a running call's question, or closes one that is withdrawn.
func (r *agentRun) askedSignal(ctx workflow.Context, data []byte) {
	var q activities.Inquiry
	if err := interaction.Strict(data, &q); err != nil {
		r.refuse(MessageAsked, payloadID(data), err)
		return
	}
	if q.Request == nil {
		r.withdraw(ctx, q.CallID, q.Withdrawn)
		return
	}
	if err := r.mayAsk(q); err != nil {
		r.refuse(MessageAsked, payloadID(data), err)
		return
	}
	id := q.Request.ID
	if _, closed := r.st.closedInteraction(id); closed || r.find(id) != nil {
		return // told twice
	}
	r.endAsked(ctx, q.CallID, q.Claim, "the call was begun anew, and asks again")
	g := r.open(ctx, *q.Request)
	g.claim = q.Claim
}

// mayAsk refuses a question that is not of a call in flight: those of one that has ended are withdrawn in the record.
func (r *agentRun) mayAsk(q activities.Inquiry) error {
	if !slices.Contains(r.running, q.CallID) || q.Request.ToolCallID != q.CallID || q.Request.RunID != r.in.RunID || !q.Request.Live {
		return &interaction.Error{Code: interaction.CodeUnknown, Field: "tool_call_id", Message: fmt.Sprintf("no call %q runs that could ask this", clip(string(q.CallID), 200))}
	}
	if err := interaction.Open(*q.Request, q.Request.CreatedAt).Request.Validate(); err != nil {
		return err
	}
	return nil
}

// endAsked withdraws what a running call asks, but for what the attempt asks that has the claim.
func (r *agentRun) endAsked(ctx workflow.Context, call interaction.CallID, but, why string) {
	for _, g := range slices.Clone(r.gates) {
		if q := g.it.Request; q.Live && q.ToolCallID == call && (but == "" || g.claim != but) {
			if out, ok := g.it.Cancel(why, workflow.Now(ctx)); ok {
				r.decided(ctx, g, out)
			}
		}
	}
}

// withdraw closes one question of a running call.
func (r *agentRun) withdraw(ctx workflow.Context, call interaction.CallID, id interaction.ID) {
	if g := r.find(id); g != nil && g.it.Request.Live && g.it.Request.ToolCallID == call {
		if out, ok := g.it.Cancel("the call does not wait for it any more", workflow.Now(ctx)); ok {
			r.decided(ctx, g, out)
		}
	}
}
