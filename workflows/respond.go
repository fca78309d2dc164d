package workflows

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"holdpoint/interaction"
)

// respond applies responses that came as an update. Those that can't be applied have an error in their item.
func (r *agentRun) respond(ctx workflow.Context, raw converter.RawValue) (RespondResult, error) {
	responses, err := responsesOf(raw, interaction.DecodeTaken)
	if err != nil {
		return RespondResult{}, refusal(err)
	}
	return r.applyAll(ctx, responses), nil
}

// validateRespond refuses a message none of whose responses can be applied. It changes nothing.
func (r *agentRun) validateRespond(ctx workflow.Context, raw converter.RawValue) error {
	responses, err := responsesOf(raw, interaction.DecodeResponses)
	if err != nil {
		return refusal(err)
	}
	var first error
	for _, resp := range responses {
		err := r.check(ctx, resp)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return refusal(first)
}

func (r *agentRun) respondSignal(ctx workflow.Context, data []byte) {
	responses, err := r.signalled(ctx, data)
	if err != nil {
		r.refuse(MessageRespond, payloadID(data), err)
		return
	}
	identify(responses, data)
	for _, item := range r.applyAll(ctx, responses).Items {
		if item.Code != "" {
			r.refuse(MessageRespond, item.ResponseID, &interaction.Error{Code: interaction.Code(item.Code), Message: item.Error})
		}
	}
}

// A zero that an answer states, where leaving it out is what means "no bound", is refused. Runs took it from before this
// change: it is asked for where there is one, and nowhere else.
const changeStatedZeros = "refuse-stated-zeros"

// signalled reads the responses of a signal.
func (r *agentRun) signalled(ctx workflow.Context, data []byte) ([]interaction.Response, error) {
	responses, err := interaction.DecodeResponses(data)
	if err == nil {
		return responses, nil
	}
	before, lenient := interaction.DecodeTaken(data)
	if lenient == nil && workflow.GetVersion(ctx, changeStatedZeros, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return before, nil
	}
	return nil, err
}

// responsesOf reads the responses of an update. What its validator let pass is taken as it was then.
func responsesOf(raw converter.RawValue, decode func([]byte) ([]interaction.Response, error)) ([]interaction.Response, error) {
	data, err := jsonOf(raw)
	if err != nil {
		return nil, err
	}
	responses, err := decode(data)
	if err != nil {
		return nil, err
	}
	identify(responses, data)
	return responses, nil
}

// identify gives an id to responses that have none: the same message delivered twice gets the same ones.
func identify(responses []interaction.Response, data []byte) {
	for i := range responses {
		if responses[i].ID == "" {
			responses[i].ID = payloadID(data) + interaction.ResponseID("-"+strconv.Itoa(i))
		}
	}
}

func (r *agentRun) applyAll(ctx workflow.Context, responses []interaction.Response) RespondResult {
	var out RespondResult
	for _, resp := range responses {
		item, err := r.apply(ctx, resp)
		if err != nil {
			e := asError(err)
			item.Code, item.Error = string(e.Code), e.Error()
		}
		out.Items = append(out.Items, item)
	}
	return out
}

// check reports whether a response can be applied, or was, or will be once its interaction is known.
func (r *agentRun) check(ctx workflow.Context, resp interaction.Response) error {
	if done, ok := r.st.answeredBefore(resp.ID); ok {
		return sameInteraction(done, resp)
	}
	if g := r.find(resp.RequestID); g != nil {
		if err := r.in.Trust.Check(resp, &g.it.Request, workflow.Now(ctx)); err != nil {
			return err
		}
		if err := g.it.Check(resp, workflow.Now(ctx)); err != nil {
			return err
		}
		return g.it.Strands(resp)
	}
	if closed, ok := r.st.closedInteraction(resp.RequestID); ok {
		return closed.Check(resp, workflow.Now(ctx))
	}
	if r.expected(resp.RequestID) {
		return r.in.Trust.Check(resp, nil, workflow.Now(ctx))
	}
	return &interaction.Error{Code: interaction.CodeUnknown, Field: "request_id",
		Message: fmt.Sprintf("run %s has no interaction %q", r.in.RunID, clip(string(resp.RequestID), 200))}
}

// sameInteraction refuses a response id that was used for another interaction.
func sameInteraction(done ResponseResult, resp interaction.Response) error {
	if done.InteractionID != resp.RequestID {
		return &interaction.Error{Code: interaction.CodeInvalid, Field: "id",
			Message: fmt.Sprintf("response id %q was used for interaction %s: give each response an id of its own", clip(string(resp.ID), 100), done.InteractionID)}
	}
	return nil
}

// apply carries out one response. The same id is applied once.
func (r *agentRun) apply(ctx workflow.Context, resp interaction.Response) (ResponseResult, error) {
	item := ResponseResult{ResponseID: clipID(resp.ID), InteractionID: resp.RequestID}
	if err := r.check(ctx, resp); err != nil {
		g := r.find(resp.RequestID)
		if g != nil && g.it.SpentVote(resp) && !r.since(ctx, changeSpentVotes) {
			item.Applied, item.Status = true, g.it.Status
			return item, nil
		}
		if !r.strandedBefore(ctx, g, resp) {
			return item, err
		}
	}
	if done, ok := r.st.answeredBefore(resp.ID); ok {
		return done, nil
	}
	g := r.find(resp.RequestID)
	if g == nil { // it overtook the activity that opens its interaction
		if !r.st.keepEarly(resp, sizeOf(resp)) {
			return item, &interaction.Error{Code: interaction.CodeTooLarge, Message: "too many answers wait for interactions that are not open yet: send it again later"}
		}
		item.Kept = true
		return item, nil
	}
	if sizeOf(resp)+sizesOf(g.it.Responses) > maxAnswerBytes {
		return item, &interaction.Error{Code: interaction.CodeTooLarge, Message: fmt.Sprintf("the answers to this interaction would have more than %d bytes: write less", maxAnswerBytes)}
	}
	if g.it.Status == interaction.StatusHeld && g.it.Late(resp) && !r.since(ctx, changeHeldIsNeverLate) {
		return item, &interaction.Error{Code: interaction.CodeExpired, Message: "answered after the deadline"}
	}
	out, err := g.it.Apply(r.in.Trust.Settle(resp), workflow.Now(ctx))
	if err != nil {
		return item, err
	}
	item.Applied, item.Status = true, g.it.Status
	item.Approvals, item.Quorum = g.it.Approvals(), g.it.Request.QuorumNeeded()
	r.st.Answered = push(r.st.Answered, item, keepAnswered)
	last := g.it.Responses[len(g.it.Responses)-1]
	kind, goesOn := last.Action.Changes()
	switch {
	case out != nil:
		r.decided(ctx, g, out)
	case goesOn:
		r.changed(ctx, g, kind, &last)
	default:
		r.showDetails(ctx)
	}
	return item, nil
}

// What is held has no deadline until it goes on. Runs from before this version refused what came after the one it had.
const changeHeldIsNeverLate = "held-is-never-late"

// A vote that its sender repeats, and that does not count for a seat that has voted, is refused. Runs from before this
// version took it, to no effect.
const changeSpentVotes = "refuse-spent-votes"

// A delegation that leaves nobody who could decide is refused. Runs from before this version took it.
const changeNobodyStranded = "refuse-stranding-delegations"

// strandedBefore reports whether a response is refused for that reason alone, in such a run.
func (r *agentRun) strandedBefore(ctx workflow.Context, g *gate, resp interaction.Response) bool {
	return g != nil && g.it.Strands(resp) != nil && r.in.Trust.Check(resp, &g.it.Request, workflow.Now(ctx)) == nil &&
		g.it.Check(resp, workflow.Now(ctx)) == nil && !r.since(ctx, changeNobodyStranded)
}

// expected reports whether an interaction may still come to be known: a call of a turn that is being taken, or
// to come (after a reset, Temporal delivers old answers first), or a call in flight.
func (r *agentRun) expected(id interaction.ID) bool {
	rest, ok := strings.CutPrefix(string(id), string(r.in.RunID)+"-")
	if !ok || r.ended != "" {
		return false
	}
	parts := strings.Split(rest, "-")
	if len(parts) != 3 {
		return false
	}
	for _, p := range parts {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || strconv.Itoa(n) != p {
			return false
		}
	}
	if turn, _ := strconv.Atoi(parts[0]); turn > r.st.Turn {
		return turn <= r.st.MaxSteps || r.st.MaxSteps == 0
	}
	for _, call := range r.running {
		if strings.HasPrefix(string(id), string(call)+"-") {
			return true
		}
	}
	return false
}

// dropStale refuses what was kept for interactions that did not come.
func (r *agentRun) dropStale() {
	for _, resp := range append([]interaction.Response(nil), r.st.Early...) {
		if !r.expected(resp.RequestID) {
			r.st.takeEarly(resp.RequestID)
			r.refuse(MessageRespond, resp.ID, &interaction.Error{Code: interaction.CodeUnknown,
				Message: fmt.Sprintf("interaction %s is not asked any more", resp.RequestID)})
		}
	}
}

func asError(err error) *interaction.Error {
	if e, ok := err.(*interaction.Error); ok {
		return e
	}
	return &interaction.Error{Code: interaction.CodeInvalid, Message: err.Error()}
}

// maxAnswerBytes bounds all answers to one interaction together: they travel in one activity's input, and up to
// parallelTools of those in one task, which Temporal bounds at 4 MB.
const maxAnswerBytes = 128 << 10

func sizeOf(r interaction.Response) int {
	b, err := json.Marshal(r)
	if err != nil {
		return maxAnswerBytes + 1
	}
	return len(b)
}

func sizesOf(list []interaction.Response) int {
	n := 0
	for _, r := range list {
		n += sizeOf(r)
	}
	return n
}
