package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdpoint/interaction"
)

// AuditEntry is one question that came to its end: what was asked, who decided what, and what it ended in. Times are UTC.
type AuditEntry struct {
	InteractionID interaction.ID          `json:"interaction_id"`
	RunID         interaction.RunID       `json:"run_id"`
	SessionID     interaction.SessionID   `json:"session_id,omitempty"`
	AgentPath     []string                `json:"agent_path,omitempty" doc:"From the agent that a person started to the one that asked"`
	Requester     interaction.PrincipalID `json:"requester,omitempty" doc:"For whom the run was"`
	Type          interaction.Type        `json:"type"`
	Kind          interaction.Kind        `json:"kind,omitempty"`
	Title         string                  `json:"title"`
	ToolName      string                  `json:"tool_name,omitempty"`
	ToolCallID    interaction.CallID      `json:"tool_call_id,omitempty"`
	ToolArgs      json.RawMessage         `json:"tool_args,omitempty" doc:"As they were asked for"`
	ModifiedArgs  json.RawMessage         `json:"modified_args,omitempty" doc:"As a person changed them, where one did"`
	Digest        string                  `json:"digest,omitempty" doc:"Of what the people saw"`
	Risk          string                  `json:"risk,omitempty"`
	MatchedRule   string                  `json:"matched_rule,omitempty"`
	Reason        string                  `json:"reason,omitempty" doc:"Why it was asked"`
	Quorum        int                     `json:"quorum" doc:"Approvers that were needed"`
	Status        interaction.Status      `json:"status"`
	Action        interaction.Action      `json:"action,omitempty" doc:"What it ended in"`
	ClosedReason  string                  `json:"closed_reason,omitempty" doc:"Why it expired or was cancelled"`
	Decisions     []AuditDecision         `json:"decisions" nullable:"false" doc:"The accepted answers, in order"`
	LinkedTo      interaction.ID          `json:"linked_to,omitempty" doc:"The interaction that this one followed"`
	AskedAt       time.Time               `json:"asked_at"`
	ClosedAt      time.Time               `json:"closed_at"`
}

// AuditDecision is one person's accepted answer.
type AuditDecision struct {
	By       interaction.PrincipalID `json:"by" doc:"Empty where an answer that was sent straight to Temporal named nobody"`
	SignedBy string                  `json:"signed_by,omitempty" doc:"The key of the bridge that vouches for the name. Without one the run took answers as they came, and the name is what the sender wrote"`
	Action   interaction.Action      `json:"action"`
	Note     string                  `json:"note,omitempty" doc:"What they said for the record or the agent"`
	Grant    *interaction.Grant      `json:"grant,omitempty" doc:"What the answer left for later calls"`
	To       []string                `json:"to,omitempty" doc:"To whom it was delegated"`
	At       time.Time               `json:"at,omitzero"`
	ID       interaction.ResponseID  `json:"response_id,omitempty"`
}

// AuditList is a page of the audit trail.
type AuditList = Page[AuditEntry]

type auditInput struct {
	PageQuery
	Status string             `query:"status" enum:"answered,expired,cancelled"`
	Action interaction.Action `query:"action" maxLength:"64" doc:"What it ended in, such as approve"`
	RunID  string             `query:"run_id" maxLength:"256"`
	User   string             `query:"user" maxLength:"256" doc:"For whom the run was"`
	By     string             `query:"by" maxLength:"256" doc:"Who answered"`
	Agent  string             `query:"agent" maxLength:"128" doc:"The agent that asked, or one above it"`
	Tool   string             `query:"tool" maxLength:"256"`
	Risk   string             `query:"risk" enum:"low,medium,high,critical"`
	Text   string             `query:"q" maxLength:"256" doc:"Words that all occur in what was asked, in any order and case"`
	Since  time.Time          `query:"since" doc:"Closed at or after this time (RFC 3339)"`
	Until  time.Time          `query:"until" doc:"Closed before this time (RFC 3339)"`
	Format string             `query:"format" enum:"json,jsonl,csv" default:"json" doc:"jsonl and csv are exports: all that fits, whatever page_size says"`
}

func (s *Server) auditRoutes(h huma.API) {
	op := operation(h, "audit", http.MethodGet, "/v1/audit", "Who decided what, the newest question first; as a page, or whole as an export", 200, 400, 422)
	op.Description = "Each entry is a question that came to its end, with every accepted answer. A page may be short, or empty, and still " +
		"have a next one. What a run did beside is in its events, whose hash chain holdpoint audit verify checks."
	op.Responses["200"] = &huma.Response{Description: "A page, or the export", Content: map[string]*huma.MediaType{
		"application/json":  {Schema: h.OpenAPI().Components.Schemas.Schema(typeOf[AuditList](), true, "AuditList")},
		"application/jsonl": {Schema: h.OpenAPI().Components.Schemas.Schema(typeOf[AuditEntry](), true, "AuditEntry")},
		"text/csv":          {Schema: &huma.Schema{Type: huma.TypeString}},
	}}
	register(s, h, op, s.audit)
}

func (s *Server) audit(ctx context.Context, in *auditInput) (*huma.StreamResponse, error) {
	if !in.Since.IsZero() && !in.Until.IsZero() && !in.Since.Before(in.Until) {
		return nil, problem(http.StatusUnprocessableEntity, CodeInvalid, "since (%s) is not before until (%s): nothing would fit",
			in.Since.Format(time.RFC3339), in.Until.Format(time.RFC3339))
	}
	r := &auditReader{s: s, in: in, p: principal(ctx), owner: s.ownerOf(ctx, principal(ctx))}
	if in.Format == "json" || in.Format == "" {
		entries, next, err := listing[interaction.Interaction, AuditEntry]{show: r.entry,
			read: func(size int, token string) ([]interaction.Interaction, string, error) {
				return r.rows(ctx, size, token)
			},
		}.page(in.PageSize, in.PageToken)
		if err != nil {
			return nil, badQuery(err)
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			hc.SetHeader("Content-Type", "application/json")
			_ = json.NewEncoder(hc.BodyWriter()).Encode(newPage(entries, next)) // the client is gone
		}}, nil
	}
	entries, next, err := r.piece(ctx, in.PageToken)
	if err != nil {
		return nil, badQuery(err)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) { r.export(hc, entries, next) }}, nil
}

// auditReader reads the trail on and on, as one caller may see it.
type auditReader struct {
	s     *Server
	in    *auditInput
	p     interaction.Principal
	owner func(interaction.RunID) (bool, error)
}

// entry is a question as the trail has it; ok is false for one that was not asked for or that the caller may not see.
func (r *auditReader) entry(i interaction.Interaction) (e AuditEntry, ok bool, err error) {
	if !r.in.selects(i) {
		return e, false, nil
	}
	if ok, err = seesInteraction(r.p, i, r.owner); ok {
		e = newAuditEntry(r.p, i)
	}
	return e, ok, err
}

// piece is what an export has of the next rows, and the token of the rest.
func (r *auditReader) piece(ctx context.Context, token string) (entries []AuditEntry, next string, err error) {
	rows, next, err := r.rows(ctx, scanPage, token)
	if err != nil {
		return nil, "", err
	}
	entries, _, err = listing[interaction.Interaction, AuditEntry]{show: r.entry}.seen(rows)
	return entries, next, err
}

// rows reads what the store finds. Of one run there is little, which it finds by that.
func (r *auditReader) rows(ctx context.Context, size int, token string) ([]interaction.Interaction, string, error) {
	in := r.in
	if in.RunID == "" {
		return r.s.cfg.Store.Closed(ctx, ClosedFilter{Status: interaction.Status(in.Status), Action: in.Action, Requester: in.User, By: in.By,
			Agent: in.Agent, Tool: in.Tool, Risk: in.Risk, Since: in.Since, Until: in.Until, PageSize: size, PageToken: token})
	}
	statuses := closedStatuses()
	if in.Status != "" {
		statuses = []interaction.Status{interaction.Status(in.Status)}
	}
	return r.s.cfg.Store.Interactions(ctx, InteractionFilter{Status: statuses, RunID: interaction.RunID(in.RunID), PageSize: size, PageToken: token})
}

// selects applies the filters, those that the store has applied too: what it finds by a long name may be another.
func (in *auditInput) selects(i interaction.Interaction) bool {
	list := listInteractionsInput{User: in.User, Agent: in.Agent, Tool: in.Tool, Risk: in.Risk, Text: in.Text}
	switch {
	case !list.selects(interaction.Principal{}, i),
		in.Action != "" && i.Action != in.Action,
		!in.Since.IsZero() && i.ClosedAt.Before(in.Since),
		!in.Until.IsZero() && !i.ClosedAt.Before(in.Until):
		return false
	}
	return in.By == "" || slices.ContainsFunc(i.Responses, func(r interaction.Response) bool { return string(r.Reviewer.ID) == in.By })
}
