package api

import (
	"context"
	"net/http"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/llm"
)

// Store is the data plane as the bridge needs it. Lookups return found=false, not an error, for what is not there.
type Store interface {
	RunStore
	EventStore
	InteractionStore
}

// RunStore reads runs and their transcripts. A list returns the token of its next page, "" after the last; a token
// that is not its own is refused with *interaction.Error.
type RunStore interface {
	// EnsureRun inserts a run unless one of its id is there, which is left as it is.
	EnsureRun(ctx context.Context, r agent.Run) error
	Run(ctx context.Context, id interaction.RunID) (r agent.Run, found bool, err error)
	// Runs lists runs, newest first.
	Runs(ctx context.Context, f RunFilter) (runs []agent.Run, next string, err error)
	// Steps lists the steps that a run added to its session, in order.
	Steps(ctx context.Context, run interaction.RunID, pageSize int, pageToken string) (steps []llm.Step, next string, err error)
	// Progress tells how far a run has come; all zero when it is not there.
	Progress(ctx context.Context, run interaction.RunID) (Progress, error)
}

// Progress is how far a run has come.
type Progress struct {
	Steps     int   // in its transcript
	LastEvent int64 // number of its newest event
}

// EventStore reads a run's stream.
type EventStore interface {
	// Events returns at most limit stored events with a number above after, in order.
	Events(ctx context.Context, run interaction.RunID, after int64, limit int) ([]event.Event, error)
	// Deltas returns the live pieces that are there now with an id above after, in order.
	Deltas(ctx context.Context, run interaction.RunID, after int64) ([]LiveDelta, error)
	// Verify computes the hash chain of a run's record anew, and says what is wrong with it and where; "" is nothing.
	Verify(ctx context.Context, run interaction.RunID) (fault string, err error)
	// Watch returns a channel that gets a value when the run may have something new: nothing that is committed
	// after Watch has returned is missed. It is closed when ctx or the store ends.
	Watch(ctx context.Context, run interaction.RunID) <-chan struct{}
}

// InteractionStore reads interactions and keeps what people answered.
type InteractionStore interface {
	Interaction(ctx context.Context, id interaction.ID) (i interaction.Interaction, found bool, err error)
	// Interactions lists interactions, newest first.
	Interactions(ctx context.Context, f InteractionFilter) (list []interaction.Interaction, next string, err error)
	// Closed lists interactions that have come to their end, newest first.
	Closed(ctx context.Context, f ClosedFilter) (list []interaction.Interaction, next string, err error)
	// SaveResponse keeps a response under its id. When the id is there already, nothing is changed and the
	// stored response is returned with inserted=false.
	SaveResponse(ctx context.Context, r interaction.Response) (existing interaction.Response, inserted bool, err error)
	// MarkSubmitted notes on an open interaction that an answer was accepted; a final one is left as it is.
	MarkSubmitted(ctx context.Context, id interaction.ID, r interaction.Response, at time.Time) error
}

// LiveDelta is a piece of a step that is being written. IDs grow within a run.
type LiveDelta struct {
	ID int64
	event.StepDeltaData
}

// RunFilter selects runs. Zero fields select all.
type RunFilter struct {
	Status    agent.RunStatus
	SessionID interaction.SessionID
	Agent     string
	UserID    interaction.PrincipalID
	Prefix    string // of the run's or the session's id
	PageSize  int
	PageToken string
}

// InteractionFilter selects interactions. Zero fields select all.
type InteractionFilter struct {
	Status    []interaction.Status // any of them
	RunID     interaction.RunID
	PageSize  int
	PageToken string
}

// ClosedFilter selects interactions that have come to their end. Zero fields select all. What a store finds by a long name
// may be another of the same beginning.
type ClosedFilter struct {
	Status                           interaction.Status
	Action                           interaction.Action
	Requester, By, Agent, Tool, Risk string
	Since, Until                     time.Time // closed at or after, and before
	PageSize                         int
	PageToken                        string
}

// Agents names the agents that can be started.
type Agents interface {
	// Agents returns them ordered by name.
	Agents() []AgentInfo
}

// Authenticator tells who sends a request.
type Authenticator interface {
	// Authenticate returns ok=false when the request carries no valid credentials. An error means that it
	// could not be found out; the request is then refused.
	Authenticate(r *http.Request) (p interaction.Principal, ok bool, err error)
}

// Temporal is the part of client.Client that the bridge uses.
type Temporal interface {
	ExecuteWorkflow(ctx context.Context, o client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error)
	UpdateWorkflow(ctx context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error)
	SignalWorkflow(ctx context.Context, workflowID, runID, signal string, arg any) error
	DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error)
	CheckHealth(ctx context.Context, r *client.CheckHealthRequest) (*client.CheckHealthResponse, error)
}

// Check is one thing that must be there before the bridge is ready.
type Check struct {
	Name    string // "store", "worker"
	Missing string // what to tell when it fails; shown to anyone, so without addresses or secrets
	Run     func(ctx context.Context) error
}
