package interaction

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Check reports whether r can be applied: nil, or an *Error that says what is wrong and how to mend it. It changes
// nothing.
//
// Check never compares the current time with the deadline. A response that comes while the interaction is pending
// wins over a deadline that passes at the same moment; only a RespondedAt that the bridge set at or after the
// deadline is late.
func (i Interaction) Check(r Response, _ time.Time) error {
	_, err := i.accept(r)
	return err
}

// accept checks r and returns it as it will be kept. The order of the checks makes the first complaint the one
// that helps most: someone who answers too late is told so, not that a field is missing.
func (i Interaction) accept(r Response) (Response, error) {
	for _, check := range []func(Response) error{checkSize, i.Request.checkNoSecret, i.checkOpen, i.checkAddress, i.checkSeat, i.Request.checkEntitled} {
		if err := check(r); err != nil {
			return r, err
		}
	}
	r, err := i.Request.resolve(r)
	if err != nil {
		return r, err
	}
	for _, check := range []func(Response) error{i.checkHeld, i.Request.checkShape, i.Request.checkGrant, i.checkStanding, i.checkQuorum} {
		if err := check(r); err != nil {
			return r, err
		}
	}
	return r, nil
}

func checkSize(r Response) error {
	_, err := encodedSize(r)
	return err
}

// encodedSize is how many bytes r has as JSON; more than MaxResponseBytes is an error.
func encodedSize(r Response) (int, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return 0, refuse(CodeInvalid, "", "the response can't be encoded as JSON: %v", err)
	}
	if len(b) > MaxResponseBytes {
		return len(b), refuse(CodeTooLarge, "", "the response has %d bytes as JSON; at most %d are taken", len(b), MaxResponseBytes)
	}
	return len(b), nil
}

func (i Interaction) checkOpen(Response) error {
	switch i.Status {
	case StatusPending, StatusHeld:
		return nil
	case StatusAnswered:
		return refuse(CodeAlreadyDecided, "", "already decided: %s by %s at %s", i.Action, i.deciders(), stamp(i.ClosedAt))
	case StatusCancelled:
		return refuse(CodeAlreadyDecided, "", "already cancelled at %s: %s", stamp(i.ClosedAt), i.Reason)
	case StatusExpired:
		return refuse(CodeExpired, "", "expired at %s: %s", stamp(i.ClosedAt), i.Reason)
	default:
		return refuse(CodeInvalid, "", "the interaction has no known status, so nothing can be applied to it")
	}
}

// deciders names who made the decision: all approvers, or the one whose answer decided at once.
func (i Interaction) deciders() string {
	ids := i.approvers()
	if n := len(i.Responses); n > 0 && i.Action == ActionRedact {
		ids = i.agreeing(i.Responses[n-1])
	} else if n > 0 && i.Action != ActionApprove {
		ids = []PrincipalID{i.Responses[n-1].Reviewer.ID}
	}
	names := make([]string, 0, len(ids))
	for _, id := range ids {
		names = append(names, cut(id.Named(), MaxTitleBytes))
	}
	if len(names) == 0 {
		return "nobody on record"
	}
	return strings.Join(names, ", ")
}

func (i Interaction) checkAddress(r Response) error {
	req := i.Request
	if r.RequestID != req.ID {
		return refuse(CodeUnknown, "request_id", "is %s, but this is interaction %s; answer it by that id",
			quote(string(r.RequestID)), quote(string(req.ID)))
	}
	if r.Digest != "" && r.Digest != req.Digest {
		return refuse(CodeDigestMismatch, "digest", "what you saw (%s) is not what is asked (%s); look again and decide anew",
			quote(r.Digest), quote(req.Digest))
	}
	if i.Status != StatusHeld && i.Late(r) { // while it is held, its clock stands
		return refuse(CodeExpired, "", "answered at %s, after the deadline %s", stamp(r.RespondedAt), stamp(req.ExpiresAt))
	}
	return nil
}

// Late reports whether a response was given at or after the deadline, as the deadline stands now.
func (i Interaction) Late(r Response) bool {
	deadline := i.Request.ExpiresAt
	return !r.RespondedAt.IsZero() && !deadline.IsZero() && !r.RespondedAt.Before(deadline)
}

// checkSeat refuses who has handed on their seat.
func (i Interaction) checkSeat(r Response) error {
	if i.delegated(r.Reviewer.ID) {
		return refuse(CodeNotEntitled, "reviewer", "%s delegated this; asked are %s", quote(string(r.Reviewer.ID)), quote(strings.Join(i.Request.Reviewers, ", ")))
	}
	return nil
}

const groupPrefix = "group:"

// checkEntitled fails closed: who can't be told apart from someone who may not answer may not answer.
func (r Request) checkEntitled(resp Response) error {
	who := resp.Reviewer
	named := len(r.Reviewers) > 0 || r.QuorumNeeded() > 1 || r.ExcludeRequester
	if named && who.ID == "" {
		return refuse(CodeNotEntitled, "reviewer.id", "is missing: this interaction counts who answers, so answer with your name")
	}
	if len(r.Reviewers) > 0 && !listed(r.Reviewers, who) {
		return refuse(CodeNotEntitled, "reviewer", "%s may not answer this; asked are %s", quote(string(who.ID)), quote(strings.Join(r.Reviewers, ", ")))
	}
	if r.ExcludeRequester && r.Requester == "" {
		return refuse(CodeNotEntitled, "reviewer", "someone other than the requester must answer, and this run does not say who requested it")
	}
	if r.ExcludeRequester && who.ID == r.Requester {
		return refuse(CodeNotEntitled, "reviewer", "%s requested this, and someone else must answer it", quote(string(who.ID)))
	}
	return nil
}

// listed reports whether the reviewers name p or one of its groups. An id that looks like a group names nobody.
func listed(reviewers []string, p Principal) bool {
	if !strings.HasPrefix(string(p.ID), groupPrefix) && slices.Contains(reviewers, string(p.ID)) {
		return true
	}
	return slices.ContainsFunc(p.Groups, func(g string) bool { return slices.Contains(reviewers, groupPrefix+g) })
}

func (i Interaction) checkHeld(r Response) error {
	if i.Status == StatusHeld && r.Action != ActionResume && r.Action != ActionTerminate {
		return refuse(CodeInvalid, "action", "%s can't be applied while the call is held; only resume and terminate can, where offered", r.Action)
	}
	return nil
}

func (i Interaction) checkQuorum(r Response) error {
	need := i.Request.QuorumNeeded()
	if need == 1 {
		return nil
	}
	if r.Action == ActionModifyArgs {
		return refuse(CodeInvalid, "action", "with %d approvals needed, arguments can't be edited; reject with the change you want", need)
	}
	if agree := i.agreeing(r); i.Request.votedOn(r.Action) && (slices.Contains(agree, r.Reviewer.ID) || i.SpentVote(r)) {
		return refuse(CodeAlreadyDecided, "", "you have approved already; %d of %d approvals", len(agree), need)
	}
	return nil
}
