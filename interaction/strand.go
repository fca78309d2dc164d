package interaction

import (
	"slices"
	"strings"
)

// Strands says why a delegation would leave an interaction that nobody could decide any more: those who are asked then have
// all handed on their seats to one another, or too few are left for the quorum. It is nil for every other response. Of a
// group it is not known who is in it, so where one is asked, nothing is stranded.
func (i Interaction) Strands(r Response) error {
	if r.Action != ActionDelegate {
		return nil
	}
	after := i
	after.change(r, r.RespondedAt)
	if slices.ContainsFunc(after.Request.Reviewers, func(who string) bool { return strings.HasPrefix(who, groupPrefix) }) {
		return nil
	}
	able := slices.DeleteFunc(slices.Clone(after.Request.Reviewers), func(who string) bool { return !after.able(who) })
	filled := slices.DeleteFunc(slices.Clone(after.Named), func(seat string) bool {
		return !after.able(seat) && !slices.ContainsFunc(after.Delegations, func(d Delegation) bool {
			return string(d.By) == seat && slices.ContainsFunc(d.To, after.able)
		})
	})
	left, need := len(able), i.Request.QuorumNeeded()
	if len(after.Named) > 0 {
		left = min(left, len(filled))
	}
	if left >= need {
		return nil
	}
	return refuse(CodeInvalid, "to", "then %d of the %d needed could answer, since others have handed this on or may not answer; name somebody else", left, need)
}

// able reports whether one of those who are asked may answer.
func (i Interaction) able(who string) bool {
	return !i.delegated(PrincipalID(who)) && !(i.Request.ExcludeRequester && PrincipalID(who) == i.Request.Requester)
}
