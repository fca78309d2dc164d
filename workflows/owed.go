package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"holdpoint/interaction"
)

// What people answered belongs into the record even where the end of the run comes before it could be carried out: an
// approval while the run was paused, one of the two votes that were needed, an answer to a question that never came.

// carriedOut notes that an activity has put the ends of interactions into the record.
func (r *agentRun) carriedOut(outcomes ...*interaction.Outcome) {
	for _, out := range outcomes {
		if out != nil {
			r.owed = slices.DeleteFunc(r.owed, func(o interaction.Outcome) bool { return o.InteractionID == out.InteractionID })
		}
	}
}

// maxOwedBytes bounds what the end of a run says of them: an activity's input above 2 MB would be the end of the workflow.
const maxOwedBytes = 1 << 20

// bounded are outcomes that fit: of those that don't, what was written along is left out, not who decided what.
func bounded(outcomes []interaction.Outcome) []interaction.Outcome {
	size := 0
	outcomes = slices.Clone(outcomes)
	for i, out := range outcomes {
		if size += sizesOf(out.Responses); size <= maxOwedBytes {
			continue
		}
		outcomes[i].Responses = nil
		for _, r := range out.Responses {
			outcomes[i].Responses = append(outcomes[i].Responses, interaction.Response{ID: r.ID, RequestID: r.RequestID, Action: r.Action,
				OptionID: r.OptionID, Reviewer: interaction.Principal{ID: r.Reviewer.ID}, RespondedAt: r.RespondedAt})
		}
	}
	return outcomes
}

// Runs from before this version ended without a word about answers that waited for a question.
const changeRefuseEarly = "refuse-early-answers-at-the-end"

// refuseEarly puts answers into the record that were kept for questions that do not come any more.
func (r *agentRun) refuseEarly(ctx workflow.Context) {
	if len(r.st.Early) == 0 || !r.since(ctx, changeRefuseEarly) {
		return
	}
	for _, resp := range r.st.Early {
		r.refuse(MessageRespond, resp.ID, &interaction.Error{Code: interaction.CodeUnknown,
			Message: fmt.Sprintf("the run ended before interaction %s was asked", clip(string(resp.RequestID), 200))})
	}
	r.st.Early = nil
}
