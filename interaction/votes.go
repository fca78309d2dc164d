package interaction

import "slices"

// A decision that releases something, the run of a call or its output, needs as many distinct people as the quorum says;
// all others need one. Those who replace an output agree only if their texts are the same, and an approval is no vote for
// a replacement. A reviewer's last vote counts.

// votedOn reports whether the quorum counts for an action.
func (r Request) votedOn(a Action) bool {
	return a == ActionApprove || a == ActionRedact && r.ofOutput()
}

// ofOutput reports whether it is about an output, in whose place reviewers may put another.
func (r Request) ofOutput() bool { return r.Kind == KindResult || r.Kind == KindStage }

// SameVote reports whether two responses decide the same.
func SameVote(a, b Response) bool {
	return a.Action == b.Action && (a.Action != ActionRedact || a.Text == b.Text)
}

// Stands reports whether the n-th of the responses is its sender's last vote on a decision that needs a quorum.
func Stands(responses []Response, n int) bool {
	r := responses[n]
	if r.Action != ActionApprove && r.Action != ActionRedact {
		return false
	}
	return !slices.ContainsFunc(responses[n+1:], func(later Response) bool {
		return later.Reviewer.ID == r.Reviewer.ID && (later.Action == ActionApprove || later.Action == ActionRedact)
	})
}

// Approvals counts the distinct principals who agree so far: on approving, or, of an output, on the release that has
// most votes. Two who speak for one reviewer, who delegated to both, count once.
func (i Interaction) Approvals() int {
	most := len(i.approvers())
	for _, r := range i.Responses {
		if r.Action == ActionRedact {
			most = max(most, len(i.agreeing(r)))
		}
	}
	return most
}

// SpentVote reports whether r repeats the last vote of its sender, which does not count because somebody else has voted
// for the same seat.
func (i Interaction) SpentVote(r Response) bool {
	if !i.Request.votedOn(r.Action) || slices.Contains(i.agreeing(r), r.Reviewer.ID) {
		return false
	}
	for n, old := range slices.Backward(i.Responses) {
		if old.Reviewer.ID == r.Reviewer.ID && i.Request.votedOn(old.Action) {
			return SameVote(old, r) && Stands(i.Responses, n)
		}
	}
	return false
}

func (i Interaction) approvers() []PrincipalID { return i.agreeing(Response{Action: ActionApprove}) }

// agreeing are those whose vote is like one.
func (i Interaction) agreeing(like Response) []PrincipalID {
	var ids, seats []PrincipalID
	for n, r := range i.Responses {
		if !SameVote(r, like) || slices.Contains(ids, r.Reviewer.ID) || i.Request.ofOutput() && !Stands(i.Responses, n) {
			continue
		}
		seat, ok := SeatOf(i.named(), i.Responses, n)
		if !ok || slices.Contains(seats, seat) {
			continue
		}
		ids, seats = append(ids, r.Reviewer.ID), append(seats, seat)
	}
	return ids
}
