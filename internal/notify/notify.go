// Package notify tells people and programs what waits for them and what was decided: by webhooks signed as the Standard
// Webhooks specification says, by calling back programs that asked, and in Slack, where those who are asked can answer.
//
// Start at Webhook and Slack. What is told comes from hostile places (models, tools, programs), and so does the address of a
// callback: it is dialled only where it is public, or the operator has listed it.
package notify

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"holdpoint/agent"
	"holdpoint/interaction"
)

// Message is what is told.
type Message struct {
	ID          string // the same however often it is sent
	Kind        agent.NoticeKind
	At          time.Time
	Interaction interaction.Interaction // zero for approval.decided
	Run         agent.Run
	// Begun is when it was first tried, zero where it was not: that attempt may have arrived, and nobody knows of it.
	Begun time.Time
}

// RefusedError is a delivery that trying again does not mend.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// Hider takes secrets out of texts and of JSON, and says whether something was hidden.
type Hider interface {
	Text(s string) (string, bool)
	JSON(raw []byte) ([]byte, bool)
}

// none hides nothing.
type none struct{}

func (none) Text(s string) (string, bool)   { return s, false }
func (none) JSON(raw []byte) ([]byte, bool) { return raw, false }

// maxPayload bounds the body of a webhook; what is longer is sent without its bulk, and says so.
const maxPayload = 512 << 10

// payload is the body of a webhook.
type payload struct {
	Type      agent.NoticeKind `json:"type"`
	Timestamp time.Time        `json:"timestamp"`
	Data      any              `json:"data"`
}

// asked is what a webhook says of an interaction.
type asked struct {
	interaction.Request
	Status    interaction.Status        `json:"status"`
	Action    interaction.Action        `json:"action,omitempty"`
	By        []interaction.PrincipalID `json:"by,omitempty"`
	Why       string                    `json:"closed_reason,omitempty"`
	ClosedAt  time.Time                 `json:"closed_at,omitzero"`
	Cut       bool                      `json:"cut,omitempty"`      // arguments and details are left out: look in the inbox
	Redacted  bool                      `json:"redacted,omitempty"` // parts are hidden, and it can't be answered by this: look in the inbox
	Link      string                    `json:"link,omitempty"`
	AgentName string                    `json:"agent,omitempty"`
}

// decidedData is what a callback says of an approval.
type decidedData struct {
	ApprovalID interaction.RunID         `json:"approval_id"`
	Status     agent.DecisionStatus      `json:"status"`
	By         []interaction.PrincipalID `json:"by,omitempty"`
	Reason     string                    `json:"reason,omitempty"`
	Args       json.RawMessage           `json:"args,omitempty"`
	Edited     bool                      `json:"edited,omitempty"`
	Redacted   bool                      `json:"redacted,omitempty"` // args, which have secrets, are left out: ask for the approval
	DecidedAt  time.Time                 `json:"decided_at,omitzero"`
}

// body is a message as JSON.
func (m Message) body(inbox string, h Hider) ([]byte, error) {
	p := payload{Type: m.Kind, Timestamp: m.At.UTC()}
	if m.Kind == agent.NoticeDecided {
		d := decidedData{ApprovalID: m.Run.ID, Status: "cancelled", Reason: m.Run.Error, DecidedAt: m.Run.EndedAt}
		if r := m.Run.Decision; r != nil && m.Run.Status == agent.RunCompleted {
			d.Status, d.By, d.Reason, d.DecidedAt = r.Status, r.By, r.Reason, r.At
			if r.Status == agent.DecisionApproved {
				d.Args, d.Edited = r.Args, r.Edited
			}
		}
		if _, hidden := h.JSON(d.Args); hidden { // what a program is to carry out is whole, or not there
			d.Args, d.Redacted = nil, true
		}
		d.Reason, _ = h.Text(d.Reason)
		p.Data = d
		return json.Marshal(p)
	}
	i := m.Interaction
	a := asked{Request: i.Request, Status: i.Status, Action: i.Action, Why: i.Reason, ClosedAt: i.ClosedAt, Link: link(inbox, i.Request.ID), AgentName: m.Run.Agent}
	for _, r := range i.Responses {
		a.By = append(a.By, r.Reviewer.ID)
	}
	p.Data = a
	raw, err := json.Marshal(p)
	if err == nil && len(raw) > maxPayload {
		a.Request, a.Cut = unanswerable(a.Request.Brief()), true
		p.Data = a
		raw, err = json.Marshal(p)
	}
	if err != nil {
		return nil, err
	}
	if _, hidden := h.JSON(raw); hidden {
		a.Redacted, a.Request = true, unanswerable(a.Request)
		p.Data = a
		if raw, err = json.Marshal(p); err == nil {
			raw, _ = h.JSON(raw)
		}
	}
	return raw, err
}

// unanswerable is a request, and the questions in it, without what an answer is made of: the options and the digest.
func unanswerable(r interaction.Request) interaction.Request {
	r.Options, r.Digest, r.ToolDigest = nil, "", ""
	r.Interactions = slices.Clone(r.Interactions)
	for n := range r.Interactions {
		r.Interactions[n] = unanswerable(r.Interactions[n])
	}
	return r
}

// link leads to an interaction in the inbox, "" where its address is not configured.
func link(inbox string, id interaction.ID) string {
	if inbox == "" {
		return ""
	}
	return strings.TrimSuffix(inbox, "/") + "/inbox/" + url.PathEscape(string(id))
}
