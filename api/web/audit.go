package web

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdpoint/api"
	"holdpoint/event"
	"holdpoint/interaction"
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

// maxExport bounds the pages of one export.
const maxExport = 200

// auditExport writes the filtered decisions as CSV. Cells that a spreadsheet would take for a formula are quoted.
func auditExport(v *view) error {
	q := inboxQuery{View: "closed", Text: v.r.FormValue("q"), Agent: v.r.FormValue("agent"), Tool: v.r.FormValue("tool"), Risk: v.r.FormValue("risk")}
	v.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	v.w.Header().Set("Content-Disposition", `attachment; filename="holdpoint-audit.csv"`)
	out := csv.NewWriter(v.w)
	_ = out.Write([]string{"closed_at", "decision", "action", "by", "tool", "risk", "agent", "requester", "rule", "title", "digest", "run_id", "interaction_id"})
	for range maxExport {
		var list api.InteractionList
		if err := v.get(q.api(), &list); err != nil {
			v.s.cfg.Log.WarnContext(v.r.Context(), "audit export ended early", "error", err)
			panic(http.ErrAbortHandler) // a cut file must not look whole
		}
		for _, it := range list.Items {
			if err := out.Write(auditRow(it)); err != nil {
				return nil
			}
		}
		if q.Page = list.NextPageToken; q.Page == "" {
			break
		}
	}
	out.Flush()
	return nil
}

func auditRow(it api.Interaction) []string {
	var by []string
	for _, r := range it.Responses {
		by = append(by, string(r.Reviewer.ID)+":"+string(r.Action))
	}
	row := []string{it.ClosedAt.UTC().Format(time.RFC3339), string(it.Status), string(it.Action), strings.Join(by, " "), it.ToolName, it.Risk,
		strings.Join(it.AgentPath, " > "), string(it.Requester), it.MatchedRule, it.Request.Title, it.Digest, string(it.RunID), string(it.ID)}
	for n, cell := range row {
		cell = interaction.Visible(cell)
		if cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
			cell = "'" + cell
		}
		row[n] = cell
	}
	return row
}

type recordData struct {
	page
	Run    api.RunView
	Events []event.Event
	Head   event.Head
	Broken string
}

// recordPage shows a run's record, and whether its chain holds.
//
// A payload that the bridge does not show to this person can't be verified by them; the hashes are shown all the same.
func recordPage(v *view) error {
	d := recordData{page: v.page("Record", "audit")}
	if err := v.get("/v1/runs/"+path(v.r.PathValue("id")), &d.Run); err != nil {
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
	for _, e := range d.Events {
		if e.Number != d.Head.Number+1 || e.Hash == "" {
			d.Broken = fmt.Sprintf("An entry is missing before number %d.", e.Number)
			break
		}
		d.Head = event.Head{Number: e.Number, Hash: e.Hash}
	}
	return v.render(http.StatusOK, "record", d)
}
