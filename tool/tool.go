// Package tool says what a tool is: its definition, a call, a result, and the Tool interface that everything
// callable by a model implements. It also has the execution record (Execution) by which a side effect happens
// once. Tools never decide about permission: the caller does, before Run is entered.
//
// Start at Tool and Set.
package tool

import (
	"context"
	"encoding/json"
	"time"

	"holdpoint/interaction"
)

// Resource says which argument of a call its permission is decided on, and how that argument is read.
type Resource string

const (
	ResourceArgs    Resource = "args"    // canonical JSON of all arguments
	ResourceCommand Resource = "command" // a bash script, judged by its parsed parts
	ResourceRead    Resource = "read"    // a path that is read
	ResourceWrite   Resource = "write"   // a path that is written
	ResourceURL     Resource = "url"     // method and URL
)

// Consent says what happens when no rule speaks about a call.
type Consent string

const (
	ConsentAlways  Consent = "always"  // ask; also what "" means
	ConsentOutside Consent = "outside" // ask outside the workspace and for files that look like secrets
	ConsentNever   Consent = "never"   // run
)

// Definition is what the model, the permission engine and the reviewer are told of a tool.
type Definition struct {
	Name        string          `json:"name"`
	Server      string          `json:"server,omitempty"` // the MCP server it comes from
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments object
	Resource    Resource        `json:"resource"`
	Field       string          `json:"field,omitempty"`  // the argument that Resource reads
	Closed      bool            `json:"closed,omitempty"` // arguments that the schema does not name are a violation
	Consent     Consent         `json:"consent,omitempty"`
	Risk        string          `json:"risk,omitempty"` // low, medium, high, critical
	// Idempotent tools may run again after a crash, with the same Call.Key. All others are never run twice
	// without a person's word.
	Idempotent bool `json:"idempotent,omitempty"`
	// Quick tools only read, ask nobody while they run, and end well within half a second, but for rare calls. A call of one that
	// nobody is asked about may run in the middle of a workflow task, which costs a run less; what does not end in time is stopped
	// and runs once more, as any other. Only an idempotent tool without a server or a task queue of its own is taken at its word.
	Quick bool `json:"quick,omitempty"`
	// Cacheable tools' successes are kept for the session: the same arguments again get the kept result, once the
	// call is allowed.
	Cacheable bool `json:"cacheable,omitempty"`
	// Timeout bounds one execution. Defaults to 10 minutes when zero.
	Timeout time.Duration `json:"timeout,omitempty"`
	// TaskQueue names the Temporal task queue of the machine this tool must run on; "" is the agent's own.
	TaskQueue string `json:"task_queue,omitempty"`
}

// Call is one request of a model to run a tool. Args are the bytes that were decided on and shown.
type Call struct {
	ID         interaction.CallID    `json:"id"`
	RunID      interaction.RunID     `json:"run_id"`
	SessionID  interaction.SessionID `json:"session_id"`
	ProviderID string                `json:"provider_id"` // the model's own id of the call; not unique
	Name       string                `json:"name"`
	Args       json.RawMessage       `json:"args"`
	// Key is the idempotency key: the same for every attempt at the same effect.
	Key string `json:"key,omitempty"`
	// Workspace is the directory that the agent works in, absolute.
	Workspace string `json:"workspace,omitempty"`
	// Outside reports whether a rule allows the paths outside the workspace that this call names.
	Outside bool `json:"outside,omitempty"`
	// Private reports whether the URL that this call names has a private host, such as 127.0.0.1 or localhost,
	// and a rule names that host. Without it no private address may be connected to.
	Private bool `json:"private,omitempty"`
	// Hop decides on a further request that the call would go on to, such as a redirect, given as the arguments
	// of a call of its own. An error says why it must not be made; nil allows it, and private is then what
	// Private is of a call. It is only for use while Run runs. A nil Hop allows nothing.
	Hop func(ctx context.Context, args json.RawMessage) (private bool, err error) `json:"-"`
	// Stoppable, if set, is told by a tool how its call can be stopped while it runs. The tool calls forget before that is
	// over. A tool that tells nothing can't be stopped: while its run is paused it goes on to its end.
	Stoppable func(Stopper) (forget func()) `json:"-"`
	// Ask puts a question to people while the call runs, and returns how it ended: answered, expired or cancelled. The
	// call's own time stands meanwhile. An error says why nobody could be asked. It is for tools whose far side asks in the
	// middle of its work; others return the request instead. A nil Ask asks nobody.
	Ask func(ctx context.Context, r interaction.Request) (interaction.Outcome, error) `json:"-"`
	// Answer is what a person said to the request that this tool returned when it ran before.
	Answer *interaction.Response `json:"answer,omitempty"`
}

// Status is how a call ended. Every call ends in exactly one of them.
type Status string

const (
	StatusSuccess  Status = "success"
	StatusError    Status = "error"
	StatusDenied   Status = "denied"   // a rule forbids it
	StatusRejected Status = "rejected" // a person said no
	StatusRetry    Status = "retry"    // a person asked the model to think again
	StatusSkipped  Status = "skipped"
	StatusExpired  Status = "expired"  // nobody answered in time
	StatusAborted  Status = "aborted"  // the run was stopped
	StatusWithheld Status = "withheld" // it ran, and its output was not released
	StatusUnknown  Status = "unknown"  // it may or may not have happened; a person gave up on it
	// StatusUnreachable: a person was needed, and the agent runs without people, so nobody was asked.
	StatusUnreachable Status = "unreachable"
)

// Result is what the model gets. Content is text; it is bounded by MaxContentBytes when it reaches the model.
type Result struct {
	Status  Status `json:"status"`
	Content string `json:"content"`
	// CachedFrom is the call of the same session whose result this is, when the tool did not run again.
	CachedFrom interaction.CallID `json:"cached_from,omitempty"`
}

// MaxContentBytes bounds a result's content. Longer content keeps its head and its tail.
const MaxContentBytes = 64 << 10

// Outcome is what Run returns: a result, or a request that a person must answer before the tool runs again.
// Exactly one of the two is set. A tool asks before it has any effect.
type Outcome struct {
	Result  *Result
	Request *interaction.Request
}

// Tool is anything that a model can call.
type Tool interface {
	Definition() Definition
	// Run executes the call once. An error is for faults of the tool's surroundings (a result tells the model
	// of faults of the call); the caller turns it into an error result. Run must return soon after ctx ends.
	Run(ctx context.Context, call Call) (Outcome, error)
}

// Based is implemented by tools whose effect depends on something that may change while a person thinks:
// the hash of the file an edit is based on. An approval holds only while the base stays the same.
type Based interface {
	Base(ctx context.Context, call Call) (string, error)
}

// Previewer is implemented by tools that can show what they would do: a diff, for instance.
type Previewer interface {
	Preview(ctx context.Context, call Call) (string, error)
}

// Text is a successful outcome.
func Text(content string) Outcome {
	return Outcome{Result: &Result{Status: StatusSuccess, Content: content}}
}

// Failure is an outcome that tells the model what went wrong with its call.
func Failure(content string) Outcome {
	return Outcome{Result: &Result{Status: StatusError, Content: content}}
}

// Ask is an outcome that asks a person.
func Ask(r interaction.Request) Outcome { return Outcome{Request: &r} }
