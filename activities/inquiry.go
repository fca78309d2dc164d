package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/tool"
)

// A tool's far side may ask people in the middle of its work, as an MCP server does. The call runs on and waits, so the
// question is short-lived: it is opened here, its workflow is told by a signal and decides when and how it ends, as with
// every other, and the call learns that from the row. A worker that dies meanwhile takes the call with it; what it asked is
// then withdrawn.

const (
	// inquiryPatience is how long a running call waits for people, at most.
	inquiryPatience = 10 * time.Minute
	// inquiryLook is how often it looks whether they have answered.
	inquiryLook = 200 * time.Millisecond
	// maxInquiries bounds the questions of one execution.
	maxInquiries = 20
)

// inquire puts a question of the running call to people and waits for its end.
func (x *execution) inquire(ctx context.Context, q interaction.Request) (interaction.Outcome, error) {
	switch {
	case !x.ag.EnableHITL:
		return interaction.Outcome{}, errors.New("this agent runs without people")
	case q.HasSecret():
		return interaction.Outcome{}, errors.New("a running call can't ask for a secret")
	case x.inquired.Add(1) > maxInquiries:
		return interaction.Outcome{}, fmt.Errorf("the call has asked %d times, and no more is taken", maxInquiries)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(x.running, cancel)()
	asked, err := x.openInquiry(ctx, q)
	if err != nil {
		return interaction.Outcome{}, err
	}
	defer x.still.asks()()
	tell := Inquiry{CallID: x.in.CallID, Claim: x.claim, Request: asked}
	if err = x.tellInquiry(ctx, tell); err == nil {
		var out interaction.Outcome
		if out, err = x.awaitInquiry(ctx, asked.ID); err == nil {
			return out, nil
		}
	}
	tell.Request, tell.Withdrawn = nil, asked.ID
	lasting, end := context.WithTimeout(context.WithoutCancel(x.running), lookTimeout)
	defer end()
	if told := x.a.Inquire(lasting, activity.GetInfo(x.running).WorkflowExecution.ID, tell); told != nil {
		x.log(x.running).Warn("that a question is withdrawn could not be told", "interaction_id", asked.ID, "error", told)
	}
	return interaction.Outcome{}, fmt.Errorf("the question was withdrawn: %w", err)
}

// openInquiry stores the question, with a deadline that the call can wait for.
func (x *execution) openInquiry(ctx context.Context, q interaction.Request) (brief *interaction.Request, err error) {
	err = x.a.Store.Write(ctx, func(tx Tx) error {
		if _, _, err := lockRun(ctx, tx, x.in.RunID); err != nil {
			return err
		}
		rec, err := callOf(ctx, tx, x.in.CallID)
		if err != nil {
			return err
		}
		entry, begun, err := tx.Execution(ctx, x.in.CallID)
		if err != nil {
			return err
		}
		if !begun || entry.Claim != x.claim || entry.State != tool.StateStarted || rec.Result != nil {
			return errors.New("the call was taken from the worker that runs it")
		}
		w := &callWriter{ctx: ctx, tx: tx, rec: &rec, now: x.a.Now()}
		r := x.toolQuestion(q)
		r.Live = true
		if latest := w.now.Add(inquiryPatience).Truncate(time.Millisecond); r.ExpiresAt.IsZero() || r.ExpiresAt.After(latest) {
			r.ExpiresAt = latest
		}
		if err := interaction.Open(r, w.now).Request.Validate(); err != nil {
			return fmt.Errorf("it can't be put to a person: %w", err)
		}
		res, err := w.ask(r)
		if err == nil {
			brief = res.Interaction
		}
		return err
	})
	return brief, err
}

// tellInquiry tells the workflow, until it is told.
func (x *execution) tellInquiry(ctx context.Context, q Inquiry) error {
	id := activity.GetInfo(x.running).WorkflowExecution.ID
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := x.a.Inquire(ctx, id, q)
		if err == nil {
			return nil
		}
		x.log(x.running).Warn("a running call's question could not be told to its run", "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// awaitInquiry returns how the question ended.
func (x *execution) awaitInquiry(ctx context.Context, id interaction.ID) (interaction.Outcome, error) {
	tick := time.NewTicker(inquiryLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return interaction.Outcome{}, ctx.Err()
		case <-tick.C:
		}
		i, found, err := x.a.Store.Interaction(ctx, id)
		if err == nil && found && i.Status.Final() {
			return interaction.Outcome{InteractionID: id, Status: i.Status, Action: i.Action, Responses: i.Responses, Reason: i.Reason, At: i.ClosedAt}, nil
		}
	}
}

// endInquiries has the rows of questions that running calls asked end as the workflow says.
func (a *Activities) endInquiries(ctx context.Context, tx Tx, in RecordInput) ([]event.Event, error) {
	var events []event.Event
	for _, out := range in.Outcomes {
		data, err := closeInteraction(ctx, tx, out)
		if err != nil {
			return nil, err
		}
		if data != nil {
			events = append(events, event.New(in.RunID, event.InteractionResponse, a.Now(), *data))
		}
	}
	return events, nil
}

// endInquiries withdraws what the call asks while it does not run any more.
func (w *callWriter) endInquiries(why string) error {
	open, err := w.tx.OpenInteractions(w.ctx, w.rec.Call.RunID)
	if err != nil {
		return fmt.Errorf("open interactions of run %s: %w", w.rec.Call.RunID, err)
	}
	for _, i := range open {
		if i.Request.ToolCallID != w.rec.Call.ID || !i.Request.Live {
			continue
		}
		if err := w.withdraw(i, why); err != nil {
			return err
		}
	}
	return nil
}

func (w *callWriter) withdraw(i interaction.Interaction, why string) error {
	out, _ := i.Cancel(why, w.now)
	return w.closeAnswered(out, nil, nil, false)
}
