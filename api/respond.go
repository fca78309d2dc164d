package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/permission"
	"holdpoint/workflows"
)

// answer is a response that is ready to go to its run.
type answer struct {
	response interaction.Response // with its args by reference
	row      interaction.Interaction
	run      agent.Run
	done     *Answered // set when it was applied before
}

// prepare checks a response as far as the record can tell, gives it its id, its reviewer and its time, and stores
// it. What only the workflow knows (whether an open interaction is decided or expired) is left to the workflow.
func (s *Server) prepare(ctx context.Context, r interaction.Response) (*answer, error) {
	a, err := s.find(ctx, r.RequestID)
	if err != nil {
		return nil, err
	}
	if !s.mayKnow(principal(ctx), a, r.Reviewer) {
		return nil, noInteraction(r.RequestID)
	}
	if r, err = s.sign(principal(ctx), r); err != nil {
		return nil, err
	}
	repeated := slices.ContainsFunc(a.row.Responses, func(o interaction.Response) bool { return o.ID == r.ID })
	if a.row.Status.Final() && !repeated {
		if a.row.Request.HasSecret() {
			r = r.WithoutAnswer()
		}
		return nil, s.closed(principal(ctx), a.row, r)
	}
	r, secrets, err := s.seal(ctx, a.row.Request, r)
	if err != nil {
		return nil, err
	}
	if !repeated {
		if err := s.check(ctx, a.row, r); err != nil {
			return nil, err
		}
	}
	if a.response, err = s.save(ctx, r, secrets); err != nil {
		return nil, err
	}
	if repeated && a.row.Status.Final() {
		done := a.applied(a.row)
		a.done = &done
		return a, nil
	}
	if a.run.Status.Final() {
		return nil, s.ended(ctx, r)
	}
	return a, nil
}

// ended says why a run that has ended takes no answer: what became of the question, which was read before the run was, or
// else that it has ended.
func (s *Server) ended(ctx context.Context, r interaction.Response) error {
	row, found, err := s.cfg.Store.Interaction(ctx, r.RequestID)
	if err != nil {
		return err
	}
	if found && row.Status.Final() {
		return s.closed(principal(ctx), row, r)
	}
	return runEnded()
}

func (s *Server) find(ctx context.Context, id interaction.ID) (*answer, error) {
	row, found, err := s.cfg.Store.Interaction(ctx, id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, noInteraction(id)
	}
	run, found, err := s.cfg.Store.Run(ctx, row.Request.RunID)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("interaction %s belongs to run %s, which is not in the store", id, row.Request.RunID)
	}
	return &answer{row: row, run: run}, nil
}

// mayKnow reports whether p may see an interaction that is answered: as anywhere, or because it is put to the one for
// whom p acts.
func (s *Server) mayKnow(p interaction.Principal, a *answer, reviewer interaction.Principal) bool {
	return addressed(p, a.row.Request) || owns(p, a.run) ||
		mayActFor(p) && mayReview(p) && reviewer.ID != "" && interaction.Entitled(a.row.Request.Reviewers, reviewer)
}

func noInteraction(id interaction.ID) *Problem {
	return problem(http.StatusNotFound, CodeNotFound, "there is no interaction %q that you may see", id)
}

// sign puts on a response what is the bridge's to say: who answers, and when.
func (s *Server) sign(p interaction.Principal, r interaction.Response) (interaction.Response, error) {
	if !mayReview(p) {
		return r, problem(http.StatusForbidden, CodeNotEntitled, "answering needs the role %q or %q", RoleReviewer, RoleAdmin)
	}
	if r.ArgsRef != "" || r.ArgsDigest != "" {
		return r, &interaction.Error{Code: interaction.CodeInvalid, Field: "args_ref", Message: "is set by the bridge; send args themselves"}
	}
	if r.Signature != nil || r.SignedBy != "" {
		return r, &interaction.Error{Code: interaction.CodeInvalid, Field: "signature", Message: "is set by the bridge"}
	}
	for n, part := range r.Responses {
		if part.Args != nil || part.ArgsRef != "" {
			return r, &interaction.Error{Code: interaction.CodeInvalid, Field: fmt.Sprintf("responses[%d].args", n),
				Message: "a part of a combined answer has no args"}
		}
	}
	if r.ID == "" {
		r.ID = interaction.ResponseID(uuid.New().String())
	}
	if !validID(string(r.ID)) {
		return r, &interaction.Error{Code: interaction.CodeInvalid, Field: "id", Message: "must be 1 to 128 of A-Z a-z 0-9 . _ : -"}
	}
	other := r.Reviewer.ID != "" && r.Reviewer.ID != p.ID
	if other && !mayActFor(p) {
		return r, problem(http.StatusForbidden, CodeNotEntitled, "answering for another needs the role %q", RoleActFor).at("body.reviewer", "is not you")
	}
	if other {
		if err := checkPerson("reviewer.id", string(r.Reviewer.ID)); err != nil {
			return r, err
		}
	} else {
		r.Reviewer = p
	}
	r.Reviewer.Roles = nil // an answer counts by who gives it and their groups
	r.RespondedAt = s.now()
	return r, nil
}

func validID(id string) bool {
	return id != "" && len(id) <= 128 && !slices.ContainsFunc([]byte(id), func(c byte) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || bytes.IndexByte([]byte("._:-"), c) >= 0)
	})
}

// check refuses what no state of the interaction could take: a wrong shape, a reviewer who isn't asked, another
// digest, arguments that break the tool's schema.
func (s *Server) check(ctx context.Context, row interaction.Interaction, r interaction.Response) error {
	row.Status = interaction.StatusPending // the record may lag behind a hold, and behind its end
	if r.Action == interaction.ActionResume {
		row.Status = interaction.StatusHeld
	}
	var e *interaction.Error
	if err := row.Check(r, s.now()); errors.As(err, &e) {
		if e.Code != interaction.CodeAlreadyDecided && e.Code != interaction.CodeExpired {
			return e
		}
	} else if err != nil {
		return err
	}
	if r.Args != nil {
		if err := interaction.CheckMarks(r.Args); err != nil {
			return err
		}
	}
	if err := checkPatterns(r); err != nil || r.Args == nil || row.Request.Kind == interaction.KindProgram { // whose schema is its own
		return err
	}
	return s.cfg.ValidateArgs(ctx, row.Request.ToolName, row.Request.RunID, r.Args)
}

// checkPatterns refuses a grant whose rules the permission language does not know.
func checkPatterns(r interaction.Response) error {
	if r.Grant == nil {
		return nil
	}
	effect := permission.Allow
	if r.Action == interaction.ActionReject {
		effect = permission.Deny
	}
	for n, p := range r.Grant.Patterns {
		if err := permission.ParsePattern(effect, p); err != nil {
			return &interaction.Error{Code: interaction.CodeInvalid, Field: fmt.Sprintf("grant.patterns[%d]", n), Message: err.Error()}
		}
	}
	return nil
}

// save stores a response and returns it as it is forwarded: its args stay in the store, and their reference and
// digest go. A response that is there already goes out as it was, so that repeating it changes nothing.
func (s *Server) save(ctx context.Context, r interaction.Response, secrets []interaction.SealedSecret) (interaction.Response, error) {
	old, inserted, err := s.keep(ctx, r, secrets)
	if err != nil {
		return r, err
	}
	if !inserted {
		if fingerprint(old) != fingerprint(r) {
			return r, problem(http.StatusConflict, CodeIDReused, "the response id %q was used for another answer; send a new id, "+
				"or none, with a new answer", r.ID).at("body.id", "used before")
		}
		r = old
	}
	if r.Args != nil {
		sum := sha256.Sum256(r.Args)
		r.ArgsRef, r.ArgsDigest, r.Args = r.ID, hex.EncodeToString(sum[:]), nil
	}
	return r, nil
}

// fingerprint tells apart what responses say. When they were sent, and the groups their sender had then, are no
// part of it.
func fingerprint(r interaction.Response) string {
	r.Reviewer = interaction.Principal{ID: r.Reviewer.ID}
	b, err := json.Marshal(stripTime(r))
	if err != nil {
		return "unreadable " + uuid.New().String() // equal to nothing
	}
	return string(b)
}

func stripTime(r interaction.Response) interaction.Response {
	parts := make([]interaction.Response, len(r.Responses))
	for n, p := range r.Responses {
		parts[n] = stripTime(p)
	}
	r.RespondedAt = interaction.Response{}.RespondedAt
	r.Responses = parts
	return r
}

// respond applies one answer. The status is 200, or 202 when no worker has seen it yet.
func (s *Server) respond(ctx context.Context, a *answer) (Answered, int, error) {
	if a.done != nil {
		return *a.done, http.StatusOK, nil
	}
	items, _ := s.forward(ctx, string(a.response.ID), []*answer{a})
	if items[0].Problem != nil {
		return Answered{}, 0, items[0].Problem
	}
	return items[0].Answered, items[0].HTTPStatus, nil
}

// forward sends answers to one run in one update and returns a result for each. The error, where all were refused
// together, is in the results as well.
func (s *Server) forward(ctx context.Context, updateID string, answers []*answer) ([]AnsweredItem, error) {
	msg := workflows.RespondMessage{}
	for _, a := range answers {
		signed, err := s.cfg.Sign(a.response)
		if err != nil {
			return s.refuseAll(ctx, answers, err), err
		}
		msg.Responses = append(msg.Responses, signed)
	}
	s.ripen(ctx, answers)
	var result workflows.RespondResult
	stored, err := s.deliver(ctx, delivery{workflowID: answers[0].run.WorkflowID, name: workflows.MessageRespond,
		updateID: updateID, arg: msg, late: s.lateness(ctx, answers)}, &result)
	if err == nil && !stored {
		err = s.known(ctx, updateID, answers[0].run.WorkflowID, msg, &result)
	}
	if err == nil && !stored && len(result.Items) != len(answers) {
		err = fmt.Errorf("run %s answered %d responses with %d results", answers[0].run.ID, len(answers), len(result.Items))
	}
	if err != nil {
		return s.refuseAll(ctx, answers, err), err
	}
	items, followsBy := make([]AnsweredItem, len(answers)), time.Now().Add(followsWithin)
	for n, a := range answers {
		switch {
		case stored:
			items[n] = a.stored()
		default:
			items[n] = s.result(ctx, a, result.Items[n], followsBy)
		}
	}
	return items, nil
}

// lateness refuses one answer whose question was closed while others were before it.
func (s *Server) lateness(caller context.Context, answers []*answer) func(context.Context) error {
	if len(answers) > 1 {
		return nil
	}
	p, a := principal(caller), answers[0]
	return func(ctx context.Context) error {
		row, found, err := s.cfg.Store.Interaction(ctx, a.response.RequestID)
		if err != nil || !found || !row.Status.Final() || hasResponse(row, a.response.ID) {
			return nil // then the run says what became of it
		}
		return s.closed(p, row, a.response)
	}
}
