package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
)

// Record writes what no other activity does into a run's record, each once: pauses and their ends, what changes about
// interactions that go on, how those of running calls ended, lifted rejections, and messages that could not be applied.
func (a *Activities) Record(ctx context.Context, in RecordInput) (RecordResult, error) {
	var out RecordResult
	err := a.Store.Write(ctx, func(tx Tx) error {
		run, head, err := lockRun(ctx, tx, in.RunID)
		if err != nil {
			return err
		}
		events := a.news(in)
		lifted, err := a.lift(ctx, tx, in)
		if err != nil {
			return err
		}
		changed, err := a.follow(ctx, tx, in)
		if err != nil {
			return err
		}
		held, err := a.holdCalls(ctx, tx, &run, in.CallHolds)
		if err != nil {
			return err
		}
		ended, err := a.endInquiries(ctx, tx, in)
		if err != nil {
			return err
		}
		events = append(append(append(append(events, lifted...), changed...), held...), ended...)
		paused := run.Status == agent.RunPaused
		if n := len(in.Holds); n > 0 {
			paused = in.Holds[n-1].Paused
		}
		if len(in.Holds)+len(in.Outcomes) > 0 && !run.Status.Final() {
			if err := stand(ctx, tx, run, paused); err != nil {
				return err
			}
		}
		out.Head = head
		if len(events) > 0 {
			out.Head, err = tx.AppendEvents(ctx, in.RunID, events...)
		}
		return err
	})
	return out, err
}

func (a *Activities) news(in RecordInput) []event.Event {
	events := make([]event.Event, 0, len(in.Holds)+len(in.Refused))
	for _, h := range in.Holds {
		t := event.RunResumed
		if h.Paused {
			t = event.RunPaused
		}
		e := event.New(in.RunID, t, a.Now(), event.HoldData{By: h.By, Note: h.Note})
		e.Key = "hold-" + fingerprint(string(h.Key))
		events = append(events, e)
	}
	for _, r := range in.Refused {
		e := event.New(in.RunID, event.Error, a.Now(), event.ErrorData{Code: r.Code, Message: r.Reason, ResponseID: r.ResponseID})
		e.Key = "refused-" + fingerprint(r.Key)
		events = append(events, e)
	}
	return events
}

// lift makes the run forget rejections. What it has forgotten already leaves no second event.
func (a *Activities) lift(ctx context.Context, tx Tx, in RecordInput) ([]event.Event, error) {
	var events []event.Event
	for _, l := range in.Lifts {
		had, err := tx.Forget(ctx, in.RunID, l.Interaction)
		if err != nil {
			return nil, err
		}
		if had {
			e := event.New(in.RunID, event.ExecutionResumed, a.Now(), event.ResumedData{InteractionID: l.Interaction, LiftedBy: l.By, Note: l.Note})
			e.Key = "lift-" + fingerprint(string(l.Key))
			events = append(events, e)
		}
	}
	return events, nil
}

// follow has the stored interactions stand as the workflow's do.
func (a *Activities) follow(ctx context.Context, tx Tx, in RecordInput) ([]event.Event, error) {
	var events []event.Event
	for _, c := range in.Changes {
		row, found, err := tx.Interaction(ctx, c.Interaction)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		row.Stand(c.Standing, c.Response)
		if err := tx.SaveInteraction(ctx, row); err != nil {
			return nil, err
		}
		e := a.changed(row, c)
		e.Key = "change-" + fingerprint(c.Key)
		events = append(events, e)
	}
	return events, nil
}

// changed words a change for the record. A reminder, and an escalation, is the question asked again.
func (a *Activities) changed(row interaction.Interaction, c Change) event.Event {
	r := interaction.Response{}
	if c.Response != nil {
		r = *c.Response
	}
	hold := event.ToolHoldData{InteractionID: c.Interaction, ToolCallID: row.Request.ToolCallID, By: r.Reviewer.ID, Note: r.Note}
	answered := event.InteractionResponseData{InteractionID: c.Interaction, ToolCallID: row.Request.ToolCallID, Status: row.Status,
		Action: interaction.ActionDelegate}
	run := row.Request.RunID
	switch c.Kind {
	case interaction.ChangePaused:
		return event.New(run, event.ToolPaused, a.Now(), hold)
	case interaction.ChangeResumed:
		return event.New(run, event.ToolResumed, a.Now(), hold)
	case interaction.ChangeDelegated:
		answered.Responses = []interaction.Response{r}
		return event.New(run, event.InteractionResponse, a.Now(), answered)
	case interaction.ChangeUndelegated:
		answered.Reason = "the time of the delegation is over"
		return event.New(run, event.InteractionResponse, a.Now(), answered)
	case interaction.ChangeEscalated, interaction.ChangeReminded:
		return event.New(run, event.InteractionRequest, a.Now(), row.Request.WithoutOutput())
	default:
		return event.New(run, event.Error, a.Now(), event.ErrorData{Code: CodeInternal, Message: "an interaction changed in an unknown way: " + string(c.Kind)})
	}
}

// stand puts into a live run's row where it stands: paused, waiting for people, or running.
func stand(ctx context.Context, tx Tx, run agent.Run, paused bool) error {
	open, err := tx.OpenInteractions(ctx, run.ID)
	if err != nil {
		return err
	}
	status := agent.RunRunning
	switch {
	case paused:
		status = agent.RunPaused
	case len(open) > 0:
		status = agent.RunAwaitingHuman
	}
	if status == run.Status {
		return nil
	}
	run.Status = status
	return tx.UpdateRun(ctx, run)
}

// fingerprint stands for a text that others wrote where a store takes a plain key.
func fingerprint(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}
