package web

import (
	"encoding/json"
	"net/http"
	"net/url"

	"holdpoint/api"
	"holdpoint/event"
)

// auditPage lists what people decided, newest first.
func auditPage(v *view) error {
	q := inboxQuery{View: "closed", Text: v.r.FormValue("q"), Agent: v.r.FormValue("agent"), Tool: v.r.FormValue("tool"), Risk: v.r.FormValue("risk"), Page: v.r.FormValue("page")}
	var list api.InteractionList
	if err := v.get(q.api(), &list); err != nil {
		return err
	}
	d := inboxData{page: v.page("Audit", "audit"), Query: q, Next: list.NextPageToken, Count: len(list.Items)}
	for _, it := range list.Items {
		d.Groups = append(d.Groups, group{RunID: it.RunID, Path: it.AgentPath, Rows: []row{{Interaction: it, Decided: decided(it)}}})
	}
	return v.render(http.StatusOK, "audit", d)
}

// AuditURL is the audit page, or its export, with the query's filters.
func (q inboxQuery) AuditURL(base, token string) string {
	v := url.Values{"q": {q.Text}, "agent": {q.Agent}, "tool": {q.Tool}, "risk": {q.Risk}}
	if token != "" {
		v.Set("page", token)
	}
	return base + "?" + v.Encode()
}

// auditExport hands the bridge's own export on, so that there is one.
func auditExport(v *view) error {
	q := url.Values{"format": {"csv"}}
	if v.r.FormValue("format") == "jsonl" {
		q.Set("format", "jsonl")
	}
	for _, name := range []string{"q", "agent", "tool", "risk"} {
		if value := v.r.FormValue(name); value != "" {
			q.Set(name, value)
		}
	}
	r, err := v.request(v.r.Context(), http.MethodGet, "/v1/audit?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	v.s.cfg.API.ServeHTTP(v.w, r)
	return nil
}

type recordData struct {
	page
	Run      api.RunView
	Events   []event.Event
	Verified api.Verified
}

// recordPage shows a run's record, and whether its chain holds: the bridge computes it anew, from what is stored and not
// from what this person may see of it.
func recordPage(v *view) error {
	d := recordData{page: v.page("Record", "audit")}
	if err := v.get("/v1/runs/"+path(v.r.PathValue("id")), &d.Run); err != nil {
		return err
	}
	if err := v.get("/v1/runs/"+path(d.Run.ID)+"/verification", &d.Verified); err != nil {
		return err
	}
	err := v.stream(v.r.Context(), "/v1/runs/"+path(d.Run.ID)+"/events?follow=false", func(e incoming) error {
		if e.name == "" {
			return nil
		}
		var ev event.Event
		if err := json.Unmarshal(e.data, &ev); err != nil {
			return err
		}
		d.Events = append(d.Events, ev)
		return nil
	})
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "record", d)
}
