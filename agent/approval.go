package agent

import (
	"encoding/json"
	"strings"
	"time"

	"holdpoint/interaction"
)

// ApprovalAgent is what the record of an approval has in the place of an agent's name.
const ApprovalAgent = "approval"

// Ask is what a program asks people to approve. An approval is a run whose only work is to have it decided.
type Ask struct {
	Title   string `json:"title"`
	Message string `json:"message,omitempty"`
	Details string `json:"details,omitempty"`
	// Tool is what rules know the program's plan by. Defaults to ApprovalAgent.
	Tool string `json:"tool,omitempty"`
	// Args say what the program would do, a JSON object. Without them there is nothing to change about it.
	Args   json.RawMessage `json:"args,omitempty"`
	Policy string          `json:"policy,omitempty"` // whose rules decide, beside those that always do
	Risk   string          `json:"risk,omitempty"`
	// Who must answer, and until when, beside what rules say of it.
	Reviewers        []string                 `json:"reviewers,omitempty"`
	Quorum           int                      `json:"quorum,omitempty"`
	ExcludeRequester bool                     `json:"exclude_requester,omitempty"`
	Timeout          time.Duration            `json:"timeout,omitempty"` // nanoseconds; 0 is no deadline
	RemindEvery      time.Duration            `json:"remind_every,omitempty"`
	Escalate         []interaction.Escalation `json:"escalate,omitempty"`
	// CallbackURL is told of the decision.
	CallbackURL string `json:"callback_url,omitempty"`
}

// Named is the tool's name under which rules decide.
func (a Ask) Named() string {
	if a.Tool == "" {
		return ApprovalAgent
	}
	return a.Tool
}

// Arguments are the arguments on which rules decide, a JSON object.
func (a Ask) Arguments() json.RawMessage {
	if len(a.Args) == 0 {
		return json.RawMessage("{}")
	}
	return a.Args
}

// DecisionStatus is how an approval ended. The set is closed.
type DecisionStatus string

const (
	DecisionApproved DecisionStatus = "approved"
	DecisionRejected DecisionStatus = "rejected" // by a person
	DecisionDenied   DecisionStatus = "denied"   // by a rule
	DecisionExpired  DecisionStatus = "expired"  // nobody decided in time
)

// Decision is what became of an ask.
type Decision struct {
	Status DecisionStatus `json:"status"`
	Reason string         `json:"reason,omitempty"` // what a rule, or a person, said
	Rule   string         `json:"rule,omitempty"`   // the rule that decided, if one did
	// By are those whose answers decided, none where a rule or the deadline did.
	By []interaction.PrincipalID `json:"by,omitempty"`
	// Args are those that were approved; Edited says that a reviewer changed them.
	Args   json.RawMessage `json:"args,omitempty"`
	Edited bool            `json:"edited,omitempty"`
	At     time.Time       `json:"at"`
}

// Sentence says it in words.
func (d Decision) Sentence() string {
	text := string(d.Status)
	if len(d.By) > 0 {
		names := make([]string, len(d.By))
		for i, id := range d.By {
			names[i] = string(id)
		}
		text += " by " + strings.Join(names, ", ")
	}
	if d.Edited {
		text += ", with other arguments"
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}
