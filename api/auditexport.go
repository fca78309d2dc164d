package api

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdpoint/interaction"
)

func newAuditEntry(p interaction.Principal, i interaction.Interaction) AuditEntry {
	if !seesOutput(p, i.Request) {
		i = i.WithoutOutput()
	}
	q := i.Request
	e := AuditEntry{InteractionID: q.ID, RunID: q.RunID, SessionID: q.SessionID, AgentPath: q.AgentPath, Requester: q.Requester,
		Type: q.Type, Kind: q.Kind, Title: q.Title, ToolName: q.ToolName, ToolCallID: q.ToolCallID, ToolArgs: validJSON(q.ToolArgs),
		Digest: q.Digest, Risk: q.Risk, MatchedRule: q.MatchedRule, Reason: q.Reason, Quorum: q.QuorumNeeded(), Status: i.Status,
		Action: i.Action, ClosedReason: i.Reason, Decisions: []AuditDecision{}, LinkedTo: q.LinkedTo,
		AskedAt: q.CreatedAt.UTC(), ClosedAt: i.ClosedAt.UTC()}
	for _, r := range i.Responses {
		d := AuditDecision{By: r.Reviewer.ID, SignedBy: r.SignedBy, Action: r.Action, Note: r.Note, Grant: r.Grant, To: r.To, At: r.RespondedAt, ID: r.ID}
		if d.Note == "" {
			d.Note = r.Feedback
		}
		if r.Action == interaction.ActionModifyArgs {
			e.ModifiedArgs = validJSON(r.Args)
		}
		e.Decisions = append(e.Decisions, d)
	}
	return e
}

// export writes the trail to its end. A client whose export could not be read to its end sees a connection that was
// cut: what came must not look whole.
func (r *auditReader) export(hc huma.Context, entries []AuditEntry, next string) {
	req, w := humago.Unwrap(hc)
	write, flush := r.writer(w)
	for {
		for _, e := range entries {
			if err := write(e); err != nil {
				return // the client is gone
			}
		}
		if err := flush(); err != nil || next == "" {
			return
		}
		var err error
		if entries, next, err = r.piece(req.Context(), next); err != nil {
			r.failed(req.Context(), err)
		}
	}
}

func (r *auditReader) failed(ctx context.Context, err error) {
	r.s.cfg.Log.ErrorContext(ctx, "an export of the audit trail ended early", "error", err)
	panic(http.ErrAbortHandler)
}

// writer begins the export in the format that was asked for.
func (r *auditReader) writer(w http.ResponseWriter) (write func(AuditEntry) error, flush func() error) {
	to := http.NewResponseController(w)
	lasting := func() error { // a long export is slow in all, not in its parts
		_ = to.SetWriteDeadline(time.Now().Add(r.s.cfg.WriteTimeout))
		return to.Flush()
	}
	if r.in.Format == "jsonl" {
		attach(w, "application/jsonl", "holdpoint-audit.jsonl")
		lines := json.NewEncoder(w)
		return func(e AuditEntry) error { return lines.Encode(e) }, lasting
	}
	attach(w, "text/csv; charset=utf-8", "holdpoint-audit.csv")
	return csvWriter(w, lasting)
}

func attach(w http.ResponseWriter, contentType, name string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	w.WriteHeader(http.StatusOK)
}

var auditColumns = []string{"closed_at", "asked_at", "status", "action", "decided_by", "notes", "title", "tool", "args", "modified_args", "risk",
	"rule", "reason", "agent", "requester", "quorum", "closed_reason", "digest", "session_id", "run_id", "interaction_id", "linked_to"}

func csvWriter(w io.Writer, flush func() error) (func(AuditEntry) error, func() error) {
	out := csv.NewWriter(w)
	_ = out.Write(auditColumns) // an error is kept, and told by the next
	return func(e AuditEntry) error { return out.Write(auditRow(e)) }, func() error {
		out.Flush()
		if err := out.Error(); err != nil {
			return err
		}
		return flush()
	}
}

func auditRow(e AuditEntry) []string {
	var by, notes []string
	for _, d := range e.Decisions {
		by = append(by, d.By.Named()+":"+string(d.Action))
		if d.Note != "" {
			notes = append(notes, d.Note)
		}
	}
	row := []string{e.ClosedAt.Format(time.RFC3339), e.AskedAt.Format(time.RFC3339), string(e.Status), string(e.Action), strings.Join(by, " "),
		strings.Join(notes, " / "), e.Title, e.ToolName, string(e.ToolArgs), string(e.ModifiedArgs), e.Risk, e.MatchedRule, e.Reason,
		strings.Join(e.AgentPath, " > "), string(e.Requester), strconv.Itoa(e.Quorum), e.ClosedReason, e.Digest, string(e.SessionID),
		string(e.RunID), string(e.InteractionID), string(e.LinkedTo)}
	for n, cell := range row {
		row[n] = csvCell(cell)
	}
	return row
}

// csvCell shows odd characters as escapes, and keeps a spreadsheet from taking a text for a formula (OWASP, CSV injection).
func csvCell(text string) string {
	text = interaction.Visible(text)
	if first, _ := utf8.DecodeRuneInString(text); text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) { // the wide ones are the same where people write them
		return "'" + text
	}
	return text
}
