package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/event"
	"holdpoint/interaction"
)

// pageSize is how many items one request asks for at most.
const pageSize = 200

// runsQuery selects runs, newest first.
type runsQuery struct {
	status, agent, user, session, prefix string
	limit                                int    // at most so many
	token                                string // of the page before
}

func (q runsQuery) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"status": q.status, "agent": q.agent, "user_id": q.user, "session_id": q.session,
		"prefix": q.prefix, "page_token": q.token} {
		if value != "" {
			v.Set(name, value)
		}
	}
	v.Set("page_size", strconv.Itoa(min(q.limit, pageSize)))
	return v
}

// runs lists runs; the page's token goes on behind them.
func (cl *client) runs(ctx context.Context, q runsQuery) (api.RunList, error) {
	all := api.RunList{Items: []agent.Run{}}
	for {
		var page api.RunList
		if _, err := cl.do(ctx, call{method: http.MethodGet, path: "/v1/runs", query: q.values()}, &page); err != nil {
			return all, err
		}
		all.Items, all.NextPageToken = append(all.Items, page.Items...), page.NextPageToken
		q.token = page.NextPageToken
		if q.limit -= len(page.Items); q.token == "" || q.limit <= 0 {
			return all, nil
		}
	}
}

// run reads one; found is false where there is none of exactly that id.
func (cl *client) run(ctx context.Context, id interaction.RunID) (v api.RunView, found bool, err error) {
	if id == "" || id == "." || id == ".." { // another address
		return v, false, nil
	}
	_, err = cl.do(ctx, call{method: http.MethodGet, path: runPath(id)}, &v)
	if code(err) == api.CodeNotFound {
		return v, false, nil
	}
	return v, err == nil && v.ID == id, err
}

func runPath(id interaction.RunID) string { return "/v1/runs/" + url.PathEscape(string(id)) }

// steps reads a run's transcript.
func (cl *client) steps(ctx context.Context, id interaction.RunID) (api.StepList, error) {
	all := api.StepList{}
	q := url.Values{"page_size": {strconv.Itoa(pageSize)}}
	for range maxPages {
		var page api.StepList
		if _, err := cl.do(ctx, call{method: http.MethodGet, path: runPath(id) + "/steps", query: q}, &page); err != nil {
			return all, err
		}
		all.Items, all.NextPageToken = append(all.Items, page.Items...), page.NextPageToken
		if page.NextPageToken == "" {
			break
		}
		q.Set("page_token", page.NextPageToken)
	}
	return all, nil
}

// record reads the events that are stored of a run.
func (cl *client) record(ctx context.Context, id interaction.RunID) ([]event.Event, error) {
	var list []event.Event
	err := cl.follow(ctx, stream{run: id, once: true}, func(e event.Event) error {
		if e.Number > 0 {
			list = append(list, e)
		}
		return nil
	}, func(string) {})
	return list, err
}

// agents lists the agents that can be started.
func (cl *client) agents(ctx context.Context) ([]api.AgentInfo, error) {
	var page api.AgentList
	_, err := cl.do(ctx, call{method: http.MethodGet, path: "/v1/agents"}, &page)
	return page.Items, err
}

// maxFits is how many runs of one prefix are looked at.
const maxFits = 5 * pageSize

// findRun returns the run that ref stands for: a run's id, a session's id (its newest run), or the beginning of
// either, four characters at least, that fits one only.
func (cl *client) findRun(ctx context.Context, ref string) (agent.Run, error) {
	if v, found, err := cl.run(ctx, interaction.RunID(ref)); err != nil || found {
		return v.Run, err
	}
	list, err := cl.fitting(ctx, ref)
	if err != nil {
		return agent.Run{}, err
	}
	for _, r := range list {
		if string(r.SessionID) == ref {
			return r, nil // the newest comes first
		}
	}
	fits := map[string]agent.Run{}
	for _, r := range list {
		if strings.HasPrefix(string(r.ID), ref) {
			fits["run "+string(r.ID)] = r
		}
	}
	for _, r := range slices.Backward(list) {
		if strings.HasPrefix(string(r.SessionID), ref) {
			fits["session "+string(r.SessionID)] = r
		}
	}
	return cl.onlyRun(ref, list, fits)
}

// fitting lists the runs that a ref may mean, newest first.
func (cl *client) fitting(ctx context.Context, ref string) ([]agent.Run, error) {
	if len(ref) < minPrefix {
		if page, err := cl.runs(ctx, runsQuery{session: ref, limit: 1}); ref != "" && (err != nil || len(page.Items) > 0) {
			return page.Items, err
		}
		return nil, fmt.Errorf("no run or session has the id %q: type the beginning of one, %d characters at least; `%s runs%s` lists them", ref, minPrefix, cl.line, cl.flags)
	}
	page, err := cl.runs(ctx, runsQuery{prefix: ref, limit: maxFits})
	if err == nil && page.NextPageToken != "" {
		exact, err := cl.runs(ctx, runsQuery{session: ref, limit: 1})
		if err != nil || len(exact.Items) == 0 {
			return nil, orError(err, "more than %d runs fit %q: type more of the id", maxFits, ref)
		}
		return exact.Items, nil
	}
	return page.Items, err
}

func orError(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return fmt.Errorf(format, args...)
}

// onlyRun is the one run that all of fits mean.
func (cl *client) onlyRun(ref string, list []agent.Run, fits map[string]agent.Run) (agent.Run, error) {
	meant := map[interaction.RunID]agent.Run{}
	for _, r := range fits {
		meant[r.ID] = r
	}
	switch len(meant) {
	case 0:
		return agent.Run{}, fmt.Errorf("no run or session fits %q: `%s runs%s` lists them", ref, cl.line, cl.flags)
	case 1:
		for _, r := range meant {
			return r, nil
		}
	}
	const most = 20
	var b strings.Builder
	fmt.Fprintf(&b, "%q fits %d runs; type more of the one you mean:", ref, len(list))
	for n, r := range list {
		if n == most {
			fmt.Fprintf(&b, "\n  and %d more", len(list)-most)
			break
		}
		fmt.Fprintf(&b, "\n  %s  %-14s  session %s", r.ID, r.Status, r.SessionID)
	}
	return agent.Run{}, fmt.Errorf("%s", b.String())
}

// findSession returns the id of the session that ref stands for, by its own id or one of its runs'.
func (cl *client) findSession(ctx context.Context, ref string) (interaction.SessionID, error) {
	exact, err := cl.runs(ctx, runsQuery{session: ref, limit: 1})
	if ref != "" && (err != nil || len(exact.Items) > 0) {
		return interaction.SessionID(ref), err
	}
	list, err := cl.fitting(ctx, ref)
	if err != nil {
		return "", err
	}
	ids := map[interaction.SessionID]bool{}
	for _, r := range list {
		ids[r.SessionID] = true
	}
	if len(ids) == 1 {
		return list[0].SessionID, nil
	}
	_, err = cl.onlyRun(ref, list, byID(list))
	return "", err
}

func byID(list []agent.Run) map[string]agent.Run {
	out := map[string]agent.Run{}
	for _, r := range list {
		out[string(r.ID)] = r
	}
	return out
}
