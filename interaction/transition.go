package interaction

import (
	"fmt"
	"slices"
	"time"
)

// Open returns req as a pending interaction. It fills what a request must have and its maker may leave out:
// CreatedAt, a type (tool_approval), a kind for tool approvals (permission), the standard options where there are
// none, and the action of a select's choices (answer).
func Open(req Request, now time.Time) Interaction {
	if req.CreatedAt.IsZero() {
		req.CreatedAt = now.UTC()
	}
	if req.Type == "" {
		req.Type = TypeToolApproval
	}
	if req.Type == TypeToolApproval && req.Kind == "" {
		req.Kind = KindPermission
	}
	if len(req.Options) == 0 {
		req.Options = StandardOptions(req.Kind, req.Type)
	}
	req.Options = nameChoices(req.Type, req.Options)
	req.Interactions = nameParts(req.Interactions)
	return Interaction{Request: req, Status: StatusPending}
}

// nameParts names the choices of the questions in a combined request.
func nameParts(parts []Request) []Request {
	parts = slices.Clone(parts)
	for n, part := range parts {
		parts[n].Options = nameChoices(part.Type, part.Options)
		parts[n].Interactions = nameParts(part.Interactions)
	}
	return parts
}

// nameChoices gives a select's choices the action that choosing them is.
func nameChoices(t Type, options []Option) []Option {
	options = kept(options)
	for n := range options {
		if t == TypeSelect && options[n].Action == "" {
			options[n].Action = ActionAnswer
		}
	}
	return options
}

// Apply checks r and adds it. The outcome is nil while more approvals are needed and set once the interaction is
// decided. On an error, the one that Check gives, i is unchanged.
//
// The response is kept with the action that its option stands for.
func (i *Interaction) Apply(r Response, now time.Time) (*Outcome, error) {
	r, err := i.accept(r)
	if err != nil {
		return nil, err
	}
	i.Responses = append(slices.Clone(i.Responses), r)
	if _, goesOn := r.Action.Changes(); goesOn {
		i.change(r, now)
		return nil, nil
	}
	if !i.Decides(r) {
		return nil, nil
	}
	return i.end(StatusAnswered, r.Action, "", now), nil
}

// Decides reports whether r, which is among i's responses, decides i: it needs no quorum, or completes it.
func (i Interaction) Decides(r Response) bool {
	return !i.Request.votedOn(r.Action) || len(i.agreeing(r)) >= i.Request.QuorumNeeded()
}

// Expire ends a pending interaction whose deadline has come, with the action its request names for that, or
// reject. It reports false, and changes nothing, in every other case.
func (i *Interaction) Expire(now time.Time) (*Outcome, bool) {
	deadline := i.Request.ExpiresAt
	if i.Status != StatusPending || deadline.IsZero() || now.Before(deadline) {
		return nil, false
	}
	return i.end(StatusExpired, i.Request.timeoutAction(), "nobody decided by "+stamp(deadline), now), true
}

// timeoutAction lets a deadline do only what needs nothing of a person. Approving is never among it: silence is no
// consent.
func (r Request) timeoutAction() Action {
	a := r.OnTimeout
	switch {
	case r.Kind == KindProgram:
		return ActionReject
	case a == ActionTerminate:
		return a
	case r.Kind == KindResult:
		return ActionWithhold
	case r.Kind == KindStage:
		return ActionReject
	case a == ActionRetry, a == ActionSkip:
		return a
	default:
		return ActionReject
	}
}

// Cancel ends an interaction that nobody needs to answer any more. Its outcome has no action. It reports false,
// and changes nothing, when the interaction has ended already.
func (i *Interaction) Cancel(reason string, now time.Time) (*Outcome, bool) {
	if i.Status.Final() {
		return nil, false
	}
	return i.end(StatusCancelled, "", cut(reason, MaxNoteBytes), now), true
}

func (i *Interaction) end(s Status, a Action, reason string, now time.Time) *Outcome {
	i.Status, i.Action, i.Reason, i.ClosedAt = s, a, reason, now.UTC()
	return &Outcome{
		InteractionID: i.Request.ID,
		Status:        s,
		Action:        a,
		Responses:     slices.Clone(i.Responses),
		Reason:        reason,
		At:            i.ClosedAt,
	}
}

// QuorumNeeded is how many distinct principals must approve, at least 1.
func (r Request) QuorumNeeded() int { return max(r.Quorum, 1) }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// refuse makes an Error. Field is a path, "" for the whole.
func refuse(code Code, field, format string, args ...any) error {
	return &Error{Code: code, Field: field, Message: fmt.Sprintf(format, args...)}
}
