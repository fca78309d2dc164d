package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdpoint/agent"
	"holdpoint/interaction"
)

// Bounds of what a program may ask.
const (
	maxAskTimeout = 366 * 24 * time.Hour
	minAskRemind  = time.Minute
	maxAskBytes   = 48 << 10 // as JSON, so that it travels whole
)

// AskApproval is the body of POST /v1/approvals.
type AskApproval struct {
	Title    string            `json:"title" minLength:"1" maxLength:"200" doc:"The question, in one line" example:"Deploy v1.2.3?"`
	Message  string            `json:"message,omitempty" maxLength:"4096" doc:"What a reviewer should know"`
	Details  string            `json:"details,omitempty" maxLength:"32768" doc:"What would be done, in full; a unified diff is shown as one"`
	Tool     string            `json:"tool,omitempty" pattern:"^[A-Za-z0-9_.-]{1,128}$" doc:"The name by which rules decide; 'approval' when left out" example:"deploy"`
	Args     json.RawMessage   `json:"args,omitempty" doc:"A JSON object on which rules decide, and which a reviewer may change"`
	Policy   string            `json:"policy,omitempty" maxLength:"128" doc:"The policy that decides; without one, those rules alone that always hold"`
	UserID   string            `json:"user_id,omitempty" maxLength:"256" doc:"For whom; the caller, unless they have the role act_for and name another"`
	Risk     string            `json:"risk,omitempty" enum:"low,medium,high,critical"`
	Metadata map[string]string `json:"metadata,omitempty" maxProperties:"32" doc:"Kept with the approval and shown"`

	CallbackURL string `json:"callback_url,omitempty" maxLength:"2048" doc:"Where the decision is posted to, signed; it takes a notifier of kind callback" example:"https://ci.example.com/decided"`

	Reviewers        []string  `json:"reviewers,omitempty" maxItems:"50" doc:"Who may answer, people or group:NAME, where no rule names them; anybody who reviews, when left out"`
	Quorum           int       `json:"quorum,omitempty" minimum:"1" maximum:"100" doc:"How many must approve; one when left out; a rule may ask for more"`
	ExcludeRequester bool      `json:"exclude_requester,omitempty" doc:"The one for whom it is asked may not answer"`
	Timeout          string    `json:"timeout,omitempty" minLength:"1" maxLength:"20" doc:"After which it is expired, such as 24h or 7d; a rule may name less" example:"24h"`
	RemindEvery      string    `json:"remind_every,omitempty" minLength:"1" maxLength:"20" doc:"1m or more" example:"2h"`
	Escalate         []AskRung `json:"escalate,omitempty" maxItems:"10" doc:"Who may answer as well, and from when on, where no rule names reviewers"`
}

// AskRung is a rung of the ladder of those who may answer.
type AskRung struct {
	After string   `json:"after" minLength:"1" maxLength:"20" example:"8h"`
	To    []string `json:"to" maxItems:"50" minItems:"1"`
}

// CancelApproval is the body of POST /v1/approvals/{id}/cancel.
type CancelApproval struct {
	ID   interaction.ResponseID `json:"id,omitempty" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"Chosen by the sender: the same id is applied once"`
	Note string                 `json:"note,omitempty" doc:"Why; 4 KiB at most"`
}

// ApprovalPending and ApprovalCancelled are the statuses of an approval beside those of agent.Decision.
const (
	ApprovalPending   agent.DecisionStatus = "pending"
	ApprovalCancelled agent.DecisionStatus = "cancelled"
)

// ApprovalView is what became of an ask.
type ApprovalView struct {
	ApprovalID    interaction.RunID         `json:"approval_id" doc:"It is a run, too: its events, its record and its control are under this id"`
	Status        agent.DecisionStatus      `json:"status" enum:"pending,approved,rejected,denied,expired,cancelled" doc:"Only approved lets the program go on"`
	Title         string                    `json:"title"`
	UserID        interaction.PrincipalID   `json:"user_id,omitempty"`
	By            []interaction.PrincipalID `json:"by,omitempty" doc:"Who decided; nobody where a rule or the deadline did"`
	Reason        string                    `json:"reason,omitempty" doc:"What a reviewer, or the rule, said"`
	Rule          string                    `json:"rule,omitempty" doc:"The rule that decided, if one did"`
	Args          json.RawMessage           `json:"args,omitempty" doc:"What was approved: go on with these"`
	Edited        bool                      `json:"edited,omitempty" doc:"A reviewer changed the arguments"`
	InteractionID interaction.ID            `json:"interaction_id,omitempty" doc:"The question that people answer"`
	Approvals     int                       `json:"approvals,omitempty" doc:"Who has approved so far"`
	Quorum        int                       `json:"quorum,omitempty" doc:"How many must"`
	CreatedAt     time.Time                 `json:"created_at"`
	ExpiresAt     time.Time                 `json:"expires_at,omitzero"`
	DecidedAt     time.Time                 `json:"decided_at,omitzero"`
}

// approvalView shows an approval with the question that it waits or waited at.
func (s *Server) approvalView(ctx context.Context, r agent.Run) (ApprovalView, error) {
	v := ApprovalView{ApprovalID: r.ID, Status: ApprovalPending, Title: r.Ask.Title, UserID: r.UserID, CreatedAt: r.StartedAt}
	list, _, err := s.cfg.Store.Interactions(ctx, InteractionFilter{RunID: r.ID, PageSize: 1})
	if err != nil {
		return v, err
	}
	if len(list) > 0 {
		v.InteractionID, v.ExpiresAt = list[0].Request.ID, list[0].Request.ExpiresAt
		v.Approvals, v.Quorum = list[0].Approvals(), list[0].Request.QuorumNeeded()
	}
	switch d := r.Decision; {
	case r.Status.Final() && r.Status != agent.RunCompleted:
		v.Status, v.Reason, v.DecidedAt = ApprovalCancelled, r.Error, r.EndedAt
	case d != nil && r.Status.Final():
		v.Status, v.By, v.Reason, v.Rule, v.DecidedAt = d.Status, d.By, d.Reason, d.Rule, d.At
		if d.Status == agent.DecisionApproved {
			v.Args, v.Edited = validJSON(d.Args), d.Edited
		}
	}
	return v, nil
}

// checkAsk reads what is asked and refuses what no reviewer could be shown.
func (s *Server) checkAsk(b AskApproval) (agent.Ask, error) {
	a := agent.Ask{Title: strings.TrimSpace(b.Title), Message: b.Message, Details: b.Details, Tool: b.Tool, Args: b.Args, Policy: b.Policy,
		Risk: b.Risk, Reviewers: b.Reviewers, Quorum: b.Quorum, ExcludeRequester: b.ExcludeRequester,
		CallbackURL: b.CallbackURL}
	if err := s.policyKnown(b.Policy); err != nil {
		return a, err
	}
	if a.Title == "" || len(a.Title) > interaction.MaxTitleBytes {
		return a, badAsk("title", "needs 1 to %d bytes", interaction.MaxTitleBytes)
	}
	if len(b.Args) > 0 {
		if err := interaction.Strict(b.Args, &map[string]any{}); err != nil || bytes.Equal(bytes.TrimSpace(b.Args), []byte("null")) {
			return a, badAsk("args", "must be a JSON object")
		}
	}
	for name, value := range b.Metadata {
		if len(name) > maxMetadataKey || len(value) > maxMetadataValue {
			return a, tooLong("body.metadata", max(len(name), len(value)), maxMetadataValue)
		}
	}
	if b.CallbackURL != "" {
		if err := s.cfg.Approvals.CheckCallback(b.CallbackURL); err != nil {
			return a, badAsk("callback_url", "%v", err)
		}
	}
	if err := askTimes(&a, b); err != nil {
		return a, err
	}
	if err := checkNames("reviewers", a.Reviewers); err != nil {
		return a, err
	}
	if groups := slices.ContainsFunc(a.Reviewers, func(who string) bool { return strings.HasPrefix(who, "group:") }); len(a.Reviewers) > 0 &&
		!groups && a.Quorum > len(a.Reviewers)+climbers(a.Escalate) {
		return a, badAsk("quorum", "is %d, and those who may answer are only %d: lower it, or name more reviewers", a.Quorum, len(a.Reviewers))
	}
	raw, err := json.Marshal(a)
	if err != nil || len(raw) > maxAskBytes {
		return a, tooLong("body", len(raw), maxAskBytes)
	}
	return a, nil
}

func climbers(ladder []interaction.Escalation) (n int) {
	for _, rung := range ladder {
		n += len(rung.To)
	}
	return n
}

// askTimes reads the times of what is asked.
func askTimes(a *agent.Ask, b AskApproval) (err error) {
	if a.Timeout, err = askTime("timeout", b.Timeout, time.Second); err != nil {
		return err
	}
	if a.RemindEvery, err = askTime("remind_every", b.RemindEvery, minAskRemind); err != nil {
		return err
	}
	for n, rung := range b.Escalate {
		at := "escalate[" + strconv.Itoa(n) + "]."
		after, err := askTime(at+"after", rung.After, time.Second)
		if err != nil {
			return err
		}
		if err := checkNames(at+"to", rung.To); err != nil {
			return err
		}
		if n > 0 && after <= a.Escalate[n-1].After || after == 0 {
			return badAsk(at+"after", "must come later than the rung before")
		}
		a.Escalate = append(a.Escalate, interaction.Escalation{After: after, To: rung.To})
	}
	return nil
}

func askTime(field, text string, least time.Duration) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := interaction.ParseSpan(text)
	if err != nil || d < least || d > maxAskTimeout {
		return 0, badAsk(field, "%q must be a time such as 24h or 7d, from %s to %s", text, interaction.FormatSpan(least), interaction.FormatSpan(maxAskTimeout))
	}
	return d, nil
}

func checkNames(field string, names []string) error {
	for n, who := range names {
		if strings.TrimSpace(who) == "" || who == "group:" || len(who) > 256 {
			return badAsk(field+"["+strconv.Itoa(n)+"]", "must name a person or group:NAME")
		}
	}
	return nil
}

func badAsk(field, format string, args ...any) *Problem {
	text := fmt.Sprintf(format, args...)
	return problem(http.StatusUnprocessableEntity, CodeInvalid, "%s %s", field, text).at("body."+field, text)
}
