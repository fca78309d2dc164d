package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"holdpoint/interaction"
	"holdpoint/workflows"
)

// closed says what became of an interaction, to those who may know.
func (s *Server) closed(p interaction.Principal, row interaction.Interaction, r interaction.Response) error {
	if !addressed(p, row.Request) && !(mayActFor(p) && interaction.Entitled(row.Request.Reviewers, r.Reviewer)) {
		return problem(http.StatusForbidden, CodeNotEntitled, "this is not addressed to you")
	}
	var e *interaction.Error
	if err := row.Check(r, s.now()); !errors.As(err, &e) {
		return fmt.Errorf("closed interaction %s took an answer: %w", row.Request.ID, err)
	}
	return withDecision(refusal(e, "body"), row)
}

// withDecision adds what the record knows of the decision.
func withDecision(p *Problem, row interaction.Interaction) *Problem {
	if !row.Status.Final() || p.Code != CodeAlreadyDecided && p.Code != CodeExpired {
		return p
	}
	d := &Decided{Status: row.Status, Action: row.Action, At: row.ClosedAt}
	for _, r := range row.Responses {
		if r.Action == row.Action {
			d.By = append(d.By, r.Reviewer.ID)
		}
	}
	p.Decided = d
	return p
}

func hasResponse(i interaction.Interaction, id interaction.ResponseID) bool {
	return slices.ContainsFunc(i.Responses, func(r interaction.Response) bool { return r.ID == id })
}

func (s *Server) refuseAll(ctx context.Context, answers []*answer, err error) []AnsweredItem {
	items := make([]AnsweredItem, len(answers))
	for n, a := range answers {
		items[n] = s.refusedItem(ctx, a, err)
	}
	return items
}

func (a *answer) ref() Answered {
	return Answered{ResponseID: a.response.ID, InteractionID: a.response.RequestID}
}

// applied is the result of an answer that the record has among those that closed the question.
func (a *answer) applied(row interaction.Interaction) Answered {
	it := a.ref()
	it.Applied, it.Status, it.Approvals, it.Quorum = true, string(row.Status), row.Approvals(), row.Request.QuorumNeeded()
	return it
}

// stored is the result of an answer that is kept and not applied yet.
func (a *answer) stored() AnsweredItem {
	it := AnsweredItem{Answered: a.ref(), HTTPStatus: http.StatusAccepted}
	it.Status = StatusStored
	return it
}

// refusedItem is the result of an answer that was refused, unless the record says that it was the one that counted: it may
// have been kept, then ended its run, which takes no further message about it.
func (s *Server) refusedItem(ctx context.Context, a *answer, err error) AnsweredItem {
	row, found, readErr := s.cfg.Store.Interaction(context.WithoutCancel(ctx), a.response.RequestID)
	found = found && readErr == nil
	if found && row.Status.Final() && hasResponse(row, a.response.ID) {
		return AnsweredItem{Answered: a.applied(row), HTTPStatus: http.StatusOK}
	}
	var e *interaction.Error
	if errors.As(err, &e) {
		err = refusal(alone(a.response, *e), "body")
	}
	if ended := (*Problem)(nil); errors.As(err, &ended) && ended.Code == CodeRunEnded {
		err = s.ended(context.WithoutCancel(ctx), a.response)
	}
	own := *s.report(ctx, "respond", err) // one error may refuse several
	p := &own
	if found {
		p = withDecision(p, row)
	}
	return AnsweredItem{Answered: a.ref(), HTTPStatus: p.Status, Problem: p}
}

// alone takes the place in the message off an error's field: the sender of one response knows of no list.
func alone(r interaction.Response, e interaction.Error) *interaction.Error {
	if place, rest, ok := strings.Cut(e.Field, "]"); ok && len(r.Responses) == 0 && strings.HasPrefix(place, "responses[") {
		e.Field = strings.TrimPrefix(rest, ".")
	}
	return &e
}

// result turns the workflow's word on one response into ours. The record has until followsBy to follow a decision by itself.
func (s *Server) result(ctx context.Context, a *answer, w workflows.ResponseResult, followsBy time.Time) AnsweredItem {
	if w.Kept { // the run does not know yet that it asks; the record was faster
		return a.stored()
	}
	if w.Code != "" || !w.Applied {
		return s.refusedItem(ctx, a, &interaction.Error{Code: interaction.Code(w.Code), Message: w.Error})
	}
	it := AnsweredItem{Answered: a.ref(), HTTPStatus: http.StatusOK}
	it.Applied, it.Status, it.Approvals, it.Quorum = true, string(w.Status), w.Approvals, w.Quorum
	if _, goesOn := a.response.Action.Changes(); goesOn { // the run itself has the record follow
		s.followed(ctx, a.response)
		return it
	}
	if w.Status.Final() && s.carriedOut(ctx, a.response.RequestID, followsBy) {
		return it
	}
	if err := s.cfg.Store.MarkSubmitted(context.WithoutCancel(ctx), a.response.RequestID, a.response, s.now()); err != nil {
		s.cfg.Log.WarnContext(ctx, "an applied answer could not be marked as submitted", "interaction_id", a.response.RequestID, "error", err)
	}
	return it
}
