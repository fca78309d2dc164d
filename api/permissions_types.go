package api

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"holdpoint/interaction"
	"holdpoint/permission"
)

// Permissions is what the bridge needs to keep rules and to decide by them.
type Permissions interface {
	RuleStore
	// Check decides a call as it would be decided now; nothing is run or saved. It refuses with *interaction.Error what
	// names an agent or a tool that is not there.
	Check(ctx context.Context, c CheckCall) (CheckResult, error)
	// PolicyRules returns the rules that hold for an agent whoever its user is; found is false without such an agent.
	PolicyRules(agent string) (rules []permission.Rule, found bool)
	// PastCalls returns what was called in a user's runs, the newest first, at most limit.
	PastCalls(ctx context.Context, user interaction.PrincipalID, limit int) ([]PastCall, error)
	// Odd says what about a rule that can be saved may not be meant; "" for nothing.
	Odd(r permission.Rule) string
	// Templates lists the named rule sets that can be granted, ordered by name.
	Templates() []RuleTemplate
}

// RuleStore keeps rules. No user means the organisation: such a rule binds everyone.
type RuleStore interface {
	// SaveRules saves rules together. What can't be saved is refused with *interaction.Error, another rule under one of
	// the ids with ErrRuleExists. A rule that was saved before under its id is left as it is.
	SaveRules(ctx context.Context, rules ...permission.Rule) ([]SavedRule, error)
	// AddRules is SaveRules for those whose word is not the last: a rule that would take the place of one that says
	// more is refused with ErrRuleInTheWay, and none is saved.
	AddRules(ctx context.Context, rules ...permission.Rule) ([]SavedRule, error)
	// RevokeRules ends the rule of that id, or those that were granted together under it, and returns the ids of those
	// that ended now. ErrNoRule says that the user never had it.
	RevokeRules(ctx context.Context, user interaction.PrincipalID, id string, by interaction.PrincipalID, at time.Time) ([]string, error)
	// ListRules lists rules, the newest first; a page token that is not its own is refused with *interaction.Error.
	ListRules(ctx context.Context, f RuleFilter) (rules []StoredRule, next string, err error)
	// BundleID is the id of the nth of the rules that are granted together under one.
	BundleID(id string, n int) string
}

var (
	// ErrRuleExists is wrapped when an id is taken by another rule.
	ErrRuleExists = errors.New("another rule has that id")
	// ErrRuleInTheWay is wrapped when a rule would take the place of one that says more.
	ErrRuleInTheWay = errors.New("a stricter rule is stored already")
	// ErrNoRule is wrapped when there is no rule of that id.
	ErrNoRule = errors.New("no such rule")
)

// StoredRule is a rule with what has become of it.
type StoredRule struct {
	permission.Rule
	RevokedAt  time.Time               `json:"revoked_at,omitzero"`
	RevokedBy  interaction.PrincipalID `json:"revoked_by,omitempty"`
	ReplacedBy string                  `json:"replaced_by,omitempty"`
}

// SavedRule is what saving did for one rule.
type SavedRule struct {
	Rule     permission.Rule
	Replaced []string
	Known    bool
}

// RuleFilter selects rules that bear on a user.
type RuleFilter struct {
	UserID    string
	Scope     permission.Layer
	SessionID string
	Effect    string
	State     string // "" in force, "ended", "all"
	Now       time.Time
	PageSize  int
	PageToken string
}

// CheckCall is a call that might be made.
type CheckCall struct {
	UserID    interaction.PrincipalID
	SessionID interaction.SessionID
	Agent     string // "" for an agent without a policy
	Tool      string
	Args      []byte
}

// CheckResult is what would be decided.
type CheckResult struct {
	Call     permission.Call
	Decision permission.Decision
	Invalid  string // what is wrong with the arguments, if a schema knows
}

// PastCall is a call that was made.
type PastCall struct {
	RunID     interaction.RunID     `json:"run_id"`
	SessionID interaction.SessionID `json:"session_id"`
	CallID    interaction.CallID    `json:"call_id"`
	Agent     string                `json:"agent"`
	Tool      string                `json:"tool"`
	Args      json.RawMessage       `json:"args"`
	Status    string                `json:"status,omitempty" doc:"How it ended"`
	At        time.Time             `json:"at,omitzero"`
	// Call is what a rule is matched against; its tool has no name when the tool is gone.
	Call permission.Call `json:"-"`
}

// RuleTemplate is a named set of rules that can be granted in one step.
type RuleTemplate struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Rules       []permission.Rule `json:"rules" nullable:"false"`
}

// SaveRule is the body of allow and deny.
type SaveRule struct {
	ID            string                 `json:"id,omitempty" pattern:"^[A-Za-z0-9_:-]{1,100}$" doc:"Chosen by the sender: the same rule under the same id is saved once"`
	Pattern       string                 `json:"pattern" doc:"tool or tool(pattern), such as bash(npm run test:*)"`
	SessionID     interaction.SessionID  `json:"session_id,omitempty" doc:"Keeps the rule inside one session"`
	Where         []permission.Condition `json:"where,omitempty" doc:"Conditions on named arguments, all of which must hold"`
	ExpiresAt     time.Time              `json:"expires_at,omitzero" unsaid:"a rule without end"`
	ExpiresIn     string                 `json:"expires_in,omitempty" minLength:"1" unsaid:"a rule without end" doc:"Instead of expires_at, such as 24h or 7d" example:"24h"`
	MaxUses       *int                   `json:"max_uses,omitempty" minimum:"1" maximum:"1000000" doc:"Of an allow: how many calls may rest on it; without it there is no bound"`
	Note          string                 `json:"note,omitempty" doc:"4 KiB at most"`
	InteractionID interaction.ID         `json:"interaction_id,omitempty" doc:"The question that led to it. A reviewer who is no admin must give one that they may answer"`
	Risk          permission.Risk        `json:"risk,omitempty" enum:"low,medium,high,critical"`
}

// RuleView is a stored rule as the bridge shows it.
type RuleView struct {
	StoredRule
	Scope    permission.Layer `json:"scope" enum:"user,session,organisation"`
	InForce  bool             `json:"in_force"`
	Replaced []string         `json:"replaced,omitempty" doc:"After saving: the rules whose place it took"`
	Warning  string           `json:"warning,omitempty" doc:"After saving: what may not be meant, such as a tool that is not there"`
}

// RuleList is a page of a user's rules. Policy comes with the first page, when an agent is named.
type RuleList struct {
	Items         []RuleView        `json:"items" nullable:"false"`
	NextPageToken string            `json:"next_page_token"`
	Policy        []permission.Rule `json:"policy,omitempty" doc:"What holds for the agent's calls whoever the user is, with file and line; changed in the configuration"`
}

// Revoked answers a revocation.
type Revoked struct {
	Revoked []string `json:"revoked" nullable:"false" doc:"What ended now; empty when it had ended before"`
}

// CheckRequest is the body of POST /v1/permissions/check.
type CheckRequest struct {
	UserID    interaction.PrincipalID `json:"user_id,omitempty" doc:"The caller unless an admin names another"`
	Agent     string                  `json:"agent,omitempty" doc:"Whose policy and workspace count; without it only stored rules and the tool's default"`
	SessionID interaction.SessionID   `json:"session_id,omitempty"`
	Tool      string                  `json:"tool"`
	Args      json.RawMessage         `json:"args,omitempty" doc:"The arguments, an object"`
	ArgsRaw   string                  `json:"args_raw,omitempty" doc:"Instead of args: their exact JSON text"`
}

// Checked is what would be decided, and why.
type Checked struct {
	permission.Decision
	Explanation string `json:"explanation" doc:"The same in words, for people"`
	Invalid     string `json:"invalid,omitempty" doc:"Why the call would be sent back to the model whatever the rules say: its arguments break the tool's schema"`
}

// PreviewRequest is the body of POST /v1/permissions/{user_id}/preview.
type PreviewRequest struct {
	Pattern string                 `json:"pattern"`
	Effect  permission.Effect      `json:"effect,omitempty" doc:"allow unless said; a deny matches wider"`
	Where   []permission.Condition `json:"where,omitempty"`
	Limit   int                    `json:"limit,omitempty" doc:"How many past calls to look at, at most 1000; 500 unless said"`
}

// Previewed says which past calls a rule would have matched, wholly or in part.
type Previewed struct {
	Items    []PastCall `json:"items" nullable:"false" doc:"The newest first"`
	LookedAt int        `json:"looked_at" doc:"How many calls were looked at"`
	Complete bool       `json:"complete" doc:"False when there was no time for all of them"`
}

// GrantTemplate is the body of POST /v1/permissions/{user_id}/templates/{name}.
type GrantTemplate struct {
	ID        string                `json:"id,omitempty" pattern:"^[A-Za-z0-9_:-]{1,100}$" doc:"Chosen by the sender: granting again under the same id does nothing"`
	SessionID interaction.SessionID `json:"session_id,omitempty"`
	ExpiresAt time.Time             `json:"expires_at,omitzero" unsaid:"rules without end"`
	ExpiresIn string                `json:"expires_in,omitempty" minLength:"1" unsaid:"rules without end" example:"24h"`
	Note      string                `json:"note,omitempty"`
}

// GrantedTemplate says what a template became.
type GrantedTemplate struct {
	ID       string     `json:"id" doc:"Revokes all of them"`
	Template string     `json:"template"`
	Rules    []RuleView `json:"rules" nullable:"false"`
}

// TemplateList lists the templates.
type TemplateList = Page[RuleTemplate]
