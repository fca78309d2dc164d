package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/workflows"
)

// An approval is a gate for code that is no agent of Holdpoint's: it asks, and waits for what people decide.

// Approvals says what an approval may name. Nil in Config leaves out the calls about them.
type Approvals interface {
	// Policies are the names of the policies by which an approval may be decided.
	Policies() []string
	// CheckCallback says what is wrong with an address that is to be told of the decision.
	CheckCallback(url string) error
}

// maxWait bounds one long-poll.
const maxWait = 60 * time.Second

func (s *Server) approvalRoutes(h huma.API) {
	if s.cfg.Approvals == nil {
		return
	}
	ask := operation(h, "ask-approval", http.MethodPost, "/v1/approvals", "Ask people whether a program may go on", 201, 413, 415, 422, 503)
	ask.Description = "Rules that allow or deny decide at once; else people are asked. The same Idempotency-Key is the same approval, however often " +
		"it is sent and whatever became of it: a caller that gave up asks again and attaches to it. 201 for a new one, 200 for one that was there."
	register(s, h, also[ApprovalView](h, ask, 200, "The approval that was asked for with this key before"), s.askApproval)
	list := operation(h, "list-approvals", http.MethodGet, "/v1/approvals", "Approvals, newest first", 200, 400, 422)
	list.Description = "What the caller asked, what was asked for them, and what is put to them; an admin sees all. A page may be short, or " +
		"empty, and still have a next one."
	register(s, h, list, s.listApprovals)
	get := operation(h, "get-approval", http.MethodGet, "/v1/approvals/{approval_id}", "An approval, or what was decided on it", 200, 404, 422)
	get.Description = "With wait, it is answered as soon as it is decided, or after that time with status pending: ask again."
	register(s, h, get, s.getApproval)
	register(s, h, also[Delivered](h, operation(h, "cancel-approval", http.MethodPost, "/v1/approvals/{approval_id}/cancel", "Withdraw what was asked", 200,
		404, 409, 413, 415, 422, 503), 202, laterTaken), s.cancelApproval)
}

type askInput struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"The same key of the same caller is one approval, however often it is sent"`
	WaitQuery
	Body AskApproval
}

// WaitQuery is how long an answer may be held back until there is a decision.
type WaitQuery struct {
	Wait string `query:"wait" maxLength:"20" doc:"How long to wait for the decision, at most 60s" example:"30s"`
}

func (q WaitQuery) duration() (time.Duration, error) {
	if q.Wait == "" {
		return 0, nil
	}
	d, err := interaction.ParseSpan(q.Wait)
	if err != nil || d < 0 {
		return 0, problem(http.StatusUnprocessableEntity, CodeInvalid, "%q is no time to wait: write one such as 30s", q.Wait).at("query.wait", "no time")
	}
	return min(d, maxWait), nil
}

type approvalOutput struct {
	Status int
	Body   ApprovalView
}

// askApproval opens an approval, or finds the one that was opened with the same key.
func (s *Server) askApproval(ctx context.Context, in *askInput) (*approvalOutput, error) {
	wait, err := in.duration()
	if err != nil {
		return nil, err
	}
	r, err := s.newApproval(principal(ctx), in)
	if err != nil {
		return nil, err
	}
	old, found, err := s.cfg.Store.Run(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	status := http.StatusCreated
	if !found {
		if old, err = s.launchApproval(ctx, r); err != nil {
			return nil, err
		}
		found = old.ID != ""
	}
	if found {
		if status = http.StatusOK; askDigest(old) != askDigest(r) {
			return nil, problem(http.StatusUnprocessableEntity, CodeKeyReused, "this Idempotency-Key asked something else (approval %q); "+
				"send a new key for a new question", r.ID).at("header.Idempotency-Key", "used before")
		}
		r = old
	}
	r, err = s.awaitDecision(ctx, r, wait)
	if err != nil {
		return nil, err
	}
	v, err := s.approvalView(ctx, r)
	return &approvalOutput{status, v}, err
}

// newApproval checks what is asked and gives it its ids.
func (s *Server) newApproval(p interaction.Principal, in *askInput) (agent.Run, error) {
	if !mayStart(p) {
		return agent.Run{}, problem(http.StatusForbidden, CodeForbidden, "asking for an approval needs the role %q or %q", RoleUser, RoleAdmin)
	}
	b := in.Body
	if b.UserID != "" && b.UserID != string(p.ID) && !mayActFor(p) {
		return agent.Run{}, problem(http.StatusForbidden, CodeForbidden, "asking for another user needs the role %q", RoleActFor).
			at("body.user_id", "is not you")
	}
	ask, err := s.checkAsk(b)
	if err != nil {
		return agent.Run{}, err
	}
	id := uuid.New().String()
	if in.IdempotencyKey != "" {
		id = derive("approval", p.ID, in.IdempotencyKey)
	}
	r := agent.Run{ID: interaction.RunID(id), SessionID: interaction.SessionID("approval-" + id), WorkflowID: workflows.ApprovalWorkflowID(interaction.RunID(id)),
		Agent: agent.ApprovalAgent, UserID: interaction.PrincipalID(b.UserID), Requester: p.ID, Input: ask.Title, Metadata: b.Metadata,
		Status: agent.RunRunning, Ask: &ask, StartedAt: s.now()}
	if r.UserID == "" {
		r.UserID = p.ID
	}
	return r, nil
}

// askDigest tells apart what was asked.
func askDigest(r agent.Run) string {
	b, err := json.Marshal(r.Ask)
	if err != nil { // what was decoded has a JSON form
		return ""
	}
	r.Input = string(b)
	return startDigest(r)
}

// launchApproval starts the approval's workflow. It returns the run that was there if the same key was first elsewhere.
func (s *Server) launchApproval(ctx context.Context, r agent.Run) (agent.Run, error) {
	input, err := json.Marshal(r.Ask)
	if err != nil {
		return agent.Run{}, fmt.Errorf("what is asked: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, s.cfg.UpdateTimeout)
	defer cancel()
	_, err = s.cfg.Temporal.ExecuteWorkflow(limited, client.StartWorkflowOptions{ID: r.WorkflowID, TaskQueue: s.cfg.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true, EnableEagerStart: true, Memo: map[string]any{MemoRun: r.ID, memoDigest: askDigest(r)}},
		workflows.ApprovalName, workflows.RunInput{RunID: r.ID, SessionID: r.SessionID, Agent: r.Agent, UserID: r.UserID, Requester: r.Requester, Trust: s.cfg.Trust,
			Input: string(input), Metadata: r.Metadata})
	var there *serviceerror.WorkflowExecutionAlreadyStarted
	switch {
	case errors.As(err, &there):
		return s.attach(ctx, r)
	case err != nil && unreachable(err):
		s.cfg.Log.WarnContext(ctx, "approval not started", "approval_id", r.ID, "error", err)
		return agent.Run{}, problem(http.StatusServiceUnavailable, CodeUnavailable, "Temporal could not be reached, and the approval may be "+
			"open or not; send the request again with the same Idempotency-Key").header("Retry-After", "2")
	case err != nil:
		return agent.Run{}, err
	}
	// The workflow's first activity stores it as well, so a failure here costs nothing but that it shows later.
	if err := s.cfg.Store.EnsureRun(context.WithoutCancel(ctx), r); err != nil {
		s.cfg.Log.WarnContext(ctx, "an approval could not be stored yet", "approval_id", r.ID, "error", err)
	}
	return agent.Run{}, nil
}

// attach finds an approval whose workflow has begun and whose record may not be there yet.
func (s *Server) attach(ctx context.Context, r agent.Run) (agent.Run, error) {
	if old, found, err := s.cfg.Store.Run(ctx, r.ID); err != nil || found {
		return old, err
	}
	if live, digest := s.liveRun(ctx, r); live != r.ID || digest != askDigest(r) {
		r.Ask = &agent.Ask{} // equal to nothing that can be asked
	}
	return r, nil
}

// awaitDecision returns the run when it has ended, or when the time is over.
func (s *Server) awaitDecision(ctx context.Context, r agent.Run, wait time.Duration) (agent.Run, error) {
	if wait <= 0 || r.Status.Final() {
		return r, nil
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		return r, problem(http.StatusServiceUnavailable, CodeTooManyStreams, "%d clients wait, which is all that this bridge takes; "+
			"ask again later, or without wait", cap(s.streams)).header("Retry-After", "5")
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	wake := s.cfg.Store.Watch(limited, r.ID)
	for {
		now, found, err := s.cfg.Store.Run(context.WithoutCancel(limited), r.ID)
		if err != nil {
			return r, err
		}
		if found {
			r = now
		}
		if r.Status.Final() || limited.Err() != nil {
			return r, nil
		}
		select {
		case <-wake:
		case <-limited.Done():
		}
	}
}

type approvalPath struct {
	ID interaction.RunID `path:"approval_id" maxLength:"256"`
	WaitQuery
}

func (s *Server) getApproval(ctx context.Context, in *approvalPath) (*approvalOutput, error) {
	wait, err := in.duration()
	if err != nil {
		return nil, err
	}
	r, err := s.visibleApproval(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if r, err = s.awaitDecision(ctx, r, wait); err != nil {
		return nil, err
	}
	v, err := s.approvalView(ctx, r)
	return &approvalOutput{http.StatusOK, v}, err
}

// visibleApproval is an approval that the caller may see: their own, or one that is put to them.
func (s *Server) visibleApproval(ctx context.Context, id interaction.RunID) (agent.Run, error) {
	r, err := s.visibleRun(ctx, id)
	var p *Problem
	if errors.As(err, &p) && p.Code == CodeNotFound || err == nil && r.Ask == nil {
		return r, problem(http.StatusNotFound, CodeNotFound, "there is no approval %q that you may see", id)
	}
	return r, err
}

type cancelInput struct {
	ID   interaction.RunID `path:"approval_id" maxLength:"256"`
	Body CancelApproval
}

// cancelApproval withdraws what was asked, for its owner.
func (s *Server) cancelApproval(ctx context.Context, in *cancelInput) (*deliveredOutput, error) {
	if len(in.Body.Note) > interaction.MaxNoteBytes {
		return nil, tooLong("body.note", len(in.Body.Note), interaction.MaxNoteBytes)
	}
	r, err := s.visibleApproval(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if !owns(principal(ctx), r) {
		return nil, problem(http.StatusForbidden, CodeForbidden, "only its user, its requester or an admin may cancel approval %q", in.ID)
	}
	id := madeID(in.Body.ID)
	return s.tell(ctx, r, id, workflows.MessageControl, workflows.ControlMessage{ID: id, RunID: r.ID, Action: workflows.AbortRun,
		Note: in.Body.Note, Principal: principal(ctx)})
}

// policyKnown refuses a policy that is not configured: nothing that it was to decide would ever be allowed by it.
func (s *Server) policyKnown(name string) error {
	names := s.cfg.Approvals.Policies()
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	there := "none is configured"
	if len(names) > 0 {
		there = "there are " + strings.Join(names, ", ")
	}
	return problem(http.StatusUnprocessableEntity, CodeInvalid, "there is no policy %q: %s", name, there).at("body.policy", "unknown")
}
