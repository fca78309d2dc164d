package interaction

import (
	"encoding/json"
	"time"
)

// Type says what kind of question a request asks. The set is closed.
type Type string

const (
	TypeToolApproval Type = "tool_approval" // may this tool call run?
	TypeMissingInfo  Type = "missing_info"  // a tool lacks something only a person has
	TypeConfirm      Type = "confirm"       // yes or no
	TypeSelect       Type = "select"        // one or several of the options
	TypeInput        Type = "input"         // free text
	TypeCombined     Type = "combined"      // several questions at once
	TypeCustom       Type = "custom"        // answered by data that the asking tool understands
)

// Valid reports whether t is one of the types above.
func (t Type) Valid() bool {
	switch t {
	case TypeToolApproval, TypeMissingInfo, TypeConfirm, TypeSelect, TypeInput, TypeCombined, TypeCustom:
		return true
	}
	return false
}

// Action says what an answer does. The set is closed.
type Action string

const (
	ActionApprove     Action = "approve"
	ActionModifyArgs  Action = "modify_args"
	ActionReject      Action = "reject"
	ActionRetry       Action = "retry"
	ActionProvideInfo Action = "provide_info"
	ActionAnswer      Action = "answer"
	ActionSkip        Action = "skip"
	ActionTerminate   Action = "terminate"
	ActionPause       Action = "pause"
	ActionResume      Action = "resume"
	ActionDelegate    Action = "delegate"
	ActionRedact      Action = "redact"
	ActionWithhold    Action = "withhold"
	ActionCustom      Action = "custom"
)

// Valid reports whether a is one of the actions above.
func (a Action) Valid() bool {
	switch a {
	case ActionApprove, ActionModifyArgs, ActionReject, ActionRetry, ActionProvideInfo, ActionAnswer, ActionSkip,
		ActionTerminate, ActionPause, ActionResume, ActionDelegate, ActionRedact, ActionWithhold, ActionCustom:
		return true
	}
	return false
}

// Status is where an interaction stands. Answered, expired and cancelled are final.
type Status string

const (
	StatusPending   Status = "pending"
	StatusHeld      Status = "held"
	StatusAnswered  Status = "answered"
	StatusExpired   Status = "expired"
	StatusCancelled Status = "cancelled"
)

// Final reports whether nothing can change any more.
func (s Status) Final() bool {
	return s == StatusAnswered || s == StatusExpired || s == StatusCancelled
}

// Kind says why a tool approval was opened; it decides which options make sense.
type Kind string

const (
	KindPermission     Kind = "permission"      // a rule, or the lack of one, asks
	KindOutcomeUnknown Kind = "outcome_unknown" // the effect may or may not have happened
	KindTool           Kind = "tool"            // the tool itself asks
	KindResult         Kind = "result"          // the call has run, and its output waits to be released
	KindStage          Kind = "stage"           // a workflow of agents asks whether to go on with an output
	KindProgram        Kind = "program"         // a program that is no agent asks whether to go on
)

// Option is one of the answers a request offers.
type Option struct {
	ID            string            `json:"id"`
	Label         string            `json:"label"`
	Description   string            `json:"description,omitempty"`
	Action        Action            `json:"action"`
	Default       bool              `json:"default,omitempty"`
	Dangerous     bool              `json:"dangerous,omitempty"`
	RequiresInput bool              `json:"requires_input,omitempty"`
	InputPrompt   string            `json:"input_prompt,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
}

// Request is what a person is asked. Times are UTC; a zero ExpiresAt means that it never expires.
//
// The workflow carries a request without its bulk (see Brief); the store has it whole.
type Request struct {
	ID               ID                `json:"id"`
	RunID            RunID             `json:"run_id"`
	SessionID        SessionID         `json:"session_id"`
	StepID           StepID            `json:"step_id,omitempty"`
	ToolCallID       CallID            `json:"tool_call_id,omitempty"`
	SharedCallIDs    []CallID          `json:"shared_call_ids,omitempty"` // identical calls of the turn that get the same answer and result
	ToolName         string            `json:"tool_name,omitempty"`
	ToolArgs         json.RawMessage   `json:"tool_args,omitempty"`
	Type             Type              `json:"type"`
	Kind             Kind              `json:"kind,omitempty"`
	Title            string            `json:"title"`
	Message          string            `json:"message,omitempty"`
	Details          string            `json:"details,omitempty"`
	Risk             string            `json:"risk,omitempty"`
	Reason           string            `json:"reason,omitempty"`
	MatchedRule      string            `json:"matched_rule,omitempty"`
	Explanation      string            `json:"explanation,omitempty"` // of a call in several parts: what was decided on each, and why
	Options          []Option          `json:"options,omitempty"`
	Placeholder      string            `json:"placeholder,omitempty"`
	Required         bool              `json:"required,omitempty"`
	Multiline        bool              `json:"multiline,omitempty"`
	Multiple         bool              `json:"multiple,omitempty"`
	Secret           bool              `json:"secret,omitempty"` // of missing_info and input: what is answered reaches the tool alone
	Live             bool              `json:"live,omitempty"`   // the call that asks runs meanwhile: its tool waits for the answer
	ConfirmText      string            `json:"confirm_text,omitempty"`
	CancelText       string            `json:"cancel_text,omitempty"`
	Interactions     []Request         `json:"interactions,omitempty"`
	SuggestedPattern []string          `json:"suggested_patterns,omitempty"`
	MaxGrant         GrantScope        `json:"max_grant,omitempty"` // the widest grant that an answer may leave
	Digest           string            `json:"digest,omitempty"`
	ToolDigest       string            `json:"tool_digest,omitempty"` // of the tool as it was when the call was shown
	Base             string            `json:"base,omitempty"`        // hash of what an edit is based on, "" where there is nothing
	Reviewers        []string          `json:"reviewers,omitempty"`   // people and groups who may answer now; none means anybody
	Quorum           int               `json:"quorum,omitempty"`      // distinct approvers needed; 0 means 1
	ExcludeRequester bool              `json:"exclude_requester,omitempty"`
	Requester        PrincipalID       `json:"requester,omitempty"`
	AgentPath        []string          `json:"agent_path,omitempty"`
	CreatedAt        time.Time         `json:"created_at,omitzero"`
	ExpiresAt        time.Time         `json:"expires_at,omitzero"`
	OnTimeout        Action            `json:"on_timeout,omitempty"` // what happens at ExpiresAt; "" means reject
	RemindEvery      time.Duration     `json:"remind_every,omitempty"`
	Reminder         int               `json:"reminder,omitempty"` // how many there were
	Escalate         []Escalation      `json:"escalate,omitempty"`
	Escalation       int               `json:"escalation,omitempty"` // how many rungs of Escalate were climbed
	LinkedTo         ID                `json:"linked_to,omitempty"`  // the interaction that this one follows
	Metadata         map[string]string `json:"metadata,omitempty"`
}

// Escalation is a rung of a ladder: once an interaction is After old, To may answer as well.
type Escalation struct {
	After time.Duration `json:"after"`
	To    []string      `json:"to"`
}

// Principal is who calls: as the bridge authenticated them, or, over a native signal, as the sender claims.
type Principal struct {
	ID     PrincipalID `json:"id"`
	Groups []string    `json:"groups,omitempty"`
	Roles  []string    `json:"roles,omitempty"`
}

// Response is what a person answered. ID is the sender's; RespondedAt is set by the bridge, never by the
// person, and is zero over a native signal.
type Response struct {
	ID         ResponseID      `json:"id,omitempty"`
	RequestID  ID              `json:"request_id" required:"false"` // the address may name it
	Action     Action          `json:"action,omitempty"`
	OptionID   string          `json:"option_id,omitempty"`
	Selected   []string        `json:"selected,omitempty"`
	Text       string          `json:"text,omitempty"`
	Confirmed  *bool           `json:"confirmed,omitempty"`
	Args       json.RawMessage `json:"args,omitempty"`
	ArgsRef    ResponseID      `json:"args_ref,omitempty"`    // args are in the store under this response id
	ArgsDigest string          `json:"args_digest,omitempty"` // SHA-256 of those args, hex
	// SecretRef is where the answer to a secret question is kept, encrypted, and SecretDigest a keyed digest of it. The
	// bridge sets both in place of Text and Data.
	SecretRef    string          `json:"secret_ref,omitempty"`
	SecretDigest string          `json:"secret_digest,omitempty"`
	Feedback     string          `json:"feedback,omitempty"`
	Data         json.RawMessage `json:"data,omitempty"`
	Responses    []Response      `json:"responses,omitempty"`          // combined, in the order of the request's interactions
	Grant        *Grant          `json:"grant,omitempty"`              // what the answer leaves behind for later calls
	To           []string        `json:"to,omitempty"`                 // delegate: who is asked instead
	Until        time.Time       `json:"until,omitzero" unsaid:"good"` // delegate: for how long
	Digest       string          `json:"digest,omitempty"`             // of what the person saw; "" trusts the id alone
	Note         string          `json:"note,omitempty"`
	Reviewer     Principal       `json:"reviewer,omitzero"`
	RespondedAt  time.Time       `json:"responded_at,omitzero"`
	// Signature is the bridge's; SignedBy is what is kept of it once it was checked: the id of the key.
	Signature *Signature `json:"signature,omitempty"`
	SignedBy  string     `json:"signed_by,omitempty"`
}

// unnamed stands for one who said no name. A bridge names everybody whose answer it takes, so the answer came past it.
const unnamed = "someone unnamed (straight through Temporal)"

// Named is the principal's name, for people to read.
func (p PrincipalID) Named() string {
	if p == "" {
		return unnamed
	}
	return string(p)
}

// Limits at the edge, in bytes. A response over them is refused before it reaches Temporal, where a payload
// over 2 MB would end the run.
const (
	MaxResponseBytes = 64 << 10 // one response, encoded
	MaxNoteBytes     = 4 << 10  // note, feedback of a control message
	MaxMessageBytes  = 64 << 10 // one steering message, or a run's input
	MaxTitleBytes    = 200      // a request's title, so that what history holds of it is bounded
)
