package adapters

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

// reactChat is the body of POST /api/agent/chat/react/stream.
type reactChat struct {
	Message   string `json:"message"`
	SessionID string `json:"sessionId" required:"false"`
	UserID    string `json:"userId" required:"false"`
}

// reactReply answers an interaction_response, and says why a chat was refused.
type reactReply struct {
	Success   bool   `json:"success"`
	Message   string `json:"message"`
	SessionID string `json:"sessionId"`
	Timestamp string `json:"timestamp"`
}

func (a *Adapters) refuseReact(w http.ResponseWriter, r *http.Request, session string, err error) {
	p := a.asProblem(r.Context(), err)
	reply(w, p.Status, reactReply{false, p.Detail, session, reactTime(time.Now())})
}

// reactTime is a time as the design writes it: without a zone, which is UTC here.
func reactTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }

// chat starts a run and streams it. In a session whose run is live, the message is told to that run instead: it never
// answers what the run asks.
func (a *Adapters) chat(w http.ResponseWriter, r *http.Request) {
	var in reactChat
	if err := read(r, &in); err != nil {
		a.refuseReact(w, r, "", err)
		return
	}
	run, session, after, err := a.begin(r.Context(), in)
	if err != nil {
		a.refuseReact(w, r, in.SessionID, err)
		return
	}
	a.streamReact(w, r, run, session, after)
}

// begin returns the run, its session, and the number of the event after which its stream begins.
func (a *Adapters) begin(ctx context.Context, in reactChat) (run, session, after string, err error) {
	agent, err := a.agentFor(ctx, in.SessionID)
	if err != nil {
		return "", "", "", err
	}
	var started api.StartedRun
	_, err = a.core.call(ctx, http.MethodPost, "/v1/runs", api.StartRun{Agent: agent, SessionID: in.SessionID, UserID: in.UserID, Input: in.Message}, &started)
	var p *api.Problem
	if !errors.As(err, &p) || p.Code != api.CodeSessionBusy || p.RunID == "" {
		return string(started.RunID), string(started.SessionID), "", err
	}
	if after, err = a.lastEvent(ctx, p.RunID); err != nil {
		return "", "", "", err
	}
	_, err = a.core.call(ctx, http.MethodPost, path("/v1/runs/%s/messages", p.RunID), api.SendMessage{Text: in.Message}, nil)
	return p.RunID, in.SessionID, after, err
}

// agentFor is whom a chat means: the agent of the session's last run, the configured one, or the only one.
func (a *Adapters) agentFor(ctx context.Context, session string) (string, error) {
	if session != "" {
		runs, err := a.runsOf(ctx, session)
		if err != nil {
			return "", err
		}
		if len(runs) > 0 {
			return runs[0].Agent, nil
		}
	}
	if a.cfg.Agent != "" {
		return a.cfg.Agent, nil
	}
	var list api.AgentList
	if _, err := a.core.call(ctx, http.MethodGet, "/v1/agents", nil, &list); err != nil {
		return "", err
	}
	if len(list.Items) != 1 {
		return "", refusal(http.StatusUnprocessableEntity, api.CodeUnknownAgent,
			"there are %d agents and the protocol names none: say which by agent in an adapter component", len(list.Items))
	}
	return list.Items[0].Name, nil
}

// runsOf are the newest runs of a session that the caller may list, newest first.
func (a *Adapters) runsOf(ctx context.Context, session string) ([]api.RunView, error) {
	var page api.Page[api.RunView]
	q := url.Values{"session_id": {session}, "page_size": {"20"}}
	_, err := a.core.call(ctx, http.MethodGet, "/v1/runs?"+q.Encode(), nil, &page)
	return page.Items, err
}

// lastEvent is the number of a run's newest event.
func (a *Adapters) lastEvent(ctx context.Context, run string) (last string, err error) {
	err = a.core.stream(ctx, http.MethodGet, path("/v1/runs/%s/events?follow=false", run), nil, nil, nil, func(f frame) error {
		if f.ID != "" {
			last = f.ID
		}
		return nil
	})
	return last, err
}

// rejoin streams a session's newest run from its beginning, for clients whose streams are opened by GET. It starts
// nothing: any page could make a browser send it.
func (a *Adapters) rejoin(w http.ResponseWriter, r *http.Request) {
	session := r.URL.Query().Get("sessionId")
	runs, err := a.runsOf(r.Context(), session)
	if err == nil && (session == "" || len(runs) == 0) {
		err = refusal(http.StatusNotFound, api.CodeNotFound, "session %q has no run that you may see", session)
	}
	if err != nil {
		a.refuseReact(w, r, session, err)
		return
	}
	a.streamReact(w, r, string(runs[0].ID), session, r.Header.Get("Last-Event-ID"))
}

func (a *Adapters) streamReact(w http.ResponseWriter, r *http.Request, run, session, after string) {
	out := newEvents(w, a.cfg.WriteTimeout)
	defer out.end()
	s := &reactStream{a: a, ctx: r.Context(), out: out, run: run, session: session}
	header, open := http.Header{}, out.open
	if after != "" {
		header.Set("Last-Event-ID", after)
		open = func(h http.Header) error { return errors.Join(out.open(h), s.again()) }
	}
	err := a.core.stream(r.Context(), http.MethodGet, path("/v1/runs/%s/events", run), nil, header, open, s.next)
	if err != nil && !out.opened {
		a.refuseReact(w, r, session, err)
		return
	}
	a.endEvents(w, r, out, err)
}

// reactAnswer is the body of POST /api/agent/chat/react/interaction_response.
type reactAnswer struct {
	SessionID        string          `json:"sessionId"`
	RequestID        string          `json:"requestId"`
	SelectedOptionID string          `json:"selectedOptionId"`
	Feedback         string          `json:"feedback" required:"false"`
	Data             json.RawMessage `json:"data" required:"false"`
}

// answerChat answers what a chat's run asks.
func (a *Adapters) answerChat(w http.ResponseWriter, r *http.Request) {
	var in reactAnswer
	err := read(r, &in)
	if err == nil {
		err = a.applyReact(r.Context(), in)
	}
	if err != nil {
		a.refuseReact(w, r, in.SessionID, err)
		return
	}
	reply(w, http.StatusOK, reactReply{true, "The answer was taken, and the run goes on", in.SessionID, reactTime(time.Now())})
}

func (a *Adapters) applyReact(ctx context.Context, in reactAnswer) error {
	if in.RequestID == "" || in.SelectedOptionID == "" {
		return refusal(http.StatusUnprocessableEntity, api.CodeInvalid, "requestId and selectedOptionId are needed: free text decides nothing")
	}
	i, err := a.interaction(ctx, interaction.ID(in.RequestID))
	if err != nil {
		return err
	}
	if mine, err := a.inSession(ctx, i, in.SessionID); err != nil {
		return err
	} else if !mine {
		return notFound(in.RequestID)
	}
	answer, err := in.answerOf(i.Request)
	if err != nil {
		return err
	}
	_, err = a.answer(ctx, i, answer)
	return gone(err, in.RequestID)
}
