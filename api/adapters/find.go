package adapters

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/llm"
)

// Bounds of a search for what a client means by an id.
const (
	maxRounds = 20 // interactions of one call that are looked at
	maxPages  = 10 // pages of the inbox, each of pageSize
	maxRuns   = 50 // transcripts
	pageSize  = "200"
)

func notFound(id string) *api.Problem {
	return refusal(http.StatusNotFound, api.CodeNotFound, "%q is unknown or has expired", id)
}

func isNotFound(err error) bool {
	var p *api.Problem
	return errors.As(err, &p) && p.Status == http.StatusNotFound
}

// interaction reads one interaction as its caller may see it.
func (a *Adapters) interaction(ctx context.Context, id interaction.ID) (shown, error) {
	var i api.Interaction
	_, err := a.core.call(ctx, http.MethodGet, path("/v1/interactions/%s", string(id)), nil, &i)
	return a.show(i), err
}

// find returns what a client means by an id: an interaction, our id of a call, or, where that is unambiguous among what
// waits, the provider's.
func (a *Adapters) find(ctx context.Context, id string) (shown, error) {
	if id == "" || len(id) > 512 {
		return shown{}, refusal(http.StatusUnprocessableEntity, api.CodeInvalid, "the id is missing or too long")
	}
	i, err := a.interaction(ctx, interaction.ID(id))
	if !isNotFound(err) {
		return i, err
	}
	if i, err = a.ofCall(ctx, id); !isNotFound(err) {
		return i, err
	}
	open, err := a.waiting(ctx, nil)
	if err != nil {
		return i, err
	}
	n := slices.IndexFunc(open, func(o shown) bool { return slices.Contains(o.SharedCallIDs, interaction.CallID(id)) })
	if n >= 0 {
		return open[n], nil
	}
	return a.ofProvider(ctx, open, id)
}

// ofCall is the newest interaction of a call of ours: they are numbered from 1.
func (a *Adapters) ofCall(ctx context.Context, call string) (shown, error) {
	var last shown
	for n := 1; n <= maxRounds; n++ {
		i, err := a.interaction(ctx, interaction.ID(call+"-"+strconv.Itoa(n)))
		if isNotFound(err) || err == nil && string(i.ToolCallID) != call {
			break
		}
		if err != nil {
			return last, err
		}
		last = i
	}
	if last.ID == "" {
		return last, notFound(call)
	}
	return last, nil
}

// waiting lists what waits, newest first, as far as the caller may see it. query narrows it.
func (a *Adapters) waiting(ctx context.Context, query url.Values) (out []shown, err error) {
	for _, status := range []interaction.Status{interaction.StatusPending, interaction.StatusHeld} {
		q := url.Values{"status": {string(status)}, "page_size": {pageSize}}
		for name, values := range query {
			q[name] = values
		}
		for range maxPages {
			var page api.InteractionList
			if _, err := a.core.call(ctx, http.MethodGet, "/v1/interactions?"+q.Encode(), nil, &page); err != nil {
				return nil, err
			}
			for _, i := range page.Items {
				out = append(out, a.show(i))
			}
			if page.NextPageToken == "" {
				break
			}
			q.Set("page_token", page.NextPageToken)
		}
	}
	return out, nil
}

// ofProvider finds the one that waits for a call to which the provider gave an id. Providers use theirs again.
func (a *Adapters) ofProvider(ctx context.Context, open []shown, id string) (found shown, err error) {
	byRun := map[interaction.RunID]map[interaction.CallID]bool{}
	for _, o := range open {
		calls, known := byRun[o.RunID]
		if !known {
			if len(byRun) == maxRuns {
				break
			}
			if calls, err = a.calledBy(ctx, o.RunID, id); err != nil {
				return found, err
			}
			byRun[o.RunID] = calls
		}
		if !calls[o.ToolCallID] {
			continue
		}
		if found.ID != "" {
			return found, refusal(http.StatusConflict, api.CodeInvalid, "several calls that wait have the id %q; use the id of the interaction", id)
		}
		found = o
	}
	if found.ID == "" {
		return found, notFound(id)
	}
	return found, nil
}

// calledBy are the calls of a run to which its provider gave an id.
func (a *Adapters) calledBy(ctx context.Context, run interaction.RunID, id string) (map[interaction.CallID]bool, error) {
	calls, token := map[interaction.CallID]bool{}, ""
	for range maxPages {
		q := url.Values{"page_size": {pageSize}}
		if token != "" {
			q.Set("page_token", token)
		}
		var page api.Page[llm.Step]
		_, err := a.core.call(ctx, http.MethodGet, path("/v1/runs/%s/steps?", string(run))+q.Encode(), nil, &page)
		if isNotFound(err) {
			return calls, nil
		}
		if err != nil {
			return nil, err
		}
		for _, s := range page.Items {
			for _, c := range s.Message.ToolCalls {
				if c.ProviderID == id {
					calls[c.ID] = true
				}
			}
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	return calls, nil
}

// inSession reports whether an interaction belongs to a session: its own, or that of the run which called its agent.
func (a *Adapters) inSession(ctx context.Context, i shown, session string) (bool, error) {
	if string(i.SessionID) == session {
		return true, nil
	}
	var run api.RunView
	_, err := a.core.call(ctx, http.MethodGet, path("/v1/runs/%s", string(i.RunID)), nil, &run)
	if isNotFound(err) {
		return false, nil
	}
	return err == nil && string(run.GrantSession()) == session, err
}

// answer answers an interaction in the name of the caller, as far as they have seen it whole.
func (a *Adapters) answer(ctx context.Context, i shown, r interaction.Response) (out api.Answered, err error) {
	if err := i.takes(r); err != nil {
		return out, err
	}
	_, err = a.core.call(ctx, http.MethodPost, path("/v1/interactions/%s/respond", string(r.RequestID)), r, &out)
	return out, err
}

// offered is the first of the actions that a request offers; ok is false when it offers none of them.
func offered(q interaction.Request, actions ...interaction.Action) (interaction.Action, bool) {
	list := q.Actions()
	for _, a := range actions {
		if slices.Contains(list, a) {
			return a, true
		}
	}
	return "", false
}

// yesOrNo is what a plain yes or no to a call means: to one whose outcome is unknown, no gives it up; to one whose
// output waits, no withholds that.
func yesOrNo(q interaction.Request, yes bool) (interaction.Response, error) {
	r := interaction.Response{RequestID: q.ID}
	wanted := []interaction.Action{interaction.ActionApprove}
	if !yes {
		wanted = []interaction.Action{interaction.ActionReject, interaction.ActionWithhold, interaction.ActionSkip}
	}
	action, ok := offered(q, wanted...)
	if q.Type != interaction.TypeToolApproval || !ok {
		return r, refusal(http.StatusUnprocessableEntity, api.CodeInvalid, "%q is no call that a yes or no decides", q.ID)
	}
	r.Action = action
	return r, nil
}
