package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"

	"holdpoint/interaction"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

// Observer is told what the activities do, for metrics and traces. It returns at once, and nothing depends on it. What an
// activity does twice, because its worker died, it tells twice, but for gates.
type Observer interface {
	// Decided tells that a call was decided, or that an earlier decision was found to hold still.
	Decided(effect permission.Effect, remembered bool)
	// Answered tells that a gate has closed which was open for so long.
	Answered(q interaction.Request, out interaction.Outcome, open time.Duration)
	// Unknown tells that a tool may or may not have had its effect, so that a person is asked.
	Unknown(tool string)
	// Running tells that a tool is about to run; the function it returns, how that ended. The tool runs in the context
	// that it returns.
	Running(ctx context.Context, tool string) (context.Context, func(tool.Status))
	// Calling is the same for a model.
	Calling(ctx context.Context, model string) (context.Context, func(llm.Usage, error))
}

// unobserved is an Observer that nobody looks through.
type unobserved struct{}

func (unobserved) Decided(permission.Effect, bool) {}

func (unobserved) Answered(interaction.Request, interaction.Outcome, time.Duration) {}

func (unobserved) Unknown(string) {}

func (unobserved) Running(ctx context.Context, _ string) (context.Context, func(tool.Status)) {
	return ctx, func(tool.Status) {}
}

func (unobserved) Calling(ctx context.Context, _ string) (context.Context, func(llm.Usage, error)) {
	return ctx, func(llm.Usage, error) {}
}

func (a *Activities) observer() Observer {
	if a.Observer == nil {
		return unobserved{}
	}
	return a.Observer
}

// Observed is a store whose observer is told of each gate that closes, once, whatever closes it: an answer, its deadline, the end
// of its run, or a keeper. An activity that is tried again finds it closed.
type Observed struct {
	Store
	Observer Observer
}

// Write is the store's. What was closed is told once that stands.
func (o Observed) Write(ctx context.Context, fn func(tx Tx) error) error {
	var closed []interaction.Interaction
	err := o.Store.Write(ctx, func(tx Tx) error {
		closed = nil
		return fn(observedTx{Tx: tx, open: map[interaction.ID]bool{}, closed: &closed})
	})
	if err != nil {
		return err
	}
	for _, i := range closed {
		out := interaction.Outcome{InteractionID: i.Request.ID, Status: i.Status, Action: i.Action, Responses: i.Responses, Reason: i.Reason, At: i.ClosedAt}
		o.Observer.Answered(i.Request, out, max(i.ClosedAt.Sub(i.Request.CreatedAt), 0))
	}
	return nil
}

// observedTx notes what it reads as open and saves as closed.
type observedTx struct {
	Tx
	open   map[interaction.ID]bool
	closed *[]interaction.Interaction
}

// Interaction is the store's.
func (tx observedTx) Interaction(ctx context.Context, id interaction.ID) (interaction.Interaction, bool, error) {
	i, found, err := tx.Tx.Interaction(ctx, id)
	if err == nil && found && !i.Status.Final() {
		tx.open[id] = true
	}
	return i, found, err
}

// SaveInteraction is the store's.
func (tx observedTx) SaveInteraction(ctx context.Context, i interaction.Interaction) error {
	if err := tx.Tx.SaveInteraction(ctx, i); err != nil {
		return err
	}
	if i.Status.Final() && tx.open[i.Request.ID] {
		delete(tx.open, i.Request.ID)
		*tx.closed = append(*tx.closed, i)
	}
	return nil
}

// log is the activity's log, with the ids that its lines are found by.
func (x *execution) log(ctx context.Context) log.Logger {
	return log.With(activity.GetLogger(ctx), "run_id", x.in.RunID, "session_id", x.run.SessionID, "call_id", x.in.CallID)
}

// statusOf is the status that an outcome of a tool will have in the record; "" for a question.
func statusOf(out tool.Outcome) tool.Status {
	if out.Result == nil {
		return ""
	}
	return out.Result.Status
}
