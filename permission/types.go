package permission

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Effect is what a rule asks for and what a decision says. The zero value is
// [Ask], so that anything unset or unknown ends at a person.
type Effect int8

// The three effects. Their order here is not their order of strength; see
// [Effect.Stricter].
const (
	Ask Effect = iota
	Allow
	Deny
)

// String is the effect's name on the wire and for people.
func (e Effect) String() string {
	switch e {
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	case Ask:
		return "ask"
	default:
		return "ask"
	}
}

// MarshalText writes the effect's name.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText accepts exactly "ask", "allow" and "deny". Anything else is an
// error and leaves [Ask].
func (e *Effect) UnmarshalText(text []byte) error {
	*e = Ask
	switch string(text) {
	case "ask":
	case "allow":
		*e = Allow
	case "deny":
		*e = Deny
	default:
		return fmt.Errorf("unknown effect %q: use allow, ask or deny", text)
	}
	return nil
}

// Stricter reports whether e is stronger than other: deny, then ask, then
// allow.
func (e Effect) Stricter(other Effect) bool { return e.rank() > other.rank() }

func (e Effect) rank() int {
	switch e {
	case Deny:
		return 2
	case Allow:
		return 0
	case Ask:
		return 1
	default:
		return 1
	}
}

// Risk is how bad a wrong approval would be. It decides nothing here; it is
// carried to the person who is asked.
type Risk string

// The risks, mildest first.
const (
	RiskLow      Risk = "low"
	RiskMedium   Risk = "medium"
	RiskHigh     Risk = "high"
	RiskCritical Risk = "critical"
)

func (r Risk) rank() int {
	switch r {
	case RiskLow:
		return 1
	case RiskMedium:
		return 2
	case RiskHigh:
		return 3
	case RiskCritical:
		return 4
	default:
		return 0
	}
}

// Layer says who wrote a rule.
type Layer string

// The layers. A deny binds at every layer; the layer matters for allow, where
// user and session rules are stored grants and only those carry a scope.
const (
	LayerPolicy       Layer = "policy"
	LayerOrganisation Layer = "organisation"
	LayerUser         Layer = "user"
	LayerSession      Layer = "session"
	LayerProtected    Layer = "protected"
	LayerDefault      Layer = "default"
)

// stored reports whether rules of the layer are grants kept for one user.
func (l Layer) stored() bool { return l == LayerUser || l == LayerSession }

// GrantScope is how far an ask rule lets itself be satisfied by a stored
// grant.
type GrantScope string

// The scopes, narrowest first after the unset one.
const (
	GrantUnset   GrantScope = ""
	GrantNone    GrantScope = "none"
	GrantSession GrantScope = "session"
	GrantUser    GrantScope = "user"
)

// rank orders scopes by width. An unknown scope is as narrow as none.
func (g GrantScope) rank() int {
	switch g {
	case GrantUser:
		return 2
	case GrantSession:
		return 1
	case GrantUnset, GrantNone:
		return 0
	default:
		return 0
	}
}

// Source is where a rule was written.
type Source struct {
	Layer Layer  `json:"layer"`
	Name  string `json:"name,omitempty"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
}

// Approval says how an ask is to be asked.
type Approval struct {
	// Reviewers may answer; empty means whoever may answer by default.
	Reviewers []string `json:"reviewers,omitempty"`
	// Quorum is how many approvals are needed; 0 means one.
	Quorum int `json:"quorum,omitempty"`
	// ExcludeRequester refuses the answer of the person whose run asks.
	ExcludeRequester bool `json:"exclude_requester,omitempty"`
	// Timeout is in nanoseconds; 0 means no deadline.
	Timeout   time.Duration `json:"timeout,omitempty"`
	OnTimeout string        `json:"on_timeout,omitempty"`
	// RemindEvery is the time, in nanoseconds, after which those who are asked are told again; 0 means never.
	RemindEvery time.Duration `json:"remind_every,omitempty"`
	// Escalate is a ladder of who may answer as well, and from when on.
	Escalate []Escalation `json:"escalate,omitempty"`
	// MaxGrant is the widest grant an answer may leave behind.
	MaxGrant GrantScope `json:"max_grant,omitempty"`
}

// Escalation is one rung: once an ask is After old (in nanoseconds), To may answer
// it as well.
type Escalation struct {
	After time.Duration `json:"after"`
	To    []string      `json:"to"`
}

// Rule is one line of a policy or one stored grant.
type Rule struct {
	ID     string `json:"id,omitempty"`
	Effect Effect `json:"effect"`
	// Pattern is tool or tool(pattern), such as "bash(npm run test:*)".
	Pattern string `json:"pattern"`
	Source  Source `json:"source"`
	// UserID scopes a stored rule to one user. A stored allow without it never
	// matches.
	UserID string `json:"user_id,omitempty"`
	// SessionID, when set, keeps the rule inside that session.
	SessionID string `json:"session_id,omitempty"`
	// ExpiresAt ends the rule at that instant; zero means never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// Where are conditions on named arguments; all of them must hold besides
	// the pattern.
	Where []Condition `json:"where,omitempty"`
	// MaxUses ends an allow once Uses has reached it; 0 means no bound. Whoever
	// stores the rule counts: one use is one call that ran, however many of its
	// parts the rule covered.
	MaxUses   int      `json:"max_uses,omitempty"`
	Uses      int      `json:"uses,omitempty"`
	Approval  Approval `json:"approval,omitzero"`
	Risk      Risk     `json:"risk,omitempty"`
	GrantedBy string   `json:"granted_by,omitempty"`
	// Givers are those whose answers left a grant behind. An ask is satisfied by it
	// only if they could have approved what it asks. A grant without any is the word
	// of who may write rules.
	Givers        []Giver   `json:"givers,omitempty"`
	InteractionID string    `json:"interaction_id,omitempty"`
	Note          string    `json:"note,omitempty"`
	CreatedAt     time.Time `json:"created_at,omitzero"`
}

// Giver is one of those who gave a grant.
type Giver struct {
	ID     string   `json:"id"`
	Groups []string `json:"groups,omitempty"`
}

// meets reports whether those who gave a grant could have approved what is asked.
func (r *Rule) meets(a *Approval) bool {
	if len(r.Givers) == 0 {
		return true
	}
	asked := a.Reviewers
	for _, rung := range a.Escalate {
		if len(asked) > 0 {
			asked = slices.Concat(asked, rung.To)
		}
	}
	var counted []string
	for _, g := range r.Givers {
		listed := len(asked) == 0 || slices.Contains(asked, g.ID) ||
			slices.ContainsFunc(g.Groups, func(group string) bool { return slices.Contains(asked, "group:"+group) })
		if listed && g.ID != "" && !slices.Contains(counted, g.ID) && !(a.ExcludeRequester && g.ID == r.UserID) {
			counted = append(counted, g.ID)
		}
	}
	return len(counted) >= max(a.Quorum, 1)
}

// Kind says what a tool's resource is and so how its patterns are read.
type Kind int8

// The kinds. The zero value matches the canonical JSON of the arguments.
const (
	KindOther Kind = iota
	KindCommand
	KindRead
	KindWrite
	KindURL
	KindMCP
)

// Consent is a tool's own default, used when no rule speaks.
type Consent int8

// The defaults. The zero value needs a rule, else a person.
const (
	// ConsentAlways asks when no rule matches.
	ConsentAlways Consent = iota
	// ConsentNever allows when no rule matches.
	ConsentNever
	// ConsentOutside allows a read when nothing matches, inside the workspace
	// and for no file that looks like a secret.
	ConsentOutside
	// ConsentAccepted allows when no rule matches, but no file outside the
	// workspace or that looks like a secret, and no command that only an exact
	// rule could cover.
	ConsentAccepted
)

// Tool is what the engine must know about a tool.
type Tool struct {
	Name string
	// Server is the MCP server the registry got the tool from; "" otherwise. It
	// is never derived from the name.
	Server string
	Kind   Kind
	// Field is the argument that holds the command, the path or the URL.
	Field string
	// Fields is the closed set of allowed argument names; nil leaves it open.
	Fields  []string
	Consent Consent
	Risk    Risk
}

// Call is one tool call to be decided.
type Call struct {
	Tool Tool
	// Args is the raw JSON of the arguments: the bytes that are shown and run.
	Args []byte
	// Workspace and Home are absolute; a relative path or ~/ needs them.
	Workspace, Home   string
	UserID, SessionID string
	// Resolve follows symlinks; for a file that does not exist yet it resolves
	// the nearest existing parent. Nil is the identity. An error asks.
	Resolve func(path string) (string, error)
	Now     time.Time
	// Ran marks a call that has run: which rules are about it is all that is asked,
	// and nothing is denied or asked for another reason.
	Ran bool
}

// Reason is one thing that was considered, in plain words.
type Reason struct {
	Effect Effect `json:"effect"`
	Text   string `json:"text"`
	Rule   string `json:"rule,omitempty"`
	RuleID string `json:"rule_id,omitempty"`
	Source Source `json:"source"`
}

// Part is one simple command, redirection or path of a compound call.
type Part struct {
	Text   string `json:"text"`
	Effect Effect `json:"effect"`
	Reason string `json:"reason"`
	Rule   string `json:"rule,omitempty"`
}

// Decision is the answer with everything needed to show it.
type Decision struct {
	Effect Effect `json:"effect"`
	// Reason is one plain sentence.
	Reason string `json:"reason"`
	// Reasons are ordered, the deciding one first.
	Reasons []Reason `json:"reasons,omitempty"`
	// Matched is the rule that decided; nil when none did.
	Matched *Rule `json:"matched,omitempty"`
	// Grants are the ids of the stored rules that an allow rests on, each once:
	// those whose use is to be counted when the call runs.
	Grants []string `json:"grants,omitempty"`
	Risk   Risk     `json:"risk,omitempty"`
	// Approval is merged from every ask rule that matched.
	Approval Approval `json:"approval"`
	Parts    []Part   `json:"parts,omitempty"`
	// SuggestedPatterns are rules that would have allowed the call, narrowest
	// first. With SuggestTogether there is one for each uncovered part of the
	// call, and only all of them together allow it.
	SuggestedPatterns []string `json:"suggested_patterns,omitempty"`
	SuggestTogether   bool     `json:"suggest_together,omitempty"`
	Resource          string   `json:"resource,omitempty"`
	// Paths are the cleaned and the resolved paths that were looked at.
	Paths []string `json:"paths,omitempty"`
	// Private marks a URL whose host is this machine, a private network or a
	// metadata service by itself. Unless the effect is deny, a rule names it.
	Private bool `json:"private,omitempty"`
	// Malformed marks arguments that break the rules of decoding: they can't be
	// approved by a rule, and should not be run as they are.
	Malformed bool `json:"malformed,omitempty"`
}

// Problem is a rule that does not take part, and why.
type Problem struct {
	Rule Rule
	Err  error
}

// errEmptyPattern is returned for a rule with no text.
var errEmptyPattern = errors.New(`the pattern is empty: write tool or tool(pattern), such as bash(npm test:*)`)
