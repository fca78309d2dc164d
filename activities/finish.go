package activities

import (
	"context"
	"fmt"

	"holdpoint/agent"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/tool"
)

// FinishRun ends a run's record: interactions that are still open are cancelled, calls without a result get
// one, stages without an end too, and the last event says how the run ended. A run that has ended stays as it is.
func (a *Activities) FinishRun(ctx context.Context, in FinishRunInput) (FinishRunResult, error) {
	var out FinishRunResult
	err := a.Store.Write(ctx, func(tx Tx) error {
		run, head, err := lockRun(ctx, tx, in.RunID)
		if err != nil {
			return err
		}
		out.Head = head
		if run.Status.Final() {
			return nil
		}
		events, err := a.closeAll(ctx, tx, in)
		if err != nil {
			return err
		}
		stages, err := a.stagesLeft(ctx, tx, run, in)
		if err != nil {
			return err
		}
		events = append(events, stages...)
		if err := tx.DropSecrets(ctx, in.RunID, ""); err != nil {
			return err
		}
		last, err := a.end(&run, in)
		if err != nil {
			return err
		}
		if err := tx.UpdateRun(ctx, run); err != nil {
			return err
		}
		out.Head, err = tx.AppendEvents(ctx, in.RunID, append(events, last)...)
		return err
	})
	if err == nil {
		a.at(PointEndStored)
	}
	return out, err
}

// end sets the run's row and words its last event.
func (a *Activities) end(run *agent.Run, in FinishRunInput) (event.Event, error) {
	run.Status, run.EndedAt = in.Status, a.Now()
	switch in.Status {
	case agent.RunCompleted:
		return event.New(run.ID, event.RunCompleted, run.EndedAt, event.RunCompletedData{Output: run.Output}), nil
	case agent.RunFailed:
		run.ErrorCode, run.Error = in.Code, in.Message
		return event.New(run.ID, event.RunFailed, run.EndedAt, event.RunFailedData{Code: in.Code, Message: in.Message}), nil
	case agent.RunAborted:
		run.ErrorCode, run.Error = "aborted", in.Note
		return event.New(run.ID, event.RunAbortedByHuman, run.EndedAt, event.RunAbortedData{By: in.By, Note: in.Note}), nil
	default:
		return event.Event{}, permanent(CodeInternal, "a run can't end as %q", in.Status)
	}
}

// closeAll closes what is open, so that the transcript stays valid for the session's next run.
func (a *Activities) closeAll(ctx context.Context, tx Tx, in FinishRunInput) ([]event.Event, error) {
	now := a.Now()
	var events []event.Event
	outcomes := in.Outcomes
	open, err := tx.OpenInteractions(ctx, in.RunID)
	if err != nil {
		return nil, err
	}
	for _, i := range open {
		outcomes = append(outcomes, interaction.Outcome{InteractionID: i.Request.ID, Status: interaction.StatusCancelled,
			Responses: i.Responses, Reason: fmt.Sprintf("the run ended (%s)", in.Status), At: now})
	}
	for _, o := range outcomes { // an outcome of the workflow's comes before the cancellation of the same
		data, err := closeInteraction(ctx, tx, o)
		if err != nil {
			return nil, err
		}
		if data != nil {
			events = append(events, event.New(in.RunID, event.InteractionResponse, now, *data))
		}
	}
	calls, err := tx.OpenCalls(ctx, in.RunID)
	if err != nil {
		return nil, err
	}
	for i := range calls {
		if calls[i].SharedWith != "" {
			continue // it ends with the one it shares with
		}
		res, err := a.unfinished(ctx, tx, calls[i], in)
		if err != nil {
			return nil, err
		}
		evs, err := storeResult(ctx, tx, &calls[i], res, now)
		if err != nil {
			return nil, err
		}
		events = append(events, evs...)
	}
	return events, nil
}

// unfinished words the result of a call that the end of its run overtook.
func (a *Activities) unfinished(ctx context.Context, tx Tx, rec tool.Record, in FinishRunInput) (tool.Result, error) {
	e, begun, err := tx.Execution(ctx, rec.Call.ID)
	if err != nil {
		return tool.Result{}, err
	}
	if begun && e.State == tool.StateStarted {
		return tool.Result{Status: tool.StatusUnknown, Content: fmt.Sprintf("The run ended (%s) while this call ran; whether it had its effect is not known.", in.Status)}, nil
	}
	if begun && e.State == tool.StateHeld {
		e.State, e.Held, e.EndedAt = tool.StateFinished, nil, a.Now()
		content := fmt.Sprintf("The call was made. The run ended (%s) before its output was released, so it was withheld.", in.Status)
		return tool.Result{Status: tool.StatusWithheld, Content: content}, tx.SaveExecution(ctx, e)
	}
	return tool.Result{Status: tool.StatusAborted, Content: fmt.Sprintf("The run ended (%s) before this call was carried out.", in.Status)}, nil
}
