package activities

import (
	"context"
	"encoding/json"
	"time"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

// Store is the data plane as the activities need it.
type Store interface {
	// Write runs fn in one serialisable transaction. fn may run more than once (after a serialisation
	// failure), so it has no effect but through tx. An error from fn rolls everything back and is returned.
	Write(ctx context.Context, fn func(tx Tx) error) error
	// Transcript returns a session's steps in order.
	Transcript(ctx context.Context, session interaction.SessionID) ([]llm.Step, error)
	// WaitingRuns returns the workflow ids of a user's runs that wait for people, at most 1,000, the newest first.
	WaitingRuns(ctx context.Context, user interaction.PrincipalID) ([]string, error)
	// DueNotices returns at most limit notices that are due, the longest due first, and when the next of all others is, zero
	// where there is none.
	DueNotices(ctx context.Context, now time.Time, limit int) (due []agent.Notice, next time.Time, err error)
	// Run reads a run as it was last committed.
	Run(ctx context.Context, id interaction.RunID) (r agent.Run, found bool, err error)
	// Interaction reads an interaction as it was last committed.
	Interaction(ctx context.Context, id interaction.ID) (i interaction.Interaction, found bool, err error)
	// Delta keeps a piece of a step that is being written, for the live stream. Losing one is harmless.
	Delta(ctx context.Context, run interaction.RunID, d event.StepDeltaData) error
}

// Tx is one write transaction. Lookups return found=false, not an error, for what is not there.
type Tx interface {
	// InsertRun stores a new run; false when a run of that id exists, which is left as it is.
	InsertRun(ctx context.Context, r agent.Run) (inserted bool, err error)
	// LockRun reads a run and holds its row until the transaction ends.
	LockRun(ctx context.Context, id interaction.RunID) (r agent.Run, head event.Head, found bool, err error)
	// Run reads a run without holding it.
	Run(ctx context.Context, id interaction.RunID) (r agent.Run, found bool, err error)
	UpdateRun(ctx context.Context, r agent.Run) error
	// AppendEvents numbers and chains the events under the run row's lock and returns the new head. An event
	// whose key the run already has is left out.
	AppendEvents(ctx context.Context, run interaction.RunID, events ...event.Event) (event.Head, error)

	SaveAgent(ctx context.Context, digest string, a agent.Agent) error
	Agent(ctx context.Context, digest string) (a agent.Agent, found bool, err error)

	// NextSequence is one more than the highest sequence used or reserved in the session.
	NextSequence(ctx context.Context, session interaction.SessionID) (int64, error)
	InsertStep(ctx context.Context, s llm.Step) error
	// ClearDeltas removes a turn's live pieces once its step is complete.
	ClearDeltas(ctx context.Context, run interaction.RunID, turn int) error

	// Turn returns the stored result of a model call, so that a retry returns it instead of asking again.
	Turn(ctx context.Context, run interaction.RunID, turn int) (result json.RawMessage, found bool, err error)
	SaveTurn(ctx context.Context, run interaction.RunID, turn int, result json.RawMessage) error

	InsertCall(ctx context.Context, r tool.Record) error
	Call(ctx context.Context, id interaction.CallID) (r tool.Record, found bool, err error)
	UpdateCall(ctx context.Context, r tool.Record) error
	// OpenCalls returns a run's calls that have no result yet, by turn and index.
	OpenCalls(ctx context.Context, run interaction.RunID) ([]tool.Record, error)

	Execution(ctx context.Context, id interaction.CallID) (e tool.Execution, found bool, err error)
	// SaveExecution inserts or replaces the ledger's entry of a call.
	SaveExecution(ctx context.Context, e tool.Execution) error

	// KeptResult returns the call whose result was kept last under a key.
	KeptResult(ctx context.Context, key string) (call interaction.CallID, found bool, err error)
	// KeepResult keeps a call's result under a key in place of the one before.
	KeepResult(ctx context.Context, key string, call interaction.CallID) error

	// Memory returns what a run remembers of a call that was answered.
	Memory(ctx context.Context, run interaction.RunID, key string) (m tool.Memory, found bool, err error)
	Remember(ctx context.Context, run interaction.RunID, key string, m tool.Memory) error
	// Forget ends the memory of what was answered at an interaction; false when there is none.
	Forget(ctx context.Context, run interaction.RunID, id interaction.ID) (bool, error)

	// SaveInteraction inserts or replaces an interaction.
	SaveInteraction(ctx context.Context, i interaction.Interaction) error
	Interaction(ctx context.Context, id interaction.ID) (i interaction.Interaction, found bool, err error)
	// Enqueue keeps a notice to be delivered at a time. One of that id that is kept already stays as it is.
	Enqueue(ctx context.Context, n agent.Notice, at time.Time) error
	// DelayNotice puts a notice off, and DropNotice ends it. One that is gone is no error.
	DelayNotice(ctx context.Context, n agent.Notice, at time.Time) error
	DropNotice(ctx context.Context, id string) error
	// OpenInteractions returns a run's interactions that are not final, oldest first.
	OpenInteractions(ctx context.Context, run interaction.RunID) ([]interaction.Interaction, error)
	// Secret returns what a person answered in confidence, encrypted.
	Secret(ctx context.Context, ref string) (sealed string, found bool, err error)
	// DropSecrets removes the secrets that were given for a call, or, with call "", for any of a run.
	DropSecrets(ctx context.Context, run interaction.RunID, call interaction.CallID) error
	// Response returns a response that the bridge stored.
	Response(ctx context.Context, id interaction.ResponseID) (r interaction.Response, found bool, err error)

	// Rules returns the rules stored for a user that are not revoked, those of the session among them;
	// expired ones are left to the engine, which is told the time.
	Rules(ctx context.Context, user interaction.PrincipalID, session interaction.SessionID) ([]permission.Rule, error)
	// RulesVersion grows with every change of what Rules returns for the user, and holds the rules as Rules does.
	RulesVersion(ctx context.Context, user interaction.PrincipalID) (int64, error)
	// UseRules counts one use by a call of each of the rules that have a bound on uses; false, and nothing is counted,
	// when one of them is revoked or used up.
	UseRules(ctx context.Context, ids []string, call interaction.CallID) (bool, error)
	// RoomForRules reports whether n more rules may be stored for a user.
	RoomForRules(ctx context.Context, user string, n int, now time.Time) (bool, error)
	// SaveRule stores a rule, or refuses it with *interaction.Error. It takes the place of one of the same user, session,
	// pattern and conditions. The same rule again does nothing.
	SaveRule(ctx context.Context, r permission.Rule) error
}
