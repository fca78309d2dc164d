package web

import (
	"net/http"
	"net/url"
	"strings"

	"holdpoint/api"
)

type runsData struct {
	page
	Status, Agent, Prefix string
	Items                 []api.RunView
	Next                  string
}

// Statuses are what runs can be filtered by.
func (runsData) Statuses() []string {
	return []string{"running", "awaiting_human", "paused", "completed", "failed", "aborted"}
}

// More is the page's URL at its next part.
func (d runsData) More() string {
	return "/runs?" + url.Values{"status": {d.Status}, "agent": {d.Agent}, "prefix": {d.Prefix}, "page": {d.Next}}.Encode()
}

func runsPage(v *view) error {
	d := runsData{page: v.page("Runs", "runs"), Status: v.r.FormValue("status"), Agent: v.r.FormValue("agent"), Prefix: strings.TrimSpace(v.r.FormValue("prefix"))}
	q := url.Values{"page_size": {"50"}}
	for key, val := range map[string]string{"status": d.Status, "agent": d.Agent, "prefix": d.Prefix, "page_token": v.r.FormValue("page")} {
		if val != "" {
			q.Set(key, val)
		}
	}
	var list api.RunList
	if err := v.get("/v1/runs?"+q.Encode(), &list); err != nil {
		return err
	}
	for _, r := range list.Items {
		d.Items = append(d.Items, api.RunView{Run: r})
	}
	d.Next = list.NextPageToken
	return v.render(http.StatusOK, "runs", d)
}

func agentsPage(v *view) error {
	var list api.AgentList
	if err := v.get("/v1/agents", &list); err != nil {
		return err
	}
	return v.render(http.StatusOK, "agents", struct {
		page
		Items []api.AgentInfo
	}{v.page("Agents", "agents"), list.Items})
}
