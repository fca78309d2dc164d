package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/workflows"
)

func (s *Server) runRoutes(h huma.API) {
	register(s, h, operation(h, "start-run", http.MethodPost, "/v1/runs", "Start a run", 201, 409, 413, 415, 422, 503), s.start)
	register(s, h, operation(h, "list-runs", http.MethodGet, "/v1/runs", "Runs, newest first", 200, 400, 422), s.listRuns)
	register(s, h, operation(h, "get-run", http.MethodGet, "/v1/runs/{run_id}", "A run", 200, 404), s.getRun)
	register(s, h, operation(h, "verify-run", http.MethodGet, "/v1/runs/{run_id}/verification",
		"Compute the hash chain of a run's record anew: was an event changed, removed, moved, put in, or cut off", 200, 404), s.verifyRun)
	register(s, h, operation(h, "list-steps", http.MethodGet, "/v1/runs/{run_id}/steps", "A run's transcript", 200, 400, 404, 422), s.listSteps)
	register(s, h, also[Delivered](h, operation(h, "control-run", http.MethodPost, "/v1/runs/{run_id}/control", "Stop, pause or resume a run, or one call of it", 200,
		400, 404, 409, 413, 415, 422, 503), 202, laterTaken), s.control)
	register(s, h, also[Delivered](h, operation(h, "send-message", http.MethodPost, "/v1/runs/{run_id}/messages",
		"Say something to a live run; it is taken in at the next step", 200, 400, 404, 409, 413, 415, 422, 503), 202, laterTaken), s.message)
	register(s, h, operation(h, "list-agents", http.MethodGet, "/v1/agents", "The agents that can be started", 200), s.listAgents)
	events := operation(h, "stream-events", http.MethodGet, "/v1/runs/{run_id}/events",
		"A run's events as they happen; ends after its last", 200, 400, 404, 422, 503)
	events.Responses["200"] = eventStream("The stored events, each once and in order, with their number as id; " +
		"step_delta events come between them, live and without id. " +
		"Secrets are hidden; an event with hidden parts has redacted: true, and who answers a question reads the interaction itself.")
	register(s, h, events, s.events)
}

type runPath struct {
	RunID interaction.RunID `path:"run_id" maxLength:"256"`
}

type listRunsInput struct {
	PageQuery
	Status    string `query:"status" enum:"running,awaiting_human,paused,completed,failed,aborted"`
	SessionID string `query:"session_id" maxLength:"128"`
	Agent     string `query:"agent" maxLength:"128"`
	UserID    string `query:"user_id" maxLength:"256" doc:"The caller's own unless they are an admin"`
	Prefix    string `query:"prefix" maxLength:"256" doc:"Beginning of the run's or the session's id"`
}

type runListOutput struct{ Body RunList }

// listRuns shows an admin all runs, and everyone else their own.
func (s *Server) listRuns(ctx context.Context, in *listRunsInput) (*runListOutput, error) {
	f := RunFilter{Status: agent.RunStatus(in.Status), SessionID: interaction.SessionID(in.SessionID), Agent: in.Agent,
		UserID: interaction.PrincipalID(in.UserID), Prefix: in.Prefix, PageSize: in.PageSize, PageToken: in.PageToken}
	if p := principal(ctx); !isAdmin(p) {
		if f.UserID != "" && f.UserID != p.ID {
			return nil, problem(http.StatusForbidden, CodeForbidden, "only an admin may list the runs of others").
				at("query.user_id", "is not you")
		}
		if f.UserID = p.ID; len(p.Roles) == 0 {
			return &runListOutput{newPage[agent.Run](nil, "")}, nil
		}
	}
	runs, next, err := s.cfg.Store.Runs(ctx, f)
	if err != nil {
		return nil, badQuery(err)
	}
	return &runListOutput{newPage(runs, next)}, nil
}

type runOutput struct{ Body RunView }

func (s *Server) getRun(ctx context.Context, in *runPath) (*runOutput, error) {
	r, err := s.visibleRun(ctx, in.RunID)
	if err != nil {
		return nil, err
	}
	v := RunView{Run: r, Pending: []Pending{}}
	progress, err := s.cfg.Store.Progress(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	v.Steps = progress.Steps
	open, _, err := s.cfg.Store.Interactions(ctx, InteractionFilter{RunID: r.ID, PageSize: scanPage,
		Status: []interaction.Status{interaction.StatusPending, interaction.StatusHeld}})
	if err != nil {
		return nil, err
	}
	p, owner := principal(ctx), owns(principal(ctx), r)
	for _, i := range slices.Backward(open) {
		if owner || addressed(p, i.Request) {
			v.Pending = append(v.Pending, newPending(i))
		}
	}
	return &runOutput{v}, nil
}

type verifiedOutput struct{ Body Verified }

func (s *Server) verifyRun(ctx context.Context, in *runPath) (*verifiedOutput, error) {
	r, err := s.visibleRun(ctx, in.RunID)
	if err != nil {
		return nil, err
	}
	id := r.ID
	if r.Root != "" {
		id = r.Root
	}
	fault, err := s.cfg.Store.Verify(ctx, id)
	if err != nil {
		return nil, err
	}
	return &verifiedOutput{Verified{RunID: id, Holds: fault == "", Fault: fault}}, nil
}

type listStepsInput struct {
	RunID interaction.RunID `path:"run_id" maxLength:"256"`
	PageQuery
}

type stepListOutput struct{ Body StepList }

func (s *Server) listSteps(ctx context.Context, in *listStepsInput) (*stepListOutput, error) {
	r, err := s.visibleRun(ctx, in.RunID)
	if err != nil {
		return nil, err
	}
	steps, next, err := s.cfg.Store.Steps(ctx, r.ID, in.PageSize, in.PageToken)
	if err != nil {
		return nil, badQuery(err)
	}
	return &stepListOutput{newPage(steps, next)}, nil
}

type agentListOutput struct{ Body AgentList }

func (s *Server) listAgents(context.Context, *struct{}) (*agentListOutput, error) {
	return &agentListOutput{newPage(s.cfg.Agents.Agents(), "")}, nil
}

type controlInput struct {
	RunID interaction.RunID `path:"run_id" maxLength:"256"`
	Body  Control
}

type deliveredOutput struct {
	Status int
	Body   Delivered
}

func (s *Server) control(ctx context.Context, in *controlInput) (*deliveredOutput, error) {
	if len(in.Body.Note) > interaction.MaxNoteBytes {
		return nil, tooLong("body.note", len(in.Body.Note), interaction.MaxNoteBytes)
	}
	r, err := s.controlled(ctx, in.RunID, in.Body)
	if err != nil {
		return nil, err
	}
	id := madeID(in.Body.ID)
	out, err := s.tell(ctx, r, id, workflows.MessageControl, workflows.ControlMessage{ID: id, RunID: r.ID,
		Action: in.Body.Action, InteractionID: in.Body.InteractionID, ToolCallID: in.Body.ToolCallID, Note: in.Body.Note, Principal: principal(ctx)})
	if err == nil && out.Status == http.StatusOK {
		s.reached(ctx, r.ID, in.Body.Action)
	}
	return out, err
}

type messageInput struct {
	RunID interaction.RunID `path:"run_id" maxLength:"256"`
	Body  SendMessage
}

func (s *Server) message(ctx context.Context, in *messageInput) (*deliveredOutput, error) {
	if len(in.Body.Text) > interaction.MaxMessageBytes {
		return nil, tooLong("body.text", len(in.Body.Text), interaction.MaxMessageBytes)
	}
	r, err := s.ownRun(ctx, in.RunID)
	if err != nil {
		return nil, err
	}
	id := madeID(in.Body.ID)
	return s.tell(ctx, r, id, workflows.MessageText, workflows.TextMessage{ID: id, RunID: r.ID, Text: in.Body.Text,
		Principal: principal(ctx)})
}

// tell delivers a control or text message. Its update id carries the message's name: ids are chosen by senders, and
// Temporal would answer a second update of one id with the first one's outcome, whatever it was.
func (s *Server) tell(ctx context.Context, r agent.Run, id interaction.ResponseID, name string, arg any) (*deliveredOutput, error) {
	if r.Status.Final() {
		return nil, runEnded()
	}
	var result workflows.Accepted
	stored, err := s.deliver(ctx, delivery{workflowID: r.WorkflowID, name: name, updateID: name + ":" + string(id), arg: arg}, &result)
	if err != nil {
		return nil, err
	}
	if stored {
		return &deliveredOutput{http.StatusAccepted, Delivered{ID: id, Status: StatusStored}}, nil
	}
	return &deliveredOutput{http.StatusOK, Delivered{ID: id, Status: "accepted", Duplicate: result.Duplicate}}, nil
}

func madeID(id interaction.ResponseID) interaction.ResponseID {
	if id == "" {
		return interaction.ResponseID(uuid.New().String())
	}
	return id
}

func tooLong(location string, size, limit int) *Problem {
	return problem(http.StatusRequestEntityTooLarge, CodeTooLarge, "%d bytes are too many; at most %d are taken", size, limit).
		at(location, "too long")
}
